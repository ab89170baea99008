use proptest::prelude::*;

use super::{parse::FRAMES, *};
use crate::content::{ContentFrame, ContentPacket, Direction, Flight, Probe};

fn read(form: PacketForm, frames: &[ContentFrame]) -> ContentPacket {
    ContentPacket { form, number: Some(0), is_read: true, frames: frames.to_vec() }
}

fn unread(form: PacketForm) -> ContentPacket {
    ContentPacket { form, number: None, is_read: false, frames: Vec::new() }
}

fn content(datagram: u64, packets: Vec<ContentPacket>) -> Content {
    Content {
        direction: Direction::ToClient,
        connection: 1,
        datagram,
        flight: Flight::Part { number: 1, datagram },
        data_flight: Some(1),
        probe: Probe::No,
        packets,
        is_whole: true,
    }
}

const ACK: ContentFrame = ContentFrame::Ack { largest: 0 };
const CRYPTO: ContentFrame = ContentFrame::Crypto { offset: 1200, length: 1200 };
const STREAM: ContentFrame = ContentFrame::Stream { id: 4, offset: 0, length: 10, fin: false };

/// The datagrams, by their place from 1, that a rule matches.
fn matched(rule: &str, contents: &[Content]) -> Vec<usize> {
    let mut matcher = Matcher::new(rule.parse().unwrap());
    (1..).zip(contents).filter(|(_, content)| matcher.matches(content)).map(|(place, _)| place).collect()
}

fn a_handshake() -> Vec<Content> {
    use PacketForm::{Handshake, Initial, OneRtt};
    let mut contents = vec![
        content(1, vec![read(Initial, &[ACK, ContentFrame::Padding])]),
        content(2, vec![read(Initial, &[CRYPTO]), read(Handshake, &[CRYPTO])]),
        content(3, vec![read(Handshake, &[ContentFrame::Crypto { offset: 2400, length: 1 }])]),
        content(4, vec![read(Handshake, &[ContentFrame::Ping])]),
        content(5, vec![read(OneRtt, &[ContentFrame::HandshakeDone, STREAM])]),
        content(6, vec![read(OneRtt, &[STREAM])]),
    ];
    contents[3].flight = Flight::Repeat;
    contents[3].probe = Probe::Number(1);
    for (place, content) in contents[4..].iter_mut().enumerate() {
        content.flight = Flight::Part { number: 2, datagram: place as u64 + 1 };
        content.data_flight = Some(2);
    }
    contents
}

#[test]
fn each_condition_matches_what_it_names() {
    let contents = a_handshake();
    for (rule, expected) in [
        ("any", vec![1, 2, 3, 4, 5, 6]),
        ("datagram 2", vec![2]),
        ("datagram 2..4", vec![2, 3, 4]),
        ("datagram 5..", vec![5, 6]),
        ("connection 1", vec![1, 2, 3, 4, 5, 6]),
        ("connection 2..", vec![]),
        ("flight 1", vec![1, 2, 3]),
        ("flight 1 after datagram 1", vec![2, 3]),
        ("flight 1 datagram 2", vec![2]),
        ("flight 2", vec![5, 6]),
        ("data of flight 2", vec![5, 6]),
        ("probe", vec![4]),
        ("probe 1", vec![4]),
        ("probe 2", vec![]),
        ("repeat", vec![4]),
        ("unreadable", vec![]),
        ("initial", vec![1, 2]),
        ("handshake packet", vec![2, 3, 4]),
        ("first handshake packet", vec![2]),
        ("first stream frame", vec![5]),
        ("first 2 times (stream 4)", vec![5, 6]),
        ("stream 8", vec![]),
        ("stream bytes 10..", vec![]),
        ("stream 4 bytes 9..", vec![5, 6]),
        ("handshake_done", vec![5]),
        ("crypto", vec![2, 3]),
        ("crypto 1200..2400", vec![2]),
        ("crypto 2400..2401", vec![3]),
        ("crypto 2401..", vec![]),
        ("crypto 0..1200", vec![]),
        ("initial crypto", vec![2]),
        ("handshake crypto", vec![2, 3]),
        ("handshake ack", vec![]),
        ("acknowledgment only", vec![1]),
        ("from handshake", vec![2, 3, 4, 5, 6]),
        ("until handshake", vec![1]),
        ("from handshake and not handshake", vec![5, 6]),
        ("not flight 1 and not flight 2", vec![4]),
        ("flight 2 or probe and initial", vec![5, 6]),
        ("(flight 2 or probe) and not first stream", vec![4, 6]),
        ("retry or version_negotiation or 0-rtt or datagram frame", vec![]),
    ] {
        assert_eq!(matched(rule, &contents), expected, "{rule}");
    }
}

#[test]
fn counts_are_kept_for_each_connection() {
    let mut contents = a_handshake();
    contents.extend(a_handshake().into_iter().map(|content| Content { connection: 2, ..content }));
    assert_eq!(matched("first stream", &contents), [5, 11]);
    assert_eq!(matched("connection 2 and from handshake_done", &contents), [11, 12]);
}

#[test]
fn what_cannot_be_decided_does_not_match_and_is_counted() {
    let hidden = content(1, vec![read(PacketForm::Initial, &[ACK]), unread(PacketForm::Handshake)]);
    let undecided = |rule: &str, content: &Content| {
        let mut matcher = Matcher::new(rule.parse().unwrap());
        let is_match = matcher.matches(content);
        (is_match, matcher.counts().undecided == 1)
    };
    // Also where it is negated.
    assert_eq!(undecided("handshake crypto", &hidden), (false, true));
    assert_eq!(undecided("not handshake crypto", &hidden), (false, true));
    assert_eq!(undecided("acknowledgment only", &hidden), (false, true));
    assert_eq!(undecided("first crypto", &hidden), (false, true));
    // The header says enough, or no answer of the hidden packet could matter.
    assert_eq!(undecided("handshake", &hidden), (true, false));
    assert_eq!(undecided("initial crypto", &hidden), (false, false));
    assert_eq!(undecided("stream", &hidden), (false, false));
    assert_eq!(undecided("handshake crypto and 1-rtt", &hidden), (false, false));
    assert_eq!(undecided("handshake crypto or initial", &hidden), (true, false));
    assert_eq!(undecided("unreadable", &hidden), (true, false));
    let mut unknown = hidden.clone();
    (unknown.flight, unknown.probe, unknown.data_flight) = (Flight::Unknown, Probe::Unknown, None);
    for rule in ["flight 1", "probe", "repeat", "data of flight 1"] {
        assert_eq!(undecided(rule, &unknown), (false, true), "{rule}");
    }
    let cut = Content { is_whole: false, ..content(1, vec![read(PacketForm::Initial, &[ACK])]) };
    assert_eq!(undecided("handshake", &cut), (false, true));
    assert_eq!(undecided("initial", &cut), (true, false));
}

#[test]
fn a_rule_matches_no_connection_beyond_those_that_it_remembers() {
    let mut matcher = Matcher::new("first any".parse().unwrap());
    for connection in 1..=MAXIMUM_CONNECTIONS as u32 + 1 {
        let is_match = matcher.matches(&Content { connection, ..content(1, Vec::new()) });
        assert_eq!(is_match, connection <= MAXIMUM_CONNECTIONS as u32);
    }
    assert_eq!(matcher.counts().undecided, 1);
}

#[test]
fn an_error_says_where_what_was_found_and_what_was_expected() {
    let flaw = |text: &str| text.parse::<Rule>().unwrap_err().to_string();
    for (text, expected) in [
        ("", "at character 1: found the end of the rule, expected a condition such as"),
        ("flight 1 and flihgt 2", "at character 14: found \"flihgt\", expected a condition such as"),
        ("flight", "at character 7: found the end of the rule, expected a number from 1, or a range"),
        ("flight 0", "at character 8: found 0, expected a number from 1"),
        ("datagram 4..2", "at character 13: found 2, expected a number from 4"),
        ("crypto 5..5", "at character 11: found 5, expected a number from 6"),
        ("crypto 5", "at character 9: found the end of the rule, expected \"..\""),
        ("(initial", "at character 9: found the end of the rule, expected and, or, or \")\""),
        ("initial)", "at character 8: found \")\", expected and, or, or the end of the rule"),
        ("initial handshake", "at character 9: found \"handshake\", expected and, or, or the end of the rule"),
        ("first 3 (initial)", "at character 9: found \"(\", expected \"times\""),
        ("first 0 times any", "at character 7: found 0, expected a number from 1"),
        ("ünitial", "at character 1: found \"ü\", expected words, numbers"),
        ("datagram 99999999999999999999", "at character 10: found 99999999999999999999, expected a number up to"),
        ("initial & handshake", "at character 9: found \"&\", expected words"),
        ("acknowledgment", "at character 15: found the end of the rule, expected \"only\""),
    ] {
        let found = flaw(text);
        assert!(found.starts_with(expected), "{text:?}: {found}");
    }
    assert!(flaw(&"(".repeat(4000)).contains("64 levels of nesting at most"));
    assert!(
        flaw(&format!("any{}", " ".repeat(4094))).contains("found a rule of 4097 bytes, expected 4096 bytes at most")
    );
    assert!(format!("any{}", " ".repeat(4093)).parse::<Rule>().is_ok());
    assert!(format!("{}any{}", "(".repeat(63), ")".repeat(63)).parse::<Rule>().is_ok());
}

#[test]
fn every_frame_can_be_named_alone_and_in_a_packet() {
    for name in FRAMES {
        for text in [name.to_owned(), format!("{name} frame"), format!("1-rtt {name}"), format!("first {name} frame")] {
            assert!(text.parse::<Rule>().is_ok(), "{text}");
        }
    }
}

fn word() -> impl Strategy<Value = String> {
    let words = [
        "flight",
        "1",
        "2..",
        "..",
        "3",
        "datagram",
        "after",
        "first",
        "times",
        "from",
        "until",
        "not",
        "and",
        "or",
        "(",
        ")",
        "initial",
        "handshake",
        "crypto",
        "stream",
        "bytes",
        "probe",
        "only",
        "acknowledgment",
        "any",
        "data",
        "of",
        "frame",
        "0-rtt",
        "é",
        "packet",
    ];
    prop::sample::select(words.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #[test]
    fn a_rule_of_any_words_is_read_or_refused_at_a_place_within_it(words in prop::collection::vec(word(), 0..12)) {
        let text = words.join(" ");
        match text.parse::<Rule>() {
            Ok(rule) => {
                prop_assert_eq!(rule.to_string(), text);
                let mut matcher = Matcher::new(rule);
                let contents = a_handshake();
                let matched = contents.iter().filter(|content| matcher.matches(content)).count() as u64;
                // All was read, so everything is decided.
                prop_assert_eq!(matcher.counts(), MatchCounts { asked: contents.len() as u64, matched, undecided: 0 });
            }
            Err(error) => prop_assert!((1..=text.chars().count() + 1).contains(&error.at), "{error}"),
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,64}") {
        let _ = text.parse::<Rule>();
    }
}
