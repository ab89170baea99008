//! Targets that read lists, exclusions and answers of a resolver.

use std::{io::BufReader, net::IpAddr};

use quiclab_scan::targets::{
    Exclusions, List, Name,
    exclusions::Origin,
    resolve::{Resolver, Settings, Transmit},
};
use quiclab_units::Time;

/// A list of targets: the same whole and byte by byte, and every target is read again from what it says.
pub fn list(input: &[u8]) {
    let mut whole = List::new(input);
    let mut pieces = List::new(BufReader::with_capacity(1, input));
    loop {
        let (one, other) = (whole.next(), pieces.next());
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
        let Some(item) = one else { break };
        let Ok(target) = item else { continue };
        let mut text = target.rank.map(|rank| format!("{rank} ")).unwrap_or_default();
        text += &target.host.name().map(|name| format!("{name} ")).unwrap_or_default();
        text += &match target.host.address() {
            Some(IpAddr::V6(v6)) => format!("[{v6}]:{}", target.port()),
            Some(v4) => format!("{v4}:{}", target.port()),
            None => String::new(),
        };
        // Behind a line that cannot be read, since a name such as `host` would be a header at the start.
        let text = format!("? ?\n{text}");
        let again = List::new(text.as_bytes()).nth(1).expect("a target").expect("one that can be read");
        assert_eq!((again.rank, &again.host), (target.rank, &target.host), "{text}");
    }
    assert_eq!(whole.counts(), pieces.counts());
}

/// A file of exclusions: every entry excludes itself.
pub fn exclusions(input: &[u8]) {
    let mut exclusions = Exclusions::default();
    let _ = exclusions.add_file("file", input);
    let entries: Vec<_> = exclusions.entries().map(|(entry, _)| entry.to_string()).collect();
    for text in entries {
        match text.split_once('/') {
            Some((address, _)) => {
                let address: IpAddr = address.parse().expect("an address");
                assert!(exclusions.address(address, Origin::List).is_some(), "{text}");
            }
            None => assert!(exclusions.name(&Name::parse(&text).expect("a name")).is_some(), "{text}"),
        }
    }
}

/// Answers of a resolver: lengths of two bytes, then messages. The first byte says whether they have the number of a query.
pub fn answers(input: &[u8]) {
    let mut next = 0_u16;
    let mut resolver = Resolver::new(Settings { https: true, ..Settings::default() }, move || {
        next += 1;
        next
    });
    let lookup = resolver.ask(Name::parse("a.example").expect("a name"));
    let (mut now, mut rest) = (Time::from_nanos(0), input);
    let mut sent = Vec::new();
    for _ in 0..64 {
        while let Some(transmit) = resolver.poll_transmit(now) {
            sent.push(transmit);
        }
        let Some((head, behind)) = rest.split_first_chunk::<3>() else { break };
        let length = usize::from(u16::from_be_bytes([head[1], head[2]])).min(behind.len());
        let (message, behind) = behind.split_at(length);
        rest = behind;
        let mut message = message.to_vec();
        let of = &sent[usize::from(head[0] >> 2) % sent.len()];
        let query = match of {
            Transmit::Datagram(query) | Transmit::Stream { message: query, .. } => query,
        };
        if head[0] & 1 != 0 {
            // The number, flags of an answer, and the question; what follows is of the input.
            let question_end = query.len() - 11;
            let mut right = query[..question_end].to_vec();
            (right[2], right[3]) = (0x81, 0x80);
            right[10..12].fill(0);
            if let Some((counts, records)) = message.split_first_chunk::<3>() {
                (right[2], right[3], right[7]) = (0x80 | counts[0] & 7, counts[1] & 0x8f, counts[2]);
                message = [&right[..], records].concat();
            }
        }
        match of {
            Transmit::Stream { token, .. } if head[0] & 2 != 0 => {
                resolver.handle_stream(*token, Some(&message), now);
            }
            _ => resolver.handle_datagram(&message, now),
        }
    }
    for _ in 0..100 {
        let Some(at) = resolver.poll_timeout() else { break };
        now = at;
        resolver.handle_timeout(now);
        while resolver.poll_transmit(now).is_some() {}
    }
    let answer = resolver.poll_answer().expect("every name is done in the end");
    assert!(answer.lookup == lookup && resolver.pending() == 0 && resolver.poll_answer().is_none());
}
