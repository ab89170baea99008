//! Who is never asked.

use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;
use quiclab_scan::targets::{
    Exclusions, Host, Name,
    exclusions::{BadFile, Entry, Origin, Source, network},
};

fn of_file(text: &str) -> Exclusions {
    let mut exclusions = Exclusions::default();
    exclusions.add_file("list.txt", text.as_bytes()).unwrap();
    exclusions
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn why(exclusions: &Exclusions, text: &str) -> Option<String> {
    exclusions.address(address(text), Origin::Resolver).map(|excluded| excluded.to_string())
}

#[test]
fn the_longest_prefix_that_excludes_is_told_with_its_file_and_line() {
    let mut exclusions = of_file("# ours\n8.0.0.0/7\n\n8.8.0.0/16 # theirs\n2600::/12\nExample.com\n");
    exclusions.add_file("other.txt", &b"9.9.9.9\n8.8.0.0/16\n"[..]).unwrap();
    assert_eq!(why(&exclusions, "9.1.1.1").as_deref(), Some("8.0.0.0/7 (list.txt line 2)"));
    assert_eq!(why(&exclusions, "8.8.1.1").as_deref(), Some("8.8.0.0/16 (list.txt line 4)"));
    assert_eq!(why(&exclusions, "9.9.9.9").as_deref(), Some("9.9.9.9/32 (other.txt line 1)"));
    assert_eq!(why(&exclusions, "260f:ffff::1").as_deref(), Some("2600::/12 (list.txt line 5)"));
    for outside in ["7.255.255.255", "10.0.0.0", "2610::"] {
        assert!(!why(&exclusions, outside).is_some_and(|why| why.contains("list.txt")), "{outside}");
    }
}

#[test]
fn a_name_excludes_those_below_it_and_no_others() {
    let exclusions = of_file("example.com\n*.test.example\n");
    let is_excluded = |name: &str| exclusions.name(&Name::parse(name).unwrap()).is_some();
    for name in ["example.com", "www.example.com", "a.b.EXAMPLE.com.", "test.example", "x.test.example"] {
        assert!(is_excluded(name), "{name}");
    }
    for name in ["com", "notexample.com", "example.com.au", "example", "example.com.example"] {
        assert!(!is_excluded(name), "{name}");
    }
    let host = Host::Both(Name::parse("www.example.com").unwrap(), address("10.0.0.1"));
    assert_eq!(exclusions.host(&host).unwrap().entry.to_string(), "example.com");
}

#[test]
fn what_is_no_unicast_address_is_never_asked_whatever_names_it() {
    let exclusions = Exclusions::default();
    for text in [
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "239.255.255.255",
        "192.0.2.1",
        "198.51.100.9",
        "203.0.113.255",
        "::",
        "ff02::1",
        "2001:db8::1",
        "3fff:0fff::1",
        "::ffff:224.0.0.1",
        "64:ff9b::192.0.2.1",
        "2002:e000:1::1",
    ] {
        let excluded = exclusions.host(&Host::Address(address(text)));
        assert!(matches!(excluded.map(|found| found.source), Some(Source::Always(_))), "{text}");
    }
    for text in ["223.255.255.255", "192.0.3.0", "2001:db9::", "3fff:1000::", "10.0.0.1", "::1", "fd00::1", "240.0.0.1"]
    {
        assert_eq!(exclusions.host(&Host::Address(address(text))), None, "{text}");
    }
}

#[test]
fn a_name_cannot_lead_a_scan_into_the_own_network() {
    let exclusions = Exclusions::default();
    for text in [
        "10.1.2.3",
        "127.0.0.1",
        "169.254.169.254",
        "172.31.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "0.1.2.3",
        "240.0.0.1",
        "::1",
        "fe80::1",
        "fd00::1",
        "fec0::1",
        "4000::1",
        "::ffff:10.0.0.1",
        "64:ff9b::10.0.0.1",
        "2002:a00:1::1",
    ] {
        assert!(exclusions.address(address(text), Origin::Resolver).is_some(), "{text}");
    }
    for text in ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1", "64:ff9b::1.1.1.1", "2a00::1", "3ffe::1"] {
        assert_eq!(exclusions.address(address(text), Origin::Resolver), None, "{text}");
    }
}

#[test]
fn no_form_of_an_address_passes_by_its_prefix() {
    let exclusions = of_file("8.8.8.0/24\n::ffff:9.9.9.0/120\n::ffff:7.7.7.7\n");
    for text in ["8.8.8.8", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1", "9.9.9.9", "7.7.7.7"] {
        assert!(why(&exclusions, text).is_some(), "{text}");
    }
    assert_eq!(why(&exclusions, "9.9.8.1"), None);
}

#[test]
fn a_file_that_is_not_understood_whole_is_an_error_with_all_its_lines() {
    let error = Exclusions::default().add_file("list.txt", &b"8.8.8.0/23\n8.8.8.8/8\nok.example\na b\n1.2.3\n/\n"[..]);
    let BadFile::Lines { count, lines, .. } = error.as_ref().unwrap_err() else { panic!("{error:?}") };
    assert_eq!((*count, lines.iter().map(|line| line.line).collect::<Vec<_>>()), (4, vec![2, 4, 5, 6]));
    let text = error.unwrap_err().to_string();
    assert!(text.starts_with("list.txt: line 2: found \"8.8.8.8/8\", expected a prefix without bits"), "{text}");
    let many = "?\n".repeat(1000);
    let text = Exclusions::default().add_file("list.txt", many.as_bytes()).unwrap_err().to_string();
    assert!(text.ends_with("; and 980 more"), "{text}");
}

#[test]
fn an_as_number_is_an_error_and_no_name_that_excludes_nobody() {
    for text in ["AS13335", "as13335", "*.AS13335", "AS13335.", "ASN13335", "AS-EXAMPLE"] {
        let file = format!("8.8.8.0/24\n{text} # all of theirs\n");
        let error = Exclusions::default().add_file("list.txt", file.as_bytes()).expect_err(text).to_string();
        assert!(error.contains(&format!("line 2: found \"{text}\", expected prefixes")), "{error}");
        assert!(error.contains("hint: write the prefixes that it announces"), "{error}");
    }
    let other = Exclusions::default().add_file("list.txt", &b"a b\n"[..]).unwrap_err().to_string();
    assert!(!other.contains("hint:"), "{other}");
    assert!(of_file("as\nasia\nas1.example\n").name(&Name::parse("www.as1.example").unwrap()).is_some());
}

#[test]
fn a_prefix_can_be_added_while_the_scan_runs() {
    let mut exclusions = Exclusions::default();
    let prohibited = address("8.8.8.8");
    assert_eq!(exclusions.address(prohibited, Origin::Resolver), None);
    exclusions.add(Entry::Prefix(network(prohibited)), Source::Scan("ICMP: administratively prohibited".into()));
    let told = why(&exclusions, "8.8.8.255");
    assert_eq!(told.as_deref(), Some("8.8.8.0/24 (ICMP: administratively prohibited)"));
    assert_eq!(why(&exclusions, "8.8.9.0"), None);
    assert_eq!(network(address("2606:4700:1:2::3")).to_string(), "2606:4700:1::/48");
}

proptest! {
    /// Against the definition: an address is excluded if any prefix contains it, and the longest one is told.
    #[test]
    fn prefixes_are_found_as_one_by_one(
        prefixes in prop::collection::vec((any::<u32>(), 0_u8..=32), 0..40), bits in any::<u32>(), low in 0_u32..4,
    ) {
        let prefixes: Vec<_> = prefixes
            .into_iter()
            // Near to each other, so that they contain one another.
            .map(|(bits, length)| ipnet::Ipv4Net::new(Ipv4Addr::from_bits(0x0800_0000 | bits & 0x00ff_0003), length))
            .map(|prefix| prefix.unwrap().trunc())
            .collect();
        let exclusions = of_file(&prefixes.iter().map(|prefix| format!("{prefix}\n")).collect::<String>());
        let address = Ipv4Addr::from_bits(0x0800_0000 | bits & 0x00ff_0000 | low);
        let containing = prefixes.iter().filter(|prefix| prefix.contains(&address));
        let expected = containing.map(|prefix| prefix.prefix_len()).max();
        let found = exclusions.address(address.into(), Origin::List);
        let length = found.map(|found| match found.entry {
            Entry::Prefix(prefix) => prefix.prefix_len(),
            Entry::Name(name) => panic!("{name}"),
        });
        prop_assert_eq!(length, expected);
    }

    #[test]
    fn arbitrary_files_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..500), text in "[0-9a-f:./*\n]{0,200}",
    ) {
        let _ = Exclusions::default().add_file("list.txt", &bytes[..]);
        let _ = Exclusions::default().add_file("list.txt", text.as_bytes());
    }
}
