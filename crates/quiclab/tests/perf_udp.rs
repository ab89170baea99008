//! `quiclab perf --udp`: datagrams at a rate. Needs namespaces; the losses need netem.

mod common;

use std::{fs, net::TcpListener, process::Command, process::Stdio};

use common::{quiclab, said, wait_until};
use serde_json::Value;

fn udp(more: &[&str]) -> Value {
    let found = said(quiclab().args(["perf", "--udp", "-J"]).args(more));
    assert_eq!(found.status, Some(0), "{found:?}");
    serde_json::from_str(&found.output).unwrap()
}

#[test]
fn as_many_datagrams_leave_as_fit_the_rate_and_the_time() {
    for (more, reverse) in [(&[][..], 0), (&["-R"], 1), (&["-6"], 0)] {
        // 8 Mbit/s of 1000 bytes: one each ms.
        let found = udp(&[&["-t", "1", "-b", "8M", "-l", "1000", "-i", "0.4"], more].concat());
        let end = &found["end"]["quiclab"];
        assert_eq!(
            (&end["sent"], &end["packets"], &end["lost_packets"]),
            (&1000.into(), &1000.into(), &0.into()),
            "{end}"
        );
        assert_eq!((&end["bytes"], &found["start"]["test_start"]["reverse"]), (&1_000_000.into(), &reverse.into()));
        assert_eq!(found["end"]["sum_sent"]["bits_per_second"], 8e6);
        // Other tests share the cores: late ones are sent at once.
        let rate = end["bits_per_second"].as_f64().unwrap();
        assert!((6e6..10e6).contains(&rate), "{end}");
        assert!(end["jitter_ns"].as_f64().unwrap() > 0.0, "{end}");
        let rows = found["intervals"].as_array().unwrap();
        assert!(rows.len() >= 2 && rows[0]["sum"]["packets"].as_u64().unwrap() > 100, "{found}");
    }
}

#[test]
fn a_sender_that_is_too_slow_says_so() {
    let end = &udp(&["-t", "1", "-b", "900 Gbit/s"])["end"]["quiclab"];
    assert!(end["notes"][0].as_str().unwrap().contains("of the rate that was asked for"), "{end}");
}

/// netem's share of losses and its delay are the oracle.
#[test]
fn losses_and_jitter_are_those_of_the_path() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("found");
    let quiclab = quiclab().get_program().to_owned();
    let script = "ip link set lo up && tc qdisc add dev lo root netem delay 20ms 4ms loss 10% || exit 77; \
                  \"$0\" perf -s --udp & server=$!; sleep 0.5; \"$0\" perf --udp -c 127.0.0.1 -t 4 -b 8M -l 1000 -J > \"$1\"; \
                  status=$?; kill $server; exit $status";
    let mut command = Command::new("unshare");
    // SAFETY: plain system call.
    if unsafe { libc::geteuid() } != 0 {
        command.args(["--user", "--map-root-user"]);
    }
    let found = said(command.args(["--net", "sh", "-c", script]).arg(quiclab).arg(&log));
    if found.status == Some(77) {
        assert!(found.errors.contains("qdisc"), "{found:?}");
        return;
    }
    assert_eq!(found.status, Some(0), "{found:?}");
    let result: Value = serde_json::from_str(&fs::read_to_string(&log).unwrap()).unwrap();
    let end = &result["end"]["quiclab"];
    // Four standard deviations of 4000 drops at 10 %.
    let share = end["lost_share"].as_f64().unwrap();
    assert!((0.081..0.119).contains(&share), "{end}");
    assert_eq!(end["sent"], 4000);
    // Two delays, each even over 8 ms, are 2.7 ms apart on average, without what other tests add.
    let jitter = end["jitter_ns"].as_f64().unwrap();
    assert!((0.5e6..12e6).contains(&jitter), "{end}");
    assert!(end["out_of_order"].as_u64().unwrap() > 100, "{end}");
}

#[test]
fn a_server_of_udp_and_one_of_a_stack_are_not_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let log = folder.path().join("log");
    let mut server = quiclab();
    server.args(["perf", "-s", "--udp", "-p", &port]).stdout(fs::File::create(&log).unwrap()).stderr(Stdio::null());
    let mut server = server.spawn().unwrap();
    wait_until("the server", || fs::read_to_string(&log).unwrap().contains("quiclab perf --udp -c ADDRESS"));
    let end = &udp(&["-c", "localhost", "-p", &port, "-t", "0.5", "-R"])["end"]["quiclab"];
    assert!(end["packets"].as_u64().unwrap() > 20, "{end}");
    let found =
        said(quiclab().args(["perf", "--stacks", common::TEST_STACKS, "--stack", "tests/stacks/careless"]).args([
            "-c",
            "localhost",
            "-p",
            &port,
            "--insecure",
        ]));
    assert_ne!(found.status, Some(0), "{found:?}");
    let taken = said(quiclab().args(["perf", "-s", "--udp", "-p", &port]));
    assert!(taken.errors.contains("hint: --port, another number"), "{taken:?}");
    said(Command::new("kill").args(["-INT", &server.id().to_string()]));
    assert_eq!(server.wait().unwrap().code(), Some(130));
    let nobody = said(quiclab().args(["perf", "--udp", "-c", "localhost", "-p", &port]));
    assert!(nobody.errors.contains("hint: quiclab perf -s --udp there"), "{nobody:?}");
}
