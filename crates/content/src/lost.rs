//! Which bytes of handshake messages and streams were lost in a run, and whether two runs lost the same.
//!
//! "Same loss" is easily claimed and hard to see: two stacks, or one stack in two modes, put the same bytes into different datagrams. Here it is a
//! matter of bytes: which ones were lost, of whom, and how many times.

use std::collections::{BTreeMap, BTreeSet};

use quiclab_path::content::{Content, Data, DataKind, Direction};

/// The CRYPTO and STREAM bytes that were lost in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Pieces of each sender and stream of bytes, in order, which do not overlap.
    pieces: BTreeMap<(Direction, DataKind), Vec<Piece>>,
    /// Lost datagrams that could not be read to the end, so that something may be missing in `pieces`.
    unread: u64,
}

/// Bytes that were lost equally often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    from: u64,
    to: u64,
    times: u64,
}

/// Bytes that two runs did not lose equally often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Direction in which the bytes were on their way.
    pub direction: Direction,
    /// The bytes.
    pub data: Data,
    /// How many times the first run lost them, and the second one.
    pub times: [u64; 2],
}

impl Lost {
    /// Sums up the datagrams that were dropped: of each the direction, the bytes that it held, and whether it was read to the end.
    pub fn of(drops: impl IntoIterator<Item = (Direction, Vec<Data>, bool)>) -> Self {
        let mut ranges: BTreeMap<(Direction, DataKind), Vec<(u64, u64)>> = BTreeMap::new();
        let mut unread = 0;
        for (direction, data, is_read) in drops {
            unread += u64::from(!is_read);
            for data in data.into_iter().filter(|data| data.from < data.to) {
                ranges.entry((direction, data.kind)).or_default().push((data.from, data.to));
            }
        }
        let pieces = ranges.into_iter().map(|(place, ranges)| (place, pieces(&ranges))).collect();
        Self { pieces, unread }
    }

    /// The same from contents.
    pub fn of_contents<'a>(contents: impl IntoIterator<Item = &'a Content>) -> Self {
        Self::of(contents.into_iter().map(|content| (content.direction, content.data().collect(), content.is_read())))
    }

    /// True where no byte was lost that is known.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Lost datagrams that could not be read to the end. With any, what was lost is not known exactly.
    pub fn unread(&self) -> u64 {
        self.unread
    }

    /// The bytes in words, by sender: `client handshake crypto 0..36`, `server stream 0 0..1200 (2 times)`.
    pub fn lines(&self) -> Vec<String> {
        let of_one = |(&(direction, kind), pieces): (&(Direction, DataKind), &Vec<Piece>)| {
            let line = move |piece: &Piece| {
                let data = Data { kind, from: piece.from, to: piece.to };
                let times = if piece.times == 1 { String::new() } else { format!(" ({} times)", piece.times) };
                format!("{} {data}{times}", direction.sender())
            };
            pieces.iter().map(line).collect::<Vec<_>>()
        };
        self.pieces.iter().flat_map(of_one).collect()
    }

    /// The bytes that another run did not lose equally often. Without any, both runs lost the same information, as far as it could be read
    /// ([`Self::unread`]).
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let none = Vec::new();
        let places: BTreeSet<_> = self.pieces.keys().chain(other.pieces.keys()).copied().collect();
        let mut differences = Vec::new();
        for place @ (direction, kind) in places {
            let both = [self, other].map(|lost| lost.pieces.get(&place).unwrap_or(&none));
            for (from, to) in parts(&both) {
                let times = both.map(|pieces| {
                    pieces.iter().find(|piece| piece.from <= from && to <= piece.to).map_or(0, |piece| piece.times)
                });
                if times[0] != times[1] {
                    differences.push(Difference { direction, data: Data { kind, from, to }, times });
                }
            }
        }
        differences
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let times = |times: u64| if times == 1 { "once".to_owned() } else { format!("{times} times") };
        let [first, second] = self.times.map(times);
        write!(f, "{} {}: lost {first} in the first run, {second} in the second", self.direction.sender(), self.data)
    }
}

/// How often each byte is covered.
fn pieces(ranges: &[(u64, u64)]) -> Vec<Piece> {
    let mut edges: BTreeMap<u64, i64> = BTreeMap::new();
    for (from, to) in ranges {
        *edges.entry(*from).or_default() += 1;
        *edges.entry(*to).or_default() -= 1;
    }
    let mut pieces: Vec<Piece> = Vec::new();
    let (mut from, mut times) = (0, 0);
    for (to, change) in edges {
        if times > 0 {
            let count = times as u64;
            match pieces.last_mut() {
                Some(last) if last.to == from && last.times == count => last.to = to,
                _ => pieces.push(Piece { from, to, times: count }),
            }
        }
        times += change;
        from = to;
    }
    pieces
}

/// Ranges that lie in one piece of each, or in none.
fn parts(both: &[&Vec<Piece>; 2]) -> Vec<(u64, u64)> {
    let edges: BTreeSet<u64> = both.iter().flat_map(|pieces| pieces.iter().flat_map(|it| [it.from, it.to])).collect();
    let edges: Vec<u64> = edges.into_iter().collect();
    edges.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Drops of `(to the client?, data)`.
    fn lost(drops: &[(bool, &str)]) -> Lost {
        Lost::of(drops.iter().map(|(to_client, data)| {
            let direction = if *to_client { Direction::ToClient } else { Direction::ToServer };
            (direction, vec![data.parse().unwrap()], true)
        }))
    }

    #[test]
    fn the_same_bytes_in_other_datagrams_are_the_same_loss() {
        let one = lost(&[(true, "initial crypto 0..90"), (true, "handshake crypto 0..1000")]);
        let other = lost(&[
            (true, "handshake crypto 600..1000"),
            (true, "initial crypto 0..90"),
            (true, "handshake crypto 0..600"),
        ]);
        assert_eq!(one, other);
        assert_eq!(one.differences(&other), []);
        assert_eq!(one.lines(), ["server initial crypto 0..90", "server handshake crypto 0..1000"]);
    }

    #[test]
    fn other_bytes_another_sender_and_another_number_of_losses_are_different() {
        let one = lost(&[(false, "handshake crypto 0..36"), (false, "stream 0 0..10"), (false, "stream 0 5..20")]);
        let other = lost(&[(true, "handshake crypto 0..36"), (false, "stream 0 0..20")]);
        assert_eq!(
            one.lines(),
            [
                "client handshake crypto 0..36",
                "client stream 0 0..5",
                "client stream 0 5..10 (2 times)",
                "client stream 0 10..20"
            ]
        );
        let words: Vec<_> = one.differences(&other).iter().map(Difference::to_string).collect();
        assert_eq!(
            words,
            [
                "server handshake crypto 0..36: lost 0 times in the first run, once in the second",
                "client handshake crypto 0..36: lost once in the first run, 0 times in the second",
                "client stream 0 5..10: lost 2 times in the first run, once in the second",
            ]
        );
    }

    #[test]
    fn what_could_not_be_read_is_counted() {
        let lost = Lost::of([(Direction::ToClient, Vec::new(), false), (Direction::ToClient, Vec::new(), true)]);
        assert_eq!((lost.unread(), lost.is_empty()), (1, true));
    }

    proptest! {
        #[test]
        fn differences_name_exactly_the_bytes_that_differ(
            both in prop::array::uniform2(prop::collection::vec((0u64..40, 0u64..12), 0..8))
        ) {
            let mut counts = [[0u64; 60]; 2];
            for (count, ranges) in counts.iter_mut().zip(&both) {
                for (from, length) in ranges {
                    count[*from as usize..(from + length) as usize].iter_mut().for_each(|times| *times += 1);
                }
            }
            let kind = DataKind::Stream(0);
            let [one, other] = both.map(|ranges| {
                let data = |(from, length): (u64, u64)| Data { kind, from, to: from + length };
                Lost::of([(Direction::ToClient, ranges.into_iter().map(data).collect(), true)])
            });
            let mut named = [false; 60];
            for Difference { data, times, .. } in one.differences(&other) {
                for byte in data.from..data.to {
                    prop_assert_eq!(times, counts.map(|count| count[byte as usize]));
                    named[byte as usize] = true;
                }
            }
            for byte in 0..60 {
                prop_assert_eq!(named[byte], counts[0][byte] != counts[1][byte]);
            }
            prop_assert_eq!(one.differences(&other).is_empty(), one == other);
        }
    }
}
