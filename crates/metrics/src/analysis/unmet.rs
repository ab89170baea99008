//! What a capture does not show, and so which needs of metrics are not met.

use std::{collections::BTreeMap, net::SocketAddr};

use quiclab_wire::{Capture, Flow, FlowProtocol, Role};

use super::{FlowMeter, MOST_LATE_FLOWS, start::Start};
use crate::{
    direction::DirectionMeter,
    needs::{MissingEvidence, Need},
    warnings::WarningCode,
};

/// What the file does not show of any flow.
pub(super) fn unmet_of_capture(capture: &Capture, packets: u64) -> MissingEvidence {
    let mut unmet = MissingEvidence::default();
    if let Some(cut) = capture.truncation {
        let reason = format!(
            "the capture is truncated in the middle of a record at byte {}: packets after it are missing",
            cut.byte_offset
        );
        unmet.add(Need::Ending, WarningCode::CaptureTruncated, reason);
    }
    let hidden: u64 =
        capture.skipped.iter().filter(|(reason, _)| reason.may_hide_packets()).map(|(_, frames)| frames).sum();
    let reason = || format!("{hidden} frames of the capture could not be read, in addition to {packets} that could");
    unmet.add_share(Need::EveryPacket, WarningCode::FramesNotUnderstood, hidden, hidden + packets, &reason);
    unmet
}

/// What the capture does not show of one flow, beside what the file does not show of any.
pub(super) fn unmet_of_flow(
    index: usize,
    directions: &[DirectionMeter; 2],
    meters: &[FlowMeter],
    flows: &[Flow],
    late: &BTreeMap<(u32, SocketAddr), Vec<usize>>,
    mut unmet: MissingEvidence,
) -> MissingEvidence {
    let (meter, flow) = (&meters[index], &flows[index]);
    let has_hello = flow.tls_handshake().is_some_and(|tls| tls.offer.is_some());
    // A ClientHello may have been there that could not be read.
    let has_unread_initials = directions[Role::Client as usize].has_unread_frames();
    if meter.start == Start::Late || (meter.start == Start::ReadInitial && !has_hello && !has_unread_initials) {
        let reason = "the capture begins after the start of the connection, or lacks its first packets".to_owned();
        unmet.add(Need::Beginning, WarningCode::CaptureBeganLate, reason);
    }
    for (role, direction) in Role::BOTH.into_iter().zip(directions) {
        let (missed, seen) = direction.missed();
        let unit = if flow.protocol() == FlowProtocol::Tcp { "bytes" } else { "packets" };
        let reason = || {
            format!(
                "{missed} {unit} of the {} were acknowledged but are not in the capture, which has {seen}: it lost \
                 packets; enlarge its buffer, or capture fewer bytes of each packet",
                role.name()
            )
        };
        unmet.add_share(
            Need::EveryPacket,
            WarningCode::CaptureMissedPackets,
            missed,
            missed.saturating_add(seen),
            &reason,
        );
    }
    if let Some(other) = continuation(index, meters, flows, late) {
        let client = flows[other].address(Role::Client);
        unmet.add(
            Need::Ending,
            WarningCode::ConnectionLost,
            format!(
                "the connection may continue from {client} with a connection ID that no captured packet announced: \
                 flow {} (counted from 1) begins in the middle of a connection",
                other + 1
            ),
        );
    }
    unmet
}

/// Flows that begin in their middle, by interface and by either address, at most [`MOST_LATE_FLOWS`] of each.
pub(super) fn late_flows(meters: &[FlowMeter], flows: &[Flow]) -> BTreeMap<(u32, SocketAddr), Vec<usize>> {
    let mut late: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (index, (meter, flow)) in meters.iter().zip(flows).enumerate() {
        if meter.start == Start::Late && flow.protocol() != FlowProtocol::Tcp {
            for role in Role::BOTH {
                let of_address = late.entry((flow.interface(), flow.address(role))).or_default();
                if of_address.len() < MOST_LATE_FLOWS {
                    of_address.push(index);
                }
            }
        }
    }
    late
}

/// A flow with the same server that begins in its middle after this one began, and outlives it: what this one became when both its
/// address and its connection ID changed. `None` where this one is seen to end.
fn continuation(
    index: usize,
    meters: &[FlowMeter],
    flows: &[Flow],
    late: &BTreeMap<(u32, SocketAddr), Vec<usize>>,
) -> Option<usize> {
    let (meter, flow) = (&meters[index], &flows[index]);
    if flow.protocol() != FlowProtocol::Quic || meter.is_closed || meter.start == Start::Late {
        return None;
    }
    let of_server = late.get(&(flow.interface(), flow.address(Role::Server)))?;
    let is_later = |other: &&usize| meters[**other].origin > meter.origin && meters[**other].last >= meter.last;
    of_server.iter().find(is_later).copied()
}
