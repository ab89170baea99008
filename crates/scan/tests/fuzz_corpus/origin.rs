//! Targets that read prefix tables, CDNs and headers.

use std::net::IpAddr;

use quiclab_scan::origin::{Cdns, Table, airport};

/// A table of prefixes, as a text or a dump: no more of it than there is input.
pub fn table(input: &[u8]) {
    let mut table = Table::new();
    let added = table.add(input, 1);
    // The shortest record of a dump has no more prefixes than bytes. What is compressed has more.
    if !input.starts_with(&[0x1f, 0x8b]) && !input.starts_with(&[0x28, 0xb5]) {
        assert!(table.len() <= input.len());
        if let Ok(added) = added {
            assert!(table.len() as u64 <= added.prefixes && added.multi_origin <= added.prefixes);
        }
    }
    for bits in [0x0100_0001_u32, 0x0a00_0001, u32::MAX] {
        let address: IpAddr = std::net::Ipv4Addr::from_bits(bits).into();
        if let Some(origin) = table.origin(address) {
            assert!(origin.prefix.contains(&address) && !origin.asns.is_empty());
        }
    }
}

/// A file of CDNs, and values of headers.
pub fn names(input: &[u8]) {
    if let Ok(cdns) = Cdns::read(input) {
        let text: String = cdns.iter().map(|(asn, name)| format!("{asn},{name}\n")).collect();
        assert_eq!(Cdns::read(text.as_bytes()).expect("what was read"), cdns);
    }
    for header in ["cf-ray", "x-amz-cf-pop", "x-served-by"] {
        if let Some(airport) = airport(header, input) {
            let letters = airport.as_str().as_bytes();
            assert!(letters.len() == 3 && input.windows(3).any(|window| window == letters));
        }
    }
}
