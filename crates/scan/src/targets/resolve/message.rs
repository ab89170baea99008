//! Messages of DNS (RFC 1035 section 4).

use std::net::IpAddr;

use domain::{
    base::{
        Message, MessageBuilder, Name as DnsName, ParsedName, Rtype,
        iana::{Class, Opcode, Rcode, SvcParamKey},
        name::FlattenInto,
    },
    rdata::{A, Aaaa, Cname, Https, svcb::SvcParams},
};

use super::{Failure, HttpsRecord, Kind};
use crate::targets::name::Name;

/// What fits a datagram on every path, as DNS flag day 2020 and RFC 9715 section 3.1 have it.
const UDP_SIZE: u16 = 1232;
/// Most aliases of a name that are followed. Resolvers follow 8 to 16 of them.
const MOST_ALIASES: usize = 16;
/// Keys of RFC 9460 section 7 that a record may demand: those that [`HttpsRecord`] has, and `no-default-alpn`, which adds nothing for QUIC.
const UNDERSTOOD: [SvcParamKey; 5] =
    [SvcParamKey::ALPN, SvcParamKey::NO_DEFAULT_ALPN, SvcParamKey::PORT, SvcParamKey::IPV4HINT, SvcParamKey::IPV6HINT];

/// What an answer holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Records {
    pub addresses: Vec<IpAddr>,
    pub https: Vec<HttpsRecord>,
}

/// What a message is to a query.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// No answer to it.
    Stray,
    /// The answer is longer than a datagram.
    Truncated,
    /// The answer.
    Answer(Result<Records, Failure>),
}

fn record_type(kind: Kind) -> Rtype {
    match kind {
        Kind::A => Rtype::A,
        Kind::Aaaa => Rtype::AAAA,
        Kind::Https => Rtype::HTTPS,
    }
}

/// A name in the form of the wire. `None` never happens: a [`Name`] is short enough, and of letters that need no escapes.
fn wire_name(name: &Name) -> Option<DnsName<Vec<u8>>> {
    DnsName::vec_from_str(name.as_str()).ok()
}

/// A query with recursion, and with EDNS for longer datagrams (RFC 6891).
pub(super) fn query(id: u16, name: &Name, kind: Kind) -> Vec<u8> {
    let build = || {
        let mut builder = MessageBuilder::new_vec();
        builder.header_mut().set_id(id);
        builder.header_mut().set_rd(true);
        let mut question = builder.question();
        question.push((wire_name(name)?, record_type(kind))).ok()?;
        let mut additional = question.additional();
        additional
            .opt(|options| {
                options.set_udp_payload_size(UDP_SIZE);
                Ok(())
            })
            .ok()?;
        Some(additional.finish())
    };
    build().unwrap_or_default()
}

/// Reads a message as the answer to a query.
pub(super) fn read(bytes: &[u8], id: u16, name: &Name, kind: Kind) -> Read {
    let Ok(message) = Message::from_octets(bytes) else { return Read::Stray };
    let header = message.header();
    if !header.qr() || header.id() != id || header.opcode() != Opcode::QUERY {
        return Read::Stray;
    }
    let failure = match header.rcode() {
        Rcode::NOERROR => None,
        Rcode::NXDOMAIN => Some(Failure::Nxdomain),
        Rcode::REFUSED => Some(Failure::Refused),
        _ => Some(Failure::ServerFailure),
    };
    // A server that cannot read a question need not repeat it.
    let is_unread = failure.is_some() && message.header_counts().qdcount() == 0;
    if !is_unread && !is_question(&message, name, kind) {
        return Read::Stray;
    }
    if header.tc() {
        return Read::Truncated;
    }
    Read::Answer(match failure {
        Some(failure) => Err(failure),
        None => records(&message, kind),
    })
}

fn is_question(message: &Message<&[u8]>, name: &Name, kind: Kind) -> bool {
    let (Ok(question), Some(name)) = (message.sole_question(), wire_name(name)) else { return false };
    *question.qname() == name && question.qtype() == record_type(kind) && question.qclass() == Class::IN
}

fn records(message: &Message<&[u8]>, kind: Kind) -> Result<Records, Failure> {
    let read = read_records(message, kind).ok_or(Failure::Malformed)?;
    if read.addresses.is_empty() && kind != Kind::Https { Err(Failure::NoAddress) } else { Ok(read) }
}

/// `None`: malformed.
fn read_records(message: &Message<&[u8]>, kind: Kind) -> Option<Records> {
    let owner = owner(message)?;
    let mut records = Records::default();
    let answer = message.answer().ok()?;
    let mut take = |address: IpAddr| {
        if !records.addresses.contains(&address) {
            records.addresses.push(address);
        }
    };
    match kind {
        Kind::A => {
            for record in answer.limit_to_in::<A>() {
                let record = record.ok()?;
                if *record.owner() == owner {
                    take(IpAddr::V4(record.data().addr()));
                }
            }
        }
        Kind::Aaaa => {
            for record in answer.limit_to_in::<Aaaa>() {
                let record = record.ok()?;
                if *record.owner() == owner {
                    take(IpAddr::V6(record.data().addr()).to_canonical());
                }
            }
        }
        Kind::Https => {
            for record in answer.limit_to_in::<Https<_, ParsedName<_>>>() {
                let record = record.ok()?;
                if *record.owner() == owner {
                    records.https.push(https(record.data())?);
                }
            }
        }
    }
    Some(records)
}

/// The name that the answer is about in the end: that of the question, or what it is an alias of.
fn owner<'a>(message: &'a Message<&[u8]>) -> Option<ParsedName<&'a [u8]>> {
    let mut owner = message.sole_question().ok()?.into_qname();
    let mut aliases = Vec::new();
    for record in message.answer().ok()?.limit_to_in::<Cname<ParsedName<_>>>() {
        let record = record.ok()?;
        aliases.push((*record.owner(), record.into_data().into_cname()));
    }
    for _ in 0..=MOST_ALIASES {
        let Some((_, next)) = aliases.iter().find(|(alias, _)| *alias == owner) else { return Some(owner) };
        owner = *next;
    }
    None
}

fn https(data: &Https<&[u8], ParsedName<&[u8]>>) -> Option<HttpsRecord> {
    let target: DnsName<Vec<u8>> = data.target().try_flatten_into().ok()?;
    let target = if target.is_root() { None } else { Some(Name::parse(&target.to_string()).ok()?) };
    let params: &SvcParams<&[u8]> = data.params();
    // Each is read, so that one that is malformed spoils the record (RFC 9460 section 2.2).
    for value in params.iter_all() {
        value.ok()?;
    }
    let v4 = params.ipv4hint().into_iter().flat_map(|hint| hint.iter().map(IpAddr::V4).collect::<Vec<_>>());
    let v6 = params
        .ipv6hint()
        .into_iter()
        .flat_map(|hint| hint.iter().map(|v6| IpAddr::V6(v6).to_canonical()).collect::<Vec<_>>());
    let alpn = params.alpn().map(|alpn| alpn.iter().map(<[u8]>::to_vec).collect());
    let demanded = params.mandatory().map(|mandatory| mandatory.iter().all(|key| UNDERSTOOD.contains(&key)));
    Some(HttpsRecord {
        priority: data.priority(),
        target,
        port: params.port().map(|port| port.port()),
        alpn: alpn.unwrap_or_default(),
        hints: v4.chain(v6).collect(),
        is_understood: demanded.unwrap_or(true),
    })
}
