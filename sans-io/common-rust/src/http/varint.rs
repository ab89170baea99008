//! Integers of variable length: RFC 9000, section 16.

/// Appends `value`, which is less than 2^62: types and lengths of frames are.
pub(super) fn write(bytes: &mut Vec<u8>, value: u64) {
    match value {
        0..0x40 => bytes.push(value as u8),
        0x40..0x4000 => bytes.extend((value as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => bytes.extend((value as u32 | 0x8000_0000).to_be_bytes()),
        _ => bytes.extend((value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// The integer that `bytes` begin with, and the rest; `None`: there are more bytes to come.
pub(super) fn read(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let first = bytes.first()?;
    let (value, rest) = bytes.split_at_checked(1 << (first >> 6))?;
    let value = value.iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
    // The first two bits are the length.
    let bits = (8 << (first >> 6)) - 2;
    Some((value & ((1 << bits) - 1), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_rfc_9000_are_read() {
        let examples: [(&[u8], u64); 5] = [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
            (&[0x40, 0x25], 37),
        ];
        for (bytes, value) in examples {
            assert_eq!(read(bytes), Some((value, &[][..])));
            assert_eq!(read(&bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        for (value, length) in [(0, 1), (63, 1), (64, 2), (16_383, 2), (16_384, 4), ((1 << 30) - 1, 4), (1 << 30, 8)] {
            let mut bytes = Vec::new();
            write(&mut bytes, value);
            assert_eq!((read(&bytes), bytes.len()), (Some((value, &[][..])), length));
        }
    }
}
