//! Endpoints that attack what is around them: each run fails and says why, or its packets are those of the honest one.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    path::{Path, PathBuf},
};

use crate::common::{Bench, TEST_STACKS, output_of};
use quiclab_wire::CaptureReader;

/// What the endpoints do, by the "congestion control" of tests/stacks/hostile.
const MANNERS: [&str; 11] = [
    "honest",
    "client-breaks-out",
    "server-breaks-out",
    "client-forks",
    "client-names-logs",
    "server-fills-everything",
    "server-sends-past-the-tap",
    "server-hides-packets",
    "server-leaves-its-group",
    "server-deletes-its-interface",
    "client-deletes-its-interface",
];

/// Longest frame without data, in bytes: Ethernet, IPv4, TCP and its options take less.
const LONGEST_WITHOUT_DATA: u32 = 100;

/// The folders of the records, and of the failed runs, by what the endpoints did.
fn by_manner(folder: &Path) -> BTreeMap<String, PathBuf> {
    let entries = fs::read_dir(folder).map(|entries| entries.map(|entry| entry.unwrap().path()).collect());
    let folders: Vec<PathBuf> = entries.unwrap_or_default();
    let manner = |folder: PathBuf| {
        let run = fs::read_to_string(folder.join("run.toml")).ok()?;
        let manner = MANNERS.into_iter().find(|manner| run.contains(&format!("congestion_control = {manner:?}")))?;
        Some((manner.to_owned(), folder))
    };
    folders.into_iter().filter_map(manner).collect()
}

fn text(path: PathBuf) -> String {
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Each packet with data of a record at both taps: interface, link-layer address of its source, and length. When a client ends decides about
/// a last acknowledgment. TCP's first sequence numbers follow from the time, which differs
/// because the endpoints' variables do.
fn packets(record: &Path) -> Vec<(u32, [u8; 6], u32)> {
    let mut capture = CaptureReader::new(File::open(record.join("wire.pcapng")).unwrap()).unwrap();
    let mut packets = Vec::new();
    while let Some(frame) = capture.next_frame().unwrap() {
        if frame.length > LONGEST_WITHOUT_DATA {
            packets.push((frame.interface, frame.captured[6..12].try_into().unwrap(), frame.length));
        }
    }
    packets
}

#[test]
fn endpoints_that_attack_end_with_a_failed_run_or_with_the_packets_of_honest_ones() {
    let manners: Vec<_> = MANNERS.iter().map(|manner| format!("{manner:?}")).collect();
    let bench = Bench::new(&format!(
        "name = \"tests/hostile\"\ntitle = \"Endpoints that attack\"\n[stack]\nname = \"hostile\"\n[workload]\n\
         size = \"64 KiB\"\ntimeout = \"2 s\"\n[matrix]\n\"stack.congestion_control\" = [{}]\n",
        manners.join(", ")
    ));
    let result = output_of(&mut bench.run(TEST_STACKS, "out", &[]));
    let out = bench.out("out");
    let (good, failed) = (by_manner(&out), by_manner(&out.join("failed")));
    let names = |folders: &BTreeMap<String, PathBuf>| folders.keys().cloned().collect::<BTreeSet<_>>();
    let deleted = ["server", "client"].map(|role| (role, format!("{role}-deletes-its-interface")));
    let expected_to_fail = ["client-forks", "server-sends-past-the-tap", "server-hides-packets"].map(str::to_owned);
    let expected_to_fail = expected_to_fail.into_iter().chain(deleted.clone().map(|(_, manner)| manner));
    assert_eq!(names(&failed), expected_to_fail.collect(), "{}", result.errors);
    assert_eq!(good.len() + failed.len(), MANNERS.len(), "{}", result.errors);
    assert!(!result.errors.contains('\x1b'), "escape sequences reached the terminal: {:?}", result.errors);

    nothing_could_be_done("server", &text(good["server-breaks-out"].join("server/stdout")));
    nothing_could_be_done("client", &text(good["client-breaks-out"].join("client/stdout")));
    let honest = packets(&good["honest"]);
    assert!(honest.len() > 50, "{} packets", honest.len());
    for (manner, record) in &good {
        assert!(packets(record) == honest, "{manner}: its packets are not those of the honest endpoints");
    }

    let failure = |manner: &str| text(failed[manner].join("failure.txt"));
    let past = failure("server-sends-past-the-tap");
    assert!(past.contains("the client has all 65536 bytes, but the server's packets carried 0 past the tap"), "{past}");
    assert_eq!(
        text(failed["server-hides-packets"].join("server/stderr"))
            .lines()
            .next()
            .unwrap_or_default()
            .split(" at ")
            .next(),
        Some("bypassing the queue: Operation not permitted")
    );
    let [server, client] = ["server/stdout", "client/stdout"].map(|output| files(&text(good["honest"].join(output))));
    assert!(server.len() > 10 && client.len() > 10, "{server:?} {client:?}");
    assert_eq!(server.intersection(&client).collect::<Vec<_>>(), [""; 0], "files that both endpoints have");
    for (role, manner) in deleted {
        let expected = format!("the {role} took away the interface of its own network");
        assert!(failure(&manner).starts_with(&expected), "{}", failure(&manner));
    }
    let forks = failure("client-forks");
    assert!(forks.contains("the client did not end within 2 s"), "{forks}");
    odd_names_are_kept(&good["client-names-logs"]);
}

/// The files that an honest endpoint finds, by device and inode.
fn files(output: &str) -> BTreeSet<String> {
    let numbers = output.lines().filter_map(|line| line.strip_prefix("file ")?.split(' ').next());
    numbers.map(str::to_owned).collect()
}

/// What `attempts.pl` prints: each attempt, and those that ended as they must not.
fn nothing_could_be_done(role: &str, output: &str) {
    let could: Vec<_> = output.lines().filter(|line| line.starts_with("could")).collect();
    assert!(could.is_empty(), "the {role} {could:?}");
    let tried: BTreeSet<_> = output.lines().filter_map(|line| line.strip_prefix("tried ")).collect();
    for needed in ["write to the slot", "set the clock", "find files of the other", "end every other process", "reboot"]
    {
        assert!(tried.contains(needed), "the {role} did not try to {needed}: {output}");
    }
    assert!(tried.contains("read what only root may read"), "the {role} did not come to its last attempt: {output}");
}

fn odd_names_are_kept(record: &Path) {
    let logs = record.join("client");
    let long = format!("{}%~1", "%FF".repeat(67).split_at(200).0);
    for (name, contents) in [
        (long.as_str(), "long"),
        ("%C3", "one"),
        ("%FE", "other"),
        ("%1B]0;owned%07%1B[2J", "escape"),
        ("two%0Alines", "newline"),
        ("%25FF", "percent"),
        ("usual.txt", "usual"),
    ] {
        assert_eq!(text(logs.join(name)), contents);
    }
    assert!(!logs.join("key").exists(), "a link was followed");
    let warnings = text(record.join("metrics.json"));
    for warning in ["the names of 6 log files were changed", "some folders of logs cannot be read"] {
        assert!(warnings.contains(warning), "no warning {warning:?} in {warnings}");
    }
}
