//! `exchange_latency_*` of a record: those of the tap behind the bottleneck, nearest to the client.

use quiclab_wire::Role;

use crate::analysis::DirectionAnalysis;
use crate::capture::CaptureAnalysis;
use crate::exchanges::NAMES;
use crate::observation::Observation;
use crate::output::RunMetrics;
use crate::warnings::WarningCode;

/// Replaces what the sender's tap shows by what the tap behind the bottleneck does: there a response is complete for the client.
/// `measured`: the flow at the sender's tap.
pub(crate) fn measure(
    analysis: &CaptureAnalysis,
    observation: &Observation,
    measured: &DirectionAnalysis,
    run: &mut RunMetrics,
) {
    // The latency of an exchange is what its client waits, and the taps of an upload are not where the responses arrive.
    let (Some(tap), Role::Server) = (observation.bottleneck_tap, observation.sender) else { return };
    run.metrics.clear(&NAMES);
    let flow = |direction: &DirectionAnalysis| &analysis.flows[direction.flow];
    let is_same = |direction: &&DirectionAnalysis| {
        direction.sender == Role::Server
            && flow(direction).interface == tap
            && (flow(direction).server, flow(direction).client) == (flow(measured).server, flow(measured).client)
    };
    let Some(behind) = analysis.directions.iter().find(is_same) else { return };
    let (to, from) = (&mut run.metrics, &behind.run.metrics);
    to.exchanges_complete = from.exchanges_complete;
    to.exchange_latency_median_ns = from.exchange_latency_median_ns;
    to.exchange_latency_p95_ns = from.exchange_latency_p95_ns;
    to.exchange_latency_p99_ns = from.exchange_latency_p99_ns;
    to.exchange_latency_max_ns = from.exchange_latency_max_ns;
    // Other runs need no whole packets at that tap, and are not about exchanges.
    let withheld = behind.run.withheld.iter().find(|withheld| withheld.metrics.iter().any(|name| name == NAMES[0]));
    if let Some(withheld) = withheld.filter(|_| observation.has_schedule) {
        let reason = format!(
            "behind the bottleneck, {}; set tap.bottleneck_snaplen to \"full\" to see when responses are complete",
            withheld.reason
        );
        run.withhold(WarningCode::PayloadCut, &reason, &NAMES);
    }
}
