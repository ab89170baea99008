//! What moved a run's packets between the hosts, and what became of them there.

pub(crate) mod html;

use quiclab_agent_protocol::{forwarder::Lateness, stage::StageSeen};

/// What became of the packets of one run on the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathSummary {
    /// What moved them.
    pub mover: Mover,
    /// What is to be known of the clocks of several hosts and of what stamped the packets, in sentences; empty on one host.
    pub clocks: Vec<String>,
    /// The stages that they passed, those towards the client first.
    pub stages: Vec<StageSummary>,
    /// The first packets that were dropped, in the order of time; empty where the record does not list them.
    pub drops: Vec<DropSummary>,
    /// Packets that were dropped beyond those.
    pub drops_not_listed: u64,
}

impl PathSummary {
    /// Whether the run was simulated: then writing a log takes an endpoint no time.
    pub(crate) fn is_simulated(&self) -> bool {
        self.mover == Mover::Simulator
    }
}

/// What moved packets through the stages of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mover {
    /// The kernel's queueing disciplines, and why.
    Kernel(String),
    /// quiclab itself, in user space.
    Forwarder {
        /// Why.
        why: String,
        /// Whether its thread ran with a real-time priority.
        is_realtime: bool,
        /// How much later than planned packets left; `None` where none did.
        lateness: Option<Lateness>,
    },
    /// The simulator.
    Simulator,
}

/// One stage of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageSummary {
    /// Direction and name of the stage: `to_client.loss`.
    pub place: String,
    /// The rule by which it drops datagrams for what they hold, as experiment files have it; `None` where it has none.
    pub rule: Option<String>,
    /// What the stage did.
    pub seen: StageSeen,
}

/// A packet that was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropSummary {
    /// When, since the path's own start.
    pub time_ns: u64,
    /// The stage, as [`StageSummary::place`].
    pub place: String,
    /// Why, such as `queue_full`.
    pub cause: String,
    /// What it held, in words; `None` where it was not read.
    pub held: Option<String>,
}

impl PathSummary {
    /// Whether some stage drops datagrams for what they hold.
    pub fn has_rules(&self) -> bool {
        self.stages.iter().any(|stage| stage.rule.is_some())
    }
}

impl Mover {
    /// A word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Kernel(_) => "kernel",
            Self::Forwarder { .. } => "forwarder",
            Self::Simulator => "simulator",
        }
    }

    /// Why it was this one; nothing of the simulator, which has no other.
    pub fn why(&self) -> &str {
        match self {
            Self::Kernel(why) | Self::Forwarder { why, .. } => why,
            Self::Simulator => "",
        }
    }
}
