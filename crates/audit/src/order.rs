//! Packets that overtook others.

use std::collections::BTreeMap;

use crate::{
    evidence::Evidence,
    law::{Findings, Law, LawReport},
    pairing::Origin,
    rules::StageKind,
};

/// Packets leave in the order in which they entered; behind a fair queue those of a flow do.
pub(crate) fn order(evidence: &Evidence) -> LawReport {
    let mut findings = Findings::new(Law::Order, evidence.exit);
    let breaks = |kind: &StageKind| matches!(kind, StageKind::Wait { keeps_order: false, .. });
    if let Some(stage) = evidence.rules.stages.iter().find(|stage| breaks(&stage.kind)) {
        findings.not_audited(format!("the stage {} lets packets overtake others", stage.name));
        return findings.finish();
    }
    let by_flow = evidence.rules.any(|kind| !kind.keeps_order());
    let mut latest: BTreeMap<u64, usize> = BTreeMap::new();
    for (packet, origin) in evidence.pairing.left.iter().zip(&evidence.pairing.origins) {
        // A copy says nothing of the order of others.
        let (Origin::Same(place) | Origin::Changed { entered: place, .. }) = *origin else { continue };
        findings.checked(1);
        let entered = &evidence.pairing.entered[place];
        let latest = latest.entry(if by_flow { entered.flow } else { 0 }).or_insert(place);
        if place < *latest {
            let before = &evidence.pairing.entered[*latest];
            findings.violated(packet, || {
                format!("it entered as frame {}, before frame {}, and left behind that", entered.frame, before.frame)
            });
        }
        *latest = place.max(*latest);
    }
    findings.finish()
}
