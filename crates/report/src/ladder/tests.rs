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

/// The wide and the narrow picture of the only connection.
fn pictures(page: &str) -> [&str; 2] {
    let all: Vec<_> = page.split("<svg").skip(1).filter_map(|part| part.split("</svg>").next()).collect();
    all.try_into().expect("two pictures")
}

fn crosses(page: &str) -> usize {
    let [wide, narrow] = pictures(page).map(|picture| picture.matches("l10 10m0 -10l-10 10").count());
    assert_eq!(wide, narrow);
    wide
}

fn number(element: &str, name: &str) -> f64 {
    element.split(&format!(" {name}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
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
fn no_arrow_strikes_through_a_text() {
    for picture in pictures(&page(LadderTaps::Two)) {
        // Whatever is behind a text is hidden by its ground, which is drawn before it and after every arrow.
        let ground = picture.find("class=\"paper\"").unwrap();
        assert!(picture.rfind("<path d=\"M").unwrap() < picture.rfind("class=\"paper\"").unwrap());
        for (place, _) in picture.match_indices("CRYPTO 0+").filter(|(place, _)| *place > ground) {
            let before = &picture[..place];
            let (rect, text) = (before.rfind("<rect class=\"paper\"").unwrap(), before.rfind("<text").unwrap());
            let between = &picture[rect..text];
            assert_eq!(between.matches('<').count(), 1, "{between}");
            assert!(!picture[rect..].contains("<line"), "an arrow is drawn over {between}");
        }
    }
}

#[test]
fn a_narrow_page_has_both_sides_and_every_word_between_them() {
    let mut long = datagram(Role::Server, 11_000_000, Some(21_000_000), "ServerHello");
    long.packets = vec!["1-RTT 5: ".to_owned() + &"NEW_CONNECTION_ID, ".repeat(20)];
    let connection = LadderConnection { datagrams: vec![long], taps: LadderTaps::Two, ..LadderConnection::default() };
    let page = render_ladder_html(&Ladder { connections: vec![connection], ..Ladder::default() });
    let [wide, narrow] = pictures(&page);
    assert!(number(narrow, "width") <= 400.0 && number(wide, "width") > 1000.0);
    for picture in [wide, narrow] {
        let sides: Vec<_> = picture.split("<line class=\"side\"").skip(1).map(|line| number(line, "x1")).collect();
        assert!(sides.len() == 2 && sides[1] < number(picture, "width") - 60.0, "{sides:?}");
        for ground in picture.split("<rect class=\"paper\"").skip(1) {
            let (left, width) = (number(ground, "x"), number(ground, "width"));
            assert!(left > sides[0] && left + width < sides[1], "{ground}");
        }
    }
    // Five lines for the packet and one for the step, and the end is left out.
    assert_eq!(narrow.matches("class=\"paper\"").count(), 6);
    assert!(narrow.contains('\u{2026}'));
}

#[test]
fn texts_of_both_sides_are_apart() {
    let mut one = datagram(Role::Client, 0, Some(10_000_000), "ClientHello");
    one.packets = vec!["1-RTT 5: ".to_owned() + &"NEW_CONNECTION_ID, ".repeat(20); 2];
    let other = LadderDatagram { sender: Role::Server, sent_ns: 1_000_000, ..one.clone() };
    let short = datagram(Role::Client, 2_000_000, Some(12_000_000), "Finished");
    let datagrams = vec![one, other, short];
    let connection = LadderConnection { datagrams, taps: LadderTaps::Two, ..LadderConnection::default() };
    let page = render_ladder_html(&Ladder { connections: vec![connection], ..Ladder::default() });
    for picture in pictures(&page) {
        let grounds: Vec<_> = picture.split("<rect class=\"paper\"").skip(1).collect();
        for (place, one) in grounds.iter().enumerate() {
            for other in &grounds[place + 1..] {
                let apart = |from: &str, length: &str| {
                    let ends = |ground: &str| (number(ground, from), number(ground, from) + number(ground, length));
                    let (one, other) = (ends(one), ends(other));
                    one.1 <= other.0 + 1.0 || other.1 <= one.0 + 1.0
                };
                assert!(apart("x", "width") || apart("y", "height"), "{one} {other}");
            }
        }
    }
}

#[test]
fn words_are_escaped() {
    assert!(page(LadderTaps::Two).contains("&lt;b&gt; (1200 bytes)"));
}

#[test]
fn a_capture_without_handshakes_says_so() {
    assert!(render_ladder_html(&Ladder::default()).contains("No QUIC connection begins"));
}
