use quiclab_wire::Role;

use super::*;

fn datagram(sender: Role, sent_ns: u64, arrived_ns: Option<u64>, step: &'static str) -> LadderDatagram {
    let packets = vec![format!("Initial 0: CRYPTO 0+{sent_ns}")];
    LadderDatagram { sender, sent_ns, arrived_ns, dropped_by: None, bytes: 1200, packets, steps: vec![step] }
}

fn page(taps: LadderTaps) -> String {
    let datagrams = vec![
        datagram(Role::Client, 0, Some(10_000_000), "ClientHello"),
        datagram(Role::Server, 11_000_000, None, "<b>"),
        datagram(Role::Server, 200_000_000, Some(210_000_000), "ServerHello"),
    ];
    let connection = LadderConnection { name: "a to b".to_owned(), datagrams, marks: Vec::new(), left_out: 4, taps };
    render_ladder_html(&Ladder {
        title: "x.pcapng".to_owned(),
        connections: vec![connection],
        connections_left_out: 2,
        run: None,
    })
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
fn what_dropped_a_datagram_and_what_happened_at_the_ends_is_at_its_time() {
    let mut lost = datagram(Role::Server, 11_000_000, None, "ServerHello");
    lost.dropped_by = Some("to_client.loss (flight 1)".to_owned());
    let mark = |side, time_ms: u64, until_ms: Option<u64>, kind, words: &str| LadderMark {
        side,
        time_ns: time_ms * 1_000_000,
        until_ns: until_ms.map(|until| until * 1_000_000),
        kind,
        words: words.to_owned(),
    };
    let marks = vec![
        mark(Role::Server, 12, Some(30), LadderMarkKind::Blocked, "18.000 ms"),
        mark(Role::Client, 27, None, LadderMarkKind::Timeout, "27.000 ms"),
    ];
    let datagrams = vec![datagram(Role::Client, 0, Some(10_000_000), "ClientHello"), lost];
    let connection = LadderConnection { datagrams, marks, taps: LadderTaps::Two, ..LadderConnection::default() };
    let page = render_ladder_html(&Ladder { connections: vec![connection], ..Ladder::default() });
    for part in
        ["lost: to_client.loss (flight 1)<", "timer</tspan> 27.000 ms<", "blocked</tspan> 18.000 ms<", ">27.000 ms<"]
    {
        assert!(page.contains(part), "no {part} in {page}");
    }
    // 18 ms are 36 pixels.
    let bar = page.split("width=\"8\" height=\"").nth(1).unwrap();
    assert_eq!(bar.split('"').next(), Some("36.0"));
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
