//! Clients whose packets are measured: the numbers are those of the same packets from a server.

use crate::common::{Made, ONE_RTT, SERVER_PORT, analyzed, codes, handshake, pcapng, sorted};
use quiclab_metrics::{AnalysisSettings, Metrics, NEEDS, Observation, RunMetrics, measure};
use quiclab_units::ByteCount;
use quiclab_wire::Role;

const BYTES: u64 = 3_000_000;

/// A transfer of bursts over three seconds, of which every tenth packet never comes to the second tap, and acknowledgments, as often as
/// they come.
fn transfer(sent: fn(u64, &[u8]) -> Made, answered: fn(u64, &[u8]) -> Made, first: &[u8]) -> Vec<u8> {
    let mut packets = vec![sent(0, first), sent(2_000_000, first).at_second_tap()];
    for burst in 0..60_u64 {
        for number in 0..10 {
            let time = 50_000_000 * (burst + 1) + number * 12_000;
            packets.push(sent(time, ONE_RTT));
            if number < 9 {
                packets.push(sent(time + 2_000_000, ONE_RTT).at_second_tap());
            }
        }
        let time = 50_000_000 * (burst + 1) + 20_000_000;
        packets.extend([answered(time, &[0x40; 40]).at_second_tap(), answered(time + 2_000_000, &[0x40; 40])]);
    }
    pcapng(&sorted(packets))
}

/// Initial packet, version 1, no connection IDs, no token, Length 1190 of the 1200 bytes: a client begins with it.
fn initial() -> Vec<u8> {
    let mut payload = vec![0xc0, 0, 0, 0, 1, 0, 0, 0, 0x44, 0xa6];
    payload.resize(1200, 0xcc);
    payload
}

fn measured(capture: &[u8], sender: Role) -> RunMetrics {
    let transferred_bytes = Some(ByteCount::from_bytes(BYTES));
    let analysis = analyzed(capture, AnalysisSettings { sender, transferred_bytes, ..AnalysisSettings::default() });
    let observation = Observation {
        sender,
        transferred_bytes,
        bottleneck_tap: Some(1),
        queue_drops_packets: Some(60),
        path_copies_packets: Some(0),
        ..Observation::of_port(SERVER_PORT)
    };
    measure(&analysis, &observation)
}

/// Those that do not depend on who opened the connection.
fn of_sender(metrics: &Metrics) -> Vec<(&'static str, Option<f64>)> {
    let names = NEEDS
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !name.starts_with("handshake_") && !name.starts_with("time_"));
    names.map(|name| (name, metrics.value(name).flatten())).collect()
}

#[test]
fn an_upload_has_the_metrics_of_a_download_with_the_same_packets() {
    let download = measured(&transfer(Made::udp_from_server, Made::udp_from_client, &handshake()), Role::Server);
    let upload = measured(&transfer(Made::udp_from_client, Made::udp_from_server, &initial()), Role::Client);
    let metrics = &upload.metrics;
    assert_eq!((metrics.packets_sent, metrics.drops_packets), (Some(601), Some(60)));
    assert_eq!(metrics.train_max_packets, Some(10));
    // From the first to the last packet with 1-RTT protection, the times above.
    let seconds = (50_000_000.0 * 59.0 + 9.0 * 12_000.0) / 1e9;
    assert_eq!(metrics.goodput_wire_bps, Some(BYTES as f64 * 8.0 / seconds));
    assert_eq!(of_sender(metrics), of_sender(&download.metrics));
    assert_eq!(
        (upload.distributions.gaps_ns, upload.distributions.trains),
        (download.distributions.gaps_ns, download.distributions.trains,)
    );
    assert!(!upload.warnings.iter().any(|warning| warning.code.as_str() == "drops_disagree"));
}

#[test]
fn packets_of_the_other_end_are_not_measured_as_the_senders() {
    let capture = transfer(Made::udp_from_client, Made::udp_from_server, &initial());
    let of_server = measured(&capture, Role::Server);
    assert_eq!(of_server.metrics.packets_sent, Some(60), "its answers");
    let only_answers = pcapng(&[Made::udp_from_server(0, ONE_RTT)]);
    let run = measured(&only_answers, Role::Client);
    assert!(codes(&run).contains(&"no_flow"), "{:?}", codes(&run));
    assert_eq!(run.metrics.packets_sent, None);
}
