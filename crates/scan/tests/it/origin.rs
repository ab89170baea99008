//! Prefix tables as text and as dumps of routers.

use std::{
    io::{Read, Write},
    net::{IpAddr, Ipv4Addr},
};

use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use quiclab_scan::origin::{Added, Table, TableError};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn table(bytes: &[u8]) -> (Table, Added) {
    let mut table = Table::new();
    let added = table.add(bytes, 1).unwrap();
    (table, added)
}

fn origin(table: &Table, address: &str) -> Option<(String, Vec<u32>)> {
    let origin = table.origin(address.parse().unwrap())?;
    Some((origin.prefix.to_string(), origin.asns.to_vec()))
}

fn found(prefix: &str, asns: &[u32]) -> Option<(String, Vec<u32>)> {
    Some((prefix.to_owned(), asns.to_vec()))
}

/// A record of MRT (RFC 6396 section 2).
fn record(kind: u16, subtype: u16, message: &[u8]) -> Vec<u8> {
    let head = [&0x66b2_b700_u32.to_be_bytes()[..], &kind.to_be_bytes(), &subtype.to_be_bytes()].concat();
    [head, (message.len() as u32).to_be_bytes().to_vec(), message.to_vec()].concat()
}

/// Attributes of a route: ORIGIN, AS_PATH, NEXT_HOP (RFC 4271 section 5.1). Segments are sequences (2) or sets (1).
fn attributes(segments: &[(u8, &[u32])]) -> Vec<u8> {
    let path: Vec<u8> = segments
        .iter()
        .flat_map(|(kind, asns)| {
            let numbers: Vec<u8> = asns.iter().flat_map(|asn| asn.to_be_bytes()).collect();
            [vec![*kind, asns.len() as u8], numbers].concat()
        })
        .collect();
    [&[0x40, 1, 1, 0, 0x40, 2, path.len() as u8][..], &path, &[0x40, 3, 4, 10, 0, 0, 1]].concat()
}

/// RIB_IPV4_UNICAST (2) or RIB_IPV6_UNICAST (4): a prefix and the attributes that each peer has for it.
fn rib(subtype: u16, length: u8, prefix: &[u8], routes: &[Vec<u8>]) -> Vec<u8> {
    let mut message = [&[0, 0, 0, 1, length][..], prefix, &(routes.len() as u16).to_be_bytes()].concat();
    for (peer, attributes) in routes.iter().enumerate() {
        message.extend((peer as u16).to_be_bytes());
        message.extend([0, 0, 0, 0]);
        message.extend((attributes.len() as u16).to_be_bytes());
        message.extend(attributes);
    }
    record(13, subtype, &message)
}

fn peer_index() -> Vec<u8> {
    let peer = |last| [&[2, 10, 0, 0, last, 10, 0, 0, last][..], &64496_u32.to_be_bytes()].concat();
    record(13, 1, &[&[10, 0, 0, 9, 0, 0, 0, 2][..], &peer(1), &peer(2)].concat())
}

fn sequence(asns: &[u32]) -> Vec<u8> {
    attributes(&[(2, asns)])
}

fn dump() -> Vec<u8> {
    [
        peer_index(),
        rib(2, 8, &[1], &[sequence(&[64496, 3356, 13335]), sequence(&[64497, 13335])]),
        // Several origins: 20 is seen by two peers, 10 and 30 by one.
        rib(2, 24, &[1, 0, 0], &[sequence(&[1, 30]), sequence(&[2, 20]), sequence(&[3, 20]), sequence(&[4, 10])]),
        rib(2, 16, &[2, 2], &[attributes(&[(2, &[64496, 5]), (1, &[9, 7])])]),
        rib(2, 0, &[], &[sequence(&[64496])]),
        rib(4, 32, &[0x26, 6, 0x47, 0], &[sequence(&[64496, 13335])]),
        // Multicast, and a route without a path.
        rib(3, 8, &[9], &[sequence(&[99])]),
        rib(2, 8, &[8], &[vec![0x40, 1, 1, 0]]),
    ]
    .concat()
}

const TEXT: &str =
    "# CAIDA\n1.0.0.0\t8\t13335\n1.0.0.0\t24\t30_10,20\n2606:4700::\t32\t13335\n0.0.0.0\t0\t1\n1.2.3.4/16 7\n";

#[test]
fn a_text_gives_the_origins_of_the_longest_prefix() {
    for bytes in [TEXT.as_bytes().to_vec(), gzip(TEXT.as_bytes()), TEXT.replace('\n', "\r\n").into_bytes()] {
        let (table, added) = table(&bytes);
        assert_eq!(added, Added { prefixes: 4, multi_origin: 1, default_routes: 1, ..Added::default() });
        assert_eq!(table.len(), 4);
        assert_eq!(origin(&table, "1.0.0.255"), found("1.0.0.0/24", &[30, 10, 20]), "in the order of the file");
        assert_eq!(origin(&table, "1.0.1.0"), found("1.0.0.0/8", &[13335]));
        assert_eq!(origin(&table, "1.2.255.255"), found("1.2.0.0/16", &[7]));
        assert_eq!(origin(&table, "::ffff:1.0.0.1"), found("1.0.0.0/24", &[30, 10, 20]));
        assert_eq!(origin(&table, "2606:4700:ffff::"), found("2606:4700::/32", &[13335]));
        assert_eq!((origin(&table, "2.0.0.0"), origin(&table, "2606:4701::")), (None, None));
    }
}

#[test]
fn several_files_give_the_origins_of_all() {
    let mut table = Table::new();
    table.add(&b"1.0.0.0 24 5_6\n"[..], 1).unwrap();
    table.add(&b"1.0.0.0 24 7_5\n2001:200:: 32 8\n"[..], 1).unwrap();
    assert_eq!(origin(&table, "1.0.0.1"), found("1.0.0.0/24", &[5, 6, 7]));
    assert_eq!(table.len(), 2);
}

#[test]
fn a_dump_gives_the_origins_by_how_many_peers_see_them() {
    for bytes in [dump(), gzip(&dump())] {
        let (table, added) = table(&bytes);
        let expected =
            Added { prefixes: 4, multi_origin: 2, default_routes: 1, skipped_records: 3, ..Added::default() };
        assert_eq!(added, expected, "the index of peers, multicast, and a route without an origin are skipped");
        assert_eq!(origin(&table, "1.255.0.1"), found("1.0.0.0/8", &[13335]));
        assert_eq!(origin(&table, "1.0.0.1"), found("1.0.0.0/24", &[20, 10, 30]));
        assert_eq!(origin(&table, "2.2.0.0"), found("2.2.0.0/16", &[7, 9]), "all of a set");
        assert_eq!(origin(&table, "2606:4700::1"), found("2606:4700::/32", &[13335]));
        assert_eq!((origin(&table, "9.0.0.1"), origin(&table, "8.0.0.1")), (None, None));
    }
}

#[test]
fn an_origin_of_too_few_peers_counts_only_if_there_is_no_other() {
    let mut table = Table::new();
    table.add(&dump()[..], 2).unwrap();
    assert_eq!(origin(&table, "1.0.0.1"), found("1.0.0.0/24", &[20]));
    assert_eq!(origin(&table, "2606:4700::1"), found("2606:4700::/32", &[13335]));
}

#[test]
fn the_older_form_of_dumps_is_read() {
    // RFC 6396 section 4.2: view, number, prefix, length, status, time, peer, its AS of 16 bits, attributes with AS numbers of 16 bits.
    let route = |number: u16, prefix: [u8; 4], length: u8, path: &[u16]| {
        let numbers: Vec<u8> = path.iter().flat_map(|asn| asn.to_be_bytes()).collect();
        let path = [&[0x40, 2, numbers.len() as u8 + 2, 2, path.len() as u8][..], &numbers].concat();
        let attributes = [&[0x40, 1, 1, 0][..], &path, &[0x40, 3, 4, 10, 0, 0, 1]].concat();
        let fixed =
            [&[0, 0][..], &number.to_be_bytes(), &prefix, &[length, 1, 0, 0, 0, 0, 10, 0, 0, 1, 0xfb, 0xf0]].concat();
        record(12, 1, &[fixed, (attributes.len() as u16).to_be_bytes().to_vec(), attributes].concat())
    };
    let bytes = [
        route(0, [1, 0, 0, 0], 8, &[1, 10]),
        route(1, [1, 0, 0, 0], 8, &[2, 11]),
        route(2, [1, 0, 0, 0], 8, &[3, 11]),
        route(3, [2, 0, 0, 0], 8, &[3, 12]),
    ]
    .concat();
    let (table, added) = table(&bytes);
    assert_eq!((added.prefixes, added.multi_origin), (2, 1));
    assert_eq!(origin(&table, "1.0.0.1"), found("1.0.0.0/8", &[11, 10]));
    assert_eq!(origin(&table, "2.0.0.1"), found("2.0.0.0/8", &[12]));
}

#[test]
fn what_is_no_table_is_refused_with_its_place() {
    let refused = |bytes: &[u8]| Table::new().add(bytes, 1).unwrap_err().to_string();
    assert_eq!(
        refused(b"1.0.0.0 8 1\n1.0.0.0 24\n"),
        "line 2: found \"1.0.0.0 24\", expected a prefix, its length and its AS numbers, \
         as in \"192.0.2.0 24 64496_64497\""
    );
    assert!(refused(b"BZh91AY&SY...").contains("bunzip2"));
    assert!(refused(&vec![b'1'; 100_000]).contains("65536 bytes or more"));
    assert!(refused(b"1.0.0.0 8 \x1b[2J\n").contains("\\u001b"));
    let cut = dump();
    assert!(refused(&cut[..cut.len() - 3]).starts_with("record 8: found"));
    let gz = gzip(TEXT.as_bytes());
    assert!(matches!(Table::new().add(&gz[..gz.len() - 9], 1), Err(TableError::Read(_))));
}

#[test]
fn a_record_that_promises_more_than_it_has_is_counted() {
    let mut bytes = [peer_index(), rib(2, 8, &[1], &[sequence(&[5])]), rib(2, 8, &[2], &[sequence(&[6])])].concat();
    let count_at = peer_index().len() + 12 + 6;
    bytes[count_at + 1] = 2;
    let (table, added) = table(&bytes);
    assert_eq!((added.unreadable_records, added.prefixes), (1, 1));
    assert_eq!(origin(&table, "2.0.0.1"), found("2.0.0.0/8", &[6]));
}

#[test]
fn a_record_that_claims_gigabytes_takes_none() {
    let mut bytes = record(13, 2, &[]);
    bytes[8..12].copy_from_slice(&u32::MAX.to_be_bytes());
    assert!(matches!(Table::new().add(&bytes[..], 1), Err(TableError::Record { record: 1, .. })));
}

#[test]
fn an_input_that_gives_a_byte_at_a_time_is_the_same() {
    struct Slow<'a>(&'a [u8]);
    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let length = buffer.len().min(1);
            self.0.read(&mut buffer[..length])
        }
    }
    for bytes in [dump(), TEXT.as_bytes().to_vec(), gzip(&dump())] {
        let mut slow = Table::new();
        let added = slow.add(Slow(&bytes), 1).unwrap();
        assert_eq!(added, table(&bytes).1);
    }
}

/// The table has as many prefixes as the Internet: a million, of length 24 and below. Run alone, with optimisation.
#[test]
#[allow(clippy::disallowed_methods, reason = "it measures")]
#[ignore = "measures; cargo test -p quiclab-scan --release --test it origin:: -- --ignored --nocapture"]
fn a_table_of_the_size_of_the_internet() {
    let text: String = (0..1_000_000_u32)
        .map(|number| {
            let prefix = Ipv4Addr::from_bits(0x0100_0000 + (number << 8));
            format!("{prefix}\t24\t{}\n", 1 + number.wrapping_mul(2_654_435_761) % 80_000)
        })
        .collect();
    let begin = std::time::Instant::now();
    let (table, _) = table(text.as_bytes());
    println!("{} prefixes in {:?}", table.len(), begin.elapsed());
    let begin = std::time::Instant::now();
    let mut hits = 0;
    for number in 0..1_000_000_u32 {
        let address = Ipv4Addr::from_bits(number.wrapping_mul(2_654_435_761));
        hits += u64::from(table.origin(IpAddr::V4(address)).is_some());
    }
    println!("{hits} of a million lookups hit, {:?}", begin.elapsed());
    assert_eq!(table.len(), 1_000_000);
}

/// A dump of 20 000 prefixes that 40 peers see each. Run alone, with optimisation.
#[test]
#[allow(clippy::disallowed_methods, reason = "it measures")]
#[ignore = "measures; cargo test -p quiclab-scan --release --test it origin:: -- --ignored --nocapture"]
fn a_dump_of_many_peers() {
    let routes: Vec<_> = (0..40).map(|peer| sequence(&[64496 + peer, 3356, 1299, 6939, 13335])).collect();
    let records = (0..20_000_u32).map(|number| rib(2, 24, &(0x01_0000 + number).to_be_bytes()[1..], &routes));
    let bytes = [peer_index(), records.collect::<Vec<_>>().concat()].concat();
    let begin = std::time::Instant::now();
    let (table, added) = table(&bytes);
    println!("{} MB, {} prefixes, 800000 routes in {:?}", bytes.len() / 1_000_000, table.len(), begin.elapsed());
    assert_eq!((added.prefixes, added.unreadable_records), (20_000, 0));
}

proptest! {
    /// Against the definition: of all prefixes that contain an address the longest, with the origins of all its lines.
    #[test]
    fn the_longest_prefix_is_found_as_one_by_one(
        lines in prop::collection::vec((any::<u32>(), 1_u8..=32, 1_u32..5), 0..40), bits in any::<u32>(),
    ) {
        // Near to each other, so that they contain one another.
        let near = |bits: u32| Ipv4Addr::from_bits(0x0800_0000 | bits & 0x0003_0003);
        let lines: Vec<_> = lines
            .into_iter()
            .map(|(bits, length, asn)| (ipnet::Ipv4Net::new(near(bits), length).unwrap(), asn))
            .collect();
        let text: String = lines.iter().map(|(prefix, asn)| format!("{prefix} {asn}\n")).collect();
        let (table, _) = table(text.as_bytes());
        let address = near(bits);
        let containing = lines.iter().map(|(prefix, _)| prefix.trunc()).filter(|prefix| prefix.contains(&address));
        let longest = containing.max_by_key(|prefix| prefix.prefix_len());
        let expected = longest.map(|longest| {
            let mut asns: Vec<u32> = Vec::new();
            for (_, asn) in lines.iter().filter(|(prefix, _)| prefix.trunc() == longest) {
                if !asns.contains(asn) {
                    asns.push(*asn);
                }
            }
            (longest.to_string(), asns)
        });
        prop_assert_eq!(origin(&table, &address.to_string()), expected);
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..600), text in "[0-9a-f:./_, \t\n]{0,200}",
    ) {
        let _ = Table::new().add(&bytes[..], 1);
        let _ = Table::new().add(text.as_bytes(), 1);
        let _ = quiclab_scan::origin::Cdns::read(&bytes[..]);
        let _ = quiclab_scan::origin::airport("x-served-by", &bytes);
        let _ = quiclab_scan::origin::airport("x-amz-cf-pop", &bytes);
        let _ = quiclab_scan::origin::airport("cf-ray", &bytes);
    }

    #[test]
    fn dumps_with_changed_bytes_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = dump();
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        // The type at the start says that it is a dump, which is what is tested.
        bytes[4..6].copy_from_slice(&[0, 13]);
        let mut table = Table::new();
        let _ = table.add(&bytes[..], 1);
        prop_assert!(table.len() <= bytes.len());
        let _ = Table::new().add(&bytes[..end.index(bytes.len())], 1);
    }

    #[test]
    fn records_of_arbitrary_bytes_never_panic(
        kind in 11_u16..18, subtype in 0_u16..14, message in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let bytes = [peer_index(), record(kind, subtype, &message), record(13, subtype, &message)].concat();
        let _ = Table::new().add(&bytes[..], 1);
    }
}

/// data/routers.py made the dump, with additional paths, sets and both address families, and mrtparse read it.
#[test]
fn a_dump_of_several_peers_is_read_as_another_implementation_reads_it() {
    const DUMP: &[u8] = include_bytes!("../data/routers.mrt");
    const EXPECTED: &str = include_str!("../data/routers.txt");
    for fewest_peers in [1, 3, 7] {
        let mut table = Table::new();
        let added = table.add(DUMP, fewest_peers).unwrap();
        assert_eq!(added.unreadable_records, 0);
        for line in EXPECTED.lines() {
            let (prefix, origins) = line.split_once(' ').unwrap();
            let origins: Vec<(u32, u32)> = origins
                .split(' ')
                .map(|origin| origin.split_once(':').unwrap())
                .map(|(asn, peers)| (asn.parse().unwrap(), peers.parse().unwrap()))
                .collect();
            let is_enough =
                |peers: u32| peers >= fewest_peers || origins.iter().all(|(_, other)| *other < fewest_peers);
            let asns: Vec<u32> = origins.iter().filter(|(_, peers)| is_enough(*peers)).map(|(asn, _)| *asn).collect();
            let address = prefix.split_once('/').unwrap().0;
            assert_eq!(origin(&table, address), found(prefix, &asns), "{fewest_peers} peers");
        }
        assert_eq!(table.len(), EXPECTED.lines().count());
    }
}
