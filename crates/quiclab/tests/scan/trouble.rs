//! What happens to a scan whose machine has no room, no descriptors, or another scan in the same folder; whose exclusions cannot be read; or
//! one of whose servers speaks for others.

use std::{
    collections::BTreeSet,
    fs,
    net::{IpAddr, UdpSocket},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use quiclab_internet::{Behaviour, Group, Internet, Name, Resolution, Unreachable};
use quiclab_testing::wait_until;

use crate::{
    Case,
    place::{Place, check, rows},
};

pub const CASES: &[Case] = &[
    ("a_full_disk_stops_a_scan_which_goes_on_when_there_is_room", &[], a_full_disk_stops_a_scan),
    ("two_scans_do_not_share_a_folder", &[], two_scans_do_not_share_a_folder),
    ("a_scan_without_descriptors_says_so", &[], a_scan_without_descriptors_says_so),
    ("a_scan_without_ports_says_so", &[], a_scan_without_ports_says_so),
    ("hosts_that_send_icmp_errors_about_others_silence_nobody", &[], icmp_errors_about_others_silence_nobody),
    ("icmp_errors_that_quote_too_little_exclude_nobody", &[], icmp_errors_that_quote_too_little_exclude_nobody),
    ("unreadable_exclusions_stop_a_scan_before_anyone_is_asked", &[], unreadable_exclusions_stop_a_scan),
    ("a_kill_between_the_addresses_of_a_name_skips_none", &[], a_kill_between_the_addresses_of_a_name_skips_none),
];

/// They are asked last, while nobody else has an answer: they know the port, and send errors about all of them.
fn icmp_errors_about_others_silence_nobody() {
    const TARGETS: usize = 60;
    let mut place = Place::enter();
    place.description.groups.push(Group {
        name: "private".to_owned(),
        origin_as: 64_501,
        prefixes: vec!["fd00:64::/32".parse().unwrap()],
    });
    let (mut others, mut list) = (Vec::new(), String::new());
    for target in 0..TARGETS {
        // Of another network each, so that a row that is prohibited leaves out no other one.
        let address = if target % 2 == 0 { format!("100.64.{target}.1") } else { format!("fd00:64:{target:x}::1") };
        place.host(&address, 1, Behaviour::Silent);
        others.push(address.parse::<IpAddr>().unwrap());
        list.push_str(&format!("{address}\n"));
    }
    let (v4, v6): (Vec<_>, Vec<_>) = others.iter().partition(|other| other.is_ipv4());
    let hostile = [("100.80.0.1", &v4), ("100.80.1.1", &v4), ("fd00:64:ff::1", &v6), ("fd00:64:fe::1", &v6)];
    for ((address, others), quoted) in hostile.into_iter().zip([8, 500].into_iter().cycle()) {
        let why = Unreachable::Prohibited;
        place.host(address, 1, Behaviour::IcmpAboutOthers { why, others: others.clone(), quoted });
        list.push_str(&format!("{address}\n"));
    }
    let list = place.file("list", &list);
    let out = place.path("out");
    let internet = Internet::start(&place.description).expect("an Internet");
    let output = place.scan(&list, &out, &["--timeout", "4 s"]);
    check(&output);
    let truth = internet.stop().unwrap();
    assert!(truth.counters.to_clients >= 2 * TARGETS as u64, "messages arrived: {:?}", truth.counters);
    let rows = rows(&out);
    assert_eq!(rows.len(), TARGETS + hostile.len());
    for (address, row) in rows {
        assert_eq!(row["outcome"], "silent", "{address}: {row}");
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains("left out"), "{said}");
    place.leave();
}

/// Routers quote too little, as many do (RFC 792), of the datagram that they do not forward.
fn icmp_errors_that_quote_too_little_exclude_nobody() {
    let mut place = Place::enter();
    let hosts = [("100.64.0.1", 8, "silent"), ("100.64.1.1", 8 + 25, "silent"), ("100.64.2.1", 8 + 26, "prohibited")];
    for (address, quoted, _) in hosts {
        let others = vec![address.parse().unwrap()];
        place.host(address, 1, Behaviour::IcmpAboutOthers { why: Unreachable::Prohibited, others, quoted });
    }
    let list = place.file("list", &hosts.map(|(address, ..)| format!("{address}\n")).concat());
    let out = place.path("out");
    let internet = Internet::start(&place.description).expect("an Internet");
    let output = place.scan(&list, &out, &["--timeout", "2 s"]);
    check(&output);
    internet.stop().unwrap();
    let rows = rows(&out);
    for (address, quoted, outcome) in hosts {
        let row = &rows[address];
        assert_eq!(row["outcome"], outcome, "{quoted} bytes: {row}");
        let detail = row["detail"].as_str().unwrap();
        assert!(detail.contains(&format!("ICMP type 3 code 13 from {address}")), "{detail}");
        assert_eq!(detail.contains("quotes no connection ID, and ended nothing"), outcome == "silent", "{detail}");
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said.matches("is left out from now on").count(), 1, "{said}");
    assert!(said.contains("100.64.2.0/24 is left out"), "{said}");
    place.leave();
}

fn unreadable_exclusions_stop_a_scan() {
    let mut place = Place::enter();
    let list = refusing(&mut place, 3);
    let internet = Internet::start(&place.description).expect("an Internet");
    // Where the scans of this place look for the user's own.
    let own = place.path("quiclab");
    let refused = |more: &[&str], parts: &[&str]| {
        let output = place.scan(&list, &place.path("out"), more);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(125), "{said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    };
    let link = |to: &str, at: &Path| {
        _ = fs::remove_file(at);
        symlink(to, at).unwrap();
    };
    let file = own.join("scan-exclude.txt");
    let again: &[&str] = &["--every", "1s", "--for", "1s"];
    link("gone", &own);
    refused(&[], &["quiclab: found a symbolic link to nowhere", "hint:"]);
    refused(again, &["quiclab: found a symbolic link to nowhere", "hint:"]);
    fs::remove_file(&own).unwrap();
    fs::create_dir(&own).unwrap();
    link("gone.txt", &file);
    refused(&[], &["quiclab/scan-exclude.txt: found a symbolic link to nowhere", "hint:"]);
    // Root may read everything; a loop of links it may not.
    link("scan-exclude.txt", &file);
    refused(&[], &["quiclab/scan-exclude.txt: cannot be opened", "hint:"]);
    fs::remove_file(&file).unwrap();
    fs::write(&file, "100.64.9.0/24\nAS13335\n").unwrap();
    refused(&[], &["line 2: found \"AS13335\", expected prefixes", "hint:"]);
    refused(&["--dry-run"], &["line 2: found \"AS13335\", expected prefixes", "hint:"]);
    fs::remove_file(&file).unwrap();
    let missing = place.path("missing.txt").display().to_string();
    refused(&["--exclude", &missing], &["missing.txt: No such file or directory"]);
    check(&place.scan(&list, &place.path("out"), &[]));
    let truth = internet.stop().unwrap();
    assert_eq!(truth.counters.from_clients, 3, "nobody was asked before");
    place.leave();
}

/// Hosts that answer with an ICMP error, and their list.
fn refusing(place: &mut Place, count: usize) -> PathBuf {
    let mut list = String::new();
    for target in 0..count {
        let address = format!("100.64.{}.{}", target / 200, target % 200 + 1);
        place.host(&address, 1, Behaviour::Icmp(Unreachable::Port));
        list.push_str(&format!("{address}\n"));
    }
    place.file("list", &list)
}

fn mount(options: &str, folder: &Path) {
    let mut command = Command::new("mount");
    let status = command.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder).status().unwrap();
    assert!(status.success(), "mount -o {options}");
}

/// A row of 40 columns takes about one kilobyte as JSON.
fn a_full_disk_stops_a_scan() {
    const TARGETS: usize = 400;
    let mut place = Place::enter();
    let list = refusing(&mut place, TARGETS);
    let out = place.path("out");
    fs::create_dir_all(&out).unwrap();
    mount("size=100k", &out);
    let internet = Internet::start(&place.description).expect("an Internet");
    let full = place.scan(&list, &out, &[]);
    let said = String::from_utf8_lossy(&full.stderr).into_owned();
    assert!(!full.status.success(), "{said}");
    assert!(said.contains("No space left on device"), "{said}");
    assert!(said.contains("out/"), "the file is named: {said}");
    mount("remount,size=16m", &out);
    check(&place.scan(&list, &out, &[]));
    let truth = internet.stop().unwrap();
    let again = truth.datagrams_to_host.iter().filter(|count| **count > 1).count();
    assert_eq!(again, 0, "hosts that were asked twice");
    let rows = rows(&out);
    assert_eq!(rows.len(), TARGETS, "each target has one row");
    let lost = rows.values().filter(|row| row["outcome"] == "interrupted").count();
    assert!(lost > 0 && lost < TARGETS / 2, "{lost} rows had no room");
    assert!(rows.values().all(|row| row["target"].is_string()), "an interrupted row names its target");
    place.leave();
}

fn two_scans_do_not_share_a_folder() {
    const TARGETS: usize = 200;
    let mut place = Place::enter();
    let list = refusing(&mut place, TARGETS);
    let out = place.path("out");
    let internet = Internet::start(&place.description).expect("an Internet");
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiclab"));
    command.env("XDG_CONFIG_HOME", place.path("none")).args(["scan", "-", "--contact", "https://scan.example/"]);
    command.args(["--format", "jsonl", "--rate", "50/s", "--out"]).arg(&out);
    command.stdin(fs::File::open(&list).unwrap()).stderr(Stdio::null()).stdout(Stdio::null());
    let mut first = command.spawn().unwrap();
    let asked = || fs::read_to_string(out.join("journal")).unwrap_or_default().matches("asking").count();
    wait_until("the first one to ask", || asked() > 0);
    // Another list from standard input must not take the place of the one that is being read.
    let second = command.stdin(Stdio::null()).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success(), "{said}");
    assert!(said.contains("is in use by another scan") && said.contains("hint:"), "{said}");
    assert!(first.wait().unwrap().success());
    let truth = internet.stop().unwrap();
    assert!(truth.datagrams_to_host.iter().all(|count| *count == 1), "{:?}", truth.datagrams_to_host);
    assert_eq!(rows(&out).len(), TARGETS);
    place.leave();
}

fn a_scan_without_descriptors_says_so() {
    let mut place = Place::enter();
    let list = refusing(&mut place, 3);
    let internet = Internet::start(&place.description).expect("an Internet");
    let mut refused = 0;
    for most in 3..24 {
        let out = place.path(&format!("out-{most}"));
        let mut command = Command::new("sh");
        command.env("XDG_CONFIG_HOME", place.path("none"));
        command.args(["-c", &format!("ulimit -n {most}; exec \"$@\""), "sh", env!("CARGO_BIN_EXE_quiclab"), "scan"]);
        command.arg(&list).args(["--contact", "https://scan.example/", "--format", "jsonl", "--out"]).arg(&out);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.contains("panicked"), "with {most}: {said}");
        if output.status.success() {
            assert_eq!(rows(&out).len(), 3, "with {most}: {said}");
        } else if output.status.code().is_some_and(|code| code < 126) {
            refused += 1;
            assert!(said.contains("Too many open files") || most < 5, "with {most}: {said}");
        }
    }
    assert!(refused > 0, "no limit was too small");
    internet.stop().unwrap();
    place.leave();
}

/// Programs on a busy resolver or proxy can hold every port that the kernel would give.
fn a_scan_without_ports_says_so() {
    const RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";
    let mut place = Place::enter();
    let list = refusing(&mut place, 3);
    let internet = Internet::start(&place.description).expect("an Internet");
    let before = fs::read_to_string(RANGE).unwrap();
    fs::write(RANGE, "40000 40002").unwrap();
    let held: Vec<_> = (40_000..=40_002).map(|port| UdpSocket::bind(("0.0.0.0", port)).unwrap()).collect();
    let out = place.path("out");
    let refused = place.scan(&list, &out, &[]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && !said.contains("panicked"), "{said}");
    assert!(said.contains("no UDP port is free") && said.contains("ip_local_port_range"), "{said}");
    drop(held);
    fs::write(RANGE, before).unwrap();
    check(&place.scan(&list, &out, &[]));
    let truth = internet.stop().unwrap();
    assert_eq!(truth.datagrams_to_host, [1; 3], "each host is asked once");
    assert_eq!(rows(&out).len(), 3);
    place.leave();
}

fn a_kill_between_the_addresses_of_a_name_skips_none() {
    let mut place = Place::enter();
    // Addresses of laboratories that a resolver gives are never asked.
    place.description.groups.push(Group {
        name: "public".to_owned(),
        origin_as: 64_501,
        prefixes: vec!["11.1.0.0/16".parse().unwrap()],
    });
    let addresses: Vec<String> = (1..=20).map(|host| format!("11.1.0.{host}")).collect();
    for address in &addresses {
        place.host(address, 1, Behaviour::Icmp(Unreachable::Port));
    }
    place.description.names.push(Name {
        name: "many.example".to_owned(),
        resolution: Resolution::Addresses {
            addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
            has_https_record: false,
        },
    });
    let list = place.file("list", "many.example\n");
    let out = place.path("out");
    let internet = Internet::start(&place.description).expect("an Internet");
    let scan = |rate: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quiclab"));
        command.env("XDG_CONFIG_HOME", place.path("none")).arg("scan").arg(&list);
        command.args(["--contact", "https://scan.example/", "--format", "jsonl", "--resolver", "127.0.0.1:53"]);
        command.args(["--addresses", "all", "--rate", rate, "--out"]).arg(&out);
        command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
    };
    let mut first = scan("5/s");
    let asked = || fs::read_to_string(out.join("journal")).unwrap_or_default().matches("asking").count();
    wait_until("three addresses", || asked() >= 3);
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(asked() < addresses.len(), "it was killed too late");
    assert!(scan("100/s").wait().unwrap().success());
    let truth = internet.stop().unwrap();
    // What is asked is written down before its packet leaves, and the kill may have come between the two.
    let (asked, others): (Vec<u64>, Vec<u64>) = truth.datagrams_to_host.iter().partition(|count| **count == 1);
    assert!(others.is_empty() || others == [0], "each address is asked once: {:?}", truth.datagrams_to_host);
    assert_eq!(asked.len() + others.len(), addresses.len());
    let rows = rows(&out);
    let found: BTreeSet<_> = rows.keys().cloned().collect();
    assert_eq!(found, addresses.into_iter().collect());
    assert!(rows.values().all(|row| row["target"] == "many.example"), "{rows:?}");
    place.leave();
}
