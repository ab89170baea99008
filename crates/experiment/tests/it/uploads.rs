//! Runs in which the client's packets are measured.

use crate::common::{plan, with};
use quiclab_experiment::{
    run::{Run, Sender},
    stack::Role,
};

const UPLOAD: &str = "workload.test_case = \"perf\"\nworkload.sender = \"client\"\nworkload.request_size = \"1 MiB\"\n";
const ANSWER: &str = "workload.size = \"8 B\"\n";

fn run(lines: &str) -> Run {
    plan(&with(&format!("{UPLOAD}{ANSWER}{lines}"))).unwrap_or_else(|error| panic!("{lines}: {error}")).runs.remove(0)
}

fn error(lines: &str) -> String {
    plan(&with(lines)).expect_err(lines).to_string()
}

#[test]
fn an_upload_without_bytes_to_measure_or_with_traffic_of_the_other_direction_is_refused() {
    let stack = "stack.name = \"quiche\"\n";
    for (lines, expected) in [
        (
            format!("{stack}workload.sender = \"client\"\n"),
            "x.toml:4:19: workload.sender: found \"client\" with workload.test_case = \"transfer\"; expected \"perf\", in which a client \
             sends bytes\nhint: workload.test_case = \"perf\", and workload.request_size = \"10 MiB\"",
        ),
        (
            format!(
                "{stack}workload.test_case = \"perf\"\nworkload.sender = \"client\"\nworkload.request_size = \"8 B\"\n"
            ),
            "x.toml:6:25: workload.request_size: found 8 B with workload.sender = \"client\"; expected more, because the requests are what \
             is measured\nhint: workload.request_size = \"10 MiB\"",
        ),
        (
            format!("{stack}{UPLOAD}workload.size = \"1025 B\"\n"),
            "x.toml:7:17: workload.size: found 1025 B with workload.sender = \"client\"; expected at most 1 KiB, because a download behind \
             the upload would be measured with it\nhint: workload.size = \"8 B\"",
        ),
        (
            format!("{stack}{UPLOAD}{ANSWER}path.to_server = []\n"),
            "x.toml:8:18: path.to_server: found stages with workload.sender = \"client\" and the short form of path.to_client; expected \
             both lists, or the short form of both\nhint: list the stages of both directions",
        ),
        (
            format!("{stack}{UPLOAD}{ANSWER}path.cross_traffic = \"tcp\"\n"),
            "x.toml:8:22: path.cross_traffic: found traffic towards the client with workload.sender = \"client\"; expected \"none\", \
             because it does not share the path of an upload\nhint: path.cross_traffic = \"none\"",
        ),
        (
            format!("{stack}{UPLOAD}{ANSWER}hosts.receive_coalescing = \"1 ms\"\n"),
            "x.toml:8:28: hosts.receive_coalescing: found 1 ms with workload.sender = \"client\"; expected 0 ns, because it bundles \
             packets that reach the server, not acknowledgments that reach the client\nhint: hosts.receive_coalescing = \"0 ns\"",
        ),
        (
            format!("{stack}{UPLOAD}{ANSWER}tap.send_sizes = true\n"),
            "x.toml:8:18: tap.send_sizes: found true with workload.sender = \"client\"; expected false, because it counts what a server \
             sends\nhint: tap.send_sizes = false",
        ),
    ] {
        assert_eq!(error(&lines), expected);
    }
}

#[test]
fn the_bottleneck_lies_in_front_of_the_client_and_delays_stay_where_they_are() {
    let asked = "path.rate = \"8 Mbit/s\"\npath.delay_to_client = \"5 ms\"\npath.delay_to_server = \"7 ms\"\npath.queue_bdp = 1\n";
    let settings = run(&format!("stack.name = \"quiche\"\n{asked}path.drops_to_server = [3]\n")).settings;
    let names =
        |stages: Vec<quiclab_path::spec::StageSpec>| stages.into_iter().map(|stage| stage.name).collect::<Vec<_>>();
    assert_eq!(names(settings.stages_to_server()), ["drops", "delay", "rate"]);
    assert_eq!(settings.stages_from_sender(), settings.stages_to_server());
    assert_eq!(names(settings.stages_to_client()), ["delay"]);
    let delays = [settings.stages_to_server()[1].write(), settings.stages_to_client()[0].write()];
    assert_eq!(delays.map(|stage| stage["delay"].as_str().unwrap().to_owned()), ["7 ms", "5 ms"]);
    // 8 Mbit/s for the 7 ms towards the server and 12 ms of queue, in frames of 1392 B.
    assert_eq!(settings.path.queue_limit_packets, 19_000 / 1392);
    assert_eq!(settings.path.round_trip().to_string(), "12 ms");
    assert_eq!(
        settings.path_described(),
        "5 ms to the client, 8 Mbit/s, 7 ms to the server, queue and delay line of 13 packets, IPv4"
    );
}

#[test]
fn how_a_sender_behaves_is_the_clients_and_a_server_of_another_stack_keeps_its_defaults() {
    let settings =
        run("stack.client = \"quiche-0.24\"\nstack.name = \"quiche\"\nstack.congestion_control = \"bbr2\"\n").settings;
    assert_eq!(settings.workload.sender, Sender::Client);
    assert_eq!(settings.workload.sent_bytes().as_bytes(), 1 << 20);
    let congestion_control = |role| settings.environment(role).get("QUICLAB_CCA").cloned();
    assert_eq!(congestion_control(Role::Client).as_deref(), Some("bbr2"));
    assert_eq!(congestion_control(Role::Server), None);
    // What the sender does not claim is refused, whatever the other end can do.
    let lines = format!(
        "{UPLOAD}{ANSWER}stack.name = \"quiche-0.24\"\nstack.client = \"quic-go\"\nstack.pacing = \"txtime\"\n"
    );
    assert!(error(&lines).contains("which quic-go does not support"), "{}", error(&lines));
}
