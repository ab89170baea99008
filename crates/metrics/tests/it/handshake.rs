//! Handshakes of real stacks: what tshark shows of the same packets. Skipped, with a word on stderr, where it is not installed.

use std::process::Command;

use quiclab_metrics::{AnalysisSettings, HandshakeTaps, RunMetrics, analyze};
use quiclab_testing::{files::capture, has_program};
use quiclab_wire::{CaptureReader, Dissector, DissectorSettings, Role};

/// What was measured for the server.
fn server(name: &str) -> RunMetrics {
    let file = std::fs::read(capture(name)).unwrap();
    let dissector = Dissector::new(DissectorSettings::default());
    let reader = CaptureReader::new(file.as_slice()).unwrap();
    let analysis = analyze(reader, dissector, AnalysisSettings::default(), &mut |_, _, _| {}).unwrap();
    analysis.directions.into_iter().find(|it| it.sender == Role::Server).unwrap().run
}

/// One datagram as tshark shows it.
struct Row {
    time_ns: u64,
    is_of_server: bool,
    numbers: Vec<u64>,
    /// Largest acknowledged numbers of ACK frames.
    largest: Vec<u64>,
    delays: Vec<u64>,
    tls_types: Vec<u64>,
    has_crypto: bool,
}

fn rows(name: &str) -> Option<Vec<Row>> {
    const FIELDS: [&str; 7] = [
        "frame.time_epoch",
        "udp.srcport",
        "quic.packet_number",
        "quic.ack.largest_acknowledged",
        "quic.ack.ack_delay",
        "tls.handshake.type",
        "quic.crypto.offset",
    ];
    if !has_program("tshark", "tshark") {
        return None;
    }
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(capture(name)).args(["-d", "udp.port==4433,quic", "-T", "fields"]);
    FIELDS.iter().for_each(|field| {
        tshark.args(["-e", field]);
    });
    let output = tshark.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers = |text: &str| text.split(',').filter_map(|number| number.parse().ok()).collect::<Vec<u64>>();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let (seconds, nanoseconds) = fields[0].split_once('.').unwrap();
        Row {
            time_ns: seconds.parse::<u64>().unwrap() * 1_000_000_000 + nanoseconds.parse::<u64>().unwrap(),
            is_of_server: fields[1] == "4433",
            numbers: numbers(fields[2]),
            largest: numbers(fields[3]),
            delays: numbers(fields[4]),
            tls_types: numbers(fields[5]),
            has_crypto: !fields[6].is_empty(),
        }
    };
    Some(text.lines().map(row).collect())
}

const SERVER_HELLO: u64 = 2;

#[test]
fn tshark_shows_the_same_first_acknowledgments_and_the_same_server_hello() {
    for name in ["quiche", "quic-go", "ngtcp2"] {
        let Some(rows) = rows(name) else { return };
        let run = server(name);
        let metrics = &run.metrics;
        let begin = rows[0].time_ns;
        let of_server = || rows.iter().filter(|row| row.is_of_server);
        // tshark shows a ServerHello where it ends; with ML-KEM that may be a datagram later.
        let hello = of_server().find(|row| row.has_crypto).unwrap();
        let end_of_hello = of_server().find(|row| row.tls_types.contains(&SERVER_HELLO)).unwrap();
        assert!(end_of_hello.time_ns - hello.time_ns < 100_000, "{name}");
        let first_ack = of_server().find(|row| !row.largest.is_empty()).unwrap();
        let sent_by = |is_server: bool, number: u64| {
            rows.iter().find(|row| row.is_of_server == is_server && row.numbers.contains(&number)).unwrap().time_ns
        };
        assert_eq!(run.handshake.as_ref().unwrap().taps, HandshakeTaps::Server, "{name}");
        assert_eq!(metrics.handshake_first_ack_ns, Some(first_ack.time_ns - begin), "{name}");
        assert_eq!(metrics.handshake_ack_to_hello_ns, Some(hello.time_ns - first_ack.time_ns), "{name}");
        let acknowledged = sent_by(false, first_ack.largest[0]);
        assert_eq!(metrics.handshake_server_initial_ack_delay_ns, Some(first_ack.time_ns - acknowledged), "{name}");
        // RFC 9000 section 18.2: the exponent is 3 unless the peer says otherwise.
        let reported = first_ack.delays[0] * 8 * 1_000;
        assert_eq!(metrics.handshake_server_initial_ack_delay_reported_ns, Some(reported), "{name}");
        let before_hello = || rows.iter().take_while(|row| row.time_ns < hello.time_ns).filter(|row| !row.is_of_server);
        let last_of_client = before_hello().filter(|row| row.has_crypto).last().unwrap();
        assert_eq!(metrics.handshake_server_processing_ns, Some(hello.time_ns - last_of_client.time_ns), "{name}");
        assert_eq!(metrics.handshake_client_flight_1_datagrams, Some(before_hello().count() as u64), "{name}");
        let answer = rows.iter().find(|row| !row.is_of_server && !row.largest.is_empty()).unwrap();
        let sample = answer.time_ns - sent_by(true, answer.largest[0]);
        assert_eq!(metrics.handshake_server_first_rtt_ns, Some(sample), "{name}");
        assert_eq!(metrics.handshake_server_first_pto_ns, Some(sample + 4 * (sample / 2)), "{name}");
    }
}

/// The path of these captures takes 20 ms each way; the tap is at the server.
#[test]
fn estimates_for_the_client_add_the_way_between_it_and_the_tap() {
    for name in ["quiche", "quic-go", "ngtcp2"] {
        let run = server(name);
        let metrics = &run.metrics;
        let at_tap = metrics.time_to_first_byte_ns.unwrap();
        let way = metrics.handshake_client_first_byte_ns.unwrap() - at_tap;
        assert!((40_000_000..46_000_000).contains(&way), "{name}: {way}");
        assert!(run.handshake.unwrap().estimated.contains(&"handshake_client_first_rtt_ns".to_owned()), "{name}");
        assert_eq!(metrics.handshake_server_probes, Some(0), "{name}");
        assert_eq!(metrics.handshake_amplification_excess_bytes, Some(0), "{name}");
    }
}

/// A Retry restarts the client's flight: the same ClientHello with a token, which validates the client's address.
#[test]
fn a_retry_is_no_probe_and_its_token_ends_the_amplification_limit() {
    // RFC 9000 section 8.1.2.
    let run = server("retry");
    assert_eq!(run.metrics.handshake_client_flight_1_datagrams, Some(1));
    assert_eq!(run.metrics.handshake_client_default_pto_ns, None);
    assert_eq!(run.metrics.handshake_client_probes, Some(0));
}
