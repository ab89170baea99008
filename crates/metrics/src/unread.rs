//! Packets that were decrypted and whose frames could not be read to the end.

use std::collections::BTreeMap;

use quiclab_wire::{FrameError, Role};

/// Kinds of frames listed by name; a sender of nonsense has many.
const MOST_KINDS: usize = 8;
/// Types counted one by one; packets of others are counted together.
const MOST_TYPES: usize = 1_000;

/// Packets of one sender whose frames could not be read to the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnreadFrames {
    /// Packets that end in a frame of an unknown type, by type.
    unknown: BTreeMap<u64, u64>,
    /// Packets that end in a frame of a known type which is cut or contradicts itself, by type; `None`: even the type is cut.
    malformed: BTreeMap<Option<u64>, u64>,
    /// Packets that end in a frame of an unknown type beyond [`MOST_TYPES`].
    other_unknown: u64,
}

impl UnreadFrames {
    pub(crate) fn count(&mut self, error: &FrameError) {
        match error.frame_type {
            Some(frame_type) if !error.is_known_type => {
                if self.unknown.len() < MOST_TYPES || self.unknown.contains_key(&frame_type) {
                    *self.unknown.entry(frame_type).or_default() += 1;
                } else {
                    self.other_unknown += 1;
                }
            }
            other => *self.malformed.entry(other).or_default() += 1,
        }
    }

    pub(crate) fn packets_with_unknown(&self) -> u64 {
        self.unknown.values().sum::<u64>() + self.other_unknown
    }

    pub(crate) fn packets_with_malformed(&self) -> u64 {
        self.malformed.values().sum()
    }

    pub(crate) fn packets(&self) -> u64 {
        self.packets_with_unknown() + self.packets_with_malformed()
    }

    /// Which frames, who sent them, and in which share of the packets: one sentence without its end.
    pub(crate) fn in_words(&self, sender: Role, decrypted: u64) -> String {
        let mut kinds: Vec<(u64, String)> = Vec::new();
        kinds.extend(
            self.unknown.iter().map(|(frame_type, count)| (*count, format!("unknown frame type {frame_type}"))),
        );
        kinds.extend(self.malformed.iter().map(|(frame_type, count)| {
            let name = frame_type.map_or_else(
                || "a truncated frame type".to_owned(),
                |frame_type| format!("a malformed frame of type {frame_type}"),
            );
            (*count, name)
        }));
        kinds.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        let more = kinds.len().saturating_sub(MOST_KINDS);
        kinds.truncate(MOST_KINDS);
        let mut names: Vec<String> = kinds.into_iter().map(|(count, name)| format!("{name} in {count}")).collect();
        if more > 0 {
            let at_least = if self.other_unknown > 0 { "more than " } else { "" };
            names.push(format!("{at_least}{more} more kinds"));
        }
        format!(
            "{} of the {}'s {decrypted} decrypted packets ({:.1} %) could not be read to the end: {}",
            self.packets(),
            sender.name(),
            100.0 * self.packets() as f64 / decrypted.max(1) as f64,
            names.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_names_type_direction_and_share() {
        let mut unread = UnreadFrames::default();
        for _ in 0..373 {
            unread.count(&FrameError { offset: 0, frame_type: Some(757), is_known_type: false });
        }
        unread.count(&FrameError { offset: 3, frame_type: Some(2), is_known_type: true });
        assert_eq!(
            unread.in_words(Role::Client, 384),
            "374 of the client's 384 decrypted packets (97.4 %) could not be read to the end: unknown frame type 757 in 373, a \
             malformed frame of type 2 in 1"
        );
        assert_eq!((unread.packets_with_unknown(), unread.packets_with_malformed()), (373, 1));
    }

    #[test]
    fn a_sender_of_nonsense_fills_no_page() {
        let mut unread = UnreadFrames::default();
        for frame_type in 1_000..5_000 {
            unread.count(&FrameError { offset: 0, frame_type: Some(frame_type), is_known_type: false });
        }
        let words = unread.in_words(Role::Server, 4_000);
        assert!(words.len() < 500 && words.ends_with("more than 992 more kinds"), "{words}");
        assert_eq!((unread.packets_with_unknown(), unread.unknown.len()), (4_000, MOST_TYPES));
    }
}
