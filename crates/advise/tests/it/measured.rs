//! The model against handshakes that were measured (docs/results/advise.md): experiments/advise, quick profile.

use quiclab_advise::{Agreement, FirstAck, Loss, Question, agreeing_share, handshake};
use quiclab_units::{ByteCount, Duration, Rate};

/// What is lost; round-trip time, time between ClientHello and ServerHello, bytes of the chain; time to the first byte where the server waits and
/// where it acknowledges at once. Milliseconds.
type Row = (Loss, u64, f64, u64, f64, f64);

/// ngtcp2 1.25.0 with itself, whose ClientHello takes two datagrams; default PTO of the server 200 ms; 10 Mbit/s; QEMU 7.2.22.
const MEASURED: [Row; 36] = [
    (Loss::None, 9, 5.4, 1212, 34.2, 34.2),
    (Loss::None, 9, 5.8, 9000, 50.8, 50.9),
    (Loss::None, 9, 61.4, 1212, 90.2, 90.2),
    (Loss::None, 9, 61.8, 9000, 106.9, 104.0),
    (Loss::None, 40, 5.4, 1212, 98.3, 96.2),
    (Loss::None, 40, 5.8, 9000, 151.3, 143.9),
    (Loss::None, 40, 61.4, 1212, 155.1, 152.2),
    (Loss::None, 40, 61.8, 9000, 207.3, 199.9),
    (Loss::None, 150, 5.4, 1212, 331.1, 320.3),
    (Loss::None, 150, 5.8, 9000, 511.8, 473.9),
    (Loss::None, 150, 61.4, 1212, 390.8, 376.3),
    (Loss::None, 150, 61.8, 9000, 567.8, 529.9),
    (Loss::ServerFlightRest, 9, 5.4, 1212, 79.9, 150.0),
    (Loss::ServerFlightRest, 9, 5.8, 9000, 259.6, 288.4),
    (Loss::ServerFlightRest, 9, 61.4, 1212, 136.0, 263.7),
    (Loss::ServerFlightRest, 9, 61.8, 9000, 484.0, 284.3),
    (Loss::ServerFlightRest, 40, 5.4, 1212, 278.0, 388.2),
    (Loss::ServerFlightRest, 40, 5.8, 9000, 599.1, 811.4),
    (Loss::ServerFlightRest, 40, 61.4, 1212, 334.1, 444.2),
    (Loss::ServerFlightRest, 40, 61.8, 9000, 1076.9, 811.4),
    (Loss::ServerFlightRest, 150, 5.4, 1212, 981.4, 857.9),
    (Loss::ServerFlightRest, 150, 5.8, 9000, 2043.2, 3079.6),
    (Loss::ServerFlightRest, 150, 61.4, 1212, 1037.4, 913.9),
    (Loss::ServerFlightRest, 150, 61.8, 9000, 2267.3, 3079.5),
    (Loss::ClientSecondFlight, 9, 5.4, 1212, 107.2, 78.6),
    (Loss::ClientSecondFlight, 9, 5.8, 9000, 182.5, 126.4),
    (Loss::ClientSecondFlight, 9, 61.4, 1212, 354.2, 131.5),
    (Loss::ClientSecondFlight, 9, 61.8, 9000, 598.6, 174.4),
    (Loss::ClientSecondFlight, 40, 5.4, 1212, 311.3, 270.2),
    (Loss::ClientSecondFlight, 40, 5.8, 9000, 503.7, 422.2),
    (Loss::ClientSecondFlight, 40, 61.5, 1212, 554.3, 326.2),
    (Loss::ClientSecondFlight, 40, 61.8, 9000, 907.5, 478.1),
    (Loss::ClientSecondFlight, 150, 5.4, 1212, 1016.2, 917.0),
    (Loss::ClientSecondFlight, 150, 5.8, 9000, 1539.8, 1362.2),
    (Loss::ClientSecondFlight, 150, 61.4, 1212, 1348.2, 973.0),
    (Loss::ClientSecondFlight, 150, 61.8, 9000, 1953.8, 1418.1),
];

/// A pacer with an initial window of ten datagrams takes a quarter of a round trip for three of them, and the model has none.
fn margin(rtt: u64) -> Duration {
    milliseconds(5.0 + rtt as f64 / 4.0)
}

fn milliseconds(value: f64) -> Duration {
    Duration::from_nanos((value * 1e6) as u64)
}

#[test]
fn the_sign_of_the_gain_is_that_of_measured_handshakes() {
    let mut points = Vec::new();
    for (loss, rtt, delay, chain, wait, instant) in MEASURED {
        let question = Question {
            server_pto: Duration::from_millis(200),
            hello_datagrams: 2,
            rate: Some(Rate::from_bits_per_second(10_000_000)),
            ..Question::new(Duration::from_millis(rtt), milliseconds(delay), ByteCount::from_bytes(chain))
        };
        let [model_wait, model_instant] = [FirstAck::Wait, FirstAck::Instant]
            .map(|first_ack| handshake(&question, first_ack, loss).unwrap().first_byte_ns.unwrap() as f64 / 1e6);
        let gains = [model_wait - model_instant, wait - instant];
        let [model_ns, measured_ns] = gains.map(|gain| (gain * 1e6) as i64);
        let agreement = Agreement::of(model_ns, measured_ns, margin(rtt));
        println!(
            "{loss:?} {rtt} {delay} {chain}: measured {wait} {instant} {:+.1}, model {model_wait:.1} {model_instant:.1} {:+.1}: {agreement:?}",
            gains[1], gains[0]
        );
        points.push(agreement);
    }
    let share = agreeing_share(&points).unwrap();
    assert!(share >= 0.95, "{share}");
}
