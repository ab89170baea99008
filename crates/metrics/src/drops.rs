//! `drops_packets`: what the bottleneck threw away, from its own counters, checked by the tap behind it.

use crate::capture::CaptureAnalysis;
use crate::observation::Observation;
use crate::output::RunMetrics;
use crate::warnings::WarningCode;

pub(crate) fn measure(analysis: &CaptureAnalysis, observation: &Observation, run: &mut RunMetrics) {
    let by_counters = observation
        .queue_drops_packets
        .zip(observation.other_drops_packets)
        .and_then(|(all, others)| all.checked_sub(others));
    let by_taps = difference_of_taps(analysis, observation);
    if let (Some(counters), Some(taps)) = (by_counters, by_taps)
        && i128::from(counters) != i128::from(taps)
    {
        run.warn(
            WarningCode::DropsDisagree,
            format!(
                "the bottleneck's counters show {counters} dropped packets, the taps around it {taps}: one of them \
                 missed packets, or packets were lost elsewhere"
            ),
        );
    }
    run.metrics.drops_packets = match (by_counters, by_taps) {
        (Some(counters), _) => Some(counters),
        (None, None) if observation.bottleneck_tap.is_some() && observation.path_copies_packets.is_none() => {
            let reason = "the bottleneck's counters do not tell, and how many packets the path copied is unknown, so the \
                          difference between the taps does not tell the drops";
            run.withhold(WarningCode::DropsFromTaps, reason, &["drops_packets"]);
            None
        }
        (None, Some(_)) if observation.capture_losses_packets.values().any(|lost| *lost > 0) => {
            let reason = "the bottleneck's counters do not tell, and the captures around it lost packets themselves";
            run.withhold(WarningCode::CaptureLostPackets, reason, &["drops_packets"]);
            None
        }
        (None, Some(taps)) => {
            let missing = match observation.queue_drops_packets {
                None => "are missing",
                Some(_) => "do not tell how many packets of other traffic they dropped",
            };
            run.warn(
                WarningCode::DropsFromTaps,
                format!(
                    "the bottleneck's counters {missing}; {taps} is the difference between the taps around it, \
                     which counts packets in transit as dropped"
                ),
            );
            u64::try_from(taps).ok()
        }
        (None, None) => None,
    };
}

/// Packets towards the receiver at the sender's tap and copies that the path made, less the packets behind the bottleneck. `None` without
/// a second tap, or where the number of copies is unknown.
fn difference_of_taps(analysis: &CaptureAnalysis, observation: &Observation) -> Option<i64> {
    let bottleneck_tap = observation.bottleneck_tap?;
    let copies = i64::try_from(observation.path_copies_packets?).ok()?;
    let towards_receiver = |tap: u32| -> i64 {
        let directions = analysis.directions.iter().filter(|direction| {
            let flow = &analysis.flows[direction.flow];
            direction.sender == observation.sender
                && flow.interface == tap
                && flow.server.port() == observation.server_port
        });
        directions.map(|direction| direction.packets as i64).sum()
    };
    Some(towards_receiver(observation.sender_tap) + copies - towards_receiver(bottleneck_tap))
}
