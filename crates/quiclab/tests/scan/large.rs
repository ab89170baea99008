//! Scans of some thousand hosts of all kinds, and of a hundred thousand that never answer.

use std::{
    fs,
    io::Write as _,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use quiclab_internet::{Behaviour, Internet, Rubbish, Unreachable};
use quiclab_testbed::loopback::ServerSettings;
use serde_json::Value;

use crate::{
    Case,
    place::{Place, check, rows},
};

pub const CASES: &[Case] = &[
    ("three_thousand_mixed_hosts_are_told_apart", &["quic-go", "quiche"], three_thousand_mixed_hosts),
    ("a_hundred_thousand_silent_targets_end_as_they_began", &[], a_hundred_thousand_silent_targets),
];

/// Hosts of each kind.
const HOSTS: usize = 250;

fn three_thousand_mixed_hosts() {
    let mut place = Place::enter();
    place.serve("go", "quic-go", false, &ServerSettings::at(4_441));
    place.serve("quiche", "quiche", false, &ServerSettings::at(4_442));
    let retry = ServerSettings { test_case: "retry".to_owned(), ..ServerSettings::at(4_443) };
    place.serve("retry", "quic-go", false, &retry);
    let serve = |server: &str| Behaviour::Serve { server: server.to_owned() };
    let kinds: [(Behaviour, &str); 12] = [
        (serve("go"), "completed"),
        (serve("quiche"), "completed"),
        (serve("retry"), "completed"),
        (Behaviour::Silent, "silent"),
        (Behaviour::Icmp(Unreachable::Port), "refused"),
        (Behaviour::Icmp(Unreachable::Host), "unreachable"),
        (Behaviour::Rubbish(Rubbish::Bytes), "malformed"),
        (Behaviour::Rubbish(Rubbish::Crypto), "malformed"),
        (Behaviour::AckOnly, "timed_out"),
        (Behaviour::VersionNegotiation { versions: vec![0x6b33_43cf], server: None }, "version_negotiation"),
        (Behaviour::RetryForEver, "timed_out"),
        (Behaviour::CloseAtOnce { code: 2, reason: "no".to_owned() }, "closed"),
    ];
    let (mut list, mut expected) = (String::new(), Vec::new());
    for number in 0..HOSTS * kinds.len() {
        let (behaviour, outcome) = &kinds[number % kinds.len()];
        let address = format!("100.64.{}.{}", number / 250, number % 250 + 1);
        place.host(&address, 1 + (number % 50) as u64, behaviour.clone());
        list.push_str(&format!("{address} server.example\n"));
        expected.push((address, number % kinds.len(), *outcome));
    }
    let list = place.file("list", &list);
    let internet = Internet::start(&place.description).expect("an Internet");
    let out = place.path("out");
    check(&place.scan(&list, &out, &["--alpn", "h3,hq-interop", "--timeout", "3 s"]));
    internet.stop().unwrap();
    let rows = rows(&out);
    assert_eq!(rows.len(), expected.len());
    // One in some hundred of random CRYPTO bytes begins like a long message, of which the rest never comes.
    let is_right = |found: &Value, outcome: &str, kind: usize| {
        found == outcome || (matches!(kinds[kind].0, Behaviour::Rubbish(Rubbish::Crypto)) && found == "timed_out")
    };
    let is_wrong =
        |(address, kind, outcome): &&(String, usize, &str)| !is_right(&rows[address]["outcome"], outcome, *kind);
    let wrong: Vec<_> = expected.iter().filter(is_wrong).map(|(address, ..)| &rows[address]).collect();
    assert!(wrong.is_empty(), "{} of {} are wrong: {:?}", wrong.len(), expected.len(), &wrong[..wrong.len().min(5)]);
    let with_retry = rows.values().filter(|row| row["has_retry"] == true && row["outcome"] == "completed").count();
    assert_eq!(with_retry, HOSTS);
    place.leave();
}

/// The largest memory that a process has had, in kB.
fn peak_kb(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok())
}

fn a_hundred_thousand_silent_targets() {
    const TARGETS: u32 = 100_000;
    const RATE: u64 = 5_000;
    const PARTS: usize = 10;
    let place = Place::enter();
    let list = place.path("list");
    let mut file = std::io::BufWriter::new(fs::File::create(&list).unwrap());
    // Addresses of the network without a host are silent too.
    for target in 0..TARGETS {
        let base = if target < TARGETS / 2 { "100.64" } else { "100.80" };
        let rest = target % (TARGETS / 2);
        writeln!(file, "{base}.{}.{}", rest / 250, rest % 250 + 1).unwrap();
    }
    file.into_inner().unwrap();
    let out = place.path("out");
    let internet = Internet::start(&place.description).expect("an Internet");
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiclab"));
    command.env("XDG_CONFIG_HOME", place.path("none")).arg("scan").arg(&list);
    command.args(["--contact", "https://scan.example/", "--format", "jsonl", "--rate", &format!("{RATE}/s")]);
    command.args(["--in-flight", "20000", "--timeout", "1500 ms", "--out"]).arg(&out);
    let mut scan = command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let mut peak = 0;
    let status = loop {
        if let Some(status) = scan.try_wait().unwrap() {
            break status;
        }
        peak = peak_kb(scan.id()).unwrap_or(peak);
        thread::sleep(Duration::from_millis(100));
    };
    assert!(status.success());
    internet.stop().unwrap();
    let (mut times, mut silent) = (Vec::new(), 0);
    for entry in fs::read_dir(&out).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "jsonl") {
            for line in fs::read_to_string(path).unwrap().lines() {
                let row: Value = serde_json::from_str(line).unwrap();
                silent += u32::from(row["outcome"] == "silent");
                times.push(row["time_ns"].as_u64().unwrap());
            }
        }
    }
    assert_eq!(silent, TARGETS);
    times.sort_unstable();
    let part = times.len() / PARTS;
    let took: Vec<u64> = (0..PARTS).map(|n| (times[(n + 1) * part - 1] - times[n * part]) / 1_000_000).collect();
    println!("{TARGETS} silent targets: ms for each tenth {took:?}, at most {peak} kB");
    // On a machine that is too slow for the rate, the end must still be as fast as the rest.
    let mut sorted = took.clone();
    sorted.sort_unstable();
    assert!(took[PARTS - 1] < 2 * sorted[PARTS / 2], "{took:?}");
    assert!(peak < 600_000, "{peak} kB");
    place.leave();
}
