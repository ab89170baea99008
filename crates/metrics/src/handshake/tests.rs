//! Handshakes made by hand, with the answers in closed form.

mod class;
mod probes;

use quiclab_units::{Duration, Time};
use quiclab_wire::{QuicForm, Role};

use super::log::{Datagram, Frame, HandshakeLog, Packet};
use super::marks::{HandshakeEvent, HandshakeMark, marks};
use super::measures::measure;
use super::view::{HandshakeTaps, Views};
use crate::metrics::Metrics;
use crate::output::RunMetrics;
use crate::payload_key::PayloadKey;
use QuicForm::{Handshake, Initial, OneRtt};
use Role::{Client, Server};

const MS: u64 = 1_000_000;

fn packet(form: QuicForm, number: u64, frames: Vec<Frame>) -> Packet {
    Packet { form, number: Some(number), is_read: true, has_token: false, frames: frames.into() }
}

fn crypto(offset: u64, length: u64) -> Frame {
    Frame::Crypto { offset, end: offset + length }
}

fn ack(begin: u64, end: u64, delay_us: u64) -> Frame {
    Frame::Ack { ranges: Box::new([(begin, end)]), delay_ns: Some(delay_us * 1_000) }
}

fn stream(length: u64) -> Frame {
    Frame::Stream { id: 0, offset: 0, end: length }
}

/// One datagram, with the times at which it passed the client's tap and the server's; `None` where it was lost before.
struct Flying {
    sender: Role,
    at_client: Option<u64>,
    at_server: Option<u64>,
    bytes: u32,
    packets: fn() -> Vec<Packet>,
}

/// It takes 4.5 ms each way.
fn flying(sender: Role, sent_us: u64, bytes: u32, packets: fn() -> Vec<Packet>) -> Flying {
    let (sent, arrived) = (Some(sent_us * 1_000), Some(sent_us * 1_000 + 9 * MS / 2));
    match sender {
        Client => Flying { sender, at_client: sent, at_server: arrived, bytes, packets },
        Server => Flying { sender, at_client: arrived, at_server: sent, bytes, packets },
    }
}

/// It never arrives.
fn lost(flying: Flying) -> Flying {
    match flying.sender {
        Client => Flying { at_server: None, ..flying },
        Server => Flying { at_client: None, ..flying },
    }
}

fn log(datagrams: &[Flying], tap: Role) -> HandshakeLog {
    let mut log = HandshakeLog::default();
    for (number, flying) in datagrams.iter().enumerate() {
        let time = if tap == Client { flying.at_client } else { flying.at_server };
        let Some(time) = time else { continue };
        log.datagrams.push(Datagram {
            time: Time::from_nanos(time),
            sender: flying.sender,
            bytes: flying.bytes,
            key: Some(PayloadKey::numbered(number as u64)),
            is_complete: true,
            packets: (flying.packets)().into(),
        });
    }
    log.datagrams.sort_by_key(|datagram| datagram.time);
    log
}

fn both(datagrams: &[Flying]) -> RunMetrics {
    let mut run = RunMetrics::empty();
    measure(&Views::of_two_taps(&log(datagrams, Client), &log(datagrams, Server)), false, &mut run);
    run
}

fn one(datagrams: &[Flying], tap: Role) -> RunMetrics {
    let mut run = RunMetrics::empty();
    measure(&Views::of_one_tap(&log(datagrams, tap), None), false, &mut run);
    run
}

/// RTT 9 ms. The ClientHello has two datagrams 0.1 ms apart. The server takes 0.2 ms to acknowledge, and the certificate comes
/// 25 ms after the ClientHello. The client answers 0.3 ms after the last datagram of the server's flight.
fn handshake(is_instant: bool) -> Vec<Flying> {
    let mut all = vec![
        flying(Client, 0, 1200, || vec![packet(Initial, 0, vec![crypto(0, 1100)])]),
        flying(Client, 100, 1200, || vec![packet(Initial, 1, vec![crypto(1100, 500)])]),
    ];
    if is_instant {
        all.push(flying(Server, 4_800, 1200, || vec![packet(Initial, 0, vec![ack(0, 1, 160)])]));
        all.push(flying(Server, 29_600, 1200, || {
            vec![packet(Initial, 1, vec![crypto(0, 90)]), packet(Handshake, 0, vec![crypto(0, 1000)])]
        }));
    } else {
        all.push(flying(Server, 29_600, 1200, || {
            vec![
                packet(Initial, 0, vec![ack(0, 1, 24_000), crypto(0, 90)]),
                packet(Handshake, 0, vec![crypto(0, 1000)]),
            ]
        }));
    }
    all.push(flying(Server, 29_700, 800, || vec![packet(Handshake, 1, vec![crypto(1000, 700)])]));
    all.push(flying(Client, 34_500, 1200, || {
        vec![
            packet(Initial, 2, vec![ack(0, 1, 0)]),
            packet(Handshake, 0, vec![ack(0, 1, 296), crypto(0, 52)]),
            packet(OneRtt, 0, vec![stream(40)]),
        ]
    }));
    all.push(flying(Server, 39_500, 1300, || vec![packet(OneRtt, 0, vec![Frame::HandshakeDone, stream(1_024)])]));
    all
}

#[test]
fn an_instant_ack_saves_three_times_the_wait_for_the_certificate_of_the_first_pto() {
    let [instant, waits] = [true, false].map(|is_instant| both(&handshake(is_instant)).metrics);
    // From the second datagram of the ClientHello to its acknowledgment, 4.7 + 4.5 ms; the PTO is three times that.
    assert_eq!(instant.handshake_client_first_rtt_ns, Some(9_200_000));
    assert_eq!(instant.handshake_client_first_pto_ns, Some(27_600_000));
    assert_eq!(waits.handshake_client_first_rtt_ns, Some(34_000_000));
    let gain = waits.handshake_client_first_pto_ns.unwrap() - instant.handshake_client_first_pto_ns.unwrap();
    assert_eq!(gain, 3 * (29_600_000 - 4_800_000));
    assert_eq!((instant.handshake_instant_acks, waits.handshake_instant_acks), (Some(1), Some(0)));
    assert_eq!((instant.handshake_ack_to_hello_ns, waits.handshake_ack_to_hello_ns), (Some(24_800_000), Some(0)));
    assert_eq!((instant.handshake_first_ack_ns, waits.handshake_first_ack_ns), (Some(300_000), Some(25_100_000)));
    assert_eq!(instant.handshake_first_ack_bytes, Some(1200));
    // From the arrival of the last datagram of the ClientHello, at 4.6 ms.
    assert_eq!(instant.handshake_server_processing_ns, Some(25_000_000));
    assert_eq!(waits.handshake_server_processing_ns, Some(25_000_000));
}

#[test]
fn times_are_those_of_the_end_that_they_are_about() {
    let metrics = both(&handshake(true)).metrics;
    assert_eq!(metrics.handshake_client_complete_ns, Some(34_500_000));
    assert_eq!(metrics.handshake_client_confirmed_ns, Some(44_000_000));
    assert_eq!(metrics.handshake_client_first_byte_ns, Some(44_000_000));
    assert_eq!(metrics.handshake_server_complete_ns, Some(34_500_000));
    // The server's samples: its flight at 29.6 and 29.7 ms, acknowledged at 39.0 ms. Its instant ACK elicits none.
    assert_eq!(metrics.handshake_server_first_rtt_ns, Some(9_400_000));
    assert_eq!(metrics.handshake_server_rtt_samples, Some(2));
    assert_eq!(metrics.handshake_client_rtt_samples, Some(1));
}

#[test]
fn the_smoothed_round_trip_is_that_of_rfc_9002_after_each_sample() {
    let detail = both(&handshake(true)).handshake.unwrap();
    assert_eq!(detail.taps, HandshakeTaps::Both);
    assert_eq!(detail.estimated, Vec::<String>::new());
    let [first, second] = detail.server_estimates.try_into().unwrap();
    // The Initial at 29.6 ms first, then the second Handshake packet at 29.7 ms, both acknowledged at 39.0 ms.
    assert_eq!((first.space.as_str(), first.latest_rtt_ns, first.rttvar_ns), ("initial", 9_400_000, 4_700_000));
    assert_eq!((second.space.as_str(), second.latest_rtt_ns), ("handshake", 9_300_000));
    // Its delay of 0.296 ms would make it smaller than the smallest, so it counts in full: 3/4 x 4.7 + 1/4 x 0.1 ms, 7/8 x 9.4 + 1/8 x 9.3 ms.
    assert_eq!((second.rttvar_ns, second.smoothed_rtt_ns), (3_550_000, 9_387_500));
    assert_eq!(second.pto_ns, 9_387_500 + 4 * 3_550_000);
}

#[test]
fn one_tap_at_the_server_gives_the_client_s_times_as_estimates() {
    let run = one(&handshake(true), Server);
    let detail = run.handshake.unwrap();
    assert_eq!(detail.taps, HandshakeTaps::Server);
    // The client's fastest answer seen here takes 9.3 ms; the ACK came 0.2 ms after the second datagram.
    assert_eq!(run.metrics.handshake_client_first_rtt_ns, Some(9_500_000));
    assert_eq!(run.metrics.handshake_client_first_byte_ns, Some(35_000_000 + 9_300_000));
    assert!(detail.estimated.contains(&"handshake_client_first_byte_ns".to_owned()));
    assert!(!detail.estimated.contains(&"handshake_server_first_rtt_ns".to_owned()));
    assert_eq!(run.metrics.handshake_server_first_rtt_ns, Some(9_400_000));
    assert_eq!(run.metrics.handshake_server_processing_ns, Some(25_000_000));
    assert_eq!(run.metrics.handshake_client_initial_ack_delay_ns, None);
    assert!(detail.elsewhere.contains(&"handshake_client_initial_ack_delay_ns".to_owned()));
    assert_eq!(run.withheld, Vec::new());
}

#[test]
fn one_tap_at_the_client_does_not_give_the_server_s_processing_time() {
    let run = one(&handshake(false), Client);
    assert_eq!(run.handshake.unwrap().taps, HandshakeTaps::Client);
    assert_eq!(run.metrics.handshake_client_first_rtt_ns, Some(34_000_000));
    assert_eq!(run.metrics.handshake_client_first_byte_ns, Some(44_000_000));
    assert_eq!(run.metrics.handshake_server_processing_ns, None);
    assert_eq!(run.metrics.handshake_amplification_sent_bytes, None);
}

#[test]
fn delays_of_acknowledgments_are_as_reported_and_as_they_were() {
    let metrics = both(&handshake(true)).metrics;
    let delays = |metrics: &Metrics| {
        [
            metrics.handshake_server_initial_ack_delay_reported_ns,
            metrics.handshake_server_initial_ack_delay_ns,
            metrics.handshake_server_handshake_ack_delay_ns,
            metrics.handshake_client_initial_ack_delay_reported_ns,
            metrics.handshake_client_initial_ack_delay_ns,
            metrics.handshake_client_handshake_ack_delay_reported_ns,
            metrics.handshake_client_handshake_ack_delay_ns,
        ]
    };
    let expected = [Some(160_000), Some(200_000), None, Some(0), Some(400_000), Some(296_000), Some(300_000)];
    assert_eq!(delays(&metrics), expected);
}

#[test]
fn flights_have_the_datagrams_with_their_messages() {
    let metrics = both(&handshake(true)).metrics;
    assert_eq!(
        (metrics.handshake_client_flight_1_datagrams, metrics.handshake_client_flight_1_packets),
        (Some(2), Some(2))
    );
    assert_eq!(
        (metrics.handshake_server_flight_1_datagrams, metrics.handshake_server_flight_1_packets),
        (Some(2), Some(3))
    );
    assert_eq!(
        (metrics.handshake_client_flight_2_datagrams, metrics.handshake_client_flight_2_packets),
        (Some(1), Some(3))
    );
}

#[test]
fn nothing_was_sent_again_where_nothing_was() {
    let metrics = both(&handshake(true)).metrics;
    assert_eq!((metrics.handshake_client_probes, metrics.handshake_server_probes), (Some(0), Some(0)));
    assert_eq!(metrics.handshake_client_spurious_retransmissions, Some(0));
    assert_eq!((metrics.handshake_client_default_pto_ns, metrics.handshake_server_default_pto_ns), (None, None));
}

#[test]
fn the_timeout_before_any_sample_is_seen_where_nothing_comes_back() {
    let all = [
        lost(flying(Client, 0, 1200, || vec![packet(Initial, 0, vec![crypto(0, 1100)])])),
        lost(flying(Client, 100, 1200, || vec![packet(Initial, 1, vec![crypto(1100, 500)])])),
        flying(Client, 999_100, 1200, || vec![packet(Initial, 2, vec![crypto(0, 1100)])]),
        flying(Client, 999_200, 1200, || vec![packet(Initial, 3, vec![crypto(1100, 500)])]),
        lost(flying(Server, 1_004_000, 1200, || {
            vec![packet(Initial, 0, vec![ack(2, 3, 0), crypto(0, 90)]), packet(Handshake, 0, vec![crypto(0, 900)])]
        })),
        flying(Server, 1_204_000, 1200, || {
            vec![packet(Initial, 1, vec![crypto(0, 90)]), packet(Handshake, 1, vec![crypto(0, 900)])]
        }),
    ];
    let metrics = both(&all).metrics;
    assert_eq!(metrics.handshake_client_default_pto_ns, Some(999_000_000));
    assert_eq!(metrics.handshake_server_default_pto_ns, Some(200_000_000));
    // What was lost is no spurious retransmission.
    assert_eq!(
        (metrics.handshake_client_probes, metrics.handshake_client_spurious_retransmissions),
        (Some(2), Some(0))
    );
    assert_eq!(
        (metrics.handshake_server_probes, metrics.handshake_server_spurious_retransmissions),
        (Some(1), Some(0))
    );
}

/// The server's settings of HTTP/3 leave beside its Finished, before there is a sample.
#[test]
fn early_data_of_the_server_does_not_hide_its_timeout_before_any_sample() {
    let all = [
        flying(Client, 0, 1200, || vec![packet(Initial, 0, vec![crypto(0, 500)])]),
        lost(flying(Server, 5_000, 1200, || {
            vec![packet(Initial, 0, vec![ack(0, 0, 0), crypto(0, 90)]), packet(Handshake, 0, vec![crypto(0, 900)])]
        })),
        lost(flying(Server, 5_100, 600, || {
            vec![packet(Handshake, 1, vec![crypto(900, 500)]), packet(OneRtt, 0, vec![stream(10)])]
        })),
        // Of its own; the timer counts from the last Handshake packet.
        lost(flying(Server, 6_000, 60, || vec![packet(OneRtt, 1, vec![Frame::Other])])),
        flying(Server, 205_100, 1200, || {
            vec![packet(Initial, 1, vec![crypto(0, 90)]), packet(Handshake, 2, vec![crypto(0, 900)])]
        }),
    ];
    assert_eq!(both(&all).metrics.handshake_server_default_pto_ns, Some(200_000_000));
}

/// A datagram that is retransmitted because a later one was acknowledged is no probe.
#[test]
fn what_is_sent_again_after_a_loss_was_noticed_is_no_probe() {
    let all = [
        lost(flying(Client, 0, 1200, || vec![packet(Initial, 0, vec![crypto(0, 1100)])])),
        flying(Client, 100, 1200, || vec![packet(Initial, 1, vec![crypto(1100, 500)])]),
        flying(Server, 4_800, 1200, || vec![packet(Initial, 0, vec![ack(1, 1, 0)])]),
        flying(Client, 11_000, 1200, || vec![packet(Initial, 2, vec![crypto(0, 1100)])]),
    ];
    let metrics = both(&all).metrics;
    assert_eq!(
        (metrics.handshake_client_probes, metrics.handshake_client_spurious_retransmissions),
        (Some(0), Some(0))
    );
}

/// One ClientHello of 1200 bytes, and a certificate of 5 datagrams: after 3600 bytes the server waits for the client.
fn large_certificate() -> Vec<Flying> {
    vec![
        flying(Client, 0, 1200, || vec![packet(Initial, 0, vec![crypto(0, 300)])]),
        flying(Server, 5_000, 1200, || {
            vec![packet(Initial, 0, vec![ack(0, 0, 0), crypto(0, 90)]), packet(Handshake, 0, vec![crypto(0, 1000)])]
        }),
        flying(Server, 5_100, 1200, || vec![packet(Handshake, 1, vec![crypto(1000, 1100)])]),
        flying(Server, 5_200, 1200, || vec![packet(Handshake, 2, vec![crypto(2100, 1100)])]),
        // At the server at 14.5 ms.
        flying(Client, 10_000, 1200, || {
            vec![packet(Initial, 1, vec![ack(0, 0, 0)]), packet(Handshake, 0, vec![ack(0, 2, 0)])]
        }),
        flying(Server, 14_600, 1200, || vec![packet(Handshake, 3, vec![crypto(3200, 1100)])]),
        flying(Server, 14_700, 900, || vec![packet(Handshake, 4, vec![crypto(4300, 700)])]),
        flying(Client, 19_500, 1200, || vec![packet(Handshake, 1, vec![ack(0, 4, 0), crypto(0, 52)])]),
    ]
}

#[test]
fn the_amplification_limit_blocks_until_the_client_answers() {
    let run = both(&large_certificate()); // RFC 9000 section 8.1.
    let metrics = &run.metrics;
    assert_eq!(metrics.handshake_amplification_received_bytes, Some(1200));
    assert_eq!(metrics.handshake_amplification_sent_bytes, Some(3600));
    assert_eq!(metrics.handshake_amplification_excess_bytes, Some(0));
    assert_eq!(metrics.handshake_amplification_blocked_ns, Some(14_600_000 - 5_200_000));
    assert_eq!(run.warnings, Vec::new());
}

#[test]
fn a_server_that_sends_more_than_it_may_is_warned_of() {
    let mut all = large_certificate();
    all[4] = flying(Client, 30_000, 1200, all[4].packets);
    let run = both(&all);
    assert_eq!(run.metrics.handshake_amplification_sent_bytes, Some(5700));
    assert_eq!(run.metrics.handshake_amplification_excess_bytes, Some(2100));
    assert_eq!(run.warnings[0].code, "amplification_limit_exceeded");
}

/// A probe of the client raises the limit by three times its bytes.
#[test]
fn a_datagram_of_the_client_raises_the_limit() {
    let mut all = large_certificate(); // RFC 9000 section 8.1.
    all[4] = flying(Client, 10_000, 1200, || vec![packet(Initial, 1, vec![ack(0, 0, 0), Frame::Ping])]);
    let metrics = both(&all).metrics;
    assert_eq!(metrics.handshake_amplification_received_bytes, Some(2400));
    assert_eq!(metrics.handshake_amplification_sent_bytes, Some(5700));
    assert_eq!(metrics.handshake_amplification_excess_bytes, Some(0));
    assert_eq!(metrics.handshake_amplification_blocked_ns, Some(9_400_000));
    assert_eq!(metrics.handshake_client_probes, Some(1));
}

/// What a small certificate leaves of the limit does not matter.
#[test]
fn a_server_with_nothing_left_to_send_is_not_blocked() {
    let metrics = both(&handshake(true)).metrics;
    assert_eq!(metrics.handshake_amplification_blocked_ns, Some(0));
    assert_eq!(metrics.handshake_amplification_received_bytes, Some(2400));
    assert_eq!(metrics.handshake_amplification_sent_bytes, Some(3200));
}

/// Nobody has the keys of the Handshake packets: what rests on Initial packets alone is known, the rest has a reason.
#[test]
fn without_keys_the_initial_packets_say_what_they_can() {
    let hide = |mut log: HandshakeLog| {
        for datagram in &mut log.datagrams {
            for packet in datagram.packets.iter_mut().filter(|packet| packet.form != Initial) {
                (packet.number, packet.is_read, packet.frames) = (None, false, Box::default());
            }
        }
        log
    };
    let all = handshake(true);
    let logs = [Client, Server].map(|tap| hide(log(&all, tap)));
    let mut run = RunMetrics::empty();
    measure(&Views::of_two_taps(&logs[0], &logs[1]), false, &mut run);
    assert_eq!(run.metrics.handshake_client_first_pto_ns, Some(27_600_000));
    assert_eq!(run.metrics.handshake_instant_acks, Some(1));
    assert_eq!(run.metrics.handshake_client_initial_ack_delay_ns, Some(400_000));
    let reasons: Vec<&str> = run.withheld.iter().flat_map(|it| &it.metrics).map(String::as_str).collect();
    for name in [
        "handshake_client_complete_ns",
        "handshake_client_confirmed_ns",
        "handshake_client_first_byte_ns",
        "handshake_server_complete_ns",
        "handshake_client_probes",
        "handshake_server_spurious_retransmissions",
    ] {
        assert_eq!(run.metrics.value(name), Some(None), "{name}");
        assert!(reasons.contains(&name), "{name}: {reasons:?}");
    }
}

/// What happened at an end, with times in microseconds.
fn marks_of(datagrams: &[Flying], side: Role) -> Vec<(u64, HandshakeEvent)> {
    let (client, server) = (log(datagrams, Client), log(datagrams, Server));
    let all = marks(&Views::of_two_taps(&client, &server), [Duration::from_millis(25); 2]);
    let own = all.into_iter().filter(|mark| mark.side == side);
    own.map(|HandshakeMark { time, what, .. }| (time.as_nanos() / 1_000, what)).collect()
}

fn us(microseconds: u64) -> Duration {
    Duration::from_micros(microseconds)
}

/// The client has everything acknowledged at 9.3 ms, and so has to see to it that the server is not stuck: its timer runs from then.
#[test]
fn a_client_with_nothing_in_flight_has_a_timer_from_the_last_acknowledgment_on() {
    let first = HandshakeEvent::FirstSample { rtt: us(9_200), pto: us(27_600) };
    assert_eq!(marks_of(&handshake(true), Client), [(9_300, first)]);
    // The server's flight is lost: nothing comes before the timer expires, and the client probes 0.2 ms later.
    let mut late = handshake(true);
    late.truncate(3);
    late.push(flying(Client, 37_100, 1200, || vec![packet(Initial, 2, vec![Frame::Ping])]));
    let due = HandshakeEvent::TimeoutDue { pto: us(27_600), space: "Initial", doubled: 0 };
    let probe = HandshakeEvent::Probe { waited: Some(us(37_000)), has_sample: true };
    assert_eq!(marks_of(&late, Client), [(9_300, first), (36_900, due), (37_100, probe)]);
}

/// RFC 9002 section 6.2.1: a timeout doubles the next one.
#[test]
fn every_probe_doubles_the_next_timeout_and_two_datagrams_of_one_timeout_are_one() {
    let mut all = handshake(true);
    all.truncate(5);
    // The Finished is lost three times.
    all.push(lost(flying(Client, 34_500, 1200, || {
        vec![packet(Initial, 2, vec![ack(0, 1, 0)]), packet(Handshake, 0, vec![ack(0, 1, 296), crypto(0, 52)])]
    })));
    // 34.5 + 27.6 = 62.1 ms by the first sample alone; no other one comes.
    all.push(lost(flying(Client, 62_100, 100, || vec![packet(Handshake, 1, vec![crypto(0, 52)])])));
    all.push(lost(flying(Client, 62_150, 100, || vec![packet(Handshake, 2, vec![crypto(0, 52)])])));
    all.push(lost(flying(Client, 200_000, 100, || vec![packet(Handshake, 3, vec![crypto(0, 52)])])));
    let found = marks_of(&all, Client);
    let probes: Vec<_> =
        found.iter().filter(|(_, what)| matches!(what, HandshakeEvent::Probe { .. })).map(|(time, _)| *time).collect();
    assert_eq!(probes, [62_100, 200_000]);
    // From 62.15 ms, twice 27.6 ms.
    let due = HandshakeEvent::TimeoutDue { pto: us(55_200), space: "Handshake", doubled: 1 };
    assert!(found.contains(&(117_350, due)), "{found:?}");
}

#[test]
fn a_timeout_before_any_sample_is_known_by_its_probe_only() {
    let all = vec![
        lost(flying(Client, 0, 1200, || vec![packet(Initial, 0, vec![crypto(0, 1100)])])),
        flying(Client, 300_000, 1200, || vec![packet(Initial, 1, vec![crypto(0, 1100)])]),
    ];
    let probe = HandshakeEvent::Probe { waited: Some(us(300_000)), has_sample: false };
    assert_eq!(marks_of(&all, Client), [(300_000, probe)]);
}

/// Packets of application data wait for the peer's max_ack_delay as well, and only once the handshake is confirmed. RFC 9002 section 6.2.1.
#[test]
fn the_timeout_of_application_data_has_the_peer_s_max_ack_delay() {
    let mut all = handshake(true);
    // The server's answer at 39.5 ms, HANDSHAKE_DONE with it, is not acknowledged. The server's samples leave smoothed_rtt 9.3875 ms, rttvar 3.55 ms.
    all.push(flying(Client, 150_000, 100, || vec![packet(OneRtt, 1, vec![ack(0, 0, 0)])]));
    let pto = us(25_000 + 9_387 + 4 * 3_550);
    let found = marks_of(&all, Server);
    let due = found.iter().find_map(|(time, what)| match what {
        HandshakeEvent::TimeoutDue { pto, space: "1-RTT", doubled: 0 } => Some((*time, *pto)),
        _ => None,
    });
    let (time, found) = due.expect("a timeout of 1-RTT packets");
    assert_eq!((time, found.as_nanos() / 1_000), (39_500 + pto.as_nanos() / 1_000, pto.as_nanos() / 1_000));
}

/// The client's request of 34.5 ms is lost; HANDSHAKE_DONE comes long after its timeout, and sets the timer.
#[test]
fn there_is_no_timer_for_application_data_before_the_handshake_is_confirmed() {
    let mut all = handshake(true);
    all.truncate(5);
    all.push(flying(Client, 34_500, 1200, || {
        vec![packet(Initial, 2, vec![ack(0, 1, 0)]), packet(Handshake, 0, vec![ack(0, 1, 296), crypto(0, 52)])]
    }));
    all.push(lost(flying(Client, 34_600, 100, || vec![packet(OneRtt, 0, vec![stream(40)])])));
    all.push(flying(Server, 39_200, 100, || vec![packet(Handshake, 2, vec![ack(0, 0, 0)])]));
    all.push(flying(Server, 195_500, 100, || vec![packet(OneRtt, 0, vec![Frame::HandshakeDone])]));
    all.push(flying(Client, 300_000, 100, || vec![packet(OneRtt, 1, vec![ack(0, 0, 0)])]));
    let found = marks_of(&all, Client);
    let due: Vec<_> = found.iter().filter(|(_, what)| matches!(what, HandshakeEvent::TimeoutDue { .. })).collect();
    assert!(matches!(due[..], [(200_000, HandshakeEvent::TimeoutDue { space: "1-RTT", .. })]), "{found:?}");
}
