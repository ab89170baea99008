//! The record: a capture at the hosts, and the truth in lines.

use std::fs;

use quiclab_internet::{Behaviour, Internet, Unreachable};
use quiclab_wire::{Capture, CaptureReader, Dissector, DissectorSettings, QuicFrame, Role, SkipReason};

use crate::{
    Case,
    stack::{Manner, NAME, Server, client_endpoint, handshake, runtime},
    support::{ECHO, SILENCE, client, description, host, receive_all, serve},
};

pub const CASES: &[Case] = &[
    ("the_capture_has_the_addresses_and_times_of_the_hosts", the_capture_has_the_addresses_and_times_of_the_hosts),
    ("handshakes_can_be_read_from_the_capture_without_keys", handshakes_can_be_read_from_the_capture_without_keys),
    ("a_flow_that_is_quiet_is_forgotten", a_flow_that_is_quiet_is_forgotten),
    ("a_record_without_a_folder_is_refused", a_record_without_a_folder_is_refused),
];

fn the_capture_has_the_addresses_and_times_of_the_hosts() {
    let folder = tempfile::tempdir().unwrap();
    let mut one = description(vec![
        host("100.64.0.1", 10, serve(ECHO)),
        host("2001:db8:64::1", 4, serve(ECHO)),
        host("100.64.0.2", 4, Behaviour::Icmp(Unreachable::Port)),
    ]);
    one.servers[0].instant_ack = Some(true);
    one.settings.record = Some(folder.path().to_owned());
    let internet = Internet::start(&one).unwrap();
    let mut arrivals = Vec::new();
    for address in ["100.64.0.1", "2001:db8:64::1", "100.64.0.2"] {
        let socket = client(address);
        socket.send(&[3; 1200]).unwrap();
        arrivals.extend(receive_all(&socket).into_iter().map(|(_, time)| time));
    }
    let truth = internet.stop().unwrap();
    let capture = Capture::read(&fs::read(folder.path().join("server.pcapng")).unwrap()[..]).unwrap();
    assert_eq!(capture.skipped.get(&SkipReason::NotUdpOrTcp), Some(&1));
    assert_eq!(capture.interfaces[0].name.as_deref(), Some("hosts"));
    let ends: Vec<_> = capture.packets.iter().map(|packet| (packet.source, packet.destination)).collect();
    let mut expected = Vec::new();
    for flow in &truth.flows {
        expected.extend([(flow.client, flow.host)]);
        expected.extend(vec![(flow.host, flow.client); flow.datagrams_to_client as usize]);
    }
    assert_eq!(ends, expected);
    assert_eq!(ends.len(), 4 + 4 + 1);
    // The same times as the truth, and half an RTT before the client's kernel had them.
    let of_truth: Vec<_> = truth.flows.iter().flat_map(|flow| [&flow.to_host, &flow.to_client]).flatten().collect();
    for (packet, passed) in capture.packets.iter().zip(&of_truth) {
        assert_eq!(packet.time.as_nanos(), passed.at_host_ns);
        assert_eq!(packet.payload_length, passed.bytes);
    }
    let answers =
        truth.flows.iter().flat_map(|flow| flow.to_client.iter().map(move |passed| (flow.rtt_ns / 2, passed)));
    for ((half, passed), arrival) in answers.zip(&arrivals) {
        // How much later than half an RTT depends on how busy the machine is: `every_host_has_its_rtt` measures that.
        let to_client = passed.at_client_ns.unwrap() - passed.at_host_ns;
        assert!(to_client >= half && arrival - passed.at_host_ns >= half, "{to_client}");
    }
    let line = |name: &str, number: usize| -> serde_json::Value {
        let text = fs::read_to_string(folder.path().join(name)).unwrap();
        serde_json::from_str(text.lines().nth(number).unwrap()).unwrap()
    };
    let first = line("hosts.jsonl", 0);
    assert_eq!(first["address"], "100.64.0.1");
    assert_eq!(first["rtt_ns"], 10_000_000);
    assert_eq!(first["instant_ack"], true);
    assert_eq!((&first["group"], &first["origin_as"]), (&"near".into(), &64500.into()));
    assert_eq!(line("hosts.jsonl", 2)["behaviour"], "icmp_port_unreachable");
    assert_eq!(line("hosts.jsonl", 2)["instant_ack"], serde_json::Value::Null);
    assert_eq!(line("flows.jsonl", 1)["host"], "[2001:db8:64::1]:443");
    assert_eq!(line("flows.jsonl", 1)["to_client"][0]["bytes"], 1200);
    assert_eq!(truth.counters.not_recorded + truth.counters.recorded_late, 0);
}

fn a_flow_that_is_quiet_is_forgotten() {
    let mut one = description(vec![host("100.64.0.1", 0, serve(ECHO))]);
    // Far more than a busy machine needs to send ten datagrams, and half of the silences after the ten sockets.
    one.settings.flow_lifetime = quiclab_units::Duration::from_nanos(10 * SILENCE.as_nanos() as u64 / 2);
    one.settings.most_flows = 8;
    let internet = Internet::start(&one).unwrap();
    for _ in 0..3 {
        let sockets: Vec<_> = (0..10).map(|_| client("100.64.0.1")).collect();
        for socket in &sockets {
            socket.send(&[1, 2]).unwrap();
        }
        let answered = sockets.iter().filter(|socket| !receive_all(socket).is_empty()).count();
        assert_eq!(answered, 8);
    }
    let truth = internet.stop().unwrap();
    assert_eq!((truth.counters.flows, truth.counters.most_flows, truth.counters.refused_flows), (24, 8, 6));
    assert_eq!(truth.flows.len(), 24);
}

fn handshakes_can_be_read_from_the_capture_without_keys() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(Manner::default());
    let mut one = description(vec![
        host("100.64.0.1", 20, serve("quinn")),
        host("100.64.0.2", 20, Behaviour::CloseAtOnce { code: 0x128, reason: "no".to_owned() }),
    ]);
    let address = server.address;
    one.servers.push(quiclab_internet::Server { name: "quinn".to_owned(), address, instant_ack: Some(false) });
    one.settings.record = Some(folder.path().to_owned());
    let internet = Internet::start(&one).unwrap();
    runtime(1).block_on(async {
        let endpoint = client_endpoint();
        let (connection, _) = handshake(&endpoint, server.client_config(), "100.64.0.1").await;
        connection.unwrap().close(0_u32.into(), b"");
        assert!(handshake(&endpoint, server.client_config(), "100.64.0.2").await.0.is_err());
    });
    internet.stop().unwrap();
    let bytes = fs::read(folder.path().join("server.pcapng")).unwrap();
    let mut dissector = Dissector::new(DissectorSettings { server_port: Some(443), interfaces_are_one_tap: true });
    let mut reader = CaptureReader::new(&bytes[..]).unwrap();
    let mut closes = 0;
    reader
        .dissect(&mut dissector, None, &mut |_, _, observed| {
            let observed = observed.unwrap();
            let says_so = |frame: &QuicFrame| matches!(frame, QuicFrame::ConnectionClose { error: 0x128, .. });
            closes += usize::from(observed.sender == Role::Server && observed.frames.iter().any(says_so));
        })
        .unwrap();
    let flows = dissector.into_flows();
    let servers: Vec<_> = flows.iter().map(|flow| flow.address(Role::Server).to_string()).collect();
    assert_eq!(servers, ["100.64.0.1:443", "100.64.0.2:443"]);
    assert!(flows.iter().all(|flow| flow.server_name() == Some(NAME) && flow.quic_version() == Some(1)));
    // The ServerHello, which Initial keys open.
    assert!(flows[0].cipher_suite().is_some() && flows[1].cipher_suite().is_none());
    assert_eq!(closes, 1);
}

fn a_record_without_a_folder_is_refused() {
    let mut one = description(Vec::new());
    one.settings.record = Some("/proc/no-such-folder".into());
    let error = Internet::start(&one).unwrap_err().to_string();
    assert!(error.starts_with("/proc/no-such-folder/hosts.jsonl: "), "{error}");
    one.settings.record = None;
    // What was made before is gone.
    drop(Internet::start(&one).unwrap());
}
