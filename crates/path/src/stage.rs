//! What every stage of a path can do, and what becomes of packets in it.

use quiclab_units::{Duration, Time};

pub use crate::backlog::Backlog;

use crate::{
    edits::ByteChange,
    loss::rule_report::RuleReport,
    packet::{Ecn, Packet},
    usage::Usage,
};

/// One stage of one direction of a path: packets go in, and come out later, changed, or not at all.
///
/// Time only ever grows from call to call. A stage that keeps packets says when it wants to be called next; one that does not never does.
pub trait Stage<P> {
    /// Its name, unique within a pipeline; the stream of its random numbers is derived from it.
    fn name(&self) -> &'static str;

    /// Takes in a packet.
    fn handle_packet(&mut self, now: Time, packet: Packet<P>, out: &mut Out<P>);

    /// When [`Stage::handle_timeout`] is to be called; `None` where nothing waits.
    fn next_time(&self) -> Option<Time> {
        None
    }

    /// Does what is due at `now`, which is what [`Stage::next_time`] said.
    fn handle_timeout(&mut self, _now: Time, _out: &mut Out<P>) {}

    /// What every packet spends in it at least. With it a pipeline need not be called before a packet can leave it.
    fn least_delay(&self) -> Duration {
        Duration::ZERO
    }

    /// What waits in it.
    fn backlog(&self) -> Backlog {
        Backlog::default()
    }

    /// What the rule of a loss by content did; `None` of other stages.
    fn rule(&self) -> Option<RuleReport> {
        None
    }

    /// How a link was used up to `now`, if everything due by then was done; `None` of other stages.
    fn usage(&self, _now: Time) -> Option<Usage> {
        None
    }
}

/// Lists the causes, each with its name in reports.
macro_rules! causes {
    ($($(#[$doc:meta])+ $cause:ident = $name:literal,)+) => {
        /// Why a packet was dropped.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum DropCause {
            $($(#[$doc])+ $cause,)+
        }

        impl DropCause {
            /// Every cause.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$cause),+];

            /// Returns the name of the cause in reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$cause => $name,)+
                }
            }
        }
    };
}

causes! {
    /// The queue had no room for it, or it had to make room for another.
    QueueFull = "queue_full",
    /// A queue that is not full yet wanted its sender to slow down.
    Early = "early",
    /// Independent random loss.
    RandomLoss = "random_loss",
    /// Random loss in bursts.
    BurstLoss = "burst_loss",
    /// Its number was on a list.
    Listed = "listed",
    /// It is longer than the bucket is deep.
    TooLong = "too_long",
    /// A rule asked for it.
    Rule = "rule",
    /// A rule by what datagrams hold asked for it.
    Content = "content",
    /// It was sent to an address or a port that an address translator has given up.
    Rebound = "rebound",
}

/// What a stage hands back: packets that leave it now, and those that never will.
#[derive(Debug)]
pub struct Out<P> {
    /// Packets that leave now, in order.
    pub(crate) passed: Vec<Packet<P>>,
    /// What became of others.
    pub(crate) fates: Fates<P>,
}

/// Drops, marks, copies and flipped bits since they were last looked at.
#[derive(Debug)]
pub struct Fates<P> {
    pub(crate) dropped: Vec<(Packet<P>, DropCause)>,
    pub(crate) marked: u64,
    pub(crate) copied: u64,
    pub(crate) corrupted: u64,
}

impl<P> Default for Out<P> {
    fn default() -> Self {
        Self { passed: Vec::new(), fates: Fates::default() }
    }
}

impl<P> Default for Fates<P> {
    fn default() -> Self {
        Self { dropped: Vec::new(), marked: 0, copied: 0, corrupted: 0 }
    }
}

impl<P> Out<P> {
    /// `packet` leaves the stage now.
    pub fn pass(&mut self, packet: Packet<P>) {
        self.passed.push(packet);
    }

    /// A copy of a packet leaves the stage now.
    pub fn pass_copy(&mut self, copy: Packet<P>) {
        self.fates.copied += 1;
        self.passed.push(copy);
    }

    /// A packet with flipped bits leaves the stage now.
    pub fn pass_corrupted(&mut self, mut packet: Packet<P>) {
        self.fates.corrupted += 1;
        packet.is_corrupt = true;
        self.passed.push(packet);
    }

    /// A packet with another byte leaves the stage now.
    pub fn pass_changed(&mut self, mut packet: Packet<P>, change: ByteChange) {
        self.fates.corrupted += 1;
        packet.edits_mut().bytes.push(change);
        self.passed.push(packet);
    }

    /// `packet` goes no further.
    pub fn drop(&mut self, packet: Packet<P>, cause: DropCause) {
        self.fates.drop(packet, cause);
    }
}

impl<P> Fates<P> {
    /// `packet` goes no further.
    pub fn drop(&mut self, packet: Packet<P>, cause: DropCause) {
        self.dropped.push((packet, cause));
    }

    /// What was dropped since it was last looked at, and why.
    pub fn dropped(&self) -> impl Iterator<Item = (&Packet<P>, DropCause)> {
        self.dropped.iter().map(|(packet, cause)| (packet, *cause))
    }

    /// Marks `packet` where its transport understands that; otherwise false.
    #[must_use]
    pub fn mark(&mut self, packet: &mut Packet<P>) -> bool {
        match packet.ecn {
            Ecn::NotCapable => false,
            Ecn::Capable => {
                packet.ecn = Ecn::CongestionExperienced;
                self.marked += 1;
                true
            }
            Ecn::CongestionExperienced => true,
        }
    }
}
