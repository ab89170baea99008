//! Packets that were made up, copied or changed.

use crate::{
    evidence::Evidence,
    law::{Findings, Law, LawReport},
    pairing::Origin,
    rules::StageKind,
    tap_packet::TapPacket,
};

/// The mark of a queue (RFC 3168 section 5).
const CONGESTION_EXPERIENCED: u8 = 3;

/// Each packet that leaves has entered, and not later than it left.
pub(crate) fn none_created(evidence: &Evidence) -> LawReport {
    let mut findings = Findings::new(Law::NoneCreated, evidence.exit);
    findings.checked(evidence.pairing.left.len());
    for (packet, origin) in evidence.pairing.left.iter().zip(&evidence.pairing.origins) {
        match origin.entered().map(|place| &evidence.pairing.entered[place]) {
            None => findings.violated(packet, || {
                format!("{} bytes that did not pass the tap {}", packet.length, evidence.entrance.name)
            }),
            Some(entered) if entered.time > packet.time => findings.violated(packet, || {
                format!(
                    "it left {} ns before it entered, as frame {}",
                    entered.time.as_nanos() - packet.time.as_nanos(),
                    entered.frame
                )
            }),
            Some(_) => {}
        }
    }
    findings.finish()
}

/// Each packet leaves once.
pub(crate) fn none_duplicated(evidence: &Evidence) -> LawReport {
    let mut findings = Findings::new(Law::NoneDuplicated, evidence.exit);
    findings.checked(evidence.pairing.left.len());
    let copies = evidence.pairing.left.iter().zip(&evidence.pairing.origins);
    let copies = copies.filter_map(|(packet, origin)| match origin {
        Origin::Copy(place) => Some((packet, &evidence.pairing.entered[*place])),
        _ => None,
    });
    let allowed = match (evidence.rules.any(|kind| *kind == StageKind::Copy), &evidence.rules.account) {
        (false, _) => Some(0),
        (true, Some(account)) => account.copied,
        (true, None) => None,
    };
    let Some(allowed) = allowed else {
        findings.not_audited("how many copies there may be: a stage copies packets, and nobody counts how many");
        return findings.finish();
    };
    for (packet, entered) in copies.skip(usize::try_from(allowed).unwrap_or(usize::MAX)) {
        findings.violated(packet, || {
            format!("one more copy of frame {} than the {allowed} that the path made", entered.frame)
        });
    }
    findings.finish()
}

/// Bytes stay as they are, marks apart, which are counted.
pub(crate) fn unchanged(evidence: &Evidence) -> LawReport {
    let mut findings = Findings::new(Law::ContentUnchanged, evidence.exit);
    let account = evidence.rules.account.as_ref();
    let mut may_change = match (evidence.rules.any(|kind| *kind == StageKind::Change), account) {
        (false, _) => Some(0),
        (true, Some(account)) => Some(account.changed),
        (true, None) => None,
    };
    let mut may_mark = account.map(|account| account.marked);
    let mut is_cut = false;
    for (packet, origin) in evidence.pairing.left.iter().zip(&evidence.pairing.origins) {
        let Some(place) = origin.entered() else { continue };
        let entered = &evidence.pairing.entered[place];
        findings.checked(1);
        is_cut |= packet.whole.is_none() || entered.whole.is_none();
        let is_marked = packet.ecn != entered.ecn && packet.ecn == CONGESTION_EXPERIENCED && entered.ecn != 0;
        if is_marked && take_one(&mut may_mark) {
            continue;
        }
        if let Some(what) = change(packet, entered, *origin, evidence.rules.any(|kind| *kind == StageKind::Translate))
            && !take_one(&mut may_change)
        {
            findings.violated(packet, || {
                format!("{what}, and no stage accounts for it; it entered as frame {}", entered.frame)
            });
        }
    }
    if let Some(kept) = evidence.shortest_cut.filter(|_| is_cut) {
        findings.not_audited(format!("what is behind byte {kept} of long packets: a tap keeps no more (tap.snaplen)"));
    }
    if may_change.is_none() {
        findings.not_audited("how many packets may be changed: a stage changes bytes, and nobody counts how often");
    }
    findings.finish()
}

/// The difference between a packet that left and the one that entered; `None` where there is none.
fn change(packet: &TapPacket, entered: &TapPacket, origin: Origin, is_translated: bool) -> Option<String> {
    if let Origin::Changed { offset, bytes, .. } = origin {
        return Some(format!("{bytes} of its bytes changed, at offset {offset} first"));
    }
    if packet.ecn != entered.ecn {
        return Some(format!("its ECN bits changed from {} to {}", entered.ecn, packet.ecn));
    }
    if let (Some(one), Some(other)) = (packet.whole, entered.whole)
        && one != other
    {
        return Some(format!("its bytes changed behind the first {}", crate::tap_packet::COMPARED_BYTES));
    }
    (packet.checksum != entered.checksum && !is_translated).then(|| {
        format!("the checksum of its IP header changed from {:#06x} to {:#06x}", entered.checksum, packet.checksum)
    })
}

/// Takes one of so many. Always true where nobody knows how many there are.
fn take_one(left: &mut Option<u64>) -> bool {
    match left {
        None => true,
        Some(left) => match left.checked_sub(1) {
            Some(rest) => {
                *left = rest;
                true
            }
            None => false,
        },
    }
}
