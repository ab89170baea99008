//! Names to addresses, by a resolver that answers, lies, sends rubbish, is silent and cuts off.

use super::resolver;
use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
    time::{Duration as StdDuration, Instant},
};

use super::resolver::{A, AAAA, HTTPS, Question, Server, a, aaaa, answer, cname, record, serve};
use proptest::prelude::*;
use quiclab_scan::targets::{
    Name,
    resolve::{Answer, Client, Failure, HttpsRecord, Kind, Resolver, Settings, Transmit},
};
use quiclab_units::{Duration, Time};

const NAME_ERROR: u16 = 3;
const CUT_OFF: u16 = 0x0200;

fn parsed(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// RFC 9460 appendix D.2, figures 5 and 9, and a record of our own.
fn https_of(name: &str) -> Vec<Vec<u8>> {
    let hex = |text: &str| -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits.chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    };
    let target = "03 666f6f 07 6578616d706c65 03 636f6d 00";
    let port = hex(&format!("0010 {target} 0003 0002 0035"));
    let hints =
        hex(&format!("0001 {target} 0006 0020 20010db8000000000000000000000001 20010db8000000000000000000530001"));
    let own = hex("0002 00 0000 0004 0001 fffe 0001 0006 02 6833 02 6832 0004 0008 01020304 05060708 fffe 0001 00");
    [port, hints, own].iter().map(|data| record(name, HTTPS, data)).collect()
}

fn behave(question: &Question, before: u32, transport: &str) -> Vec<Vec<u8>> {
    let (name, id, bytes) = (&*question.name, question.id, &question.bytes);
    let ok = |records: &[Vec<u8>]| vec![answer(id, bytes, 0, records)];
    let of_a = |records: &[Vec<u8>]| if question.kind == A { ok(records) } else { ok(&[]) };
    match name {
        "both.example" if question.kind == A => {
            ok(&[a(name, [1, 2, 3, 4]), a(name, [5, 6, 7, 8]), a(name, [1, 2, 3, 4])])
        }
        "both.example" if question.kind == AAAA => ok(&[aaaa(name, "2606:4700::1111")]),
        "both.example" => ok(&https_of(name)),
        // The aliases in the wrong order and another case, and addresses of names that nobody asked for.
        "mapped.example" if question.kind == AAAA => ok(&[aaaa(name, "::ffff:9.9.9.9")]),
        "mapped.example" => ok(&[a(name, [9, 9, 9, 9])]),
        "alias.example" => of_a(&[
            a("c.example", [9, 9, 9, 9]),
            cname("B.example", "c.example"),
            cname(name, "b.EXAMPLE"),
            a("other.example", [6, 6, 6, 6]),
            a(name, [6, 6, 6, 7]),
        ]),
        "circle.example" => of_a(&[cname(name, "b.example"), cname("b.example", name), a(name, [1, 1, 1, 1])]),
        "dangling.example" => of_a(&[cname(name, "b.example")]),
        "nxdomain.example" => vec![answer(id, bytes, NAME_ERROR, &[])],
        "refused.example" => vec![answer(id, bytes, 5, &[])],
        "failing.example" => vec![answer(id, bytes, 2, &[])],
        "unread.example" => vec![answer(id, &[], 1, &[])],
        "silent.example" => vec![],
        "third.example" if before < 2 => vec![],
        "third.example" => of_a(&[a(name, [3, 3, 3, 3])]),
        "rubbish.example" => vec![
            id.to_be_bytes().to_vec(),
            vec![0xff; 600],
            [&id.to_be_bytes()[..], &[0xff; 40]].concat(),
            [&id.to_be_bytes()[..], &[0x81, 0x80, 0, 1, 0, 9, 0, 0, 0, 0, 0xc0, 0x0c]].concat(),
        ],
        // The question is right, and what follows ends before its end.
        "short.example" => {
            let mut message = answer(id, bytes, 0, &[a(name, [1, 1, 1, 1]), a(name, [2, 2, 2, 2])]);
            message.truncate(message.len() - 3);
            vec![message]
        }
        "lies.example" if question.kind == A => {
            let other = [resolver::name("other.example"), vec![0, 1, 0, 1]].concat();
            let mut of_six = bytes.clone();
            let end = of_six.len() - 4;
            of_six[end..].copy_from_slice(&[0, 28, 0, 1]);
            let lie = [a(name, [6, 6, 6, 6])];
            let mut query = answer(id, bytes, 0, &lie);
            query[2] &= 0x7f;
            vec![
                answer(id.wrapping_add(1), bytes, 0, &lie),
                answer(id, &other, 0, &lie),
                answer(id, &of_six, 0, &lie),
                answer(id, &[], 0, &lie),
                query,
                answer(id, bytes, 0, &[a(name, [8, 8, 4, 4])]),
                answer(id, bytes, 0, &lie),
            ]
        }
        "long.example" if transport == "udp" => vec![answer(id, bytes, CUT_OFF, &[a(name, [6, 6, 6, 6])])],
        "long.example" => of_a(&(0..200).map(|last| a(name, [20, 0, 0, last])).collect::<Vec<_>>()),
        "longer.example" if transport == "udp" => vec![answer(id, bytes, CUT_OFF, &[])],
        "longer.example" => vec![],
        "spoiled.example" if question.kind == HTTPS => ok(&[record(name, HTTPS, &[0, 1, 0, 0, 3, 0, 1, 7])]),
        _ if name.starts_with("name-") => {
            let number: u32 = name[5..].split('.').next().unwrap().parse().unwrap();
            of_a(&[a(name, Ipv4Addr::from_bits(0x1400_0000 + number).octets())])
        }
        _ => ok(&[]),
    }
}

/// A short timeout, of which this machine needs a twentieth for an answer right now.
fn settings(server: &Server) -> Settings {
    let patient = Settings { timeout: Duration::from_secs(100), https: true, ..Settings::default() };
    let begin = Instant::now();
    resolve(server, patient, &["timing.example"]);
    let needed_ns = begin.elapsed().as_nanos() as u64;
    Settings { timeout: Duration::from_millis(150).max(Duration::from_nanos(20 * needed_ns)), ..patient }
}

fn resolve(server: &Server, settings: Settings, names: &[&str]) -> BTreeMap<String, Answer> {
    let mut client = Client::new(server.address, settings).unwrap();
    for name in names {
        client.ask(parsed(name));
    }
    let begin = Instant::now();
    let mut answers = BTreeMap::new();
    while client.pending() > 0 {
        for answer in client.poll(StdDuration::from_secs(1)).unwrap() {
            answers.insert(answer.name.to_string(), answer);
        }
        assert!(begin.elapsed() < StdDuration::from_secs(300), "hung: five minutes, {} names left", client.pending());
    }
    answers
}

#[test]
fn a_name_gets_its_addresses_and_https_records() {
    let server = serve(behave);
    let answers = resolve(&server, settings(&server), &["both.example", "alias.example", "mapped.example"]);
    let both = &answers["both.example"];
    let expected: Vec<IpAddr> = ["1.2.3.4", "5.6.7.8", "2606:4700::1111"].map(|text| text.parse().unwrap()).to_vec();
    assert_eq!(both.result(), Ok(&expected[..]));
    assert_eq!(both.failures, []);
    let target = Some(parsed("foo.example.com"));
    let plain = |priority, target| HttpsRecord {
        priority,
        target,
        port: None,
        alpn: vec![],
        hints: vec![],
        is_understood: true,
    };
    let expected = [
        HttpsRecord { port: Some(53), ..plain(16, target.clone()) },
        HttpsRecord {
            hints: ["2001:db8::1", "2001:db8::53:1"].map(|text| text.parse().unwrap()).to_vec(),
            ..plain(1, target)
        },
        HttpsRecord {
            alpn: vec![b"h3".to_vec(), b"h2".to_vec()],
            hints: ["1.2.3.4", "5.6.7.8"].map(|text| text.parse().unwrap()).to_vec(),
            is_understood: false,
            ..plain(2, None)
        },
    ];
    for (found, expected) in both.https.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(both.https.len(), expected.len());
    assert_eq!(answers["alias.example"].result(), Ok(&["9.9.9.9".parse().unwrap()][..]));
    assert_eq!(answers["mapped.example"].result(), Ok(&["9.9.9.9".parse().unwrap()][..]));
}

#[test]
fn every_way_to_fail_has_its_name() {
    let server = serve(behave);
    let expected = [
        ("nxdomain.example", "nxdomain"),
        ("none.example", "no_address"),
        ("dangling.example", "no_address"),
        ("refused.example", "refused"),
        ("failing.example", "server_failure"),
        ("unread.example", "server_failure"),
        ("silent.example", "timed_out"),
        ("rubbish.example", "timed_out"),
        ("short.example", "malformed"),
        ("circle.example", "malformed"),
        ("longer.example", "truncated"),
    ];
    let names: Vec<_> = expected.iter().map(|(name, _)| *name).collect();
    let answers = resolve(&server, settings(&server), &names);
    for (name, failure) in expected {
        assert_eq!(answers[name].result().map_err(Failure::name), Err(failure), "{name}");
    }
    assert_eq!(answers["none.example"].failures, [(Kind::A, Failure::NoAddress), (Kind::Aaaa, Failure::NoAddress)]);
    let asked = server.asked.lock().unwrap();
    for kind in [A, AAAA, HTTPS] {
        assert_eq!(asked[&("silent.example".into(), kind, "udp")], 3, "three tries and no more");
        assert_eq!(asked[&("nxdomain.example".into(), kind, "udp")], 1);
        assert_eq!(asked[&("longer.example".into(), kind, "tcp")], 3);
    }
}

#[test]
fn an_https_record_that_is_spoiled_fails_alone() {
    let server = serve(behave);
    let answers = resolve(&server, settings(&server), &["spoiled.example"]);
    assert!(answers["spoiled.example"].failures.contains(&(Kind::Https, Failure::Malformed)));
    assert_eq!(answers["spoiled.example"].https, []);
}

#[test]
fn a_late_answer_counts_and_lies_do_not() {
    let server = serve(behave);
    let answers = resolve(&server, settings(&server), &["third.example", "lies.example"]);
    assert_eq!(answers["third.example"].result(), Ok(&["3.3.3.3".parse().unwrap()][..]));
    assert_eq!(answers["lies.example"].result(), Ok(&["8.8.4.4".parse().unwrap()][..]));
}

#[test]
fn what_a_datagram_cuts_off_comes_over_tcp() {
    let server = serve(behave);
    let answers = resolve(&server, settings(&server), &["long.example"]);
    assert_eq!(answers["long.example"].addresses.len(), 200);
    assert!(!answers["long.example"].addresses.contains(&"6.6.6.6".parse().unwrap()));
}

#[test]
fn thousands_of_names_are_resolved_with_a_bounded_number_in_flight() {
    let server = serve(behave);
    let names: Vec<String> = (0..5000).map(|number| format!("name-{number}.example")).collect();
    let begin = Instant::now();
    let settings = Settings { most_in_flight: 64, ..Settings::default() };
    let answers = resolve(&server, settings, &names.iter().map(String::as_str).collect::<Vec<_>>());
    println!("{} names in {:?}", answers.len(), begin.elapsed());
    for number in 0..5000 {
        let expected = IpAddr::V4(Ipv4Addr::from_bits(0x1400_0000 + number));
        assert_eq!(answers[&format!("name-{number}.example")].result(), Ok(&[expected][..]));
    }
}

#[test]
fn a_resolver_that_is_not_there_times_out() {
    let unused = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let server = Server { address: unused, asked: Default::default() };
    let answers =
        resolve(&server, Settings { timeout: Duration::from_millis(150), ..Settings::default() }, &["both.example"]);
    assert_eq!(answers["both.example"].result(), Err(Failure::TimedOut));
}

/// The core without sockets: numbers from 0, and time by hand.
fn core(settings: Settings) -> Resolver {
    let mut next = 0_u16;
    Resolver::new(settings, move || {
        next += 1;
        next - 1
    })
}

fn seconds(seconds: u64) -> Time {
    Time::from_nanos(seconds * 1_000_000_000)
}

#[test]
fn tries_are_at_their_times_and_no_more_are_in_flight_than_allowed() {
    let settings = Settings { v6: false, most_in_flight: 2, ..Settings::default() };
    let mut resolver = core(settings);
    for name in ["a.example", "b.example", "c.example"] {
        resolver.ask(parsed(name));
    }
    let sent = |resolver: &mut Resolver, now| std::iter::from_fn(|| resolver.poll_transmit(now)).count();
    assert_eq!(sent(&mut resolver, seconds(0)), 2);
    for try_number in 1..3 {
        assert_eq!(resolver.poll_timeout(), Some(seconds(2 * try_number)));
        resolver.handle_timeout(seconds(2 * try_number));
        assert_eq!(sent(&mut resolver, seconds(2 * try_number)), 2);
    }
    resolver.handle_timeout(seconds(6));
    let answers: Vec<_> = std::iter::from_fn(|| resolver.poll_answer()).collect();
    assert!(answers.len() == 2 && answers.iter().all(|answer| answer.result() == Err(Failure::TimedOut)));
    assert_eq!((sent(&mut resolver, seconds(6)), resolver.pending()), (1, 1));
}

#[test]
fn a_number_that_is_in_use_is_not_used_twice() {
    let mut resolver = Resolver::new(Settings::default(), || 7);
    for number in 0..50 {
        resolver.ask(parsed(&format!("name-{number}.example")));
    }
    let mut ids = std::collections::BTreeSet::new();
    while let Some(Transmit::Datagram(message)) = resolver.poll_transmit(seconds(0)) {
        assert!(ids.insert(u16::from_be_bytes([message[0], message[1]])));
    }
    assert_eq!(ids.len(), 100);
}

#[test]
fn nothing_wanted_is_answered_at_once() {
    let mut resolver = core(Settings { v4: false, v6: false, ..Settings::default() });
    resolver.ask(parsed("a.example"));
    assert_eq!(resolver.poll_answer().map(|answer| answer.result().map_err(Failure::name).is_err()), Some(true));
}

proptest! {
    #[test]
    fn arbitrary_messages_never_panic_and_never_hang(
        messages in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..200), any::<bool>()), 0..20),
    ) {
        let mut resolver = core(Settings { https: true, ..Settings::default() });
        resolver.ask(parsed("a.example"));
        while resolver.poll_transmit(seconds(0)).is_some() {}
        for (mut message, has_id) in messages {
            if has_id && message.len() > 3 {
                (message[0], message[1], message[2]) = (0, message[2] % 3, 0x80);
            }
            resolver.handle_datagram(&message, seconds(0));
            resolver.handle_stream(u64::from(message.first().copied().unwrap_or(0)), Some(&message), seconds(0));
        }
        for now in 1..100 {
            resolver.handle_timeout(seconds(now));
            while resolver.poll_transmit(seconds(now)).is_some() {}
        }
        prop_assert_eq!(resolver.pending(), 0);
    }

    /// A right answer with some bytes changed: it is taken, refused or stray, and what is taken is in the message.
    #[test]
    fn changed_answers_never_panic(
        kind in 0_usize..3, cut in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut resolver = core(Settings { https: true, ..Settings::default() });
        resolver.ask(parsed("both.example"));
        let queries: Vec<_> = std::iter::from_fn(|| resolver.poll_transmit(seconds(0))).collect();
        let Transmit::Datagram(query) = &queries[kind] else { panic!("{queries:?}") };
        let mut message = behave(&resolver::read(query).unwrap(), 0, "udp").remove(0);
        for (index, byte) in changes {
            let index = index.index(message.len());
            message[index] = byte;
        }
        resolver.handle_datagram(&message, seconds(0));
        resolver.handle_datagram(&message[..cut.index(message.len())], seconds(0));
        for now in 1..100 {
            resolver.handle_timeout(seconds(now));
            while resolver.poll_transmit(seconds(now)).is_some() {}
        }
        let answer = resolver.poll_answer().unwrap();
        for address in &answer.addresses {
            let octets = match address {
                IpAddr::V4(v4) => v4.octets().to_vec(),
                IpAddr::V6(v6) => v6.octets().to_vec(),
            };
            prop_assert!(message.windows(octets.len()).any(|window| window == octets));
        }
    }
}
