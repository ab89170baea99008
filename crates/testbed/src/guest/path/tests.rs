use quiclab_experiment::run::{Run, StageList};
use quiclab_path::spec::read_list;

use super::*;

fn settings(to_client: &str) -> Settings {
    let table: toml::Table = format!("stages = [{to_client}]").parse().unwrap();
    let tables: Vec<_> =
        table["stages"].as_array().unwrap().iter().map(|one| one.as_table().unwrap().clone()).collect();
    let mut settings = Settings::default();
    settings.path.to_client = StageList::Stages(read_list(&tables).unwrap());
    settings
}

fn to_client(stages: &str) -> Vec<Discipline> {
    let [to_client, _] = compile(&settings(stages)).unwrap();
    to_client.disciplines.into_iter().map(|(_, discipline)| discipline).collect()
}

#[test]
fn the_published_bottleneck_is_a_bucket_with_a_delay_line_inside() {
    let mut settings = Settings::default();
    settings.path.drops_to_server = vec![2];
    let [to_client, to_server] = compile(&settings).unwrap();
    let line = |limit_packets| Discipline::Netem(Netem { delay_ns: 20_000_000, limit_packets, ..Netem::default() });
    let bucket = Discipline::Tbf { rate_bytes_per_second: 5_000_000, burst_bytes: 1535, limit_bytes: 1 };
    assert_eq!(to_client.disciplines, [("rate".to_owned(), bucket), ("delay".to_owned(), line(143))]);
    assert_eq!(to_server.disciplines, [("delay".to_owned(), line(1000))]);
    assert_eq!((to_server.drops, to_server.drops_name.as_deref()), (vec![2], Some("drops")));
    // As it was before there were lists of stages.
    let text = serde_json::to_string(&to_server.disciplines[0].1).unwrap();
    assert_eq!(text, r#"{"kind":"netem","delay_ns":20000000,"limit_packets":1000}"#);
}

#[test]
fn rebind_is_in_both_lists_with_the_same_settings_or_in_none() {
    let stages = |text: &str| settings(text).path.to_client;
    let of = |to_client: &str, to_server: &str| {
        let mut settings = settings(to_client);
        settings.path.to_server = stages(to_server);
        choose(&settings)
    };
    let rebind = r#"{ stage = "rebind", first = "1 s" }"#;
    assert!(matches!(of(rebind, rebind), Ok(PathBackend::User { .. })));
    for other in ["", r#"{ stage = "rebind", first = "1 s", address = true }"#] {
        assert!(of(rebind, other).unwrap_err().contains("with the same settings"), "{other}");
    }
    let twice = r#"{ stage = "rebind", first = "1 s" }, { stage = "rebind", name = "again", first = "2 s" }"#;
    assert!(of(twice, twice).unwrap_err().contains("found 2 stages"));
}

#[test]
fn impairments_stand_around_the_bucket_and_delays_outermost() {
    let found = to_client(
        r#"{ stage = "loss", model = "independent", probability = 0.5 },
        { stage = "delay", delay = "1 ms" },
        { stage = "queue", discipline = "drop_tail", limit = "10 packets" },
        { stage = "rate", rate = "8 Mbit/s", burst = "2 kB" },
        { stage = "delay", delay = "2 ms" }"#,
    );
    let [Discipline::Netem(netem), Discipline::Tbf { rate_bytes_per_second, .. }, Discipline::Pfifo { limit_packets }] =
        &found[..]
    else {
        panic!("{found:?}")
    };
    assert_eq!((netem.delay_ns, netem.loss), (3_000_000, Some(1 << 31)));
    // Ten that wait, and the one that waits for tokens.
    assert_eq!((*rate_bytes_per_second, *limit_packets), (1_000_000, 11));
}

#[test]
fn a_link_is_netems_rate_with_the_delay_around_it() {
    let found = to_client(
        r#"{ stage = "queue", discipline = "drop_tail", limit = "10 packets" }, { stage = "rate", rate = "8 Mbit/s" },
        { stage = "delay", delay = "2 ms" }"#,
    );
    let [Discipline::Netem(outer), Discipline::Netem(inner)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((outer.delay_ns, outer.limit_packets), (2_000_000, UNLIMITED_PACKETS));
    assert_eq!((inner.rate_bytes_per_second, inner.limit_packets, inner.delay_ns), (Some(1_000_000), 11, 0));
}

#[test]
fn a_delay_stays_out_of_a_links_netem_whatever_the_links_limit_is() {
    // With the packet being sent: the number by which a netem without a limit is known.
    let found = to_client(
        r#"{ stage = "queue", discipline = "drop_tail", limit = "2147483646 packets" },
        { stage = "rate", rate = "8 Mbit/s" }, { stage = "delay", delay = "2 ms" }"#,
    );
    let [Discipline::Netem(outer), Discipline::Netem(inner)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((outer.delay_ns, outer.rate_bytes_per_second), (2_000_000, None));
    assert_eq!((inner.delay_ns, inner.limit_packets), (0, UNLIMITED_PACKETS));
}

#[test]
fn a_list_of_drops_has_a_most_count_but_no_most_number() {
    let listed = |numbers: &str| {
        let mut settings = settings(&format!(r#"{{ stage = "loss", model = "list", packets = [{numbers}] }}"#));
        settings.path.to_server = std::mem::take(&mut settings.path.to_client);
        compile(&settings).map(|[_, to_server]| to_server.drops)
    };
    assert_eq!(listed("1, 4000000000").unwrap(), [1, 4_000_000_000]);
    let numbers = |count: u32| (1..=count).map(|number| number.to_string()).collect::<Vec<_>>().join(", ");
    assert_eq!(listed(&numbers(4096)).unwrap().len(), 4096);
    let message = listed(&numbers(4097)).unwrap_err();
    assert!(message.contains("at most 4096 packets"), "{message}");
}

#[test]
fn what_the_kernel_does_not_do_exactly_is_refused_by_the_stages_name() {
    for (stages, name, why) in [
        (r#"{ stage = "bit_errors", name = "noise", per_bit = 0.1 }"#, "noise", "netem corrupts packets"),
        (
            r#"{ stage = "queue", discipline = "drop_tail", limit = "1 packets" }, { stage = "rate", rate = "8 Mbit/s", burst = "2 kB" },
               { stage = "loss", model = "independent", probability = 0.5 }"#,
            "loss",
            "it has nothing behind \"rate\"",
        ),
        (
            r#"{ stage = "queue", discipline = "drop_tail", limit = "1 packets" }, { stage = "rate", rate = "1000001 bit/s" }"#,
            "rate",
            "no multiple of 8 bit/s",
        ),
        (r#"{ stage = "loss", model = "list", packets = [1] }"#, "loss", "towards the server only"),
        (
            r#"{ stage = "duplicate", probability = 0.1 }, { stage = "reorder", probability = 0.1, hold = "1 ms" }"#,
            "duplicate",
            "stands alone",
        ),
        (
            r#"{ stage = "jitter", model = "uniform", mean = "1 ms", order = "kept" }"#,
            "jitter",
            "it does order = \"lost\"",
        ),
    ] {
        let message = compile(&settings(stages)).unwrap_err();
        assert!(message.starts_with(&format!("path.to_client: stage {name:?}: ")), "{message}");
        assert!(
            message.contains(why) && message.ends_with("hint: path.forwarder = \"auto\", or --testbed sim"),
            "{message}"
        );
    }
}

#[test]
fn what_the_kernel_does_not_do_exactly_the_forwarder_does_and_says_why() {
    let codel =
        r#"{ stage = "queue", discipline = "codel", limit = "9 packets" }, { stage = "rate", rate = "8 Mbit/s" }"#;
    let mut settings = settings(codel);
    let Ok(PathBackend::User { why }) = choose(&settings) else { panic!("the kernel does no exact CoDel") };
    assert!(why.starts_with("path.to_client: stage \"queue\": ") && !why.contains("hint"), "{why}");
    settings.path.forwarder = Forwarder::Kernel;
    assert_eq!(choose(&settings), Err(compile(&settings).unwrap_err()));
    let mut published = Settings::default();
    assert_eq!(choose(&published), Ok(PathBackend::Kernel(compile(&published).unwrap())));
    published.path.forwarder = Forwarder::User;
    assert!(matches!(choose(&published), Ok(PathBackend::User { why }) if why.contains("path.forwarder = \"user\"")));
}

#[test]
fn the_stages_that_the_forwarder_is_told_are_those_of_the_run() {
    let codel = r#"{ stage = "loss", model = "independent", probability = 0.1234567890123456789 },
        { stage = "queue", discipline = "codel", limit = "9 packets" }, { stage = "rate", rate = "8 Mbit/s" }"#;
    let mut settings = settings(codel);
    settings.hosts.receive_coalescing = quiclab_units::Duration::from_millis(1);
    let stages = settings.stages_to_client();
    let run = Run {
        experiment: "x".to_owned(),
        repetition: 1,
        seed: 42,
        start_shift: Default::default(),
        settings,
        label: String::new(),
    };
    let network = crate::guest::disciplines::network(&run).unwrap();
    let forwarder = network.forwarder.unwrap();
    let text = serde_json::to_string(&forwarder).unwrap();
    let read: quiclab_agent_protocol::forwarder::Forwarder = serde_json::from_str(&text).unwrap();
    assert_eq!((read.to_client, read.seed), (stages, 42));
    // What the kernel still does, behind the forwarder.
    assert!(network.to_client.is_empty() && network.drops_to_server.is_empty());
    let [Discipline::Netem(slots)] = &network.to_server[..] else { panic!("{:?}", network.to_server) };
    assert_eq!((slots.slot_ns, slots.delay_ns), (Some(1_000_000), 0));
}

#[test]
fn packets_are_batched_where_they_leave_the_path_or_not_at_all() {
    let slots = |stages: &str| {
        let mut settings = settings(stages);
        settings.path.to_server = std::mem::take(&mut settings.path.to_client);
        settings.hosts.receive_coalescing = quiclab_units::Duration::from_millis(1);
        let [_, to_server] = compile(&settings)?;
        Ok(to_server.disciplines.into_iter().map(|(_, one)| one).collect::<Vec<_>>())
    };
    let found: Result<_, String> = slots(r#"{ stage = "loss", model = "independent", probability = 0.5 }"#);
    let [Discipline::Netem(netem)] = &found.unwrap()[..] else { panic!("expected one netem") };
    assert_eq!(netem.slot_ns, Some(1_000_000));
    let bucket = r#"{ stage = "rate", rate = "8 Mbit/s", burst = "2 kB" }"#;
    for (stages, name) in [
        (
            format!(r#"{{ stage = "queue", discipline = "netem", delay = "1 ms", limit_packets = 9 }}, {bucket}"#),
            "rate",
        ),
        (format!(r#"{{ stage = "queue", discipline = "drop_tail", limit = "9 packets" }}, {bucket}"#), "rate"),
        (
            r#"{ stage = "queue", discipline = "drop_tail", limit = "9 packets" },
               { stage = "rate", name = "slow", rate = "8 Mbit/s" }"#
                .to_owned(),
            "slow",
        ),
        (r#"{ stage = "reorder", probability = 0.1, hold = "1 ms" }"#.to_owned(), "reorder"),
    ] {
        let message = slots(&stages).unwrap_err();
        assert!(message.starts_with(&format!("path.to_server: stage {name:?}: ")), "{message}");
        assert!(message.contains("hosts.receive_coalescing"), "{message}");
    }
}

/// A list for each kind of stage that shows whether the kernel does it.
const EXAMPLES: &[&str] = &[
    r#"{ stage = "queue", discipline = "netem", delay = "1 ms", limit_packets = 9 }, { stage = "rate", rate = "8 Mbit/s", burst = "2 kB" }"#,
    r#"{ stage = "queue", discipline = "drop_tail", limit = "9 packets" }, { stage = "rate_trace", milliseconds = "1 2" }"#,
    r#"{ stage = "delay", delay = "1 ms" }"#,
    r#"{ stage = "delay_trace", steps = [["0 ms", "1 ms"]], length = "1 s" }"#,
    r#"{ stage = "jitter", model = "uniform", mean = "1 ms", order = "lost" }"#,
    r#"{ stage = "jitter", model = "exponential", mean = "1 ms", order = "lost" }"#,
    r#"{ stage = "jitter", model = "normal", mean = "1 ms", deviation = "1 ms", order = "lost" }"#,
    r#"{ stage = "queue", discipline = "netem", delay = "1 ms", limit_packets = 9 }"#,
    r#"{ stage = "queue", discipline = "drop_tail", limit = "9 packets" }, { stage = "rate", rate = "8 Mbit/s" }"#,
    r#"{ stage = "queue", discipline = "drop_head", limit = "9 packets" }, { stage = "rate", rate = "8 Mbit/s" }"#,
    r#"{ stage = "queue", discipline = "red", limit = "9 packets", least_threshold = 1, most_threshold = 2, packet_time = "1 ms" },
       { stage = "rate", rate = "8 Mbit/s" }"#,
    r#"{ stage = "queue", discipline = "codel", limit = "9 packets" }, { stage = "rate", rate = "8 Mbit/s", burst = "2 kB" }"#,
    r#"{ stage = "queue", discipline = "fq_codel" }, { stage = "rate", rate = "8 Mbit/s", burst = "2 kB" }"#,
    r#"{ stage = "queue", discipline = "pie", limit = "9 packets" }, { stage = "rate", rate = "8 Mbit/s" }"#,
    r#"{ stage = "loss", model = "independent", probability = 0.1 }"#,
    r#"{ stage = "loss", model = "limited", probability = 0.1, most_in_a_row = 3 }"#,
    r#"{ stage = "loss", model = "burst", to_bad = 0.1, to_good = 0.1 }"#,
    r#"{ stage = "loss", model = "list", packets = [1] }"#,
    r#"{ stage = "loss", model = "rule", every = 2 }"#,
    r#"{ stage = "loss", model = "content", drop = "flight 2" }"#,
    r#"{ stage = "reorder", probability = 0.1, hold = "1 ms" }"#,
    r#"{ stage = "duplicate", probability = 0.1 }"#,
    r#"{ stage = "bit_errors", per_bit = 0.1 }"#,
    r#"{ stage = "corrupt", probability = 0.1 }"#,
    r#"{ stage = "rebind", first = "1 s" }"#,
];

/// The row of a kind of stage, of which a list is an example.
fn row(kind: &quiclab_path::spec::StageDeclaration, example: &str) -> String {
    let settings = settings(example);
    let stages = settings.stages_to_client();
    assert!(stages.iter().any(|stage| stage.settings.declaration() == *kind), "{}: {example}", kind.title());
    let both = [("path.to_client", true), ("path.to_server", false)];
    let done: Vec<_> = both
        .into_iter()
        .map(|(list, to_client)| {
            let mut settings = settings.clone();
            if !to_client {
                settings.path.to_server = std::mem::take(&mut settings.path.to_client);
            }
            compile(&settings).map_err(|message| (list, message))
        })
        .collect();
    let reason = |message: &str| {
        let why = message.split_once("exactly this: ").map_or(message, |(_, why)| why);
        why.split('\n').next().unwrap_or_default().to_owned()
    };
    let answer = match &done[..] {
        [Ok(_), Ok(_)] => "the kernel".to_owned(),
        [Err((_, message)), Ok(_)] => {
            format!(
                "towards the server the kernel, towards the client user space (not the kernel: {})",
                reason(message)
            )
        }
        [_, Err((_, message))] => format!("user space (not the kernel: {})", reason(message)),
        _ => unreachable!("two directions"),
    };
    let variant = kind.variant.map(|(key, word)| format!(", `{key} = {word:?}`")).unwrap_or_default();
    let in_simulator = if stages.iter().any(|stage| stage.settings.changes_bytes()) { "no" } else { "yes" };
    format!("| `{}`{variant} | {in_simulator} | {answer} |\n", kind.stage)
}

#[test]
fn the_reference_lists_every_stage_and_what_the_kernel_does_of_it() {
    let kinds = quiclab_path::spec::declarations();
    assert_eq!(kinds.len(), EXAMPLES.len(), "each stage has an example in EXAMPLES, in the order of `stages!`");
    let rows: String = kinds.iter().zip(EXAMPLES).map(|(kind, example)| row(kind, example)).collect();
    let testbeds = format!("| stage | `sim` | `vm`: who does it |\n|---|---|---|\n{rows}");
    let path = quiclab_testing::files::repository().join("docs/reference/path.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let replaced = |text: &str, mark: &str, contents: &str| {
        let (before, rest) = text.split_once(&format!("<!-- {mark} -->\n")).unwrap();
        let (_, after) = rest.split_once("<!-- end -->").unwrap();
        format!("{before}<!-- {mark} -->\n{contents}<!-- end -->{after}")
    };
    let stages = quiclab_path::spec::reference::stages_reference();
    let wanted = replaced(&replaced(&text, "testbeds", &testbeds), "stages", &stages);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    assert!(
        text == wanted || std::env::var_os("UPDATE").is_some(),
        "docs/reference/path.md differs from the code; to write it:\n    \
         UPDATE=1 cargo test -p quiclab-testbed --lib the_reference_lists_every_stage"
    );
}
