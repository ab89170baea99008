//! What a path promises, in plain numbers: the settings of its stages, as far as a law follows from them.

use quiclab_units::Duration;

/// The path to be audited: where its taps are, and what it promises between them.
#[derive(Clone, Debug)]
pub struct AuditedPath {
    /// Name and interface number of the tap at the sender, then of the tap at its receiver.
    pub taps: [(String, u32); 2],
    /// Whether the tap at the sender is at the server, as for downloads.
    pub sender_is_server: bool,
    /// UDP or TCP port of the server.
    pub server_port: u16,
    /// How exact the times are.
    pub timing: Timing,
    /// The rules for packets to the client, then to the server.
    pub directions: [Rules; 2],
}

/// One direction.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// The stages in the order in which packets pass them.
    pub stages: Vec<Stage>,
    /// The account of the stages; `None` where nobody counted.
    pub account: Option<Account>,
}

/// One stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Name of the stage, for messages.
    pub name: String,
    /// The changes that it may make to packets.
    pub kind: StageKind,
}

/// The changes that a stage may make to packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StageKind {
    /// Packets wait.
    Wait {
        /// Shortest time.
        at_least: Duration,
        /// Every packet waits exactly so long.
        is_constant: bool,
        /// No packet overtakes another one.
        keeps_order: bool,
    },
    /// Packets wait for the rate right behind.
    Hold {
        /// Shortest time.
        at_least: Duration,
        /// Most that it holds.
        limit: Limit,
        /// The packet that waits for tokens counts. One that is being sent never does.
        counts_held: bool,
        /// No packet overtakes another one; otherwise none of its own flow.
        keeps_order: bool,
    },
    /// Packets leave at a rate.
    Pace {
        /// Bits of frames, with their Ethernet header, in a second; more than 0.
        bits_per_second: u64,
        /// Depth of the token bucket in bytes; `None` for a link that sends one packet after the other.
        burst_bytes: Option<u64>,
    },
    /// Packets leave at a rate that the auditor cannot follow.
    PaceUnknown {
        /// Why it cannot.
        why: String,
    },
    /// Packets are lost and nothing else.
    Lose,
    /// Packets are copied.
    Copy,
    /// Bytes change.
    Change,
    /// Addresses change.
    Translate,
}

/// How much a queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The queue holds this number of packets.
    Packets(u64),
    /// The queue holds this number of bytes of frames.
    Bytes(u64),
}

/// How exact the times at the taps are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// A packet enters the first stage, and has left the last one, at the very time of the taps. Otherwise it enters later than the first tap
    /// says, by an unknown time, and leaves earlier than the second one says: a time can then be too early, but not too late.
    pub is_exact: bool,
    /// The time that the bits of a packet take is rounded down for each packet alone, by less than 2 ns: 1 ns for whole nanoseconds, and 1 ns
    /// for the kernel's division by a multiplication and a shift. Otherwise the remainder is carried from packet to packet.
    pub rounds_each_packet: bool,
    /// Both in a sentence.
    pub in_words: String,
}

/// What the stages of a direction counted, together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Packets dropped.
    pub dropped: u64,
    /// Packets that were in a stage at the end.
    pub waiting: u64,
    /// Copies made; `None` where copies are made and nobody counts them.
    pub copied: Option<u64>,
    /// Packets marked.
    pub marked: u64,
    /// Packets whose bytes changed.
    pub changed: u64,
    /// Every drop, where all are listed.
    pub listed: Option<Vec<ListedDrop>>,
    /// Why the counters do not belong to the end of the capture; `None` where they do.
    pub is_not_final: Option<String>,
}

/// A packet that a stage lists as dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedDrop {
    /// Place among the packets that entered the direction, from 1.
    pub packet: u64,
    /// Length of its frame.
    pub bytes: u32,
    /// Name of the stage.
    pub stage: String,
}

impl StageKind {
    /// Whether no packet overtakes another one.
    pub(crate) fn keeps_order(&self) -> bool {
        match self {
            Self::Wait { keeps_order, .. } | Self::Hold { keeps_order, .. } => *keeps_order,
            _ => true,
        }
    }

    /// The time that each packet spends here, where that is the same for all.
    pub(crate) fn constant_delay(&self) -> Option<Duration> {
        match self {
            Self::Wait { at_least, is_constant: true, .. } => Some(*at_least),
            Self::Lose | Self::Copy | Self::Change | Self::Translate => Some(Duration::ZERO),
            _ => None,
        }
    }

    /// The shortest time that a packet spends here, apart from a rate.
    pub(crate) fn least_delay(&self) -> Duration {
        match self {
            Self::Wait { at_least, .. } | Self::Hold { at_least, .. } => *at_least,
            _ => Duration::ZERO,
        }
    }
}

impl Rules {
    /// Whether a stage is of a kind.
    pub(crate) fn any(&self, is_it: impl Fn(&StageKind) -> bool) -> bool {
        self.stages.iter().any(|stage| is_it(&stage.kind))
    }

    /// The sum of what each of these stages delays every packet by; otherwise the name of the first one that does not delay all alike.
    pub(crate) fn constant_delay(stages: &[Stage]) -> Result<Duration, &str> {
        stages.iter().try_fold(Duration::ZERO, |sum, stage| {
            stage.kind.constant_delay().map(|delay| sum + delay).ok_or(stage.name.as_str())
        })
    }
}
