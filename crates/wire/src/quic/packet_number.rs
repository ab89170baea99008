//! Full packet numbers from their low bytes, RFC 9000 section 17.1 and appendix A.3.

/// Largest packet number, RFC 9000 section 12.3.
const MAXIMUM: u64 = (1 << 62) - 1;

/// The number nearest to the one that is expected next. `largest` is the largest number processed in the packet number
/// space so far; `bytes` is the length of the truncated number, 1 to 4.
pub(crate) fn decode(largest: Option<u64>, truncated: u64, bytes: usize) -> u64 {
    let expected = largest.map_or(0, |largest| largest + 1);
    let window = 1_u64 << (8 * bytes);
    let half = window / 2;
    let candidate = (expected & !(window - 1)) | truncated;
    if candidate + half <= expected && candidate <= MAXIMUM - window {
        candidate + window
    } else if candidate > expected + half && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::decode;

    /// RFC 9000 appendix A.3, word by word, in integers that cannot overflow.
    fn decode_as_the_rfc_says(largest_pn: i128, truncated_pn: i128, pn_nbits: u32) -> i128 {
        let expected_pn = largest_pn + 1;
        let pn_win = 1_i128 << pn_nbits;
        let pn_hwin = pn_win / 2;
        let pn_mask = pn_win - 1;
        let candidate_pn = (expected_pn & !pn_mask) | truncated_pn;
        if candidate_pn <= expected_pn - pn_hwin && candidate_pn < (1_i128 << 62) - pn_win {
            return candidate_pn + pn_win;
        }
        if candidate_pn > expected_pn + pn_hwin && candidate_pn >= pn_win {
            return candidate_pn - pn_win;
        }
        candidate_pn
    }

    #[test]
    fn the_example_of_appendix_a_3_decodes() {
        assert_eq!(decode(Some(0xa82f_30ea), 0x9b32, 2), 0xa82f_9b32);
    }

    #[test]
    fn the_first_packet_needs_no_predecessor() {
        assert_eq!(decode(None, 0, 1), 0);
        assert_eq!(decode(None, 2, 4), 2);
    }

    proptest! {
        #[test]
        fn any_number_decodes_as_the_rfc_says(largest in prop::option::of(0_u64..1 << 62), truncated: u32, bytes in 1_usize..=4) {
            let truncated = u64::from(truncated) & ((1_u64 << (8 * bytes)) - 1);
            let expected = decode_as_the_rfc_says(largest.map_or(-1, i128::from), i128::from(truncated), 8 * bytes as u32);
            prop_assert_eq!(i128::from(decode(largest, truncated, bytes)), expected);
        }

        #[test]
        fn a_number_near_the_expected_one_survives(largest in 0_u64..(1 << 62) - 70_000, ahead in 1_u64..30_000) {
            let number = largest + ahead;
            prop_assert_eq!(decode(Some(largest), number & 0xffff, 2), number);
        }
    }
}
