//! A little resolver. It writes messages by hand, as RFC 1035 section 4 has them, so that it is no mirror of the code under test.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket},
    sync::{Arc, Mutex},
    thread,
};

pub const A: u16 = 1;
pub const CNAME: u16 = 5;
pub const AAAA: u16 = 28;
pub const HTTPS: u16 = 65;

/// What is asked.
pub struct Question {
    pub id: u16,
    pub name: String,
    pub kind: u16,
    /// Name, type and class as they came.
    pub bytes: Vec<u8>,
}

pub fn name(text: &str) -> Vec<u8> {
    let labels = text.split('.').filter(|label| !label.is_empty());
    let mut bytes: Vec<u8> = labels.flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat()).collect();
    bytes.push(0);
    bytes
}

pub fn record(owner: &str, kind: u16, data: &[u8]) -> Vec<u8> {
    let fixed = [&kind.to_be_bytes()[..], &[0, 1], &60_u32.to_be_bytes(), &(data.len() as u16).to_be_bytes()].concat();
    [name(owner), fixed, data.to_vec()].concat()
}

pub fn a(owner: &str, address: [u8; 4]) -> Vec<u8> {
    record(owner, A, &address)
}

pub fn aaaa(owner: &str, address: &str) -> Vec<u8> {
    record(owner, AAAA, &address.parse::<Ipv6Addr>().unwrap().octets())
}

pub fn cname(owner: &str, target: &str) -> Vec<u8> {
    record(owner, CNAME, &name(target))
}

/// An answer. `flags`: QR, RD and RA are there without.
pub fn answer(id: u16, question: &[u8], flags: u16, records: &[Vec<u8>]) -> Vec<u8> {
    let head: Vec<u8> = [id, 0x8180 | flags, u16::from(!question.is_empty()), records.len() as u16, 0, 0]
        .iter()
        .flat_map(|word| word.to_be_bytes())
        .collect();
    [head, question.to_vec(), records.concat()].concat()
}

pub fn read(message: &[u8]) -> Option<Question> {
    let id = u16::from_be_bytes(*message.first_chunk()?);
    let (mut at, mut labels) = (12, Vec::new());
    while *message.get(at)? != 0 {
        let end = at + 1 + usize::from(message[at]);
        labels.push(String::from_utf8_lossy(message.get(at + 1..end)?).into_owned());
        at = end;
    }
    let kind = u16::from_be_bytes(*message.get(at + 1..)?.first_chunk()?);
    Some(Question { id, name: labels.join("."), kind, bytes: message.get(12..at + 5)?.to_vec() })
}

/// How often a name was asked for, by type and over which transport.
pub type Asked = Arc<Mutex<BTreeMap<(String, u16, &'static str), u32>>>;

pub struct Server {
    pub address: SocketAddr,
    pub asked: Asked,
}

/// A server that answers a question with some messages, of which TCP sends the first. The number says how often it was asked before.
pub fn serve(behaviour: impl Fn(&Question, u32, &str) -> Vec<Vec<u8>> + Send + Sync + 'static) -> Server {
    let (udp, tcp) = loop {
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()) {
            break (udp, tcp);
        }
    };
    let address = udp.local_addr().unwrap();
    let asked = Asked::default();
    let count = |asked: &Asked, question: &Question, transport| {
        let mut asked = asked.lock().unwrap();
        let count = asked.entry((question.name.clone(), question.kind, transport)).or_default();
        *count += 1;
        *count - 1
    };
    let behaviour = Arc::new(behaviour);
    let (of_udp, asked_by_udp) = (behaviour.clone(), asked.clone());
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((length, client)) = udp.recv_from(&mut buffer) {
            let question = read(&buffer[..length]).expect("a question");
            assert_eq!(u16::from_be_bytes([buffer[2], buffer[3]]), 0x0100, "a query that wants recursion");
            assert_eq!(&buffer[length - 11..length], [0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0], "EDNS with 1232 bytes");
            for message in of_udp(&question, count(&asked_by_udp, &question, "udp"), "udp") {
                udp.send_to(&message, client).unwrap();
            }
        }
    });
    let asked_by_tcp = asked.clone();
    thread::spawn(move || {
        for connection in tcp.incoming() {
            let mut connection = connection.unwrap();
            let mut length = [0; 2];
            connection.read_exact(&mut length).unwrap();
            let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
            connection.read_exact(&mut message).unwrap();
            let question = read(&message).expect("a question");
            let messages = behaviour(&question, count(&asked_by_tcp, &question, "tcp"), "tcp");
            let Some(message) = messages.first() else { continue };
            let framed = [&(message.len() as u16).to_be_bytes()[..], message].concat();
            // In parts, as a path may cut it.
            for part in framed.chunks(700) {
                if connection.write_all(part).and_then(|()| connection.flush()).is_err() {
                    break;
                }
            }
        }
    });
    Server { address, asked }
}
