//! Which train one side has and the other has not.

/// Trains of at most this many packets are no bursts; as in the metrics.
const SHORT: u64 = quiclab_metrics::SHORT_TRAIN_PACKETS;

/// A train that only one of two senders has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lonely {
    /// 0 or 1: who has it.
    pub side: usize,
    /// Index of its first packet among the sender's, counted from 0.
    pub first: u64,
    /// The train of each side: the lonely one, and the longest one of the other side with some of the same packets.
    pub trains: [usize; 2],
}

/// The longest train of a side, the first of several, and the longest one of the other side with some of the same packets; `None` where it
/// is no longer than that.
pub fn longest(sides: [&[u64]; 2], side: usize) -> Option<Lonely> {
    let spans = sides.map(spans);
    let (place, &(first, length)) =
        spans[side].iter().enumerate().max_by_key(|(place, (_, length))| (*length, usize::MAX - place))?;
    let counterpart = counterpart(&spans[1 - side], first, length)?;
    (counterpart.1 < length).then_some(Lonely { side, first, trains: in_order(side, place, counterpart.0) })
}

/// The first long train, by the number of its first packet, of which the other side sent the same packets in trains of at most half its
/// length. Trains are given by their lengths, in order.
pub fn first_lonely(sides: [&[u64]; 2]) -> Option<Lonely> {
    let spans = sides.map(spans);
    let candidates = [0, 1].map(|side| {
        let (own, others) = (&spans[side], &spans[1 - side]);
        let mut long = own.iter().enumerate().filter(|(_, (_, length))| *length > SHORT);
        long.find_map(|(place, &(first, length))| {
            let longest = counterpart(others, first, length)?;
            let is_lonely = longest.1 * 2 <= length;
            is_lonely.then_some(Lonely { side, first, trains: in_order(side, place, longest.0) })
        })
    });
    candidates.into_iter().flatten().min_by_key(|lonely| lonely.first)
}

/// Place and length of the longest of these trains, the first of several, that has packets of a train of the other side.
fn counterpart(others: &[(u64, u64)], start: u64, length: u64) -> Option<(usize, u64)> {
    // Trains follow one another without a hole, so both ends are found by halving.
    let from = others.partition_point(|(other, length)| other + length <= start);
    let until = others.partition_point(|(other, _)| *other < start + length);
    let overlapping = (from..until).map(|place| (place, others[place].1));
    overlapping.max_by_key(|(place, length)| (*length, usize::MAX - place))
}

fn in_order(side: usize, own: usize, other: usize) -> [usize; 2] {
    if side == 0 { [own, other] } else { [other, own] }
}

/// Index of the first packet and length of each train.
fn spans(lengths: &[u64]) -> Vec<(u64, u64)> {
    let mut start = 0;
    let span = |length: &u64| {
        let span = (start, *length);
        start += length;
        span
    };
    lengths.iter().map(span).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_senders_have_no_lonely_train() {
        assert_eq!(first_lonely([&[10, 1, 1, 16], &[10, 1, 1, 16]]), None);
    }

    #[test]
    fn a_burst_that_the_other_sends_apart_is_found_with_its_counterpart() {
        // Packets 12 to 27 are one train of A; B sends them as 4, 4, 8.
        let found = first_lonely([&[10, 1, 1, 16, 2], &[10, 1, 1, 4, 4, 8, 2]]);
        assert_eq!(found, Some(Lonely { side: 0, first: 12, trains: [3, 5] }));
        let mirrored = first_lonely([&[10, 1, 1, 4, 4, 8, 2], &[10, 1, 1, 16, 2]]);
        assert_eq!(mirrored, Some(Lonely { side: 1, first: 12, trains: [5, 3] }));
    }

    #[test]
    fn ten_times_as_many_trains_take_ten_times_as_long_and_not_a_hundred_times() {
        // CPU time of this thread: what else the machine does is no part of it.
        let used = || std::time::Duration::from(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID.now().unwrap());
        let search = |trains: usize| {
            let lengths = vec![8_u64; trains];
            let once = || {
                let before = used();
                assert_eq!(first_lonely([&lengths, &lengths]), None);
                used() - before
            };
            (0..5).map(|_| once()).min().unwrap()
        };
        let (few, many) = (search(10_000), search(100_000));
        assert!(many < 40 * few, "{few:?} for 10,000 trains, {many:?} for 100,000");
    }

    #[test]
    fn half_the_length_is_another_train_and_more_is_not() {
        assert!(first_lonely([&[12], &[6, 6]]).is_some());
        assert_eq!(first_lonely([&[12], &[7, 5]]), None);
    }

    #[test]
    fn the_longest_train_of_a_side_is_found_with_its_counterpart() {
        // Packets 12 to 27 of A are 4, 4 and 8 of B, whose own longest train, its first, is the same in A.
        let sides: [&[u64]; 2] = [&[10, 1, 1, 16, 2], &[10, 1, 1, 4, 4, 8, 2]];
        assert_eq!(longest(sides, 0), Some(Lonely { side: 0, first: 12, trains: [3, 5] }));
        assert_eq!(longest(sides, 1), None);
        assert_eq!(longest([sides[1], sides[0]], 1), Some(Lonely { side: 1, first: 12, trains: [5, 3] }));
    }

    #[test]
    fn short_trains_are_not_looked_at_nor_what_the_other_never_sent() {
        assert_eq!(first_lonely([&[5], &[1, 1, 1, 1, 1]]), None);
        assert_eq!(first_lonely([&[1, 16], &[1]]), None);
    }

    #[test]
    fn the_earlier_of_both_sides_is_first() {
        let found = first_lonely([&[1, 1, 1, 1, 1, 1, 8], &[6, 2, 2, 2, 2]]);
        assert_eq!(found.map(|lonely| (lonely.side, lonely.first)), Some((1, 0)));
    }
}
