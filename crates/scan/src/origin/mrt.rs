//! Dumps of routers in MRT: TABLE_DUMP_V2 (RFC 6396 section 4.3) and the older TABLE_DUMP (section 4.2).

use std::{
    collections::{BTreeMap, BTreeSet},
    io::BufRead,
};

use bgpkit_parser::{
    ParserError, RawMrtRecord, chunk_mrt_record,
    models::{Attributes, MrtMessage, RibAfiEntries, TableDumpV2Message, TableDumpV2Type},
};
use ipnet::IpNet;

use crate::origin::{
    lines::quoted,
    table::{Added, Table, TableError},
};

/// Bytes of a record's head (RFC 6396 section 2).
pub(crate) const HEAD: usize = 12;
const TABLE_DUMP: u16 = 12;
const TABLE_DUMP_V2: u16 = 13;

/// Whether a file begins as a dump does: the type is at bytes that no text has.
pub(crate) fn is_head(bytes: &[u8]) -> bool {
    let kind = bytes.get(4..6).map(|kind| u16::from_be_bytes([kind[0], kind[1]]));
    bytes.len() == HEAD && matches!(kind, Some(TABLE_DUMP | TABLE_DUMP_V2))
}

/// Adds all routes.
pub(crate) fn read(
    table: &mut Table,
    mut input: impl BufRead,
    fewest_peers: u32,
    added: &mut Added,
) -> Result<(), TableError> {
    // Records of the older form are one route each, and those of a prefix follow one another.
    let mut older: Option<(IpNet, BTreeMap<u32, u32>)> = None;
    for record in 1.. {
        let bad = |error: ParserError| TableError::Record { record, found: quoted(&error.to_string()) };
        let raw = match chunk_mrt_record(&mut input) {
            Ok(raw) => raw,
            Err(error) if matches!(error.error, ParserError::EofExpected) => break,
            Err(error) => return Err(bad(error.error)),
        };
        match routes(raw) {
            Routes::OfPrefix(prefix, peers) => add(table, prefix, &peers, fewest_peers, added),
            Routes::OfOnePeer(routes) => {
                for (prefix, asns) in routes {
                    if older.as_ref().is_none_or(|(before, _)| *before != prefix)
                        && let Some((before, peers)) = older.replace((prefix, BTreeMap::new()))
                    {
                        add(table, before, &peers, fewest_peers, added);
                    }
                    if let Some((_, peers)) = &mut older {
                        count(peers, asns);
                    }
                }
            }
            Routes::None => added.skipped_records += 1,
            Routes::Unreadable => added.unreadable_records += 1,
        }
    }
    if let Some((prefix, peers)) = older {
        add(table, prefix, &peers, fewest_peers, added);
    }
    Ok(())
}

enum Routes {
    /// All routes to a prefix: by how many peers each origin is seen.
    OfPrefix(IpNet, BTreeMap<u32, u32>),
    /// Routes of one peer: prefixes and their origins.
    OfOnePeer(Vec<(IpNet, Vec<u32>)>),
    /// The record has none that count.
    None,
    Unreadable,
}

fn routes(raw: RawMrtRecord) -> Routes {
    let promised = promised_entries(&raw.message_bytes);
    let message = match raw.parse() {
        Ok(record) => record.message,
        // Of other address families (RFC 6396 section 4.3.3).
        Err(ParserError::Unsupported(_)) => return Routes::None,
        Err(_) => return Routes::Unreadable,
    };
    match message {
        MrtMessage::TableDumpV2Message(TableDumpV2Message::RibAfi(entries)) if is_unicast(entries.rib_type) => {
            // The parser drops the rest after an entry that it cannot read.
            if promised != Some(entries.rib_entries.len()) {
                return Routes::Unreadable;
            }
            let peers = peers(&entries);
            if peers.is_empty() { Routes::None } else { Routes::OfPrefix(entries.prefix.prefix, peers) }
        }
        MrtMessage::TableDumpMessage(dump) => Routes::OfOnePeer(vec![(dump.prefix.prefix, origins(&dump.attributes))]),
        MrtMessage::TableDumpMessageBatch(dumps) => {
            let routes = dumps.iter().map(|dump| (dump.prefix.prefix, origins(&dump.attributes)));
            Routes::OfOnePeer(routes.collect())
        }
        _ => Routes::None,
    }
}

fn is_unicast(kind: TableDumpV2Type) -> bool {
    use TableDumpV2Type::{RibIpv4Unicast, RibIpv4UnicastAddPath, RibIpv6Unicast, RibIpv6UnicastAddPath};
    matches!(kind, RibIpv4Unicast | RibIpv4UnicastAddPath | RibIpv6Unicast | RibIpv6UnicastAddPath)
}

/// How many entries a record of TABLE_DUMP_V2 says it has: after its number and its prefix (RFC 6396 section 4.3.2).
fn promised_entries(message: &[u8]) -> Option<usize> {
    let prefix_bytes = usize::from(*message.get(4)?).div_ceil(8);
    let count = message.get(5 + prefix_bytes..)?.first_chunk()?;
    Some(usize::from(u16::from_be_bytes(*count)))
}

fn peers(entries: &RibAfiEntries) -> BTreeMap<u32, u32> {
    // With additional paths (RFC 8050) a peer has several routes to a prefix, and counts once.
    let seen: BTreeSet<(u32, u16)> = entries
        .rib_entries
        .iter()
        .flat_map(|entry| origins(&entry.attributes).into_iter().map(|asn| (asn, entry.peer_index)))
        .collect();
    let mut peers = BTreeMap::new();
    count(&mut peers, seen.into_iter().map(|(asn, _)| asn));
    peers
}

fn count(peers: &mut BTreeMap<u32, u32>, asns: impl IntoIterator<Item = u32>) {
    for asn in asns {
        *peers.entry(asn).or_default() += 1;
    }
}

/// The last AS of a path, or all of the last set (RFC 4271 section 4.3). None of AS 0 (RFC 7607).
fn origins(attributes: &Attributes) -> Vec<u32> {
    let path = attributes.effective_as_path();
    let mut asns: Vec<u32> = path.iter().flat_map(|path| path.iter_origins()).map(u32::from).collect();
    asns.retain(|asn| *asn != 0);
    asns.sort_unstable();
    asns.dedup();
    asns
}

/// Adds a prefix with its origins, the one that most peers see first; of equal ones the lowest.
fn add(table: &mut Table, prefix: IpNet, peers: &BTreeMap<u32, u32>, fewest_peers: u32, added: &mut Added) {
    let mut origins: Vec<(u32, u32)> = peers.iter().map(|(asn, peers)| (*asn, *peers)).collect();
    origins.sort_by_key(|(asn, peers)| (std::cmp::Reverse(*peers), *asn));
    let enough = origins.iter().take_while(|(_, peers)| *peers >= fewest_peers).count();
    let kept = if enough == 0 { origins.len() } else { enough };
    let asns: Vec<u32> = origins[..kept].iter().map(|(asn, _)| *asn).collect();
    if asns.is_empty() {
        added.skipped_records += 1;
    } else {
        table.insert(prefix, &asns, added);
    }
}
