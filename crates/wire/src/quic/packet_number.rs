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

/// What is known of the numbers of one sender in one packet number space. Each field is one more than the largest number that it is
/// about: the number expected next, 0 where there is none.
///
/// A packet that the capture cut is not authenticated, and where its sender began or how many packets the capture missed before it is not
/// known. Its number is that of appendix A.3 only where a number that is certain says which range it is in: a sender encodes a number
/// so that it is less than half a window from the largest one that was acknowledged to it (appendix A.2).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers {
    /// One more than the largest number of packets that were decrypted.
    decrypted: u64,
    /// One more than the largest number of packets that the peer acknowledged, in a packet that was decrypted.
    acknowledged: u64,
    /// Counted on from the largest certain number, by the headers of cut packets.
    counted: u64,
}

impl Numbers {
    /// The numbers that a whole packet may have, the likeliest first. Decrypting it shows which.
    pub(crate) fn candidates(self, truncated: u64, bytes: usize) -> impl Iterator<Item = u64> {
        let [first, second, third] =
            [self.counted, self.decrypted, self.acknowledged].map(|next| decode(next.checked_sub(1), truncated, bytes));
        let others = [(second != first).then_some(second), (third != first && third != second).then_some(third)];
        std::iter::once(first).chain(others.into_iter().flatten())
    }

    /// The number of a packet that the capture cut. `None` where no certain number says which range it is in, or so many packets were
    /// seen since then that it may be in the next one.
    pub(crate) fn of_cut_packet(&mut self, truncated: u64, bytes: usize) -> Option<u64> {
        let counted = decode(self.counted.checked_sub(1), truncated, bytes);
        self.counted = self.counted.max(counted + 1);
        let certain = self.certain().checked_sub(1)?;
        (decode(Some(certain), truncated, bytes) == counted).then_some(counted)
    }

    /// A packet with this number was decrypted.
    pub(crate) fn on_decrypted(&mut self, number: u64) {
        let before = self.certain();
        self.decrypted = self.decrypted.max(number + 1);
        self.count_from(before);
    }

    /// The peer acknowledged this packet.
    pub(crate) fn on_acknowledged(&mut self, largest: u64) {
        let before = self.certain();
        self.acknowledged = self.acknowledged.max(largest + 1);
        self.count_from(before);
    }

    fn certain(self) -> u64 {
        self.decrypted.max(self.acknowledged)
    }

    fn count_from(&mut self, before: u64) {
        if self.certain() > before {
            self.counted = self.certain();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Numbers, decode};

    /// The test looks, with numbers of one byte, at the last packet that the window of a certain number reaches, and the first that it does
    /// not.
    #[test]
    fn a_cut_packet_has_a_number_as_far_as_the_window_of_a_certain_one_reaches() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.of_cut_packet(7, 1), None);
        numbers.on_acknowledged(999);
        let of = |number: u64, numbers: &mut Numbers| numbers.of_cut_packet(number & 0xff, 1);
        for number in 1_000..=1_128 {
            assert_eq!(of(number, &mut numbers), Some(number));
        }
        assert_eq!(of(1_129, &mut numbers), None);
        numbers.on_acknowledged(1_100);
        assert_eq!(of(1_130, &mut numbers), Some(1_130));
    }

    #[test]
    fn after_more_packets_than_a_window_numbers_stay_unknown_until_one_is_certain() {
        let mut numbers = Numbers::default();
        numbers.on_decrypted(1_000);
        let found: Vec<_> = (1_001..4_000).map(|number| (number, numbers.of_cut_packet(number & 0xff, 1))).collect();
        assert!(found[..129].iter().all(|(number, found)| *found == Some(*number)));
        assert!(found[129..].iter().all(|(_, found)| found.is_none()));
        numbers.on_decrypted(4_000);
        assert_eq!(numbers.of_cut_packet(4_001 & 0xff, 1), Some(4_001));
    }

    /// An ACK of packets that were never sent must not hide the packets that are.
    #[test]
    fn a_whole_packet_is_tried_beside_what_its_peer_claims_to_have_received() {
        let mut numbers = Numbers::default();
        numbers.on_decrypted(5);
        numbers.on_acknowledged(1 << 40);
        assert!(numbers.candidates(6, 1).any(|number| number == 6));
        let mut agreed = Numbers::default();
        agreed.on_decrypted(5);
        assert_eq!(agreed.candidates(6, 1).collect::<Vec<_>>(), [6]);
    }

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
        // RFC 9000 appendix A.3.
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
            // RFC 9000 section 17.1 and appendix A.3.
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
