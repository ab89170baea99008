//! Orders and answers: what is read is written as the same bytes again.

#![no_main]

use quiclab_sans_io::{Answer, Order};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    if let Ok(order) = Order::parse(input) {
        assert_eq!(&order.to_bytes().unwrap()[4..], input);
    }
    if let Ok(answer) = Answer::parse(input) {
        assert_eq!(&answer.to_bytes().unwrap()[4..], input);
    }
});
