//! Orders and answers: what is read is written as the same bytes again, or is beyond the limits of what is written.

#![no_main]

use quiclab_sans_io::{Answer, Order};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    if let Ok(order) = Order::parse(input) {
        assert_eq!(&order.to_bytes().unwrap()[4..], input);
    }
    // quiclab itself refuses an answer beyond these limits, and reads it with other code.
    if let Some(bytes) = Answer::parse(input).ok().and_then(|answer| answer.to_bytes().ok()) {
        assert_eq!(&bytes[4..], input);
    }
});
