//! Packets that did not leave, and what the stages counted.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    evidence::Evidence,
    law::{Findings, Law, LawReport},
    pairing::Origin,
    rules::{Account, ListedDrop, StageKind},
};

/// Each packet that entered has left, was dropped by a stage that counted it, or was still in a stage at the end.
pub(crate) fn losses(evidence: &Evidence) -> LawReport {
    let mut findings = Findings::new(Law::LossesAccounted, evidence.entrance);
    let pairing = evidence.pairing;
    findings.checked(pairing.entered.len());
    let Some(account) = &evidence.rules.account else {
        if !pairing.lost.is_empty() {
            findings.not_audited("the losses that there are: no stage counts its drops");
        }
        return findings.finish();
    };
    let copies = pairing.origins.iter().filter(|origin| matches!(origin, Origin::Copy(_))).count() as u64;
    let copied = match (evidence.rules.any(|kind| *kind == StageKind::Copy), account.copied) {
        (false, _) => 0,
        (true, Some(copied)) => copied,
        (true, None) => {
            findings.not_audited("how many packets may be missing: a stage copies packets, and nobody counts how many");
            return findings.finish();
        }
    };
    if let Some(why) = &account.is_not_final {
        findings.not_audited(format!("how many packets are missing: {why}"));
        return findings.finish();
    }
    let accounted = account.dropped.saturating_add(account.waiting);
    // Copies that did not leave were dropped or wait as well.
    let missing = (pairing.lost.len() as u64).saturating_add(copied).saturating_sub(copies);
    let listed = account.listed.as_deref().map(|listed| compare_list(evidence, listed, account, &mut findings));
    if missing > accounted && listed != Some(true) {
        // Without a list nobody knows which of them it is.
        let which = pairing.lost.iter().map(|place| &pairing.entered[*place]).next_back();
        if let Some(packet) = which {
            findings.violated(packet, || {
                format!(
                    "{missing} packets did not leave, and the stages account for {accounted}: {} dropped, {} waiting at the end; this \
                     is the last of them",
                    account.dropped, account.waiting
                )
            });
        }
    } else if missing < accounted
        && listed != Some(true)
        && let Some(packet) = pairing.entered.last()
    {
        findings.violated(packet, || {
            format!(
                "the stages account for {accounted} packets that did not leave ({} dropped, {} waiting at the end), and {missing} did \
                 not; this is the last one that entered",
                account.dropped, account.waiting
            )
        });
    }
    findings.finish()
}

/// Compares the list of drops, packet by packet. True where something is wrong with it.
fn compare_list(evidence: &Evidence, listed: &[ListedDrop], account: &Account, findings: &mut Findings) -> bool {
    let pairing = evidence.pairing;
    let before = findings.violations();
    let copies_there = evidence.rules.any(|kind| *kind == StageKind::Copy);
    let lost: BTreeSet<usize> = pairing.lost.iter().copied().collect();
    let mut by_place: BTreeMap<usize, &ListedDrop> = BTreeMap::new();
    for drop in listed {
        let place = drop.packet.checked_sub(1).and_then(|place| usize::try_from(place).ok());
        let Some((place, packet)) = place.and_then(|place| Some((place, pairing.entered.get(place)?))) else {
            if let Some(last) = pairing.entered.last() {
                findings.violated(last, || {
                    format!(
                        "the stage {} lists packet {} as dropped, and {} entered; this is the last one",
                        drop.stage,
                        drop.packet,
                        pairing.entered.len()
                    )
                });
            }
            continue;
        };
        by_place.insert(place, drop);
        if packet.length != drop.bytes {
            findings.violated(packet, || {
                format!(
                    "the stage {} lists it as dropped with {} bytes, and it has {}",
                    drop.stage, drop.bytes, packet.length
                )
            });
        } else if !lost.contains(&place) && !copies_there {
            findings.violated(packet, || format!("the stage {} lists it as dropped, and it left", drop.stage));
        }
    }
    let unlisted: Vec<_> = pairing.lost.iter().filter(|place| !by_place.contains_key(place)).collect();
    let waiting = usize::try_from(account.waiting).unwrap_or(usize::MAX);
    // The last ones are those that were still on their way.
    for place in &unlisted[..unlisted.len().saturating_sub(waiting)] {
        let packet = &pairing.entered[**place];
        findings.violated(packet, || "it did not leave, and no stage lists it as dropped".to_owned());
    }
    findings.violations() > before
}
