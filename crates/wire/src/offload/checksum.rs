//! The Internet checksum (RFC 1071).

/// 16-bit words in network order, added up.
pub fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<2>();
    let whole: u64 = words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum();
    whole + rest.first().map_or(0, |byte| u64::from(*byte) << 8)
}

/// A sum in 16 bits, with carries added.
pub fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Computes the checksum of an IPv4 header anew. Headers shorter than 12 bytes stay as they are.
pub fn complete_ipv4(header: &mut [u8]) {
    if header.len() < 12 {
        return;
    }
    header[10..12].fill(0);
    let checksum = !folded(sum(header));
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_the_example_in_rfc_1071() {
        // https://www.rfc-editor.org/rfc/rfc1071#section-3
        assert_eq!(folded(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])), 0xddf2);
    }

    #[test]
    fn an_odd_byte_counts_as_the_upper_half_of_a_word() {
        assert_eq!(sum(&[0x12, 0x34, 0x56]), 0x1234 + 0x5600);
    }
}
