//! A run as it stands in a record: written, read back, and read as earlier versions wrote it.

use crate::common::{plan, with};
use quiclab_experiment::run::{Clock, Gso, GsoRate, Run};

fn run(lines: &str) -> Run {
    let lines = format!("{lines}\nstack.name = \"quiche-0.24\"\n");
    let run = plan(&with(&lines)).unwrap().runs.remove(0);
    Run { label: String::new(), ..run }
}

/// What version 0.1 wrote before settings of a testbed had sections of their own.
fn nested(hosts: &str, stack: &str) -> String {
    format!(
        "experiment = \"x\"\nrepetition = 1\nseed = 1\nstart_shift = \"29381682 ns\"\n\
         [settings]\nkernel = \"6.12\"\n\
         [settings.stack]\nname = \"quiche-0.24\"\nserver = \"quiche-0.24\"\nclient = \"quiche-0.24\"\n\
         congestion_control = \"cubic\"\nhttp = \"h3\"\n{stack}\
         [settings.workload]\ntest_case = \"transfer\"\nsize = \"10 MiB\"\nfiles = 1\nname_bytes = 1\ncertificate = \"small\"\n\
         certificate_delay = \"0 ns\"\ntimeout = \"300 s\"\n\
         [settings.path]\nip = \"4\"\nrate = \"40 Mbit/s\"\nburst = \"1535 B\"\ndelay_to_client = \"20 ms\"\ndelay_to_server = \"20 ms\"\n\
         queue_limit_packets = 143\nreturn_limit_packets = 1000\ndrops_to_server = []\n\
         [settings.tap]\nenabled = true\nsend_sizes = false\nqlog = false\nbottleneck_snaplen = \"128 B\"\n\
         [settings.analysis]\ntrain_threshold = \"100 us\"\n\
         [settings.hosts]\nudp_receive_buffer = \"50 MiB\"\nudp_send_buffer = \"208 KiB\"\n{hosts}"
    )
}

#[test]
fn a_stored_run_is_one_that_a_file_could_have() {
    let text = run("vm.timer_slack = \"1 ms\"\nhosts.server_qdisc = \"fq\"\nhosts.fq_quantum = \"4 KiB\"\n").to_toml();
    for line in [
        "server_qdisc = \"fq\"",
        "fq_quantum = \"4 KiB\"",
        "fq_limit_packets = \"default\"",
        "timer_slack = \"1 ms\"",
        "[settings.vm]",
    ] {
        assert!(text.contains(&format!("{line}\n")), "{line}:\n{text}");
    }
    assert!(!text.contains("etf_"), "what has no meaning is not stored:\n{text}");
}

#[test]
fn runs_of_the_nested_layout_are_read() {
    let stack = "gso = \"on\"\npacing = \"txtime\"\ntxtime_clock = \"monotonic\"\n";
    let fq = "timer_slack = \"1 ms\"\n[settings.hosts.server_qdisc]\nkind = \"fq\"\nflow_limit_packets = 100\nhorizon = \"2 s\"\n";
    let today = "vm.kernel = \"6.12\"\nvm.timer_slack = \"1 ms\"\nhosts.server_qdisc = \"fq\"\nhosts.fq_flow_limit_packets = 100\n\
                 hosts.fq_horizon = \"2 s\"\n";
    assert_eq!(Run::from_toml(&nested(fq, stack)).unwrap(), run(today));
    let model = "[settings.hosts.server_qdisc]\nkind = \"none\"\n[settings.hosts.model]\ntimer_step = \"1 ms\"\ntimer_lateness = \"0 ns\"\n\
                 call_cost = \"0 ns\"\npacket_cost = \"15 us\"\ncard_rate = \"3 Gbit/s\"\n";
    let today =
        "vm.kernel = \"6.12\"\nsim.timer_step = \"1 ms\"\nsim.packet_cost = \"15 us\"\nsim.card_rate = \"3 Gbit/s\"\n";
    assert_eq!(Run::from_toml(&nested(model, stack)).unwrap(), run(today));
    let thefts = "[settings.hosts.server_qdisc]\nkind = \"pfifo_fast\"\n[settings.hosts.thefts]\ndistribution = \"pareto\"\n\
                  interval = \"2 ms\"\nlength = \"10 us\"\n";
    let today = "vm.kernel = \"6.12\"\nhosts.server_qdisc = \"pfifo_fast\"\nvm.theft_distribution = \"pareto\"\n\
                 vm.theft_interval = \"2 ms\"\nvm.theft_length = \"10 us\"\n";
    assert_eq!(Run::from_toml(&nested(thefts, stack)).unwrap(), run(today));
    let paced =
        "gso = \"paced\"\ngso_rate = \"mark\"\npacing = \"txtime\"\ntxtime_clock = \"tai\"\ntxtime_deadline = true\n";
    let etf = "segment_pacing = \"tai\"\n[settings.hosts.server_qdisc]\nkind = \"etf\"\ndelta = \"300 us\"\ndeadline = true\n";
    let read = Run::from_toml(&nested(etf, paced)).unwrap();
    let today = "vm.kernel = \"6.12\"\nstack.gso = \"paced\"\nhosts.server_qdisc = \"etf\"\nhosts.etf_delta = \"300 us\"\nhosts.etf_deadline = true\n";
    assert_eq!(read, run(today));
    assert_eq!((read.settings.stack.gso, read.settings.stack.gso_rate), (Gso::Paced, Some(GsoRate::Mark)));
    assert_eq!(read.settings.segment_pacing(), Some(Clock::Tai));
}

#[test]
fn a_run_that_is_not_fully_resolved_names_what_is_wrong() {
    let text = run("").to_toml();
    for (from, to, expected) in [
        ("rate = \"40 Mbit/s\"\n", "", "path.rate: missing; a resolved run has a value for every setting"),
        ("rate = \"40 Mbit/s\"\n", "rate = \"40 Mbps\"\n", "path.rate: found \"40 Mbps\", expected a rate"),
        (
            "rate = \"40 Mbit/s\"\n",
            "rat = \"40 Mbit/s\"\n",
            "path.rat: found a key that does not exist in a resolved run; did you mean path.rate?",
        ),
        ("qlog = false\n", "qlog = 0\n", "tap.qlog: found 0, expected true or false"),
        (
            "server_qdisc = \"none\"\n",
            "server_qdisc = \"none\"\nfq_quantum = \"4 KiB\"\n",
            "hosts.fq_quantum: found a value that has no effect",
        ),
        (
            "[settings.workload]\n",
            "[settings.workload]\nrepetitions = 3\n",
            "workload.repetitions: found a key that does not exist",
        ),
        ("[settings.hosts]\n", "[settings.hosts]\ntimer_slack = \"1 ms\"\n", "found a second value of vm.timer_slack"),
    ] {
        assert!(text.contains(from), "{from}:\n{text}");
        let error = Run::from_toml(&text.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_setting_that_earlier_versions_did_not_have_may_be_missing() {
    let whole = run("");
    let text = whole.to_toml();
    let without: String = text
        .lines()
        .filter(|line| !line.starts_with("timer_slack") && !line.starts_with("streams"))
        .flat_map(|line| [line, "\n"])
        .collect();
    assert_ne!(text, without);
    assert_eq!(Run::from_toml(&without).unwrap(), whole);
}
