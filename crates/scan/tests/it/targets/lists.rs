//! Lists as people have them.

use std::io::{self, BufReader, Read};

use proptest::prelude::*;
use quiclab_scan::targets::{BadLine, Counts, List, ListError, ListHash, Target};

fn read(text: &[u8]) -> (Vec<Target>, Vec<BadLine>, Counts) {
    let mut list = List::new(text);
    let (mut targets, mut bad) = (Vec::new(), Vec::new());
    for item in &mut list {
        match item {
            Ok(target) => targets.push(target),
            Err(ListError::Line(line)) => bad.push(line),
            Err(error) => panic!("{error}"),
        }
    }
    (targets, bad, list.counts())
}

#[test]
fn a_list_of_mixed_forms_goes_on_after_lines_that_it_cannot_read() {
    let text = "\u{feff}Rank,Domain\r\n\
        1,Example.com\r\n\
        \r\n\
        # a comment\r\n\
        2,b\u{fc}cher.example # an IDN\r\n\
        this is no target\r\n\
        example.com.\r\n\
        https://example.com/\r\n\
        example.com:8443\r\n\
        rank,domain\r\n\
        [2001:db8::1]:443\r\n\
        2001:DB8:0::1\r\n\
        10.0.0.1 lab.example";
    let (targets, bad, counts) = read(text.as_bytes());
    let shown: Vec<_> =
        targets.iter().map(|target| (target.line, target.rank, target.host.name(), target.port())).collect();
    let names: Vec<_> =
        shown.iter().map(|(line, _, name, _)| (*line, name.map_or("-", |name| name.as_str()))).collect();
    let expected =
        [(2, "example.com"), (5, "xn--bcher-kva.example"), (9, "example.com"), (11, "-"), (13, "lab.example")];
    assert_eq!(names, expected);
    assert_eq!((shown[0].1, shown[1].1, shown[2].1), (Some(1), Some(2), None));
    assert_eq!((shown[2].3, shown[3].3), (8443, 443));
    assert_eq!(bad.iter().map(|line| line.line).collect::<Vec<_>>(), [6, 10], "a header is one at the top only");
    assert_eq!(
        bad[0].to_string(),
        "line 6: found \"this is no target\", expected \"rank,name\", a name, an address, or a name and an address"
    );
    assert_eq!(counts, Counts { lines: 13, targets: 5, duplicates: 3, unreadable: 2, without_target: 3 });
}

#[test]
fn bytes_that_are_no_text_are_reported_and_cannot_reach_a_terminal() {
    let mut text = b"a.example\n\xff\x1b[2J\n".to_vec();
    text.extend(std::iter::repeat_n(b'x', 4097));
    text.extend(b"\nb.example\n\x1b]0;title\x07\n");
    let (targets, bad, counts) = read(&text);
    assert_eq!(targets.iter().map(|target| target.line).collect::<Vec<_>>(), [1, 4]);
    assert_eq!(
        bad.iter().map(|line| (line.line, line.expected)).collect::<Vec<_>>()[..2],
        [(2, "UTF-8"), (3, "at most 4096")]
    );
    assert!(bad.iter().all(|line| !line.to_string().contains('\u{1b}')), "{bad:?}");
    assert_eq!((counts.unreadable, counts.lines), (3, 5));
    let (_, bad, _) = read(b"\xff\xfea\0.\0d\0e\0\n");
    assert_eq!(bad[0].found, "UTF-16");
}

#[test]
fn an_input_that_fails_ends_the_list_once() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("gone"))
        }
    }
    let mut list = List::new(BufReader::new((&b"a.example\n"[..]).chain(Failing)));
    assert!(list.next().is_some_and(|item| item.is_ok()));
    assert!(matches!(list.next(), Some(Err(ListError::Read { line: 1, .. }))));
    assert!(list.next().is_none());
}

#[test]
fn a_list_has_the_hash_of_its_bytes() {
    // FIPS 180-4, as of the example "abc".
    let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(ListHash::of(&b"abc"[..]).unwrap().to_string(), expected);
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_counted_line_by_line(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let (targets, bad, counts) = read(&bytes);
        let has_no_rest = bytes.is_empty() || bytes.ends_with(b"\n");
        let lines = bytes.split(|byte| *byte == b'\n').count() as u64 - u64::from(has_no_rest);
        prop_assert_eq!(counts.lines, lines);
        prop_assert_eq!((counts.targets, counts.unreadable), (targets.len() as u64, bad.len() as u64));
        prop_assert_eq!(counts.targets + counts.duplicates + counts.unreadable + counts.without_target, lines);
    }

    #[test]
    fn texts_near_to_targets_never_panic(lines in prop::collection::vec("[0-9a-f:.,\\[\\]/#\" xn-]{0,30}", 0..30)) {
        read(lines.join("\n").as_bytes());
    }
}
