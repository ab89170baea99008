//! Whether tables that each saw some of a capture's address pairs know the flows that one table of all would know.
//!
//! Flows of different address pairs meet in one place only: the table of connection IDs, by which a connection is found
//! again at other addresses. Tables of parts of a capture are therefore right unless one of them looks for an ID that only
//! another one has. That is rare (a connection must move, or IDs of a byte or two must collide), so it is checked afterwards.

use std::collections::BTreeSet;

use crate::quic::ConnectionId;

/// Lookups without a result that are remembered. Beyond them nothing is certain.
const MOST_MISSES: usize = 4_096;

/// Lookups of connection IDs that found nothing, each with its tap.
#[derive(Default)]
pub(crate) struct Misses {
    /// Connection IDs of long headers.
    ids: BTreeSet<(u32, ConnectionId)>,
    /// Bytes of short headers that may begin with a connection ID.
    beginnings: BTreeSet<(u32, ConnectionId)>,
    are_too_many: bool,
}

impl Misses {
    pub(crate) fn add_id(&mut self, tap: u32, id: ConnectionId) {
        if self.has_room() {
            self.ids.insert((tap, id));
        }
    }

    pub(crate) fn add_beginning(&mut self, tap: u32, bytes: ConnectionId) {
        if self.has_room() {
            self.beginnings.insert((tap, bytes));
        }
    }

    fn has_room(&mut self) -> bool {
        self.are_too_many |= self.ids.len() + self.beginnings.len() >= MOST_MISSES;
        !self.are_too_many
    }
}

/// What one part knows and looked for.
pub(crate) struct Part<'a> {
    /// Every connection ID with its tap, in any order.
    pub(crate) ids: Vec<(u32, ConnectionId)>,
    pub(crate) misses: &'a Misses,
}

/// Whether no part would have found something else with the IDs of the others at hand.
pub(crate) fn are_independent(parts: &[Part]) -> bool {
    let mut ids: Vec<(u32, ConnectionId, usize)> = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        ids.extend(part.ids.iter().map(|(tap, id)| (*tap, *id, index)));
    }
    ids.sort_unstable_by(|one, other| (one.0, one.1.as_bytes(), one.2).cmp(&(other.0, other.1.as_bytes(), other.2)));
    // An ID that a part found can be that of another part too, or the beginning of one: the longest counts.
    let mut beginnings: Vec<(u32, ConnectionId, usize)> = Vec::new();
    for id in &ids {
        beginnings.retain(|(tap, beginning, _)| *tap == id.0 && id.1.as_bytes().starts_with(beginning.as_bytes()));
        if beginnings.iter().any(|(_, _, part)| *part != id.2) {
            return false;
        }
        beginnings.push(*id);
    }
    let has_other = |tap: u32, bytes: &[u8], part: usize| {
        let place = ids.partition_point(|id| (id.0, id.1.as_bytes()) < (tap, bytes));
        ids[place..].iter().take_while(|id| (id.0, id.1.as_bytes()) == (tap, bytes)).any(|id| id.2 != part)
    };
    parts.iter().enumerate().all(|(index, part)| {
        let misses = part.misses;
        let mut beginnings = misses.beginnings.iter();
        !misses.are_too_many
            && !misses.ids.iter().any(|(tap, id)| has_other(*tap, id.as_bytes(), index))
            && !beginnings.any(|(tap, bytes)| {
                let bytes = bytes.as_bytes();
                (1..=bytes.len()).any(|length| has_other(*tap, &bytes[..length], index))
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(bytes: &[u8]) -> ConnectionId {
        ConnectionId::new(bytes).unwrap()
    }

    fn check(known: [&[&[u8]]; 2], missed_by_first: Option<Missed>) -> bool {
        let mut misses = [Misses::default(), Misses::default()];
        match missed_by_first {
            Some(Missed::Id(tap, bytes)) => misses[0].add_id(tap, id(bytes)),
            Some(Missed::Beginning(tap, bytes)) => misses[0].add_beginning(tap, id(bytes)),
            None => {}
        }
        let parts = known.iter().zip(&misses).map(|(known, misses)| {
            let ids = known.iter().map(|bytes| (0, id(bytes))).collect();
            Part { ids, misses }
        });
        are_independent(&parts.collect::<Vec<_>>())
    }

    enum Missed {
        Id(u32, &'static [u8]),
        Beginning(u32, &'static [u8]),
    }

    #[test]
    fn parts_with_ids_of_their_own_are_independent() {
        assert!(check([&[b"one", b"onetwo"], &[b"three", b"four"]], None));
        assert!(check([&[b"one"], &[b"two"]], Some(Missed::Id(0, b"three"))));
        assert!(check([&[b"one"], &[b"two"]], Some(Missed::Beginning(0, b"tw"))));
    }

    #[test]
    fn an_id_in_two_parts_or_at_the_beginning_of_anothers_is_a_conflict() {
        assert!(!check([&[b"one", b"same"], &[b"two", b"same"]], None));
        assert!(!check([&[b"on"], &[b"one"]], None));
        // With others between them in alphabetical order.
        assert!(!check([&[b"o", b"oa", b"ob"], &[b"oc"]], None));
    }

    #[test]
    fn what_one_part_missed_and_another_knows_is_a_conflict() {
        assert!(!check([&[], &[b"two"]], Some(Missed::Id(0, b"two"))));
        assert!(!check([&[], &[b"two"]], Some(Missed::Beginning(0, b"two and more"))));
        // At another tap it is another connection.
        assert!(check([&[], &[b"two"]], Some(Missed::Id(1, b"two"))));
    }

    #[test]
    fn more_misses_than_are_remembered_are_a_conflict() {
        let mut misses = Misses::default();
        for number in 0..=MOST_MISSES as u32 {
            let parts = [Part { ids: Vec::new(), misses: &misses }];
            assert!(are_independent(&parts));
            misses.add_id(0, id(&number.to_be_bytes()));
        }
        assert!(!are_independent(&[Part { ids: Vec::new(), misses: &misses }]));
    }
}
