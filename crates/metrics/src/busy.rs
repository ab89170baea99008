//! `cpu_busy_share`: whether the machine, or one CPU where only the endpoints are counted, had time to spare.

use quiclab_units::Duration;

use crate::observation::Observation;
use crate::output::RunMetrics;
use crate::warnings::WarningCode;

/// Above this share the machine, not the stack, may be what is measured.
pub const BUSY_SHARE_LIMIT: f64 = 0.6;
/// No stack takes as much CPU time for a packet, both ends together: the slowest one here, kwik, takes 1 ms.
const SPINNING: Duration = Duration::from_millis(3);
/// Fewer packets are mostly those of the handshake, whose signatures take longer.
const FEWEST_PACKETS: u64 = 100;

pub(crate) fn measure(observation: &Observation, run: &mut RunMetrics) {
    let Some(share) = observation.cpu_busy_share else {
        return;
    };
    if !(0.0..=1.0).contains(&share) {
        run.warn(
            WarningCode::BusyShareInvalid,
            format!("the busy share is {share}, expected 0 to 1: the idle counters are wrong"),
        );
        return;
    }
    if share > BUSY_SHARE_LIMIT {
        let found = format!("the CPU was busy for {:.1} % of the transfer", share * 100.0);
        let message = match for_each_packet(share, run) {
            Some(time) if time > SPINNING => format!(
                "{found}, {:.1} ms for each packet of the server: an endpoint seems to poll without waiting; that takes \
                 time from whatever shares its CPU, at any rate of the path",
                time.as_secs_f64() * 1e3
            ),
            _ => format!(
                "{found}, more than {:.0} %: the numbers may show the machine and not the stack; lower the rate or use a \
                 testbed on real hardware, unless an endpoint polls without waiting, which keeps a CPU busy at any rate",
                BUSY_SHARE_LIMIT * 100.0
            ),
        };
        run.warn(WarningCode::GuestBusy, message);
    }
    run.metrics.cpu_busy_share = Some(share);
}

/// CPU time divided by the packets of the server; `None` for a transfer that is too short for that.
fn for_each_packet(share: f64, run: &RunMetrics) -> Option<Duration> {
    let packets = run.metrics.packets_sent.filter(|packets| *packets >= FEWEST_PACKETS)?;
    let busy = share * run.metrics.duration_ns? as f64;
    Some(Duration::from_nanos((busy / packets as f64) as u64))
}
