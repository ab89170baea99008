//! Packets that left before their delay had passed.

use quiclab_units::Duration;

use crate::{
    evidence::Evidence,
    law::{Findings, Law, LawReport},
};

/// The shortest time that a packet needs from end to end, apart from rates.
pub(crate) fn least_delay(evidence: &Evidence) -> Duration {
    evidence.rules.stages.iter().fold(Duration::ZERO, |sum, stage| sum + stage.kind.least_delay())
}

/// No packet leaves before the sum of all delays has passed.
pub(crate) fn delay(evidence: &Evidence) -> LawReport {
    let mut findings = Findings::new(Law::Delay, evidence.exit);
    let least = least_delay(evidence);
    for (packet, origin) in evidence.pairing.left.iter().zip(&evidence.pairing.origins) {
        let Some(entered) = origin.entered().map(|place| &evidence.pairing.entered[place]) else { continue };
        findings.checked(1);
        let earliest = entered.time.as_nanos().saturating_add(least.as_nanos());
        let time = packet.time.as_nanos();
        if time < earliest {
            findings.violated(packet, || {
                format!(
                    "it left {} ns before its delay of {least} had passed; it entered as frame {}",
                    earliest - time,
                    entered.frame
                )
            });
        }
    }
    findings.finish()
}
