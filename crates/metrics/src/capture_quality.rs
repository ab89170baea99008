//! Warnings about the capture itself: what it lost, and what it cannot show.

use crate::Input;
use crate::output::RunMetrics;
use crate::warnings::WarningCode;

/// Largest Ethernet frame at an MTU of 1500 bytes, without VLAN tag and frame check sequence.
pub const LARGEST_FRAME_BYTES: u32 = 1514;

pub(crate) fn measure(input: &Input, run: &mut RunMetrics) {
    let capture = input.observation.capture;
    if let Some(cut) = capture.truncation {
        run.warn(
            WarningCode::CaptureTruncated,
            format!(
                "the capture stops in the middle of a record at byte {}: packets after it are missing",
                cut.byte_offset
            ),
        );
    }
    for (tap, lost) in &input.observation.capture_losses_packets {
        if *lost > 0 {
            run.warn(
                WarningCode::CaptureLostPackets,
                format!("the capture at {tap} lost {lost} packets: gaps and trains are wrong around them; enlarge its buffer"),
            );
        }
    }
    let hidden: Vec<String> = capture
        .skipped
        .iter()
        .filter(|(reason, _)| reason.may_hide_packets())
        .map(|(reason, frames)| format!("{frames} ({})", reason.name()))
        .collect();
    if !hidden.is_empty() {
        run.warn(
            WarningCode::FramesNotUnderstood,
            format!("frames that may belong to the flow were not understood: {}", hidden.join(", ")),
        );
    }
    let packets = &input.flow.packets;
    let super_packets = packets.iter().filter(|packet| packet.frame_length > LARGEST_FRAME_BYTES).count();
    if super_packets > 0 {
        run.warn(
            WarningCode::SuperPackets,
            format!(
                "{super_packets} of {} packets are frames of more than {LARGEST_FRAME_BYTES} bytes: the tap saw them before \
                 they were segmented; turn tso, gso and tx-udp-segmentation off on the server's interface",
                packets.len()
            ),
        );
    }
}
