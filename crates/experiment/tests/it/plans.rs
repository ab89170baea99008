//! What a file expands to.

use crate::common;
use std::collections::BTreeSet;

use crate::common::{plan, stacks, with};
use quiclab_experiment::{
    Experiment, Overrides, id_of_folder, labels,
    run::{Run, Versions},
    setting_text,
};
use quiclab_units::{ByteCount, Duration};

const MATRIX: &str = "seed = 7\n[workload]\nrepetitions = 2\n[matrix]\n\"stack.name\" = [\"quiche\", \"ngtcp2\"]\n\
                      \"hosts.server_qdisc\" = [\"none\", \"fq\"]\n";

#[test]
fn defaults_are_the_published_bottleneck_and_the_stacks_own() {
    let plan = plan(&with("[stack]\nname = \"ngtcp2\"\n")).unwrap();
    let settings = &plan.runs[0].settings;
    for (key, value) in [
        ("path.rate", "40 Mbit/s"),
        ("path.burst", "1535 B"),
        ("path.delay_to_client", "20 ms"),
        ("path.delay_to_server", "20 ms"),
        ("path.queue_limit_packets", "143"),
        ("hosts.udp_receive_buffer", "50 MiB"),
        ("hosts.server_qdisc", "none"),
        ("stack.congestion_control", "cubic"),
        ("stack.pacing", "user"),
        ("analysis.train_threshold", "100 us"),
        ("kernel", "6.1"),
    ] {
        assert_eq!(setting_text(settings, key).as_deref(), Some(value), "{key}");
    }
}

#[test]
fn a_profile_replaces_settings_and_axes() {
    let text = with(&format!(
        "{MATRIX}[profile.one.stack]\nname = \"tcp-tls\"\n[profile.one.workload]\nrepetitions = 1\n\
        [profile.two.matrix]\n\"stack.name\" = [\"quic-go\"]\n"
    ));
    let of = |profile| {
        let plan =
            Experiment::parse("x.toml", &text, Some(profile)).unwrap().plan(&stacks(), &Overrides::default()).unwrap();
        (plan.runs.len(), plan.runs.into_iter().map(|run| run.settings.stack.name).collect::<BTreeSet<_>>())
    };
    assert_eq!(of("one"), (2, BTreeSet::from(["tcp-tls".to_owned()])));
    assert_eq!(of("two"), (4, BTreeSet::from(["quic-go".to_owned()])));
}

#[test]
fn a_command_line_changes_repetitions_and_leaves_runs_out() {
    let experiment = Experiment::parse("x.toml", &with(MATRIX), None).unwrap();
    let filters = vec![("stack".to_owned(), "quiche".to_owned()), ("hosts.server_qdisc".to_owned(), "fq".to_owned())];
    let plan =
        experiment.plan(&stacks(), &Overrides { repetitions: Some(3), filters, ..Overrides::default() }).unwrap();
    assert_eq!(plan.runs.iter().map(|run| run.repetition).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn the_start_is_shifted_by_a_draw_from_the_seed() {
    let plan = plan(&with("[stack]\nname = \"quiche\"\n[workload]\nrepetitions = 200\n")).unwrap();
    let shifts: BTreeSet<_> = plan.runs.iter().map(|run| run.start_shift).collect();
    assert_eq!(shifts.len(), 200, "each seed has its own");
    let largest = Duration::from_millis(100);
    assert!(shifts.iter().all(|shift| *shift < largest));
    // Uniform on 0 to 100 ms: the mean of 200 draws lies within 5 standard errors (2.04 ms) of 50 ms.
    let mean = shifts.iter().map(|shift| shift.as_secs_f64()).sum::<f64>() / 200.0;
    assert!((mean - 0.05).abs() < 0.0102, "{mean}");
}

#[test]
fn the_draw_of_a_seed_never_changes() {
    // Or a run of this version would be no repetition of the same run of another one. Made by another program: the first 8 bytes,
    // big-endian, of SHA-256 over the seed (8 bytes, little-endian) and "start-shift", modulo 10^8.
    let plan = plan(&with("stack.name = \"quiche\"\nworkload.repetitions = 3\n")).unwrap();
    let shifts: Vec<_> = plan.runs.iter().map(|run| run.start_shift.as_nanos()).collect();
    assert_eq!(shifts, [29381682, 67714646, 16130350]);
}

#[test]
fn the_identity_follows_everything_that_can_change_the_outcome_and_nothing_else() {
    let run = plan(&with("[stack]\nname = \"quiche\"\n")).unwrap().runs.remove(0);
    let versions = Versions::from([("qemu".to_owned(), "7.2".to_owned())]);
    let id = run.id(&versions);
    assert_eq!(id.len(), 16);
    let changed = |change: &dyn Fn(&mut Run)| {
        let mut other = run.clone();
        change(&mut other);
        other.id(&versions)
    };
    assert_eq!(changed(&|run| run.experiment = "another".to_owned()), id);
    assert_eq!(changed(&|run| run.repetition = 9), id);
    let changes: [&dyn Fn(&mut Run); 6] = [
        &|run| run.seed += 1,
        &|run| run.start_shift = Duration::from_nanos(1),
        &|run| run.settings.vm.kernel = "6.12".to_owned(),
        &|run| run.settings.path.queue_limit_packets += 1,
        &|run| run.settings.tap.snaplen = Some(ByteCount::from_bytes(128)),
        &|run| run.settings.stack.congestion_control = "reno".to_owned(),
    ];
    let mut ids: BTreeSet<_> = changes.iter().map(|change| changed(change)).collect();
    ids.insert(id);
    ids.insert(run.id(&Versions::from([("qemu".to_owned(), "10.0".to_owned())])));
    assert_eq!(ids.len(), changes.len() + 2);
}

#[test]
fn a_run_survives_its_file() {
    for run in plan(&with(MATRIX)).unwrap().runs {
        // The label is of the experiment, not of the run.
        assert_eq!(Run::from_toml(&run.to_toml()), Ok(Run { label: String::new(), ..run }));
    }
}

#[test]
fn the_folder_of_a_run_names_the_settings_that_differ_and_ends_with_the_identity() {
    let lines = "[matrix]\n\"stack.name\" = [\"quiche-0.24\"]\n\"stack.congestion_control\" = [\"cubic\", \"bbr2\"]\n\
                 \"path.rate\" = [\"20 Mbit/s\", \"40 Mbit/s\"]\n";
    let versions = Versions::new();
    let names = |overrides: &Overrides| {
        let plan = Experiment::parse("x.toml", &with(lines), None).unwrap().plan(&stacks(), overrides).unwrap();
        plan.runs.iter().map(|run| (run.folder_name(&versions), run.id(&versions))).collect::<Vec<_>>()
    };
    let all = names(&Overrides::default());
    let id = &all[0].1;
    assert_eq!(all[0].0, format!("quiche-0.24-cubic-rate_20Mbit_s-01-{id}"));
    assert!(all.iter().all(|(name, id)| id_of_folder(name) == Some(id)), "{all:?}");
    // A filter changes no name.
    let filters = vec![("path.rate".to_owned(), "20 Mbit/s".to_owned())];
    let filtered = names(&Overrides { filters, ..Overrides::default() });
    assert!(filtered.len() == 2 && filtered.iter().all(|one| all.contains(one)), "{filtered:?}");
    // Where nothing differs but the stack, the name is that of earlier versions.
    let plain = plan(&with("[stack]\nname = \"quiche\"\n")).unwrap();
    let run = &plain.runs[0];
    assert_eq!(run.folder_name(&versions), format!("quiche-01-{}", run.id(&versions)));
}

#[test]
fn labels_say_what_sets_groups_of_a_stack_apart() {
    let plan = plan(&with(MATRIX)).unwrap();
    let settings: Vec<_> = plan.runs[..4].iter().map(|run| &run.settings).collect();
    let named: BTreeSet<_> = labels(&settings).into_iter().collect();
    let expected = [
        "ngtcp2, server_qdisc=fq",
        "ngtcp2, server_qdisc=none",
        "quiche, server_qdisc=fq",
        "quiche, server_qdisc=none",
    ];
    assert_eq!(named.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    // Stacks that differ only by their own defaults need no more than their names.
    let plain = common::plan(&with("[matrix]\n\"stack.name\" = [\"quiche\", \"ngtcp2\", \"tcp-tls\"]\n")).unwrap();
    let settings: Vec<_> = plain.runs.iter().map(|run| &run.settings).collect();
    assert_eq!(labels(&settings), ["quiche", "ngtcp2", "tcp-tls"]);
}

#[test]
fn groups_that_differ_in_a_part_of_their_queueing_discipline_are_told_apart() {
    let text = "[stack]\nname = \"quiche\"\n[hosts]\nserver_qdisc = \"fq\"\n[tap]\nbottleneck_snaplen = \"full\"\n\
                [matrix]\n\"hosts.fq_flow_limit_packets\" = [100, 200]\n\"tap.snaplen\" = [\"full\", \"128 B\"]\n";
    let plan = common::plan(&with(text)).unwrap();
    let settings: Vec<_> = plan.runs.iter().map(|run| &run.settings).collect();
    let named: BTreeSet<_> = labels(&settings).into_iter().collect();
    assert_eq!(named.len(), 4, "{named:?}");
    assert!(named.contains("quiche, fq_flow_limit_packets=100, snaplen=full"), "{named:?}");
    assert_eq!(setting_text(settings[0], "hosts.etf_delta"), None);
}

#[test]
fn every_queueing_discipline_reads_back_as_it_was_written() {
    for qdisc in ["none", "pfifo_fast", "fq", "fq_codel"] {
        let plan = plan(&with(&format!("[stack]\nname = \"quiche\"\n[hosts]\nserver_qdisc = \"{qdisc}\"\n"))).unwrap();
        assert_eq!(setting_text(&plan.runs[0].settings, "hosts.server_qdisc").as_deref(), Some(qdisc));
    }
}

#[test]
fn combinations_that_a_stack_does_not_claim_are_left_out_where_the_file_says_so_and_counted() {
    let lines = "[matrix]\n\"stack.name\" = [\"quic-go\", \"quiche-0.24\"]\n\"stack.congestion_control\" = [\"cubic\", \"bbr2\"]\n\"stack.gso\" = \
                 [\"on\", \"paced\"]\n";
    let refused = plan(&with(lines)).unwrap_err().to_string();
    assert!(refused.contains("stack.gso: found \"paced\", which quic-go does not support"), "{refused}");
    let plan_of = |lines: &str| plan(&with(&format!("unclaimed = \"leave out\"\n{lines}")));
    let found = plan_of(lines).unwrap();
    let has: Vec<_> = found
        .runs
        .iter()
        .map(|run| &run.settings.stack)
        .map(|stack| format!("{} {} {:?}", stack.name, stack.congestion_control, stack.gso))
        .collect();
    assert_eq!(
        has,
        [
            "quic-go cubic On",
            "quiche-0.24 cubic On",
            "quiche-0.24 cubic Paced",
            "quiche-0.24 bbr2 On",
            "quiche-0.24 bbr2 Paced"
        ]
    );
    assert_eq!(found.skipped, 3);
    // What does not go together is no matter of claims.
    let clash = plan_of("[stack]\nname = \"quiche-0.24\"\ngso = \"paced\"\n[hosts]\nserver_qdisc = \"fq_codel\"\n");
    assert!(clash.unwrap_err().to_string().contains("hosts.server_qdisc"));
    let none = plan_of("[stack]\nname = \"quic-go\"\ncongestion_control = \"bbr2\"\n").unwrap_err().to_string();
    assert!(none.contains("stack.congestion_control: found \"bbr2\", which quic-go does not support"), "{none}");
    let none = plan_of(
        "[stack]\nname = \"quic-go\"\n[matrix]\n\"stack.gso\" = [\"paced\", \"off\"]\n\"stack.hystart\" = [\"on\"]\n",
    );
    let none = none.unwrap_err().to_string();
    assert!(none.contains("found no combination that the stacks claim"), "{none}");
    assert!(none.contains("stack.gso: found \"paced\", which quic-go does not support"), "{none}");
}

#[test]
fn a_queue_in_bandwidth_delay_products_is_one_in_packets() {
    let limit = |lines: &str| {
        let text = with(&format!("stack.name = \"quiche\"\n{lines}"));
        plan(&text).map(|plan| plan.runs[0].settings.path.queue_limit_packets).map_err(|error| error.to_string())
    };
    // The published bottleneck: 143 packets at 40 Mbit/s and 2 x 20 ms.
    assert_eq!(limit("path.queue_bdp = 0.5\n"), Ok(143));
    assert_eq!(limit("path.queue_bdp = 1\n"), Ok(215));
    assert_eq!(
        limit(
            "path.queue_bdp = 4\npath.rate = \"5 Mbit/s\"\npath.delay_to_client = \"5 ms\"\npath.delay_to_server = \"5 ms\"\n"
        ),
        Ok(20)
    );
    for (lines, expected) in [
        ("path.queue_bdp = 0.5\npath.queue_limit_packets = 100\n", "expected one of the two"),
        ("path.queue_bdp = 0\n", "expected a number from 0.001 to 1000"),
        ("path.queue_bdp = 0.0005\n", "expected a number from 0.001 to 1000"),
        ("path.queue_bdp = 0.001\npath.delay_to_client = \"0 ms\"\n", "found a queue of 0 packets"),
    ] {
        let error = limit(lines).unwrap_err();
        assert!(error.contains(expected), "{lines}: {error}");
    }
}

#[test]
fn a_stack_can_be_named_by_its_version() {
    let name = |name: &str| {
        plan(&with(&format!("stack.name = {name:?}\n"))).map(|plan| plan.runs[0].settings.stack.name.clone())
    };
    let versions = common::stacks();
    let [newest, older] = ["quiche", "quiche-0.24"].map(|name| versions[name].version.clone());
    assert_eq!(name(&format!("quiche@{newest}")).unwrap(), "quiche");
    assert_eq!(name(&format!("quiche@{older}")).unwrap(), "quiche-0.24");
    let part = older.rsplit_once('.').unwrap().0;
    assert_eq!(name(&format!("quiche@{part}")).unwrap(), "quiche-0.24");
    for unknown in ["quiche@0.2", "quiche@", "quiche@0", "@0.24", "nobody@1"] {
        assert!(name(unknown).unwrap_err().to_string().contains("expected one of"), "{unknown}");
    }
}
