//! Every mistake is named with its place, what was found, and what is allowed.

use crate::common::{plan, with};
use quiclab_experiment::Experiment;

fn error(lines: &str) -> String {
    plan(&with(lines)).expect_err(lines).to_string()
}

#[test]
fn keys_that_do_not_exist() {
    for (lines, expected) in [
        (
            "[hosts]\nkernel = \"6.12\"\n",
            "x.toml:4:1: hosts.kernel: found a key that does not exist\nhint: did you mean vm.kernel?",
        ),
        (
            "[workload]\nserver_qdisc = \"fq\"\n",
            "x.toml:4:1: workload.server_qdisc: found a key that does not exist\nhint: did you mean hosts.server_qdisc?",
        ),
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
            "x.toml:4:1: published.mach: found a key that does not exist\nhint: a row has name, match, values, curves and source",
        ),
        (
            "[hosts]\nxyzxyzxyz = 1\n",
            "x.toml:4:1: hosts.xyzxyzxyz: found a key that does not exist\nhint: docs/reference/experiment-file.md lists all keys",
        ),
        // Unicode counts in characters, not in bytes.
        (
            "[path]\n\"r\u{e4}te\" = 1\n",
            "x.toml:4:1: path.r\u{e4}te: found a key that does not exist\nhint: did you mean path.rate?",
        ),
    ] {
        assert_eq!(error(lines), expected);
    }
}

#[test]
fn the_usual_words_of_networks_have_a_hint_that_helps() {
    let hint = |section: &str, key: &str| {
        let message = error(&format!("[{section}]\n{key} = \"1\"\n"));
        assert!(message.contains(&format!("{section}.{key}: found a key that does not exist\nhint: ")), "{message}");
        message.split_once("hint: ").unwrap().1.to_owned()
    };
    assert!(hint("path", "rtt").contains("path.delay_to_client and path.delay_to_server"));
    assert_eq!(hint("path", "bandwidth"), "did you mean path.rate?");
    assert_eq!(hint("stack", "cca"), "did you mean stack.congestion_control?");
    assert!(hint("path", "buffer").contains("path.queue_bdp"));
    // An experiment file accepts the scenario of the hint.
    let loss = hint("path", "loss");
    let scenario = loss.split_once("path.scenario = ").unwrap().1.split(';').next().unwrap();
    let planned = plan(&with(&format!("[stack]\nname = \"quiche\"\n[path]\nscenario = {scenario}\n"))).unwrap();
    assert!(planned.runs[0].settings.path_described().contains("drop-rate"), "{loss}");
}

#[test]
fn keys_at_the_wrong_place() {
    for (lines, expected) in [
        (
            "\"path.rate\" = \"1 Mbit/s\"\n",
            "x.toml:3:1: path.rate: found a key in quotes, expected a section with a key in it\nhint: only [matrix], match, runs and compared_with have such keys",
        ),
        ("[profile.quick]\nseed = 3\n", "x.toml:4:1: seed: found a top-level key, expected a setting"),
        ("[matrix]\nseed = [1, 2]\n", "x.toml:4:1: seed: found a top-level key, expected a setting"),
        (
            "[matrix]\nstack.name = [\"quiche\"]\n",
            "x.toml:4:1: stack: found a section, expected a setting\nhint: write the full key in quotes, such as \"stack.name\"",
        ),
        (
            "[[published]]\nmatch = { stack.name = \"quiche\" }\n",
            "x.toml:4:11: stack: found a section, expected a setting\nhint: write the full key in quotes, such as \"stack.name\"",
        ),
        (
            "[[published]]\nmatch = { \"workload.repetitions\" = 3 }\n",
            "x.toml:4:11: published.match.workload.repetitions: found a key that no single run has\nhint: describe it \
             in words",
        ),
        ("[profile]\nquick = 3\n", "x.toml:4:9: profile.quick: found 3, expected a table"),
        ("matrix = 3\n", "x.toml:3:10: matrix: found 3, expected a table"),
        ("published = 3\n", "x.toml:3:13: published: found 3, expected [[published]] tables"),
        ("expect = 3\n", "x.toml:3:10: expect: found 3, expected [[expect]] tables"),
    ] {
        assert_eq!(error(lines), expected);
    }
}

#[test]
fn rates_without_their_unit_or_with_another() {
    for found in [
        "\"40 Mbps\"",
        "\"40\"",
        "\"10 MB/s\"",
        "\"40 mbit/s\"",
        "\"40M\"",
        "\"-1 Mbit/s\"",
        "\"\"",
        "40",
        "40.0",
        "[]",
    ] {
        let expected = format!(
            "x.toml:4:8: path.rate: found {found}, expected a rate such as \"40 Mbit/s\" (units: bit/s, kbit/s, Mbit/s, Gbit/s)"
        );
        assert_eq!(error(&format!("[path]\nrate = {found}\n")), expected);
    }
}

#[test]
fn values_just_outside_their_range_are_refused_and_those_just_inside_are_not() {
    for (section, key, inside, outside) in [
        ("path", "rate", "\"8 bit/s\"", "\"7 bit/s\""),
        ("path", "burst", "\"1514 B\"", "\"1513 B\""),
        ("path", "burst", "\"4294967295 B\"", "\"4294967296 B\""),
        ("path", "queue_limit_packets", "1", "0"),
        ("path", "return_limit_packets", "4294967295", "4294967296"),
        ("workload", "size", "\"1 B\"", "\"0 B\""),
        ("workload", "repetitions", "1", "0"),
        ("workload", "timeout", "\"1 ns\"", "\"0 s\""),
        ("path", "delay_to_client", "\"86400 s\"", "\"86401 s\""),
        // The limits of the kernel's own structs and sysctls.
        ("hosts", "udp_receive_buffer", "\"1 GiB\"", "\"1073741825 B\""),
        ("hosts", "udp_receive_buffer", "\"2304 B\"", "\"2303 B\""),
        ("hosts", "udp_send_buffer", "\"4608 B\"", "\"4607 B\""),
        ("hosts", "etf_delta", "\"1 ns\"", "\"0 ns\""),
        ("hosts", "etf_delta", "\"2147483647 ns\"", "\"2147483648 ns\""),
        ("hosts", "etf_delta", "\"2 s\"", "\"5 s\""),
        ("hosts", "fq_quantum", "\"1 MiB\"", "\"1048577 B\""),
        ("hosts", "fq_initial_quantum", "\"2147483647 B\"", "\"2 GiB\""),
        ("hosts", "fq_maximum_rate", "\"12112 bit/s\"", "\"12104 bit/s\""),
        ("hosts", "fq_maximum_rate", "\"34359738352 bit/s\"", "\"34359738360 bit/s\""),
        ("hosts", "fq_horizon", "\"4294967295 us\"", "\"4294967296 us\""),
        ("hosts", "fq_horizon", "\"1 us\"", "\"1001 ns\""),
        ("hosts", "fq_timer_slack", "\"4294967295 ns\"", "\"4294967296 ns\""),
        ("hosts", "receive_coalescing", "\"86400 s\"", "\"86401 s\""),
        ("vm", "nanoseconds_per_instruction", "64", "128"),
        ("tap", "snaplen", "\"128 B\"", "\"127 B\""),
        ("tap", "bottleneck_snaplen", "\"65535 B\"", "\"65536 B\""),
        ("tap", "room", "\"1 B\"", "\"0 B\""),
        ("analysis", "train_threshold", "\"1 ns\"", "\"0 ns\""),
    ] {
        let try_it = |value| {
            Experiment::parse("x.toml", &with(&format!("[{section}]\n{key} = {value}\n")), None)
                .map_err(|e| e.to_string())
        };
        assert!(try_it(inside).is_ok(), "{section}.{key} = {inside}");
        let error = try_it(outside).expect_err(outside);
        assert!(error.contains(&format!("{section}.{key}: found {outside}, expected ")), "{error}");
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
        (
            "[path]\nrate = \"0 bit/s\"\n",
            "x.toml:4:8: path.rate: found \"0 bit/s\", expected more than 0, a multiple of 8 bit/s",
        ),
        (
            "[path]\nburst = \"1000 B\"\n",
            "x.toml:4:9: path.burst: found \"1000 B\", expected 1514 B to 4294967295 B, because a smaller bucket never lets a full frame pass",
        ),
        (
            "[path]\nqueue_limit_packets = 0\n",
            "x.toml:4:23: path.queue_limit_packets: found 0, expected a whole number from 1 to 4294967295",
        ),
        (
            "[workload]\nrepetitions = -1\n",
            "x.toml:4:15: workload.repetitions: found -1, expected a whole number from 1 to 4294967295",
        ),
        ("[workload]\ntimeout = \"0 s\"\n", "x.toml:4:11: workload.timeout: found \"0 s\", expected more than 0"),
        (
            "[workload]\nperiod = \"1 ns\"\n",
            "x.toml:4:10: workload.period: found \"1 ns\", expected more than 0, at most 3600 s, whole microseconds, or \"none\"",
        ),
        (
            "[tap]\nsnaplen = \"5 B\"\n",
            "x.toml:4:11: tap.snaplen: found \"5 B\", expected 128 B to 65535 B, or \"full\"",
        ),
        (
            "[tap]\nsnaplen = 5\n",
            "x.toml:4:11: tap.snaplen: found 5, expected a number of bytes such as \"10 MiB\" (units: B, kB, KiB, MB, MiB, GB, GiB), or \"full\"",
        ),
        (
            "[workload]\nrepetitions = 2.0\n",
            "x.toml:4:15: workload.repetitions: found 2.0, expected a whole number from 1 to 4294967295",
        ),
        (
            "[workload]\nsize = \"1e3 B\"\n",
            "x.toml:4:8: workload.size: found \"1e3 B\", expected a number of bytes such as \"10 MiB\" (units: B, kB, KiB, MB, MiB, GB, GiB)",
        ),
        (
            "[path]\ndelay_to_client = \"0.1 ns\"\n",
            "x.toml:4:19: path.delay_to_client: found \"0.1 ns\", expected a duration such as \"20 ms\" (units: ns, us, \u{b5}s, ms, s, min); the value is not a whole number of the smallest unit",
        ),
        (
            "[stack]\nname = 99999999999999999999\n",
            "x.toml:4:8: found 99999999999999999999, expected a whole number from -9223372036854775808 to 9223372036854775807",
        ),
        ("[tap]\nenabled = \"yes\"\n", "x.toml:4:11: tap.enabled: found \"yes\", expected true or false"),
        (
            "[stack]\ngso = \"maybe\"\n",
            "x.toml:4:7: stack.gso: found \"maybe\", expected one of \"off\", \"on\", \"paced\", \"default\"",
        ),
        (
            "[vm]\nkernel = \"5.10\"\n",
            "x.toml:4:10: vm.kernel: found \"5.10\", expected one of \"6.1\", \"6.1-rt\", \"6.12\", \"6.1-paced\"",
        ),
        ("seed = -1\n", "x.toml:3:8: seed: found -1, expected a whole number from 0 to 1000000000000000"),
        (
            "seed = 1000000000000001\n",
            "x.toml:3:8: seed: found 1000000000000001, expected a whole number from 0 to 1000000000000000",
        ),
        ("seed = \"1\"\n", "x.toml:3:8: seed: found \"1\", expected a whole number from 0 to 1000000000000000"),
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
            "x.toml:4:26: matrix.workload.repetitions: repetitions cannot be an axis of the matrix\nhint: set it in [workload]",
        ),
        (
            "[[published]]\nvalues = { drops_packets = \"many\" }\n",
            "x.toml:4:28: published.values.drops_packets: found \"many\", expected a number",
        ),
        (
            "[[published]]\nvalues = { drops_packets = nan }\n",
            "x.toml:4:28: published.values.drops_packets: found nan, expected a number",
        ),
        (
            "[[published]]\nvalues = { drops_packets = -inf }\n",
            "x.toml:4:28: published.values.drops_packets: found -inf, expected a number",
        ),
        ("[[published]]\nsource = 7\n", "x.toml:4:10: published.source: found 7, expected a string"),
        (
            "[path]\nrate = \"1 Mbit/s\"\n[matrix]\n\"path.rate\" = [\"2 Mbit/s\"]\n",
            "x.toml:4:8: path.rate: found a value, expected none, because it is an axis of the matrix\nhint: remove one of the two",
        ),
    ] {
        assert_eq!(error(lines), expected);
    }
}

#[test]
fn text_that_is_no_experiment() {
    let parse = |text: &str| Experiment::parse("x.toml", text, None).unwrap_err().to_string();
    assert_eq!(parse(""), "x.toml:1:1: name: missing; expected a string\nhint: start the file with name = \"...\"");
    assert_eq!(parse("name = \"x\"\nname = \"y\"\n"), "x.toml:2:1: this is not TOML: duplicate key");
    assert!(
        parse("[path]\n[path]\n").starts_with("x.toml:2:2: this is not TOML: duplicate key"),
        "{}",
        parse("[path]\n[path]\n")
    );
    assert!(parse("name = \"x\"\n\u{0}").starts_with("x.toml:2:2: this is not TOML: "));
    assert!(parse("\u{7f}ELF\u{2}\u{1}\u{1}\u{0}").starts_with("x.toml:1:9: this is not TOML: "));
    assert_eq!(
        parse("name = \"x\""),
        "x.toml:1:1: title: missing; expected a string\nhint: start the file with title = \"...\""
    );
    assert_eq!(parse("name = 1\ntitle = \"x\""), "x.toml:1:8: name: found 1, expected a string");
    assert_eq!(parse("name = \"x\"\ntitle = [\"x\"]"), "x.toml:2:9: title: found [\"x\"], expected a string");
    assert_eq!(parse("name = \"x\"\ntitle = \"x\"\nsource = 3"), "x.toml:3:10: source: found 3, expected a string");
    assert!(parse("name = \"../x\"\ntitle = \"x\"").starts_with("x.toml:1:8: name: found \"../x\", expected words"));
    for name in ["/etc", "", "a//b", "a/", ".hidden", "a/../b", "a b", "a\\\\b"] {
        let error = parse(&format!("name = \"{name}\"\ntitle = \"x\""));
        assert!(error.starts_with(&format!("x.toml:1:8: name: found \"{name}\", expected words")), "{error}");
    }
    let text = "name = \"m\u{fc}nchen/\u{7b2c}\u{4e00}\"\ntitle = \"\u{fc}\"";
    assert_eq!(Experiment::parse("x.toml", text, None).unwrap().common.name, "m\u{fc}nchen/\u{7b2c}\u{4e00}");
}
