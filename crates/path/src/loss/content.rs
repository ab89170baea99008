//! Loss by what a datagram holds.

use quiclab_units::Time;

use crate::{
    content::{
        Payload,
        rule::{Matcher, Rule},
    },
    loss::rule_report::RuleReport,
    packet::Packet,
    random::Random,
    spec::{declare::stage_settings, kernel::Kernel, kind::StageKind, part::Part},
    stage::{DropCause, Out, Stage},
};

/// Drops the datagrams that a rule means. Packets of which nobody has said what they hold pass.
pub struct ContentLoss {
    matcher: Matcher,
    at_least: Option<u64>,
    at_most: Option<u64>,
}

impl<P: Payload> Stage<P> for ContentLoss {
    fn name(&self) -> &'static str {
        "content-loss"
    }

    fn handle_packet(&mut self, _now: Time, packet: Packet<P>, out: &mut Out<P>) {
        let is_meant = packet.payload.content().is_some_and(|content| self.matcher.matches(content));
        if is_meant {
            out.drop(packet, DropCause::Content);
        } else {
            out.pass(packet);
        }
    }

    fn rule(&self) -> Option<RuleReport> {
        Some(RuleReport {
            rule: self.matcher.rule().to_string(),
            counts: self.matcher.counts(),
            at_least: self.at_least,
            at_most: self.at_most,
        })
    }
}

stage_settings! {
    /// Loses the QUIC datagrams that a rule means, by what they hold: a flight, a frame, a probe ([losses by meaning](losses.md)).
    ContentLossSettings: "loss", model = "content" {
        /// which datagrams are lost
        drop: Rule,
        /// the run fails if the rule drops fewer datagrams
        at_least_drops: Option<u32>,
        /// the run fails if the rule drops more datagrams
        at_most_drops: Option<u32>,
    }
}

impl StageKind for ContentLossSettings {
    fn part<P: Payload>(&self, _random: Random) -> Result<Part<P>, String> {
        if let (Some(least), Some(most)) = (self.at_least_drops, self.at_most_drops)
            && most < least
        {
            return Err(format!("at_most_drops: found {most}, expected at_least_drops = {least} or more"));
        }
        Ok(Part::Stage(Box::new(ContentLoss {
            matcher: Matcher::new(self.drop.clone()),
            at_least: self.at_least_drops.map(u64::from),
            at_most: self.at_most_drops.map(u64::from),
        })))
    }

    fn kernel(&self) -> Kernel {
        Kernel::Refused("it does not read QUIC packets".to_owned())
    }
}
