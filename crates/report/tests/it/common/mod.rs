//! A report small enough to be checked by hand.

use std::collections::BTreeMap;

use quiclab_experiment::Published;
use quiclab_experiment::{
    Bound, Expectation,
    run::{Run, Versions},
};
use quiclab_metrics::{RunMetrics, Warning};
use quiclab_report::{FailureRow, ReportInput, RunRow};

const RUN: &str = r#"
experiment = "tests/report"
repetition = 1
seed = 1
start_shift = "3 ms"
[settings]
kernel = "6.1"
[settings.stack]
name = "STACK"
server = "STACK"
client = "STACK"
congestion_control = "cubic"
gso = "GSO"
pacing = "off"
http = "h3"
[settings.workload]
test_case = "transfer"
files = 1
name_bytes = 1
certificate = "small"
certificate_delay = "0 ns"
size = "10 MiB"
timeout = "300 s"
[settings.path]
ip = "4"
drops_to_server = []
rate = "40 Mbit/s"
burst = "1535 B"
delay_to_client = "20 ms"
delay_to_server = "20 ms"
queue_limit_packets = 143
return_limit_packets = 1000
[settings.hosts]
udp_receive_buffer = "50 MiB"
udp_send_buffer = "212992 B"
[settings.hosts.server_qdisc]
kind = "none"
[settings.tap]
enabled = true
send_sizes = false
qlog = false
[settings.analysis]
train_threshold = "100 us"
"#;

fn row(stack: &str, gso: &str, repetition: u32, goodput_wire_bps: Option<f64>) -> RunRow {
    let mut run = Run::from_toml(&RUN.replace("STACK", stack).replace("GSO", gso)).unwrap();
    run.repetition = repetition;
    run.seed = u64::from(repetition);
    let mut metrics = RunMetrics::empty();
    metrics.metrics.goodput_wire_bps = goodput_wire_bps;
    metrics.metrics.drops_packets = Some(10 * u64::from(repetition));
    metrics.metrics.gap_share_below_100us = Some(0.5);
    metrics.distributions.gaps_ns = vec![(1_000, 3), (300_000, 1)];
    metrics.distributions.trains = vec![(1, 2), (4, 1)];
    RunRow {
        folder: format!("{stack}-0{repetition}-abc"),
        run,
        versions: Versions::from([("qemu".to_owned(), "7.2".to_owned())]),
        started_unix_ms: None,
        metrics,
        congestion_window: None,
        lost: None,
        path: None,
        packet_summary: None,
        packets: (repetition == 1).then(|| vec![(0, 1500), (300_000, 3000), (310_000, 4500)]),
    }
}

fn expectation(claim: &str, runs: &[(&str, &str)], number: f64, compared_with: Option<&[(&str, &str)]>) -> Expectation {
    let settings =
        |pairs: &[(&str, &str)]| pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Expectation {
        claim: claim.to_owned(),
        source: None,
        metric: "goodput_wire_bps".to_owned(),
        runs: settings(runs),
        bound: Bound::AtMost,
        number,
        compared_with: compared_with.map(settings),
        compared_as: Default::default(),
    }
}

/// Two repetitions of a stack with a published value, one run of it with another setting, one run that measured nothing,
/// and one failure.
pub fn input() -> ReportInput {
    let mut runs = vec![
        row("quiche", "on", 1, Some(34e6)),
        row("quiche", "on", 2, Some(36e6)),
        row("quiche", "off", 1, Some(30e6)),
        row("other", "on", 1, None),
    ];
    runs[0].metrics.warnings =
        vec![Warning { code: "guest_busy".to_owned(), message: "the guest was busy".to_owned() }];
    ReportInput {
        experiment: "tests/report".to_owned(),
        title: "A report".to_owned(),
        source: Some("Nobody, 2026".to_owned()),
        command: "quiclab run x.toml".to_owned(),
        ranking: false,
        runs,
        failures: vec![FailureRow {
            folder: "other-02-def".to_owned(),
            message: "the client hung".to_owned(),
            failed: None,
        }],
        published: vec![
            Published {
                matches: BTreeMap::from([("stack.name".to_owned(), "quiche".to_owned())]),
                values: BTreeMap::from([("goodput_wire_bps".to_owned(), 1e6)]),
                source: Some("a row that says less".to_owned()),
                ..Published::default()
            },
            Published {
                matches: BTreeMap::from([
                    ("stack.name".to_owned(), "quiche".to_owned()),
                    ("stack.gso".to_owned(), "on".to_owned()),
                ]),
                values: BTreeMap::from([("goodput_wire_bps".to_owned(), 35.9e6)]),
                source: Some("a paper".to_owned()),
                ..Published::default()
            },
        ],
        expectations: vec![
            expectation(
                "goodput without offload is no better",
                &[("stack.gso", "off")],
                1.0,
                Some(&[("stack.gso", "on")]),
            ),
            expectation("goodput is low", &[("stack.name", "quiche")], 32e6, None),
            expectation("nobody has it", &[("stack.name", "nobody")], 1.0, None),
        ],
        expectations_left_out: Vec::new(),
        looks: None,
        until: None,
        figures: Vec::new(),
        ladders: BTreeMap::new(),
        machine: None,
    }
}

/// Runs of one setting with these goodputs, seeds from 1, and runs that failed.
#[allow(dead_code, reason = "each test program uses its own part")]
pub fn side(goodputs_bps: &[f64], failures: &[FailureRow]) -> ReportInput {
    let runs = (1..).zip(goodputs_bps).map(|(repetition, goodput)| row("quiche", "on", repetition, Some(*goodput)));
    ReportInput {
        runs: runs.collect(),
        failures: failures.to_vec(),
        published: Vec::new(),
        expectations: Vec::new(),
        ..input()
    }
}

/// A run that failed.
#[allow(dead_code, reason = "each test program uses its own part")]
pub fn failure(folder: &str) -> FailureRow {
    FailureRow { folder: folder.to_owned(), message: "the client ended with exit status 1".to_owned(), failed: None }
}
