//! A journal that is cut, foreign, in use, or damaged.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::ErrorKind,
    net::{IpAddr, Ipv4Addr},
    os::unix::fs::symlink,
    path::Path,
    process::Command,
};

use quiclab_scan::targets::{
    Exclusions, ListHash,
    exclusions::{Entry, Source},
    journal::{FILE, Journal, JournalError},
};

const LIST: ListHash = ListHash([7; 32]);

fn address(line: u64) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + line as u32))
}

/// A journal of targets that overlap in time, as a scan writes it.
fn write(folder: &Path, targets: u64) {
    let mut journal = Journal::open(folder, LIST).unwrap();
    for line in 1..=targets {
        journal.asking(&[(line, address(line)), (line, address(line + 1000))]).unwrap();
        if line > 2 {
            journal.written(&[(line - 2, address(line - 2))]).unwrap();
        }
    }
    journal.exclude(Entry::parse("10.9.0.0/24").unwrap(), "ICMP\nadministratively prohibited").unwrap();
    journal.written_unasked(targets + 1).unwrap();
}

#[test]
fn a_journal_cut_at_any_byte_knows_what_was_written_whole() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 12);
    let whole = fs::read(folder.path().join(FILE)).unwrap();
    for length in 0..=whole.len() {
        let cut = tempfile::tempdir().unwrap();
        fs::write(cut.path().join(FILE), &whole[..length]).unwrap();
        // The oracle: what a shell would see of the lines that have an end.
        let complete = &whole[..whole[..length].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)];
        let lines = String::from_utf8(complete.to_vec()).unwrap();
        let of = |verb: &str| -> BTreeSet<(u64, IpAddr)> {
            let entries = lines.lines().filter_map(|line| line.strip_prefix(verb)?.trim_start().split_once(' '));
            entries.filter_map(|(line, address)| Some((line.parse().ok()?, address.parse().ok()?))).collect()
        };
        let asked = of("asking ");

        let mut journal = Journal::open(cut.path(), LIST).unwrap_or_else(|error| panic!("{length}: {error}"));
        assert_eq!(journal.interrupted().collect::<BTreeSet<_>>(), &asked - &of("written "), "at {length}");
        for line in 1..=14 {
            for address in [address(line), address(line + 1000)] {
                assert_eq!(journal.was_asked(line, address), asked.contains(&(line, address)), "{line} at {length}");
            }
        }
        // It goes on, and another process reads what both wrote.
        let rest: Vec<_> = (1..=14).filter(|line| !journal.was_asked(*line, address(*line))).collect();
        for line in &rest {
            journal.asking(&[(*line, address(*line))]).unwrap();
        }
        drop(journal);
        let journal = Journal::open(cut.path(), LIST).unwrap();
        assert!((1..=14).all(|line| journal.was_asked(line, address(line)) && journal.was_begun(line)));
        let text = fs::read_to_string(cut.path().join(FILE)).unwrap();
        assert!(text.starts_with(&lines) && text.ends_with('\n'), "nothing that was whole is lost at {length}");
        let mut asked_in_file = BTreeMap::new();
        for entry in text.lines().filter(|line| line.starts_with("asking ")) {
            *asked_in_file.entry(entry.to_owned()).or_insert(0) += 1;
        }
        assert!(asked_in_file.values().all(|count| *count == 1), "nobody is asked twice at {length}");
    }
}

#[test]
fn a_folder_has_one_scan_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(folder.path(), LIST).unwrap();
    let error = Journal::open(folder.path(), LIST).unwrap_err();
    assert!(matches!(error, JournalError::InUse(_)) && error.to_string().contains("in use by another scan"));
    drop(journal);
    assert!(Journal::open(folder.path(), LIST).is_ok());
}

#[test]
fn a_journal_belongs_to_its_list() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 2);
    let before = fs::read(folder.path().join(FILE)).unwrap();
    let error = Journal::open(folder.path(), ListHash([8; 32])).unwrap_err();
    assert!(matches!(error, JournalError::OtherList { .. }), "{error}");
    assert_eq!(fs::read(folder.path().join(FILE)).unwrap(), before);
}

#[test]
fn what_is_no_journal_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 2);
    let good = fs::read_to_string(folder.path().join(FILE)).unwrap();
    let long = "x".repeat(5000);
    for (content, line, part) in [
        ("some file\n".to_owned(), 1, "some file"),
        (good.replace("asking 2", "asking two"), 4, "asking two"),
        (good.replace("written", "writ\u{1b}en"), 7, "writ"),
        (format!("{good}exclude 10.0.0.0/33 why\n"), good.lines().count() as u64 + 1, "10.0.0.0/33"),
        (format!("{good}{long}"), good.lines().count() as u64 + 1, "a line of 1024 bytes or more"),
    ] {
        fs::write(folder.path().join(FILE), &content).unwrap();
        let error = Journal::open(folder.path(), LIST).unwrap_err();
        assert!(error.to_string().contains(part) && !error.to_string().contains('\u{1b}'), "{error}");
        assert!(matches!(error, JournalError::Line { line: found, .. } if found == line), "{error}");
        assert_eq!(fs::read_to_string(folder.path().join(FILE)).unwrap(), content);
    }
    fs::write(folder.path().join(FILE), [&good.as_bytes()[..90], b"\n\xff\xfe\n"].concat()).unwrap();
    assert!(Journal::open(folder.path(), LIST).is_err());
}

#[test]
fn a_journal_that_is_no_regular_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    let [pipe, device]: [fn(&Path); 2] = [
        |path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        |path| symlink("/dev/zero", path).unwrap(),
    ];
    for make in [pipe, device] {
        make(&path);
        let error = Journal::open(folder.path(), LIST).unwrap_err();
        assert!(
            matches!(&error, JournalError::File { source, .. } if source.kind() == ErrorKind::InvalidInput),
            "{error:?}"
        );
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn exclusions_of_an_earlier_start_hold_when_they_are_configured_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let mut configured = Exclusions::default();
    configured.add_file("ours.txt", &b"8.8.0.0/16\nexample.com\n"[..]).unwrap();
    let mut journal = Journal::open(folder.path(), LIST).unwrap();
    journal.unite(&mut configured).unwrap();
    journal.exclude(Entry::parse("9.9.9.0/24").unwrap(), "ICMP: administratively prohibited").unwrap();
    drop(journal);

    let mut forgotten = Exclusions::default();
    let mut journal = Journal::open(folder.path(), LIST).unwrap();
    journal.unite(&mut forgotten).unwrap();
    let entries: Vec<_> = forgotten.entries().map(|(entry, source)| format!("{entry}: {source}")).collect();
    let expected = [
        "8.8.0.0/16: ours.txt line 1",
        "9.9.9.0/24: ICMP: administratively prohibited",
        "example.com: ours.txt line 2",
    ];
    assert_eq!(entries, expected);
    assert!(forgotten.entries().all(|(_, source)| matches!(source, Source::Scan(_))));
    let length = fs::metadata(folder.path().join(FILE)).unwrap().len();
    journal.unite(&mut forgotten).unwrap();
    assert_eq!(fs::metadata(folder.path().join(FILE)).unwrap().len(), length, "nothing is noted twice");
}
