//! Verdicts on runs that were made so that the cause is known, and on the same runs without that cause.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::common::{Bench, REAL_STACKS, output_of, quiclab, records};
use serde_json::Value;

/// The stacks that the simulator calls.
const SANS_IO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sans-io");

/// Rules that apply to the only run of an experiment with these lines in the simulator, for which `rule` has what it needs.
fn verdicts(rule: &str, stacks: &str, lines: &str) -> BTreeSet<String> {
    verdicts_on("sim", rule, stacks, lines)
}

/// The same on a testbed.
fn verdicts_on(testbed: &str, rule: &str, stacks: &str, lines: &str) -> BTreeSet<String> {
    let bench = Bench::new(&format!("name = \"cause\"\ntitle = \"One known cause\"\n{lines}"));
    let result = output_of(&mut bench.run(stacks, "out", &["--testbed", testbed]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let record = bench.out("out").join(records(&bench.out("out")).remove(0));
    let page = bench.folder.path().join("page.html");
    let result = output_of(quiclab().arg("look").arg(record).arg("--html").arg(page).arg("--json"));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let json: Value = serde_json::from_str(&result.output).unwrap();
    let verdicts = &json["transfers"][0]["verdicts"];
    let not_judged = verdicts["not_judged"].as_array().unwrap();
    assert!(!not_judged.iter().any(|one| one["rule"] == rule), "{not_judged:?}");
    println!("{lines}\n{:#}", verdicts["found"]);
    verdicts["found"].as_array().unwrap().iter().map(|one| one["rule"].as_str().unwrap().to_owned()).collect()
}

/// The rule applies with the cause and not without it.
fn names_it(rule: &str, stacks: &str, with: &str, without: &str) {
    names_it_on("sim", rule, [stacks, stacks], [with, without]);
}

/// The same on a testbed, with the folder of stacks that has the cause and one that does not.
fn names_it_on(testbed: &str, rule: &str, stacks: [&str; 2], lines: [&str; 2]) {
    let with = verdicts_on(testbed, rule, stacks[0], lines[0]);
    assert!(with.contains(rule), "{with:?}");
    let without = verdicts_on(testbed, rule, stacks[1], lines[1]);
    assert!(!without.contains(rule), "{without:?}");
}

fn quinn(workload: &str, path: &str) -> String {
    format!("[stack]\nname = \"quinn\"\n[workload]\n{workload}\n{path}")
}

const USUAL: &str = "size = \"4 MiB\"";

#[test]
fn a_buffer_that_is_much_too_small_is_named() {
    let path = |limit: &str| LOSS.replace("PROBABILITY", "0.0").replace("143 packets", limit);
    // CUBIC and its pacer lose two packets there and keep to their window.
    let bbr = |path: &str| quinn(USUAL, path).replace("\"quinn\"", "\"quinn\"\ncongestion_control = \"bbr\"");
    names_it("short_queue", SANS_IO, &bbr(&path("7 packets")), &bbr(&path("143 packets")));
}

#[test]
fn a_buffer_that_is_much_too_large_is_named() {
    names_it("standing_queue", SANS_IO, &quinn("size = \"16 MiB\"", "[path]\nqueue_bdp = 100"), &quinn(USUAL, ""));
}

/// The usual path with losses before the queue.
const LOSS: &str = "[[path.to_client]]\nstage = \"loss\"\nmodel = \"independent\"\nprobability = PROBABILITY\n\
                    [[path.to_client]]\nstage = \"queue\"\ndiscipline = \"drop_tail\"\nlimit = \"143 packets\"\n\
                    [[path.to_client]]\nstage = \"rate\"\nrate = \"40 Mbit/s\"\n\
                    [[path.to_client]]\nstage = \"delay\"\ndelay = \"20 ms\"\n";

#[test]
fn loss_at_random_is_named_and_that_of_a_full_queue_is_not() {
    let path = |probability: &str| LOSS.replace("PROBABILITY", probability);
    let with = quinn(USUAL, &path("0.01"));
    names_it("random_loss", SANS_IO, &with, &quinn(USUAL, &path("0.0")));
}

#[test]
fn a_path_that_reorders_makes_losses_that_are_none() {
    let reorder = "[[path.to_client]]\nstage = \"reorder\"\nprobability = 0.02\nhold = \"5 ms\"\n";
    let path = LOSS.replace("PROBABILITY", "0.0");
    names_it("spurious_losses", SANS_IO, &quinn(USUAL, &format!("{path}{reorder}")), &quinn(USUAL, &path));
}

#[test]
fn a_handshake_longer_than_the_first_probe_timeout_repeats_data_needlessly() {
    let path = "[path]\ndelay_to_client = \"600 ms\"\ndelay_to_server = \"600 ms\"\nqueue_limit_packets = 5000\nreturn_limit_packets = 5000\n";
    // The client's end must be seen whole.
    let tap = "[tap]\nbottleneck_snaplen = \"full\"\n";
    let size = "size = \"100 kB\"";
    names_it("handshake_repeated", SANS_IO, &quinn(size, &format!("{path}{tap}")), &quinn(size, tap));
}

#[test]
fn slow_start_that_fills_the_queue_overflows_it_and_loss_at_random_does_not() {
    let path = |probability: &str| quinn("size = \"16 MiB\"", &LOSS.replace("PROBABILITY", probability));
    for probability in ["0.01", "0.05"] {
        names_it("slow_start_overflow", SANS_IO, &path("0.0"), &path(probability));
    }
}

#[test]
fn a_certificate_beyond_three_times_the_first_datagram_waits_for_the_client() {
    let of = |bytes: u32| quinn(&format!("{USUAL}\ncertificate = \"{bytes} B\""), "");
    names_it("amplification_blocked", SANS_IO, &of(9000), &of(1212));
}

#[test]
fn a_server_that_repeats_its_flight_unasked_exceeds_the_amplification_limit() {
    // Nothing but the ClientHello reaches it, for longer than its probe timeout.
    let unanswered = "[[path.to_client]]\nstage = \"delay\"\ndelay = \"1500 ms\"\n\
                      [[path.to_server]]\nstage = \"loss\"\nmodel = \"content\"\n\
                      drop = \"until flight 2 and repeat\"\nat_least_drops = 1\n";
    let usual = "[[path.to_client]]\nstage = \"delay\"\ndelay = \"20 ms\"\n";
    let rest = "[[path.to_server]]\nstage = \"delay\"\ndelay = \"5 ms\"\n[tap]\nbottleneck_snaplen = \"full\"\n";
    let of =
        |path: &str| quinn("size = \"1 kB\"\ncertificate = \"1212 B\"\ntimeout = \"60 s\"", &format!("{path}{rest}"));
    names_it("amplification_exceeded", SANS_IO, &of(unanswered), &of(usual));
}

#[test]
fn hosts_that_take_long_for_each_packet_are_busy() {
    names_it(
        "host_busy",
        SANS_IO,
        &quinn(USUAL, "[sim]\npacket_cost = \"250 us\""),
        &quinn(USUAL, "[sim]\npacket_cost = \"5 us\""),
    );
}

/// quiche, which leaves spacing to the kernel, with more lines for its stack.
fn quiche(stack: &str, path: &str) -> String {
    format!("[stack]\nname = \"quiche-0.22\"\n{stack}\n[workload]\nsize = \"8 MiB\"\n{path}")
}

#[test]
#[ignore = "builds quiche, which takes a minute or two and needs cmake and g++: make test-causes"]
fn what_quiche_hands_over_together_is_a_batch() {
    let paced = "[hosts]\nserver_qdisc = \"fq\"\nreceive_coalescing = \"200 us\"";
    names_it("batches", SANS_IO, &quiche("gso_segments = \"all\"", paced), &quiche("gso_segments = 1", paced));
}

#[test]
#[ignore = "builds quiche, which takes a minute or two and needs cmake and g++: make test-causes"]
fn send_times_without_a_queueing_discipline_that_keeps_them_are_not_kept() {
    let of = |qdisc: &str| {
        quiche("gso_segments = 1", &format!("[hosts]\nserver_qdisc = \"{qdisc}\"\nreceive_coalescing = \"4 ms\""))
    };
    names_it("plan_not_kept", SANS_IO, &of("none"), &of("fq"));
}

#[test]
#[ignore = "builds quiche, which takes a minute or two and needs cmake and g++: make test-causes"]
fn a_sender_that_does_not_space_its_packets_is_not_paced() {
    // Acknowledgments that come in bundles release much at once, unless the sender spaces it.
    let of = |pacing: &str| quiche(pacing, "[hosts]\nserver_qdisc = \"fq\"\nreceive_coalescing = \"4 ms\"");
    names_it("not_paced", SANS_IO, &of("pacing = \"off\""), &of("pacing = \"txtime\"\ngso_segments = 1"));
}

#[test]
#[ignore = "builds quiche, which takes a minute or two and needs cmake and g++: make test-causes"]
fn a_window_that_quiche_rolls_back_is_restored_again_and_again() {
    // Few losses of many packets: quiche takes them for spurious ones, though none is. quinn keeps to its reductions.
    let path = |probability: &str| format!("[tap]\nqlog = true\n{}", LOSS.replace("PROBABILITY", probability));
    let with = quiche("", &path("0.002"));
    names_it("window_restored", SANS_IO, &with, &quiche("", &path("0.0")));
    names_it("window_restored", SANS_IO, &with, &quinn("size = \"8 MiB\"", &path("0.002")));
}

/// quinn whose program does what its arguments say: `--acks=10`, `--window=BYTES`, `--pause`.
fn caused(folder: &Path) -> PathBuf {
    let stacks = folder.join("stacks");
    let stack = stacks.join("caused");
    copy(&Path::new(SANS_IO).join("quinn"), &stack);
    let faster = [("lto = \"fat\"", "lto = false"), ("codegen-units = 1", "codegen-units = 16")];
    change(&stack.join("Cargo.toml"), &faster);
    change(&stack.join("src/main.rs"), &[("mod client;\n", "mod causes;\nmod client;\n")]);
    fs::write(stack.join("src/causes.rs"), CAUSES).unwrap();
    change(
        &stack.join("src/transport.rs"),
        &[(
            "        .stream_receive_window(STREAM_WINDOW);\n",
            "        .stream_receive_window(crate::causes::given(\"window\").map_or(STREAM_WINDOW, |it| VarInt::from_u32(it as u32)));\n    \
         if let Some(every) = crate::causes::given(\"acks\") {\n        \
         let mut frequency = quinn_proto::AckFrequencyConfig::default();\n        \
         frequency.ack_eliciting_threshold(VarInt::from_u32(every as u32 - 1));\n        \
         config.ack_frequency_config(Some(frequency));\n    }\n",
        )],
    );
    change(
        &stack.join("src/streams.rs"),
        &[(
            "            match connection.send_stream(stream).write_chunks(",
            "            if !crate::causes::may_write(self.chunk.len()) {\n                return Ok(Progress::Open);\n            }\n            \
         match connection.send_stream(stream).write_chunks(",
        )],
    );
    change(
        &stack.join("src/endpoint.rs"),
        &[
            (
                "        let mut answer = Answer::default();\n",
                "        crate::causes::set_now(now_ns);\n        let mut answer = Answer::default();\n",
            ),
            (
                "            loop {\n                let mut goes_on",
                "            if self.settings.role == Role::Server && crate::causes::is_pausing() {\n                \
             let id = quinn_proto::StreamId::new(quinn_proto::Side::Client, quinn_proto::Dir::Bi, 0);\n                \
             let event = Event::Stream(quinn_proto::StreamEvent::Writable { id });\n                \
             driven.application.on_event(&mut driven.connection, event)?;\n            }\n            \
             loop {\n                let mut goes_on",
            ),
            (
                "        let nanoseconds = next.map(|next| next.saturating_duration_since(self.base).as_nanos());\n",
                "        let nanoseconds = next.map(|next| next.saturating_duration_since(self.base).as_nanos());\n        \
             let nanoseconds = crate::causes::next(nanoseconds, self.settings.role == Role::Server && !self.connections.is_empty());\n",
            ),
        ],
    );
    stacks
}

/// The module that the changes above call. With `--pause` the server's program has 64 kB every 100 ms, however much the connection takes.
const CAUSES: &str = r#"//! Behaviour that is wanted for tests.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const STEP_NS: u64 = 100_000_000;
const STEP_BYTES: u64 = 65_536;
static NOW: AtomicU64 = AtomicU64::new(0);
static WRITTEN: AtomicU64 = AtomicU64::new(0);

pub fn given(name: &str) -> Option<u64> {
    let start = format!("--{name}=");
    std::env::args().find_map(|word| word.strip_prefix(&start)?.parse().ok())
}

pub fn is_pausing() -> bool {
    std::env::args().any(|word| word == "--pause")
}

pub fn set_now(now_ns: u64) {
    NOW.store(now_ns, Relaxed);
}

pub fn may_write(bytes: usize) -> bool {
    if !is_pausing() {
        return true;
    }
    let may = WRITTEN.load(Relaxed) < (NOW.load(Relaxed) / STEP_NS + 1) * STEP_BYTES;
    if may {
        WRITTEN.fetch_add(bytes as u64, Relaxed);
    }
    may
}

pub fn next(other: Option<u128>, is_server: bool) -> Option<u128> {
    if !is_server || !is_pausing() {
        return other;
    }
    let own = u128::from((NOW.load(Relaxed) / STEP_NS + 1) * STEP_NS);
    Some(other.map_or(own, |other| other.min(own)))
}
"#;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    // With what links lead to.
    assert!(Command::new("cp").arg("-rL").args([from, to]).status().unwrap().success());
    let _ = fs::remove_dir_all(to.join("target"));
    assert!(Command::new("chmod").args(["-R", "u+w"]).arg(to).status().unwrap().success());
}

fn change(file: &Path, changes: &[(&str, &str)]) {
    let mut text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    for (old, new) in changes {
        assert_eq!(text.matches(old).count(), 1, "{}: {old}", file.display());
        text = text.replace(old, new);
    }
    fs::write(file, text).unwrap();
}

/// Experiments with [`caused`] stacks: the program with these arguments, and without.
struct Caused {
    /// Is removed at the end.
    _folder: tempfile::TempDir,
    stacks: PathBuf,
    manifest: String,
}

impl Caused {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let stacks = caused(folder.path());
        let manifest = fs::read_to_string(stacks.join("caused/stack.toml")).unwrap();
        let manifest = manifest.replace("name = \"quinn\"", "name = \"caused\"");
        Self { _folder: folder, stacks, manifest }
    }

    fn verdicts(&self, rule: &str, arguments: &[&str], path: &str) -> BTreeSet<String> {
        let words: String = arguments.iter().map(|word| format!(", \"{word}\"")).collect();
        let manifest = self.manifest.replace("\"/stack/quinn-sans-io\"]", &format!("\"/stack/quinn-sans-io\"{words}]"));
        fs::write(self.stacks.join("caused/stack.toml"), manifest).unwrap();
        verdicts(rule, self.stacks.to_str().unwrap(), &quinn(USUAL, path).replace("\"quinn\"", "\"caused\""))
    }

    fn names_it(&self, rule: &str, arguments: &[&str], path: &str) {
        let with = self.verdicts(rule, arguments, path);
        assert!(with.contains(rule), "{arguments:?}: {with:?}");
        let without = self.verdicts(rule, &[], path);
        assert!(!without.contains(rule), "{without:?}");
    }
}

#[test]
#[ignore = "builds a changed program, which takes a minute or two: make test-causes"]
fn what_endpoints_do_is_named() {
    let stack = Caused::new();
    stack.names_it("ack_trains", &["--acks=10"], "");
    stack.names_it("flow_control_limited", &["--window=40000"], "");
    stack.names_it("application_limited", &["--pause"], "");
}

/// Debian's ngtcp2 with changes in its script.
struct ChangedClient {
    /// Is removed at the end.
    _folder: tempfile::TempDir,
    stacks: PathBuf,
}

impl ChangedClient {
    fn new(changes: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let stacks = folder.path().join("stacks");
        copy(&Path::new(REAL_STACKS).join("ngtcp2"), &stacks.join("ngtcp2"));
        change(&stacks.join("ngtcp2/endpoint.sh"), changes);
        Self { _folder: folder, stacks }
    }

    fn names_it(&self, testbed: &str, rule: &str, size: &str, path: &str) {
        let lines = format!("[stack]\nname = \"ngtcp2\"\n[workload]\nsize = \"{size}\"\nrepetitions = 1\n{path}");
        names_it_on(testbed, rule, [self.stacks.to_str().unwrap(), REAL_STACKS], [&lines, &lines]);
    }
}

/// The client is as in QUIC Steps, whose goodput of ngtcp2 has 30 s of waiting in it.
#[test]
#[ignore = "runs virtual machines: make test-causes"]
fn a_client_that_waits_for_its_idle_timeout_is_named() {
    // It calls the timeout an error.
    let client = ChangedClient::new(&[(" --exit-on-all-streams-close", ""), ("[ $failed = 0 ] || exit 1", ":")]);
    client.names_it("vm", "idle_end_in_goodput", "1 MiB", "");
}

#[test]
#[ignore = "runs in real time: make test-causes"]
fn a_client_that_does_not_read_for_half_a_second_loses_datagrams() {
    let stop = "& sleep 0.3; kill -STOP $!; sleep 0.5; kill -CONT $!; wait $! || fail";
    let client = ChangedClient::new(&[("2>\"$scratch.errors\" || fail", &format!("2>\"$scratch.errors\" {stop}"))]);
    // So much is on its way then that the socket's buffer has no room for it.
    client.names_it("netns", "receive_buffer_drops", "8 MiB", "[path]\nqueue_bdp = 20\n");
}

#[test]
#[ignore = "runs virtual machines: make test-causes"]
fn a_bucket_that_has_time_to_fill_is_named() {
    // quic-go's pacer lets 10 packets go at once where nothing was sent for long enough (internal/congestion/pacer.go).
    let coalescing = |time: &str| {
        format!("[stack]\nname = \"quic-go\"\n[workload]\nsize = \"3 MiB\"\n[hosts]\nreceive_coalescing = \"{time}\"\n")
    };
    names_it_on("vm", "full_bucket", [REAL_STACKS, REAL_STACKS], [&coalescing("20 ms"), &coalescing("0 ms")]);
}

/// The latencies of packets against those that the client measured itself.
#[test]
#[ignore = "runs virtual machines: make test-causes"]
fn frames_that_wait_for_nothing_are_limited_by_the_application_and_take_what_the_client_measured() {
    let frames = |size: &str| {
        format!(
            "[stack]\nname = \"quinn\"\n[workload]\ntest_case = \"perf\"\nperiod = \"33 ms\"\nfiles = 120\nsize = \"{size}\"\n\
             [path]\nrate = \"10 Mbit/s\"\ndelay_to_client = \"10 ms\"\ndelay_to_server = \"10 ms\"\n\
             [tap]\nbottleneck_snaplen = \"full\"\n"
        )
    };
    // Twice of what the path carries in a period waits for the congestion window.
    let (light, heavy) = (frames("20 kB"), frames("80 kB"));
    names_it_on("vm", "application_limited", [REAL_STACKS, REAL_STACKS], [&light, &heavy]);

    let bench = Bench::new(&format!("name = \"frames\"\ntitle = \"Frames\"\n{light}"));
    let result = output_of(&mut bench.run(REAL_STACKS, "out", &["--testbed", "vm"]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let record = bench.out("out").join(records(&bench.out("out")).remove(0));
    let measured: Value = serde_json::from_slice(&fs::read(record.join("metrics.json")).unwrap()).unwrap();
    let of_packets = |name: &str| measured["metrics"][name].as_u64().unwrap_or_else(|| panic!("{name}: {measured}"));
    let mut of_client = quiclab_perf::Latencies::default();
    of_client.take(&fs::read(record.join("client/latencies.hdr")).unwrap()).unwrap();
    let of_client = of_client.figures();
    assert_eq!((of_packets("exchanges_complete"), of_client.count), (120, 120));
    for (name, by_client) in [("median", of_client.p50_ns), ("p99", of_client.p99_ns)] {
        let (by_packets, by_client) = (of_packets(&format!("exchange_latency_{name}_ns")), by_client.unwrap());
        // The client counts from the time at which a frame is due; its timers have steps of a millisecond.
        let later = by_client as f64 - by_packets as f64;
        assert!((0.0..3e6).contains(&later), "{name}: {by_client} ns by the client, {by_packets} by packets");
    }
}
