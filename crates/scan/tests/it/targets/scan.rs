//! All parts together, as a scan calls them, in virtual time.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, Ipv4Addr},
    path::Path,
};

use quiclab_scan::targets::{
    Cost, Exclusions, Frequency, Host, List, ListHash, Pace, Plan, Waiting,
    exclusions::{Entry, Origin, Source, network},
    journal::Journal,
};
use quiclab_units::Time;

const SECOND: u64 = 1_000_000_000;
const COST: Cost = Cost { packets_sent: 4, bytes_sent: 4800, packets_received: 10, bytes_received: 14_400 };

/// What left: when, for which line, to whom.
type Packets = Vec<(u64, u64, IpAddr)>;

/// Who a name resolves to: a hundred names an address, and one in fifty names leads into a private network.
fn resolve(name: &str) -> Vec<IpAddr> {
    let number: u32 = name.trim_start_matches("name-").trim_end_matches(".example").parse().unwrap();
    let base = if number % 50 == 7 { 0x0a00_0000 } else { 0x0800_0000 };
    vec![IpAddr::V4(Ipv4Addr::from_bits(base + number / 100))]
}

/// A scan that ends when it has sent `most` packets, as by a kill. The address `objects` answers by ICMP.
fn scan(folder: &Path, list: &str, start: u64, most: usize, objects: IpAddr, rows: bool) -> Packets {
    let mut exclusions = Exclusions::default();
    if start == 0 {
        exclusions.add_file("ours.txt", &b"name-3.example\n8.0.0.2\n"[..]).unwrap();
    }
    let mut journal = Journal::open(folder, ListHash::of(list.as_bytes()).unwrap()).unwrap();
    journal.unite(&mut exclusions).unwrap();
    let mut targets = List::new(list.as_bytes()).map_while(Result::ok);
    let (mut waiting, mut now) = (Waiting::new(200), Time::from_nanos(start));
    let mut pace = Pace::new(Frequency::per_second(50).unwrap(), 5, now);
    let (mut packets, mut is_over) = (Packets::new(), false);
    loop {
        while !waiting.is_full() && !is_over {
            let Some(target) = targets.next() else {
                is_over = true;
                break;
            };
            if journal.was_begun(target.line) || exclusions.host(&target.host).is_some() {
                continue;
            }
            let (addresses, origin) = match &target.host {
                Host::Name(name) => (resolve(name.as_str()), Origin::Resolver),
                Host::Address(address) | Host::Both(_, address) => (vec![*address], Origin::List),
            };
            for address in addresses.into_iter().filter(|address| exclusions.address(*address, origin).is_none()) {
                waiting.push(address, target.line).unwrap();
            }
        }
        match waiting.poll(&mut pace, now) {
            Ok((address, line)) => {
                journal.asking(&[(line, address)]).unwrap();
                packets.push((now.as_nanos(), line, address));
                if packets.len() == most {
                    return packets;
                }
                if rows {
                    journal.written(&[(line, address)]).unwrap();
                }
                if address == objects {
                    let entry = Entry::Prefix(network(address));
                    journal.exclude(entry.clone(), "administratively prohibited").unwrap();
                    exclusions.add(entry, Source::Scan("administratively prohibited".into()));
                    waiting.remove(|address| exclusions.address(address, Origin::List).is_some());
                }
            }
            Err(Some(at)) => now = at,
            Err(None) if is_over => return packets,
            Err(None) => {}
        }
    }
}

#[test]
fn a_scan_that_is_killed_and_resumed_is_polite_and_complete() {
    let names: String = (0..3000).map(|number| format!("{number},name-{number}.example\n")).collect();
    let list = names + "10.9.9.9\n224.0.0.1\n8.0.9.9\n8.0.9.10\n8.0.9.11\n";
    let objects = "8.0.9.9".parse().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut packets = scan(folder.path(), &list, 0, 700, objects, true);
    let first = packets.len();
    assert_eq!(first, 700);
    // Started again much later, without its file of exclusions.
    packets.extend(scan(folder.path(), &list, 1000 * SECOND, usize::MAX, objects, true));

    let asked: BTreeSet<u64> = packets.iter().map(|(_, line, _)| *line).collect();
    assert_eq!(asked.len(), packets.len(), "nobody is asked twice");
    // The oracle: names but those that lead to 10/8, the excluded name, and the hundred of the excluded address.
    let expected = (0..3000_u64).filter(|number| number % 50 != 7 && *number != 3 && number / 100 != 2).count();
    let of_names = asked.iter().filter(|line| **line <= 3000).count();
    assert_eq!(of_names, expected);
    assert!(asked.contains(&3001) && !asked.contains(&3002), "a private address of the list, and multicast");
    assert!(asked.contains(&3003) && !asked.contains(&3005), "who objects, and its neighbours from then on");

    let mut of_address = BTreeMap::new();
    for (index, (at, _, address)) in packets.iter().enumerate() {
        if let Some(before) = of_address.insert(*address, *at) {
            assert!(at - before >= SECOND, "{address} twice in a second");
        }
        let window = packets[index..].iter().take_while(|(other, ..)| other - at < SECOND).count();
        assert!(window <= 55, "{window} in a second");
    }
}

#[test]
fn a_plan_says_before_what_a_scan_does() {
    let list: String = (0..1000).map(|number| format!("name-{number}.example\n")).collect();
    let mut plan = Plan::new(COST);
    let exclusions = Exclusions::default();
    for target in List::new(list.as_bytes()).map_while(Result::ok) {
        let mut addresses = resolve(target.host.name().unwrap().as_str());
        addresses.retain(|address| exclusions.address(*address, Origin::Resolver).is_none());
        if addresses.is_empty() { plan.add_excluded() } else { plan.add(&addresses) }
    }
    let summary = plan.summary(Frequency::per_second(50).unwrap(), 3);
    let folder = tempfile::tempdir().unwrap();
    // No exclusions of a file: it starts later than at zero.
    let packets = scan(folder.path(), &list, SECOND, usize::MAX, Ipv4Addr::UNSPECIFIED.into(), false);
    assert_eq!(summary.connections, packets.len() as u64);
    assert_eq!(summary.addresses, packets.iter().map(|(.., address)| address).collect::<BTreeSet<_>>().len() as u64);
    assert_eq!(summary.cost.bytes_sent, 4800 * packets.len() as u64);
    let took = packets.last().unwrap().0 - SECOND;
    assert!(took >= summary.duration_ns, "the plan is the least: {took} ns, {} ns planned", summary.duration_ns);
    let journal = Journal::open(folder.path(), ListHash::of(list.as_bytes()).unwrap()).unwrap();
    assert_eq!(journal.interrupted().count(), packets.len(), "no row was written");
}
