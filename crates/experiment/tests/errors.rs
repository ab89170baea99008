//! Every mistake is named with its place, what was found, and what is allowed.

mod common;

use common::{plan, with};
use quiclab_experiment::{Experiment, Overrides};

fn error(lines: &str) -> String {
    plan(&with(lines)).expect_err(lines).to_string()
}

#[test]
fn keys_that_do_not_exist() {
    for (lines, expected) in [
        ("sead = 1\n", "x.toml:3:1: sead: found a key that does not exist\nhint: did you mean seed?"),
        (
            "[path]\nrat = \"1 Mbit/s\"\n",
            "x.toml:4:1: path.rat: found a key that does not exist\nhint: did you mean path.rate?",
        ),
        (
            "[pathh]\nrate = \"1 Mbit/s\"\n",
            "x.toml:3:2: pathh: found a key that does not exist\nhint: did you mean path?",
        ),
        (
            "[matrix]\n\"stack.nam\" = [\"quiche\"]\n",
            "x.toml:4:1: stack.nam: found a key that does not exist\nhint: did you mean stack.name?",
        ),
        (
            "[profile.quick.workload]\nsise = \"1 MiB\"\n",
            "x.toml:4:1: workload.sise: found a key that does not exist\nhint: did you mean workload.size?",
        ),
        (
            "[[published]]\nmach = 1\n",
            "x.toml:4:1: published.mach: found a key that does not exist\nhint: a row has match, values and source",
        ),
        (
            "[hosts]\nxyzxyzxyz = 1\n",
            "x.toml:4:1: hosts.xyzxyzxyz: found a key that does not exist\nhint: docs/reference/experiment-file.md lists all keys",
        ),
    ] {
        assert_eq!(error(lines), expected);
    }
}

#[test]
fn values_that_are_not_allowed() {
    for (lines, expected) in [
        (
            "[path]\nrate = \"40 Mbps\"\n",
            "x.toml:4:8: path.rate: found \"40 Mbps\", expected a rate such as \"40 Mbit/s\" (units: bit/s, kbit/s, Mbit/s, Gbit/s)",
        ),
        (
            "[path]\nrate = 40\n",
            "x.toml:4:8: path.rate: found 40, expected a rate such as \"40 Mbit/s\" (units: bit/s, kbit/s, Mbit/s, Gbit/s)",
        ),
        ("[path]\nrate = \"0 bit/s\"\n", "x.toml:4:8: path.rate: found \"0 bit/s\", expected more than zero"),
        (
            "[path]\nburst = \"1000 B\"\n",
            "x.toml:4:9: path.burst: found \"1000 B\", expected at least 1514 B, or no full frame ever passes, and at most 4294967295 B",
        ),
        (
            "[path]\nqueue_limit_packets = 0\n",
            "x.toml:4:23: path.queue_limit_packets: found 0, expected a whole number from 1 to 4294967295",
        ),
        (
            "[workload]\nrepetitions = -1\n",
            "x.toml:4:15: workload.repetitions: found -1, expected a whole number from 1 to 4294967295",
        ),
        ("[workload]\ntimeout = \"0 s\"\n", "x.toml:4:11: workload.timeout: found \"0 s\", expected more than zero"),
        (
            "[tap]\nsnaplen = \"5 B\"\n",
            "x.toml:4:11: tap.snaplen: found \"5 B\", expected \"full\", or 96 B to 65535 B",
        ),
        ("[tap]\nenabled = \"yes\"\n", "x.toml:4:11: tap.enabled: found \"yes\", expected true or false"),
        ("[stack]\ngso = \"maybe\"\n", "x.toml:4:7: stack.gso: found \"maybe\", expected \"off\" or \"on\""),
        ("kernel = \"5.10\"\n", "x.toml:3:10: kernel: found \"5.10\", expected one of \"6.1\", \"6.1-rt\", \"6.12\""),
        ("seed = -1\n", "x.toml:3:8: seed: found -1, expected a whole number from 0"),
        ("path = 1\n", "x.toml:3:8: path: found 1, expected a table\nhint: [path] begins a section"),
        (
            "[matrix]\n\"path.rate\" = \"1 Mbit/s\"\n",
            "x.toml:4:15: matrix.path.rate: found \"1 Mbit/s\", expected a list of values",
        ),
        ("[matrix]\n\"path.rate\" = []\n", "x.toml:4:15: matrix.path.rate: found [], expected a list of values"),
        (
            "[matrix]\n\"path.rate\" = [\"1 Mbit/s\", \"2 Mbit\"]\n",
            "x.toml:4:28: path.rate: found \"2 Mbit\", expected a rate such as \"40 Mbit/s\" (units: bit/s, kbit/s, Mbit/s, Gbit/s)",
        ),
        (
            "[matrix]\n\"workload.repetitions\" = [1]\n",
            "x.toml:4:26: matrix.workload.repetitions: repetitions are no axis of the matrix\nhint: set it in [workload]",
        ),
        (
            "[[published]]\nvalues = { drops_packets = \"many\" }\n",
            "x.toml:4:28: published.values.drops_packets: found \"many\", expected a number",
        ),
        ("[[published]]\nsource = 7\n", "x.toml:4:10: published.source: found 7, expected a text"),
        (
            "[path]\nrate = \"1 Mbit/s\"\n[matrix]\n\"path.rate\" = [\"2 Mbit/s\"]\n",
            "x.toml:4:8: path.rate: found a value, expected none, because it is an axis of the matrix\nhint: remove one of the two",
        ),
    ] {
        assert_eq!(error(lines), expected);
    }
}

#[test]
fn what_the_stacks_cannot_do() {
    for (lines, expected) in [
        (
            "[stack]\nname = \"quich\"\n",
            "x.toml:4:8: stack.name: found \"quich\", expected one of ngtcp2, quic-go, quiche, quiche-0.24, tcp-tls\nhint: did you mean quiche?",
        ),
        (
            "[stack]\nname = \"quic-go\"\ncongestion_control = \"bbr\"\n",
            "x.toml:5:22: stack.congestion_control: found \"bbr\", which quic-go does not do; expected one of \"cubic\"",
        ),
        (
            "[stack]\nname = \"ngtcp2\"\n[hosts]\nserver_qdisc = \"etf\"\n",
            "x.toml:6:16: hosts.server_qdisc: found \"etf\" with stack.pacing = \"user\" of ngtcp2; expected \"txtime\", because ETF drops \
             every packet without a send time",
        ),
    ] {
        assert_eq!(error(lines), expected);
    }
    assert!(error("").contains("stack.name: found nothing, expected one of ngtcp2,"));
}

#[test]
fn text_that_is_no_experiment() {
    let parse = |text| Experiment::parse("x.toml", text, None).unwrap_err().to_string();
    assert_eq!(parse(""), "x.toml:1:1: name: found nothing, expected a text\nhint: begin the file with name = \"...\"");
    assert!(parse("name = \"x\"\nname = \"y\"\n").starts_with("x.toml:2:1: this is no TOML: duplicate key"));
    assert!(parse("name = \"x\"\n\u{0}").contains("this is no TOML:"));
    assert!(parse("name = \"../x\"\ntitle = \"x\"").starts_with("x.toml:1:8: name: found \"../x\", expected words"));
    assert!(parse("name = \"/etc\"\ntitle = \"x\"").starts_with("x.toml:1:8: name: found \"/etc\", expected words"));
}

#[test]
fn a_profile_or_a_filter_that_there_is_none_of() {
    let text =
        with("[matrix]\n\"stack.name\" = [\"quiche\", \"ngtcp2\"]\n[profile.quick.workload]\nsize = \"1 MiB\"\n");
    let profile = Experiment::parse("x.toml", &text, Some("quik")).unwrap_err().to_string();
    assert_eq!(profile, "x.toml: profile: found \"quik\", expected one of its own: quick");
    let experiment = Experiment::parse("x.toml", &text, None).unwrap();
    let filter = |key: &str, value: &str| {
        let filters = vec![(key.to_owned(), value.to_owned())];
        experiment.plan(&common::stacks(), &Overrides { repetitions: None, filters }).unwrap_err().to_string()
    };
    assert_eq!(
        filter("stack", "tcp-tls"),
        "x.toml: --filter stack.name=tcp-tls: no run has it; expected one of ngtcp2, quiche"
    );
    assert_eq!(
        filter("path.rat", "1"),
        "x.toml: --filter path.rat=1: found a key that does not exist\nhint: did you mean path.rate?"
    );
}

#[test]
fn plans_without_end_are_refused() {
    let values = |count: u32| (1..=count).map(|value| value.to_string()).collect::<Vec<_>>().join(", ");
    let matrix = format!(
        "[stack]\nname = \"quiche\"\n[matrix]\n\"path.queue_limit_packets\" = [{0}]\n\"path.return_limit_packets\" = [{0}]\n",
        values(400)
    );
    assert_eq!(error(&matrix), "x.toml: matrix: found more than 100000 combinations, expected fewer");
    let repetitions = "[stack]\nname = \"quiche\"\n[workload]\nrepetitions = 4000000000\n";
    assert_eq!(
        error(repetitions),
        "x.toml: found 1 settings with 4000000000 repetitions each, expected at most 100000 runs"
    );
}
