//! A scan that is killed asks nobody twice.
//!
//! Apart from the other tests of journals: a process that starts another one gives it all open files for a moment, and with
//! them their locks.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Write},
    net::{IpAddr, Ipv4Addr},
    path::Path,
    process::{Command, Stdio},
};

use quiclab_scan::targets::{
    ListHash,
    journal::{Journal, JournalError},
};

const LIST: ListHash = ListHash([7; 32]);
/// Set for a process that is a scan.
const FOLDER_OF_CHILD: &str = "QUICLAB_SCAN_TEST_JOURNAL";

fn address(line: u64) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + line as u32))
}

/// The scan that is killed: it asks lines in order, and each packet is a line of its standard output.
#[test]
#[ignore = "a process of the test below"]
fn a_scan_in_a_process_of_its_own() {
    let Some(folder) = std::env::var_os(FOLDER_OF_CHILD) else { return };
    let mut journal = Journal::open(Path::new(&folder), LIST).unwrap();
    let mut output = std::io::stdout().lock();
    for line in 1..=20_000 {
        if journal.was_asked(line, address(line)) {
            continue;
        }
        journal.asking(&[(line, address(line))]).unwrap();
        output.write_all(format!("packet {line}\n").as_bytes()).unwrap();
        output.flush().unwrap();
        journal.written(&[(line, address(line))]).unwrap();
    }
    output.write_all(b"end\n").unwrap();
}

#[test]
fn a_scan_that_is_killed_again_and_again_sends_no_packet_twice() {
    let folder = tempfile::tempdir().unwrap();
    let mut packets = BTreeSet::new();
    let mut kills = 0_u64;
    loop {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "targets::journal_killed::a_scan_in_a_process_of_its_own",
                "--ignored",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(FOLDER_OF_CHILD, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut has_ended = false;
        // Not at the same packet each time.
        let mut until_kill = 20 + (kills * 37 % 180) as i64;
        for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
            has_ended |= line == "end";
            let Some((_, number)) = line.split_once("packet ") else { continue };
            assert!(packets.insert(number.parse::<u64>().unwrap()), "packet {number} leaves twice");
            until_kill -= 1;
            if until_kill == 0 {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        if has_ended {
            break;
        }
        kills += 1;
        assert!(kills < 500, "it gets on");
    }
    assert!(kills >= 2, "{kills} kills");
    // At most the one that a kill hit between the journal and the packet is missing, of each process.
    let journal = Journal::open(folder.path(), LIST).unwrap();
    let missing: Vec<_> = (1..=20_000).filter(|line| !packets.contains(line)).collect();
    assert!(missing.len() as u64 <= kills, "{missing:?} after {kills} kills");
    assert!(missing.iter().all(|line| journal.interrupted().any(|(interrupted, _)| interrupted == *line)));
    println!("{kills} kills, {} packets, {} interrupted", packets.len(), journal.interrupted().count());
}

/// The scan whose disk is full: the kernel takes no more than so many bytes of a file.
#[test]
#[ignore = "a process of the test below"]
fn a_scan_on_a_small_disk() {
    use nix::sys::{
        resource::{Resource, getrlimit, setrlimit},
        signal::{SigHandler, Signal, signal},
    };

    let Some(folder) = std::env::var_os(FOLDER_OF_CHILD) else { return };
    // SAFETY: to ignore a signal runs no code.
    unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }.unwrap();
    let mut journal = Journal::open(Path::new(&folder), LIST).unwrap();
    let (_, hard) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
    let mut refused = 0;
    for line in 1..=300 {
        // Space comes and goes: not at the end of an entry.
        setrlimit(Resource::RLIMIT_FSIZE, 1000 + line / 50 * 1000, hard).unwrap();
        match journal.asking(&[(line, address(line))]) {
            Ok(()) => println!("packet {line}"),
            Err(error) => {
                assert!(matches!(error, JournalError::File { .. }), "{error}");
                assert!(!journal.was_asked(line, address(line)));
                refused += 1;
            }
        }
    }
    println!("end {refused}");
}

#[test]
fn a_full_disk_refuses_whole_entries_and_spoils_none() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "targets::journal_killed::a_scan_on_a_small_disk",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(FOLDER_OF_CHILD, folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let packets: BTreeSet<u64> = text.lines().filter_map(|line| line.split_once("packet ")?.1.parse().ok()).collect();
    assert!(output.status.success() && text.contains("\nend "), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!((50..300).contains(&packets.len()), "{} of 300", packets.len());
    let journal = Journal::open(folder.path(), LIST).unwrap();
    for line in 1..=300 {
        assert_eq!(journal.was_asked(line, address(line)), packets.contains(&line), "{line}");
    }
}
