//! `packets_sent`, `duration_ns`: how much was sent, and for how long.

use quiclab_units::Duration;

use crate::Input;
use crate::output::RunMetrics;
use crate::warnings::WarningCode;

pub(crate) fn measure(input: &Input, run: &mut RunMetrics) {
    let observation = input.observation;
    let [first, .., last] = input.flow.packets.as_slice() else {
        let sent = input.flow.packets.len() as u64;
        if sent == 0 {
            run.warn(
                WarningCode::NoFlow,
                format!(
                    "no packet from port {} at interface {}: nothing was measured; check the server's port and log",
                    observation.server_port, observation.sender_tap
                ),
            );
            return;
        }
        run.metrics.packets_sent = Some(sent);
        run.metrics.duration_ns = Some(0);
        return;
    };
    run.metrics.packets_sent = Some(input.flow.packets.len() as u64);
    run.metrics.duration_ns = last.time.checked_since(first.time).map(Duration::as_nanos);
    if let [(measured, _), others @ ..] = input.flow.candidates.as_slice()
        && !others.is_empty()
    {
        let others: Vec<String> = others.iter().map(|(key, packets)| format!("{key} ({packets} packets)")).collect();
        run.warn(
            WarningCode::SeveralFlows,
            format!(
                "only the largest flow, {measured}, was measured; others from port {}: {}",
                observation.server_port,
                others.join(", ")
            ),
        );
    }
}
