//! Which packets of a listing are shown.

use std::collections::BTreeSet;

use quiclab_units::Duration;
use quiclab_wire::Role;

use super::row::{Fate, Row};

/// Conditions that a packet must meet to be shown: all of them. Of several fates or frames one is enough.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The end that sent it.
    pub sender: Option<Role>,
    /// Fates of which it has one; empty: any fate, also an unknown one.
    pub fates: BTreeSet<Fate>,
    /// Names of frames in it, in any case, such as `ACK` or `max_data`.
    pub frames: Vec<String>,
    /// The shortest gap before it.
    pub gap: Option<Duration>,
}

impl Filter {
    /// Whether every packet passes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a packet passes.
    pub fn passes(&self, row: &Row) -> bool {
        let has_frame = |wanted: &String| row.frames.iter().any(|name| name.eq_ignore_ascii_case(wanted));
        self.sender.is_none_or(|sender| sender.name() == row.sender)
            && (self.fates.is_empty() || row.fate().is_some_and(|fate| self.fates.contains(&fate)))
            && (self.frames.is_empty() || self.frames.iter().any(has_frame))
            && self.gap.is_none_or(|gap| row.gap_ns.is_some_and(|found| found >= gap.as_nanos()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        Row {
            frame: 1,
            time_ns: 0,
            gap_ns: Some(1000),
            flow: 0,
            sender: "server",
            bytes: 100,
            bytes_in_flight: None,
            acknowledged_after_ns: None,
            is_lost: None,
            is_dropped: None,
            behind_bottleneck_after_ns: None,
            frames: vec!["ack", "stream"],
            content: String::new(),
        }
    }

    fn passes(filter: Filter, row: &Row) -> bool {
        filter.passes(row)
    }

    #[test]
    fn without_conditions_everything_passes() {
        assert!(Filter::default().is_empty() && Filter::default().passes(&row()));
    }

    #[test]
    fn sender_and_gap_are_compared() {
        for (sender, expected) in [(Role::Server, true), (Role::Client, false)] {
            assert_eq!(passes(Filter { sender: Some(sender), ..Filter::default() }, &row()), expected);
        }
        for (nanoseconds, expected) in [(999, true), (1000, true), (1001, false)] {
            let filter = Filter { gap: Some(Duration::from_nanos(nanoseconds)), ..Filter::default() };
            assert_eq!(passes(filter.clone(), &row()), expected, "{nanoseconds}");
            assert!(!passes(filter, &Row { gap_ns: None, ..row() }), "a first packet has no gap");
        }
    }

    #[test]
    fn one_of_several_frames_is_enough_in_any_case() {
        let of =
            |names: &[&str]| Filter { frames: names.iter().map(ToString::to_string).collect(), ..Filter::default() };
        assert!(of(&["ACK"]).passes(&row()) && of(&["crypto", "Stream"]).passes(&row()));
        assert!(!of(&["crypto"]).passes(&row()) && !of(&["str"]).passes(&row()));
    }

    #[test]
    fn fates_are_those_of_the_table() {
        let of = |fates: &[Fate]| Filter { fates: fates.iter().copied().collect(), ..Filter::default() };
        let dropped = Row { is_dropped: Some(true), is_lost: Some(true), ..row() };
        let late = Row { is_lost: Some(true), acknowledged_after_ns: Some(5), ..row() };
        let lost = Row { is_lost: Some(true), ..row() };
        let acknowledged = Row { is_lost: Some(false), acknowledged_after_ns: Some(5), ..row() };
        let rows =
            [(&dropped, Fate::Dropped), (&lost, Fate::Lost), (&late, Fate::Late), (&acknowledged, Fate::Acknowledged)];
        for (row, fate) in rows {
            for (_, other) in rows {
                assert_eq!(of(&[other]).passes(row), fate == other, "{fate:?} {other:?}");
            }
            assert!(of(&[Fate::Late, fate]).passes(row));
            assert!(!of(&[fate]).passes(&self::row()), "the fate of this one is not known");
        }
    }
}
