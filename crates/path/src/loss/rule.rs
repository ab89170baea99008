//! Loss by a rule that looks at each packet.

use quiclab_units::{ByteCount, Duration, Time};

use crate::{
    content::Payload,
    packet::Packet,
    random::Random,
    spec::{declare::stage_settings, kernel::Kernel, kind::StageKind, part::Part},
    stage::{DropCause, Out, Stage},
};

/// Drops the packets for which a rule answers true.
pub struct RuleLoss<R> {
    rule: R,
}

impl<R> RuleLoss<R> {
    /// The rule is asked once for each packet, in order, with the time.
    pub fn new(rule: R) -> Self {
        Self { rule }
    }
}

impl<P, R: FnMut(Time, &Packet<P>) -> bool> Stage<P> for RuleLoss<R> {
    fn name(&self) -> &'static str {
        "rule-loss"
    }

    fn handle_packet(&mut self, now: Time, packet: Packet<P>, out: &mut Out<P>) {
        if (self.rule)(now, &packet) {
            out.drop(packet, DropCause::Rule);
        } else {
            out.pass(packet);
        }
    }
}

stage_settings! {
    /// Loses the packets for which everything holds that is given: an outage, every so-manyth packet, only long ones.
    RuleLossSettings: "loss", model = "rule" {
        /// packets that come at this time or later, counted from the start of the run, not of the transfer
        from: Option<Duration>,
        /// packets that come before this time
        until: Option<Duration>,
        /// every so-manyth packet of this direction
        every: Option<u32>,
        /// packets of at least this length, as frames with their Ethernet header
        at_least: Option<ByteCount>,
    }
}

impl RuleLossSettings {
    fn holds<P>(&self, now: Time, packet: &Packet<P>) -> bool {
        let since_start = Duration::from_nanos(now.as_nanos());
        self.from.is_none_or(|from| since_start >= from)
            && self.until.is_none_or(|until| since_start < until)
            && self.every.is_none_or(|every| packet.number.is_multiple_of(u64::from(every)))
            && self.at_least.is_none_or(|least| u64::from(packet.bytes) >= least.as_bytes())
    }
}

impl StageKind for RuleLossSettings {
    fn part<P: Payload>(&self, _random: Random) -> Result<Part<P>, String> {
        let rule = self.clone();
        if (&rule.from, &rule.until, &rule.every, &rule.at_least) == (&None, &None, &None, &None) {
            return Err(
                "found a rule without a condition, expected at least one of from, until, every, at_least".to_owned()
            );
        }
        if let (Some(from), Some(until)) = (rule.from, rule.until)
            && until <= from
        {
            return Err(format!("until: found \"{until}\", expected more than from = \"{from}\""));
        }
        Ok(Part::Stage(Box::new(RuleLoss::new(move |now, packet: &Packet<P>| rule.holds(now, packet)))))
    }

    fn kernel(&self) -> Kernel {
        Kernel::Refused("it has no queueing discipline for rules".to_owned())
    }
}
