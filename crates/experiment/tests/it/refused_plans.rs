//! Files that say nothing wrong by themselves, and cannot be planned as they are asked for.

use crate::common;
use crate::common::{plan, with};
use quiclab_experiment::{Experiment, Overrides};

fn error(lines: &str) -> String {
    plan(&with(lines)).expect_err(lines).to_string()
}

#[test]
fn a_schedule_that_nobody_keeps() {
    let perf = "[stack]\nname = \"quiche-0.24\"\n[workload]\ntest_case = \"perf\"\nperiod = \"33 ms\"\n";
    for (lines, expected) in [
        (
            perf.replace("perf", "transfer"),
            "x.toml:7:10: workload.period: found \"33 ms\" with workload.test_case = \"transfer\"; expected \"none\", because only \
             the client of \"perf\" opens streams by a schedule\nhint: set workload.test_case to \"perf\"",
        ),
        (
            format!("{perf}streams = 2\n"),
            "x.toml:8:11: workload.streams: found 2 with workload.period = \"33 ms\"; expected \"all\", because a request that waits \
             for a response is not sent when it is due",
        ),
        (
            format!("{perf}files = 4\ntimeout = \"99 ms\"\n"),
            "x.toml:9:11: workload.timeout: found \"99 ms\", expected more than 99 ms: that is when the last of workload.files = 4 \
             requests begins with workload.period = \"33 ms\"",
        ),
    ] {
        assert_eq!(error(&lines), expected);
    }
    let planned = plan(&with(&format!("{perf}files = 4\ntimeout = \"100 ms\"\n"))).unwrap();
    assert_eq!(planned.runs[0].settings.workload.last_request().to_string(), "99 ms");
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
            "x.toml:5:22: stack.congestion_control: found \"bbr\", which quic-go does not support; expected one of \"cubic\"",
        ),
        (
            "[stack]\nname = \"quic-go\"\nhttp = \"h2\"\n",
            "x.toml:5:8: stack.http: found \"h2\", which quic-go does not support; expected one of \"h3\"",
        ),
        (
            "[stack]\nname = \"quic-go\"\npacing = \"txtime\"\n",
            "x.toml:5:10: stack.pacing: found \"txtime\", which quic-go does not support; expected one of \"user\"",
        ),
        (
            "[stack]\nname = \"ngtcp2\"\n[hosts]\nserver_qdisc = \"etf\"\n",
            "x.toml:6:16: hosts.server_qdisc: found \"etf\" with stack.pacing = \"user\" of ngtcp2; expected \"txtime\", because ETF drops \
             every packet without a send time",
        ),
        (
            "[stack]\nname = \"quiche-0.24\"\ngso = \"paced\"\n[hosts]\nserver_qdisc = \"fq_codel\"\n",
            "x.toml:7:16: hosts.server_qdisc: found \"fq_codel\" with stack.gso = \"paced\"; expected \"none\", \"fq\" or \"etf\", which look \
             at send times",
        ),
        (
            "[stack]\nname = \"quiche-0.24\"\ngso = \"paced\"\ngso_rate = \"message\"\n",
            "x.toml:4:8: hosts.server_qdisc: found \"none\" with stack.gso = \"paced\"; expected \"fq\" or \"etf\", which look at send times",
        ),
        (
            "[stack]\nname = \"quiche-0.24\"\ngso = \"paced\"\npacing = \"off\"\n",
            "x.toml:6:10: stack.pacing: found \"off\" with stack.gso = \"paced\"; expected \"txtime\", the time of the first packet",
        ),
        (
            "[stack]\nname = \"ngtcp2\"\ngso_segments = 2\n",
            "x.toml:5:16: stack.gso_segments: found a value that ngtcp2 does not support; expected \"all\"",
        ),
        (
            "[stack]\nname = \"ngtcp2\"\nhystart = \"off\"\n",
            "x.toml:5:11: stack.hystart: found a value that ngtcp2 does not support; expected \"default\"",
        ),
        (
            "[stack]\nname = \"ngtcp2\"\nfirst_ack = \"wait\"\n",
            "x.toml:5:13: stack.first_ack: found a value that ngtcp2 does not support; expected \"default\"",
        ),
        (
            "[stack]\nname = \"quiche\"\nfirst_ack = \"padded\"\n",
            "x.toml:5:13: stack.first_ack: found \"padded\", which quiche does not support; expected one of \"instant\", \"wait\"",
        ),
        (
            "[stack]\nname = \"ngtcp2\"\nclient = \"quic-go\"\nhttp = \"h3\"\ndefault_pto = \"1 s\"\n",
            "x.toml:7:15: stack.default_pto: found a value that ngtcp2 does not support; expected \"default\"",
        ),
        (
            "[stack]\nname = \"quiche\"\nclient = \"ngtcp2\"\nclient_default_pto = \"1 s\"\n",
            "x.toml:6:22: stack.client_default_pto: found a value that ngtcp2 does not support; expected \"default\"",
        ),
        (
            "[stack]\nname = \"quiche\"\nclient = \"ngtcp2\"\nclient_key_exchange = \"x25519\"\n",
            "x.toml:6:23: stack.client_key_exchange: found a value that ngtcp2 does not support; expected \"default\"",
        ),
        (
            "[stack]\nname = \"quiche-0.24\"\ntxtime_clock = \"tai\"\n[hosts]\nserver_qdisc = \"fq\"\n",
            "x.toml:5:16: stack.txtime_clock: found \"tai\" with hosts.server_qdisc = \"fq\"; expected \"monotonic\", because FQ interprets every send time on that clock and drops packets that are too far in the future",
        ),
        (
            "[stack]\nname = \"quiche-0.24\"\ntxtime_clock = \"monotonic\"\n[hosts]\nserver_qdisc = \"etf\"\n",
            "x.toml:5:16: stack.txtime_clock: found \"monotonic\" with hosts.server_qdisc = \"etf\"; expected \"tai\", because ETF drops every \
             packet whose send time is on another clock",
        ),
        (
            "[stack]\nname = \"quiche-0.24\"\n[vm]\ntheft_length = \"2 ms\"\n",
            "x.toml:6:16: vm.theft_length: found 2 ms with vm.theft_interval = \"1 ms\"; expected at most that, so \
             that at least half of the time remains",
        ),
        (
            "[vm]\nkernel = \"6.1-paced\"\ntheft_length = \"1 ms\"\n[stack]\nname = \"quiche-0.24\"\n",
            "x.toml:4:10: vm.kernel: found \"6.1-paced\" with settings that need the modules of kernel/module; expected another kernel, because this one loads no modules\nhint: stack.gso_rate = \"message\" paces segments without a module",
        ),
        (
            "[stack]\nname = \"quiche\"\n[workload]\ncertificate = \"699 B\"\ncertificate_key = \"rsa-2048\"\n",
            "x.toml:6:15: workload.certificate: found \"699 B\" with workload.certificate_key = \"rsa-2048\"; expected at least 700 B, \
             because the leaf alone takes about that\nhint: set workload.certificate to 700 B or more, or choose a smaller key",
        ),
        (
            "[stack]\nname = \"quiche\"\n[workload]\ncertificate_key = \"rsa\"\n",
            "x.toml:6:19: workload.certificate_key: found \"rsa\", expected one of \"ecdsa-p256\", \"ecdsa-p384\", \"rsa-2048\", \"rsa-4096\"",
        ),
    ] {
        assert_eq!(error(lines), expected);
    }
    let sized = |size, key| {
        plan(&with(&format!(
            "[stack]\nname = \"quiche\"\n[workload]\ncertificate = \"{size} B\"\ncertificate_key = \"{key}\"\n"
        )))
    };
    for (key, smallest) in [("ecdsa-p256", 500), ("ecdsa-p384", 500), ("rsa-2048", 700), ("rsa-4096", 1000)] {
        assert!(sized(smallest, key).is_ok() && sized(smallest - 1, key).is_err(), "{key}");
    }
    assert_eq!(
        error(""),
        "x.toml: stack.name: missing; expected one of ngtcp2, quic-go, quiche, quiche-0.24, tcp-tls\n\
         hint: add [stack] name = \"...\", or \"stack.name\" = [...] to [matrix]"
    );
    // The place is that of the value in the matrix to blame.
    assert_eq!(
        error("[stack]\ngso = \"off\"\n[matrix]\n\"stack.name\" = [\"quiche\", \"ngtcp2\"]\n"),
        "x.toml:4:7: stack.gso: found \"off\", which ngtcp2 does not support; expected one of \"on\""
    );
    assert_eq!(
        error("[matrix]\n\"stack.name\" = [\"quiche\", \"ngtcp\"]\n"),
        "x.toml:4:27: stack.name: found \"ngtcp\", expected one of ngtcp2, quic-go, quiche, quiche-0.24, tcp-tls\n\
         hint: did you mean ngtcp2?"
    );
}

#[test]
fn a_profile_or_a_filter_that_there_is_none_of() {
    let text =
        with("[matrix]\n\"stack.name\" = [\"quiche\", \"ngtcp2\"]\n[profile.quick.workload]\nsize = \"1 MiB\"\n");
    let profile = Experiment::parse("x.toml", &text, Some("quik")).unwrap_err().to_string();
    assert_eq!(profile, "x.toml: profile: found \"quik\", expected one of \"quick\"\nhint: did you mean quick?");
    let none = Experiment::parse("x.toml", &with(""), Some("quick")).unwrap_err().to_string();
    assert_eq!(none, "x.toml: profile: found \"quick\", expected none, because the file has no profiles");
    let experiment = Experiment::parse("x.toml", &text, None).unwrap();
    let filter = |key: &str, value: &str| {
        let filters = vec![(key.to_owned(), value.to_owned())];
        experiment.plan(&common::stacks(), &Overrides { filters, ..Overrides::default() }).unwrap_err().to_string()
    };
    assert_eq!(
        filter("stack", "tcp-tls"),
        "x.toml: --filter stack.name=tcp-tls: no run has it; expected one of ngtcp2, quiche"
    );
    assert_eq!(
        filter("path.rat", "1"),
        "x.toml: --filter path.rat=1: found a key that does not exist\nhint: did you mean path.rate?"
    );
    assert_eq!(
        filter("path.rate", "40 Mbps"),
        "x.toml: --filter path.rate=40 Mbps: no run has it; expected one of 40 Mbit/s"
    );
    assert_eq!(
        filter("hosts.etf_delta", "1 ms"),
        "x.toml: --filter hosts.etf_delta=1 ms: no run has it; expected another key, because it has no effect in any \
         run"
    );
    assert_eq!(
        filter("workload.repetitions", "1"),
        "x.toml: --filter workload.repetitions=1: found a key that no single run has\n\
         hint: --reps sets the number of repetitions"
    );
}

#[test]
fn plans_without_end_are_refused() {
    let values = |count: u32| (1..=count).map(|value| value.to_string()).collect::<Vec<_>>().join(", ");
    let matrix = format!(
        "[stack]\nname = \"quiche\"\n[matrix]\n\"path.queue_limit_packets\" = [{0}]\n\"path.return_limit_packets\" = [{0}]\n",
        values(400)
    );
    assert_eq!(error(&matrix), "x.toml:6:1: matrix: found more than 100000 combinations, expected fewer");
    let axis = format!("[stack]\nname = \"quiche\"\n[matrix]\n\"path.queue_limit_packets\" = [{}]\n", values(10_001));
    assert_eq!(error(&axis), "x.toml:6:1: matrix.path.queue_limit_packets: found 10001 values, expected at most 10000");
    let repetitions = "[stack]\nname = \"quiche\"\n[workload]\nrepetitions = 4000000000\n";
    assert_eq!(
        error(repetitions),
        "x.toml: found 1 settings with 4000000000 repetitions each, expected at most 100000 runs"
    );
}

#[test]
fn no_repetition_at_all_is_refused() {
    let experiment = Experiment::parse("x.toml", &with("[stack]\nname = \"quiche\"\n"), None).unwrap();
    let overrides = Overrides { repetitions: Some(0), ..Overrides::default() };
    let error = experiment.plan(&common::stacks(), &overrides).unwrap_err().to_string();
    assert_eq!(error, "x.toml: repetitions: found 0, expected at least 1");
}

#[test]
fn combinations_that_are_the_same_to_a_run_are_refused() {
    for (lines, expected) in [
        (
            "[matrix]\n\"stack.name\" = [\"quiche\", \"quiche\"]\n",
            "x.toml:4:27: matrix: found stack.name = \"quiche\" and stack.name = \"quiche\", which describe the same run; expected different settings",
        ),
        (
            "[stack]\nname = \"quiche\"\n[matrix]\n\"path.rate\" = [\"1 Mbit/s\", \"1000 kbit/s\"]\n",
            "x.toml:6:28: matrix: found path.rate = \"1000 kbit/s\" and path.rate = \"1 Mbit/s\", which describe the same run; expected different settings",
        ),
        (
            "[stack]\nname = \"quiche\"\n[matrix]\n\"hosts.etf_delta\" = [\"1 us\", \"2 us\"]\n",
            "x.toml:6:30: matrix: found hosts.etf_delta = \"2 us\" and hosts.etf_delta = \"1 us\", which describe the same run; expected different settings",
        ),
    ] {
        assert_eq!(error(lines), expected);
    }
}
