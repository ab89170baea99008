//! What the classifier says of handshakes made by hand, at either end's tap.

use quiclab_wire::Flow;

use super::super::class::{FirstAnswer, HandshakeClass};
use super::super::classifier::classify;
use super::*;

fn class(datagrams: &[Flying], tap: Role) -> HandshakeClass {
    let address = |port| std::net::SocketAddr::from(([192, 0, 2, 1], port));
    classify(&log(datagrams, tap), &Flow::between(address(443), address(50_000)))
}

#[test]
fn an_instant_ack_is_one_at_either_end() {
    for tap in Role::BOTH {
        let instant = class(&handshake(true), tap);
        assert_eq!(instant.first_answer, Some(FirstAnswer::Instant), "{tap:?}");
        assert_eq!(instant.is_ack_padded, Some(true));
        assert_eq!(instant.first_ack_bytes, Some(1200));
        assert_eq!(instant.ack_to_hello_ns, Some(24_800_000));
        // Not known without the server's transport parameters.
        assert_eq!(instant.initial_ack_delay_ns, None);
        let waits = class(&handshake(false), tap);
        assert_eq!(waits.first_answer, Some(FirstAnswer::Coalesced), "{tap:?}");
        assert_eq!((waits.is_ack_padded, waits.ack_to_hello_ns), (None, Some(0)));
        assert_eq!((waits.first_flight_datagrams, waits.first_flight_bytes), (Some(2), Some(2_000)));
        assert_eq!(waits.amplification_factor, None);
        assert!(waits.unread[1].contains("were acknowledged and are not in the capture"), "{:?}", waits.unread);
        assert_eq!((instant.first_flight_datagrams, instant.first_flight_bytes), (Some(3), Some(3_200)));
        assert_eq!(instant.unvalidated_received_bytes, Some(2_400));
        assert_eq!(instant.unvalidated_sent_bytes, Some(3_200));
        assert_eq!(instant.amplification_factor, Some(3_200.0 / 2_400.0));
        assert_eq!(instant.blocked_ns, Some(0));
        assert_eq!(instant.unread.len(), 1, "{:?}", instant.unread);
    }
}

#[test]
fn the_first_round_trip_is_that_of_the_datagram_which_is_acknowledged() {
    // The second datagram of the ClientHello leaves at 0.1 ms and arrives at 4.6 ms, its acknowledgment leaves at 4.8 ms.
    assert_eq!(class(&handshake(true), Client).first_rtt_ns, Some(9_200_000));
    assert_eq!(class(&handshake(true), Server).first_rtt_ns, Some(200_000));
}

#[test]
fn an_acknowledgment_without_padding_says_so() {
    let mut datagrams = handshake(true);
    datagrams[2].bytes = 45;
    let class = class(&datagrams, Client);
    assert_eq!((class.is_ack_padded, class.first_ack_bytes), (Some(false), Some(45)));
}

/// A chain of four datagrams, where the limit allows three. What ends the wait is the client's first answer.
fn blocked() -> Vec<Flying> {
    vec![
        flying(Client, 0, 1200, || vec![packet(Initial, 0, vec![crypto(0, 300)])]),
        flying(Server, 4_700, 1200, || {
            vec![packet(Initial, 0, vec![ack(0, 0, 100), crypto(0, 90)]), packet(Handshake, 0, vec![crypto(0, 900)])]
        }),
        flying(Server, 4_710, 1200, || vec![packet(Handshake, 1, vec![crypto(900, 1100)])]),
        flying(Server, 4_720, 1200, || vec![packet(Handshake, 2, vec![crypto(2000, 1100)])]),
        flying(Client, 9_300, 1200, || vec![packet(Initial, 1, vec![ack(0, 0, 0)])]),
        flying(Server, 13_900, 700, || vec![packet(Handshake, 3, vec![crypto(3100, 600)])]),
        flying(Client, 18_500, 1200, || vec![packet(Handshake, 0, vec![ack(0, 3, 10), crypto(0, 52)])]),
        flying(Server, 23_100, 100, || vec![packet(OneRtt, 0, vec![Frame::HandshakeDone])]),
    ]
}

#[test]
fn a_server_that_the_limit_holds_up_is_seen_at_either_end() {
    for tap in Role::BOTH {
        let class = class(&blocked(), tap);
        assert_eq!(class.blocked_ns, Some(9_180_000), "{tap:?}");
        assert_eq!((class.first_flight_datagrams, class.first_flight_bytes), (Some(3), Some(3_600)), "{tap:?}");
        assert_eq!(class.unvalidated_received_bytes, Some(2_400), "{tap:?}");
        assert_eq!(class.unvalidated_sent_bytes, Some(4_300), "{tap:?}");
    }
}

#[test]
fn servers_that_do_not_finish_are_told_apart() {
    let [first] = [|| flying(Client, 0, 1200, || vec![packet(Initial, 0, vec![crypto(0, 300)])])];
    let with =
        |second: Option<Flying>| class(&[Some(first()), second].into_iter().flatten().collect::<Vec<_>>(), Client);
    assert_eq!(with(None).first_answer, Some(FirstAnswer::Silent));
    assert_eq!(with(None).amplification_factor, Some(0.0));
    let ack_alone = flying(Server, 4_700, 45, || vec![packet(Initial, 0, vec![ack(0, 0, 0)])]);
    assert_eq!(with(Some(ack_alone)).first_answer, Some(FirstAnswer::AckAlone));
    let hello_alone = flying(Server, 4_700, 1200, || vec![packet(Initial, 0, vec![crypto(0, 90)])]);
    assert_eq!(with(Some(hello_alone)).first_answer, Some(FirstAnswer::HelloAlone));
    let later = [
        first(),
        flying(Server, 4_700, 1200, || vec![packet(Initial, 0, vec![crypto(0, 90)])]),
        flying(Server, 4_800, 1200, || vec![packet(Initial, 1, vec![ack(0, 0, 0)])]),
    ];
    assert_eq!(class(&later, Client).first_answer, Some(FirstAnswer::Later));
    let hidden = flying(Server, 4_700, 1200, || vec![Packet { is_read: false, ..packet(Initial, 0, vec![]) }]);
    let hidden = with(Some(hidden));
    assert_eq!(hidden.first_answer, None, "it may have been anything");
    assert_eq!(hidden.unread, ["Initial packets of the server could not be read"]);
}
