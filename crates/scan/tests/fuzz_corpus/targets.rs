//! What the fuzzer runs, and the test of its corpus. Besides panics they look for wrong answers.

#[path = "../it/common/client.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
#[allow(clippy::duplicate_mod, reason = "the fuzzer, which has no other tests, needs it here")]
mod client;
pub mod lists;
pub mod origin;

use std::net::{Ipv4Addr, SocketAddr};

use client::Client;
use quiclab_scan::offline::{Offline, read_response};
use quiclab_scan::{HttpSettings, Outcome};

/// A target.
pub type Target = fn(&[u8]);

/// All of them, by the names of their corpora.
#[allow(dead_code, reason = "for the test")]
pub const ALL: [(&str, Target); 8] = [
    ("handshake", handshake),
    ("icmp", icmp),
    ("response", response),
    ("list", lists::list),
    ("exclusions", lists::exclusions),
    ("answers", lists::answers),
    ("table", origin::table),
    ("names", origin::names),
];

/// Datagrams of a server, and ICMP errors. Each begins with two bytes: what it is, and a length. Nobody who has not seen the client's keys
/// completes a handshake, and each ends with one answer and leaves nothing behind.
pub fn handshake(input: &[u8]) {
    let Some((&flags, mut rest)) = input.split_first() else { return };
    let http = (flags & 1 != 0).then(HttpSettings::default);
    let mut offline = Offline::new(http).expect("an engine");
    let first = offline.send().into_iter().next().expect("a first flight");
    let mut client = Client::new(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 5_000)), &first);
    let mut number = 0u8;
    while let [kind, length, more @ ..] = rest {
        let (data, after) = more.split_at(usize::from(*length).min(more.len()));
        rest = after;
        match kind % 6 {
            0 => offline.receive(data),
            1 => {
                let id = [&[client.source.len() as u8], &client.source[..]].concat();
                let (head, tail) = data.split_at(data.len().min(5));
                offline.receive(&[head, &id, tail].concat());
            }
            2 | 3 => {
                // Frames in an Initial packet, also a number again.
                offline.receive(&client.initial(number, data, 1200));
                number = number.wrapping_add(u8::from(kind % 6 == 2));
            }
            4 => {
                let (kind, code) = (data.first().copied().unwrap_or(3), data.get(1).copied().unwrap_or(3));
                // Also what nobody would quote.
                offline.receive_icmp(kind, code, if data.len() > 2 { &data[2..] } else { &first });
            }
            _ => {
                // Two packets in one datagram.
                let one = client.initial(number, data, 600);
                number = number.wrapping_add(1);
                let two = client.initial(number, data, 600);
                offline.receive(&[one, two].concat());
            }
        }
        // After a Retry, the keys are those of the server's connection ID.
        if let Some(sent) = offline.send().first().filter(|sent| sent.first().is_some_and(|first| first >> 4 == 0xc)) {
            client = Client::new(client.address, sent);
        }
    }
    let (answers, is_empty) = offline.finish();
    assert_eq!(answers.len(), 1);
    assert!(!matches!(answers[0].outcome, Outcome::Completed | Outcome::NotSent), "{:?}", answers[0].outcome);
    assert!(is_empty);
}

/// ICMP errors about a handshake. Each has five bytes: type, code, and how many bytes of the datagram it quotes; then place and bits
/// of a byte that is changed. Only a quote with the connection ID ends anything.
pub fn icmp(input: &[u8]) {
    /// Up to the end of a connection ID of 20 bytes.
    const ID_END: usize = 26;
    let mut offline = Offline::new(None).expect("an engine");
    let first = offline.send().into_iter().next().expect("a first flight");
    assert_eq!(first[5], 20, "a connection ID of another length");
    let mut is_proven = false;
    for message in input.chunks_exact(5) {
        let [kind, code, length, place, change] = *message else { continue };
        let mut quoted = first[..usize::from(length)].to_vec();
        if let Some(byte) = quoted.get_mut(usize::from(place)) {
            *byte ^= change;
        }
        offline.receive_icmp(kind, code, &quoted);
        is_proven |= quoted.len() >= ID_END && quoted[0] & 0x80 != 0 && quoted[1..ID_END] == first[1..ID_END];
    }
    let (answers, is_empty) = offline.finish();
    assert_eq!(answers.len(), 1);
    let by_icmp = [Outcome::Refused, Outcome::Prohibited, Outcome::Unreachable].contains(&answers[0].outcome);
    assert!(by_icmp || answers[0].outcome == Outcome::Silent, "{:?}", answers[0].outcome);
    assert!(is_proven || !by_icmp, "{:?} by errors without a connection ID", answers[0].outcome);
    assert!(is_empty);
}

/// The stream of a response: the same whole, byte by byte, and in halves.
pub fn response(input: &[u8]) {
    let settings = HttpSettings { headers: vec!["cf-ray".into(), "date".into()], ..HttpSettings::default() };
    let whole = read_response([input], &settings);
    assert_eq!(read_response(input.chunks(1), &settings), whole);
    let (one, two) = input.split_at(input.len() / 2);
    assert_eq!(read_response([one, two], &settings), whole);
    if let Ok(Some(answer)) = whole {
        assert!((200..1000).contains(&answer.status), "{}", answer.status);
        assert!(answer.headers.iter().all(|(name, _)| settings.headers.contains(name)));
        // What a scan keeps of each of many responses: a byte that is no text takes three.
        let headers = answer.headers.iter().map(|(_, value)| value.len()).sum::<usize>();
        assert!(headers <= 3 * 4096 && answer.headers.len() <= 32, "{headers} bytes");
        let texts = answer.server.iter().chain(&answer.alt_svc).map(String::len);
        assert!(texts.chain(answer.headers.iter().map(|(_, value)| value.len())).all(|bytes| bytes <= 3 * 1024));
    }
}
