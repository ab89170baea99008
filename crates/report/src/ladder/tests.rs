use super::*;

fn datagram(sender: Role, sent_ns: u64, arrived_ns: Option<u64>, step: &'static str) -> LadderDatagram {
    let packets = vec![format!("Initial 0: CRYPTO 0+{sent_ns}")];
    LadderDatagram { sender, sent_ns, arrived_ns, bytes: 1200, packets, steps: vec![step] }
}

fn page(taps: LadderTaps) -> String {
    let datagrams = vec![
        datagram(Role::Client, 0, Some(10_000_000), "ClientHello"),
        datagram(Role::Server, 11_000_000, None, "<b>"),
        datagram(Role::Server, 200_000_000, Some(210_000_000), "ServerHello"),
    ];
    let connection = LadderConnection { name: "a to b".to_owned(), datagrams, left_out: 4, taps };
    render_ladder_html(&Ladder { title: "x.pcapng".to_owned(), connections: vec![connection], connections_left_out: 2 })
}

fn crosses(page: &str) -> usize {
    page.matches(">lost<").count()
}

#[test]
fn what_passed_one_tap_only_is_lost() {
    let page = page(LadderTaps::Two);
    assert_eq!(crosses(&page), 1);
    for part in [
        "ClientHello (1200 bytes)",
        "10.000 ms",
        "200.000 ms",
        "210.000 ms",
        "4 later datagrams",
        "2 later connections",
    ] {
        assert!(page.contains(part), "no {part} in {page}");
    }
}

#[test]
fn with_one_tap_nothing_is_called_lost() {
    let page = page(LadderTaps::One);
    assert_eq!(crosses(&page), 0);
    assert!(page.contains("arrows are level"));
}

#[test]
fn words_are_escaped() {
    assert!(page(LadderTaps::Two).contains("&lt;b&gt; (1200 bytes)"));
}

#[test]
fn a_capture_without_handshakes_says_so() {
    assert!(render_ladder_html(&Ladder::default()).contains("No QUIC connection begins"));
}
