//! Answers of a program without sockets: whatever it says, what is read keeps the limits of the reference, and is all of what it said.

#![no_main]

use quiclab_testbed::sim::answer::{answer, length};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((first, rest)) = input.split_first_chunk() else { return };
    if let Ok(length) = length(*first) {
        assert!(length <= 16 << 20);
    }
    let Ok(read) = answer(rest) else { return };
    let mut datagrams = 0;
    let mut bytes = 1 + 8 + 2;
    for buffer in &read.buffers {
        assert!(buffer.ecn < 4 && buffer.segment > 0);
        assert!((1..=65_507).contains(&buffer.payload.len()));
        assert!(buffer.datagrams().len() <= 128);
        assert_eq!(buffer.datagrams().map(|one| one.payload).collect::<Vec<_>>().concat(), buffer.payload);
        datagrams += buffer.datagrams().len();
        bytes += 1 + 2 + 8 + 4 + buffer.payload.len();
    }
    assert!(datagrams <= 32_768);
    assert_eq!(bytes, rest.len());
});
