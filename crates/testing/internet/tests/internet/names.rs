//! The resolver knows the names of the description.

use std::net::UdpSocket;

use hickory_proto::{
    op::{Message, Query, ResponseCode},
    rr::{Name as DnsName, RecordType},
};
use quiclab_internet::{Internet, Name, Resolution};

use crate::{
    Case,
    support::{HANG_TIMEOUT, SILENCE, description},
};

pub const CASES: &[Case] = &[("names_resolve_as_described", names_resolve_as_described)];

fn ask(name: &str, kind: RecordType) -> Option<(ResponseCode, Vec<String>)> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect("127.0.0.1:53").unwrap();
    socket.set_read_timeout(Some(if name.starts_with("mute") { SILENCE } else { HANG_TIMEOUT })).unwrap();
    let mut question = Message::query();
    question.add_query(Query::query(DnsName::from_ascii(name).unwrap(), kind));
    socket.send(&question.to_vec().unwrap()).unwrap();
    let mut buffer = [0; 1000];
    let bytes = socket.recv(&mut buffer).ok()?;
    let answer = Message::from_vec(&buffer[..bytes]).unwrap();
    assert_eq!(answer.metadata.id, question.metadata.id);
    let records = answer.answers.iter().map(|record| record.data.to_string()).collect();
    Some((answer.metadata.response_code, records))
}

fn names_resolve_as_described() {
    let addresses = |addresses: &[&str], has_https_record| Resolution::Addresses {
        addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
        has_https_record,
    };
    let name = |name: &str, resolution| Name { name: name.to_owned(), resolution };
    let mut one = description(Vec::new());
    one.names = vec![
        name("host17.example", addresses(&["100.64.0.17", "100.64.0.18", "2001:db8:64::17"], true)),
        name("only4.example", addresses(&["100.64.0.4"], false)),
        name("broken.example", Resolution::ServerFailure),
        name("mute.example", Resolution::NoAnswer),
    ];
    let internet = Internet::start(&one).unwrap();
    let ok = |records: &[&str]| {
        Some((ResponseCode::NoError, records.iter().map(|record| (*record).to_owned()).collect::<Vec<_>>()))
    };
    assert_eq!(ask("host17.example.", RecordType::A), ok(&["100.64.0.17", "100.64.0.18"]));
    assert_eq!(ask("HOST17.example.", RecordType::AAAA), ok(&["2001:db8:64::17"]));
    let https = ask("host17.example.", RecordType::HTTPS).unwrap().1;
    assert!(https.len() == 1 && https[0].contains("alpn") && https[0].contains("h3"), "{https:?}");
    assert_eq!(ask("only4.example.", RecordType::AAAA), ok(&[]));
    assert_eq!(ask("only4.example.", RecordType::HTTPS), ok(&[]));
    assert_eq!(ask("other.example.", RecordType::A), Some((ResponseCode::NXDomain, Vec::new())));
    assert_eq!(ask("broken.example.", RecordType::A), Some((ResponseCode::ServFail, Vec::new())));
    assert_eq!(ask("mute.example.", RecordType::A), None);
    // What is no question does not stop it.
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for rubbish in [&[][..], &[0xff; 3], &[0xff; 600]] {
        socket.send_to(rubbish, "127.0.0.1:53").unwrap();
    }
    assert_eq!(ask("only4.example.", RecordType::A), ok(&["100.64.0.4"]));
    drop(internet);
}
