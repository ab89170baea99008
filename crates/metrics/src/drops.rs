//! `drops_packets`: what the bottleneck threw away, from its own counters, checked by the tap behind it.

use crate::Input;
use crate::output::RunMetrics;
use crate::warnings::WarningCode;

pub(crate) fn measure(input: &Input, run: &mut RunMetrics) {
    let by_counters = input.observation.queue_drops_packets;
    let by_taps = difference_of_taps(input);
    if let (Some(counters), Some(taps)) = (by_counters, by_taps)
        && i128::from(counters) != i128::from(taps)
    {
        run.warn(
            WarningCode::DropsDisagree,
            format!(
                "the bottleneck's counters say {counters} packets dropped, the taps around it say {taps}: one of them \
                 missed packets, or packets were lost elsewhere"
            ),
        );
    }
    run.metrics.drops_packets = match (by_counters, by_taps) {
        (Some(counters), _) => Some(counters),
        (None, Some(taps)) => {
            run.warn(
                WarningCode::DropsFromTaps,
                format!(
                    "the bottleneck's counters are missing; {taps} is the difference between the taps around it, which \
                     counts packets still on their way as dropped"
                ),
            );
            u64::try_from(taps).ok()
        }
        (None, None) => None,
    };
}

/// Packets towards the client at the sender's tap, less those behind the bottleneck. `None` without a second tap.
fn difference_of_taps(input: &Input) -> Option<i64> {
    let observation = input.observation;
    let bottleneck_tap = observation.bottleneck_tap?;
    let towards_client = |tap: u32| {
        let packets = observation.capture.packets.iter();
        packets.filter(|packet| packet.interface == tap && packet.source.port() == observation.server_port).count()
            as i64
    };
    Some(towards_client(observation.sender_tap) - towards_client(bottleneck_tap))
}
