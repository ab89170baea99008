//! What travels: its length, its flow, its mark, and whatever the caller attached to it.

use crate::edits::Edits;

/// The two bits of Explicit Congestion Notification (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The transport does not understand marks: a queue drops instead.
    #[default]
    NotCapable,
    /// ECT(0) or ECT(1).
    Capable,
    /// A queue has marked it.
    CongestionExperienced,
}

/// A packet on its way through a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<P> {
    /// Length in bytes as the path counts it; more than 0.
    pub bytes: u32,
    /// Packets with the same number belong together: fair queues keep them apart from others.
    pub flow: u64,
    /// Its mark.
    pub ecn: Ecn,
    /// Its place among the packets that entered this direction of the path, from 1; a copy keeps the number of the original.
    pub number: u64,
    /// True once a bit of it was flipped on the way.
    pub is_corrupt: bool,
    /// Changes of its bytes; see [`Packet::edits_mut`].
    pub edits: Option<Box<Edits>>,
    /// What the path does not look at.
    pub payload: P,
}

impl<P> Packet<P> {
    /// A packet that has not entered a path yet: unmarked, whole, without a number.
    pub fn new(bytes: u32, flow: u64, ecn: Ecn, payload: P) -> Self {
        Self { bytes, flow, ecn, number: 0, is_corrupt: false, edits: None, payload }
    }

    /// The changes of its bytes, for a stage to add one.
    pub fn edits_mut(&mut self) -> &mut Edits {
        self.edits.get_or_insert_default()
    }
}
