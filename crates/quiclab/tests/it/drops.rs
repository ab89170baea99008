//! Packets that the experiment has dropped by their number.

use std::{collections::BTreeMap, fs, path::Path};

use crate::common::{Bench, TEST_STACKS, output_of, records};
use quiclab_wire::CaptureReader;

/// Frames that the client sent, by the name of the tap that saw them.
fn from_client(capture: &Path) -> BTreeMap<String, Vec<Vec<u8>>> {
    let bytes = fs::read(capture).unwrap();
    let mut reader = CaptureReader::new(&bytes[..]).unwrap();
    let mut seen: BTreeMap<u32, Vec<Vec<u8>>> = BTreeMap::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        let packet = frame.segment().unwrap().to_packet();
        if packet.destination.port() == 443 {
            seen.entry(packet.interface).or_default().push(frame.captured.to_vec());
        }
    }
    let interfaces = reader.into_summary().interfaces;
    seen.into_iter().map(|(at, frames)| (interfaces[at as usize].name.clone().unwrap(), frames)).collect()
}

fn run(drops: &str) -> (BTreeMap<String, Vec<Vec<u8>>>, serde_json::Value) {
    let bench = Bench::new(&format!(
        "name = \"tests/drops\"\ntitle = \"A list of drops\"\nstack.name = \"misbehaving\"\nworkload.size = \"64 KiB\"\n\
         path.drops_to_server = {drops}\ntap.snaplen = \"full\"\ntap.bottleneck_snaplen = \"full\"\n"
    ));
    let result = output_of(&mut bench.run(TEST_STACKS, "out", &[]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let names = records(&bench.out("out"));
    let [name] = &names[..] else { panic!("one record, not {names:?}") };
    let record = bench.out("out").join(name);
    let path = serde_json::from_slice(&fs::read(record.join("path.json")).unwrap()).unwrap();
    (from_client(&record.join("wire.pcapng")), path)
}

#[test]
fn listed_packets_and_no_others_are_missing_at_the_servers_tap() {
    let (seen, path) = run("[2, 4]");
    let mut expected = seen["behind-bottleneck"].clone();
    assert!(expected.len() > 6, "{} packets are too few to tell", expected.len());
    expected.remove(3);
    expected.remove(1);
    assert_eq!(seen["sender"], expected);
    let stage = &path["path"]["to_server"][0];
    assert!(stage["name"] == "drops" && stage["drops"]["listed"] == 2, "{stage}");
}

#[test]
fn without_a_list_every_packet_arrives() {
    let (seen, path) = run("[]");
    assert_eq!(seen["sender"], seen["behind-bottleneck"]);
    assert_eq!(path["path"]["to_server"][0]["name"], "delay", "no stage for a list that is empty");
}
