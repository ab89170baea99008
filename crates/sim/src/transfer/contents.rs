//! Datagrams on the path, with what they hold where a stage asks for it.

use std::rc::Rc;

use quiclab_path::{
    content::{Content, Direction, Payload},
    loss::rule_report::RuleReport,
    pipeline::{Dropped, Pipeline},
    stage::DropCause,
};
use quiclab_units::Time;

use super::stack::Datagram;

/// Dropped datagrams that are listed; more are counted.
const MOST_DROPS: usize = 10_000;

/// Reads datagrams where they enter the path, for stages that ask what they hold.
pub trait ContentReader {
    /// A datagram enters the path, in this direction.
    fn on_sent(&mut self, time: Time, to: Direction, datagram: &Datagram) -> Option<Content>;

    /// A datagram leaves the path whole. `content` is what [`Self::on_sent`] gave for it.
    fn on_delivered(&mut self, content: &Content);
}

/// A datagram that was dropped, while datagrams were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostDatagram {
    /// When.
    pub time: Time,
    /// Where it was going.
    pub to: Direction,
    /// Name of the stage.
    pub stage: String,
    /// Why.
    pub cause: DropCause,
    /// Its place among the packets that entered this direction, from 1.
    pub packet: u64,
    /// Length of its frame.
    pub bytes: u32,
    /// What it held; `None` where it is no datagram of QUIC.
    pub content: Option<Content>,
}

/// What a rule by content did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleOutcome {
    /// Its direction.
    pub to: Direction,
    /// Name of its stage.
    pub stage: String,
    /// What it did.
    pub report: RuleReport,
}

/// What was lost while datagrams were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// The first datagrams that were dropped, in the order of time.
    pub datagrams: Vec<LostDatagram>,
    /// Datagrams that were dropped beyond those.
    pub not_listed: u64,
    /// What each rule did.
    pub rules: Vec<RuleOutcome>,
}

/// A datagram on the path.
#[derive(Clone)]
pub(super) struct Carried {
    pub(super) datagram: Datagram,
    pub(super) content: Option<Rc<Content>>,
}

impl Payload for Carried {
    fn content(&self) -> Option<&Content> {
        self.content.as_deref()
    }
}

impl Losses {
    /// Takes what a pipeline has dropped by now.
    pub(super) fn take(&mut self, pipeline: &mut Pipeline<Carried>, to: Direction) {
        while let Some(Dropped { time, stage, cause, packet }) = pipeline.poll_dropped() {
            if self.datagrams.len() == MOST_DROPS {
                self.not_listed += 1;
                continue;
            }
            self.datagrams.push(LostDatagram {
                time,
                to,
                stage: stage.into_owned(),
                cause,
                packet: packet.number,
                bytes: packet.bytes,
                content: packet.payload.content.as_deref().cloned(),
            });
        }
    }

    /// Takes what the rules of a pipeline did.
    pub(super) fn take_rules(&mut self, pipeline: &Pipeline<Carried>, to: Direction) {
        let outcome = |(stage, report): (&str, _)| RuleOutcome { to, stage: stage.to_owned(), report };
        self.rules.extend(pipeline.rules().map(outcome));
    }
}
