//! What to do, and what it changes.

use serde::Serialize;

use crate::{
    play::{Handshake, handshake},
    question::{FirstAck, Loss, Question, QuestionError},
};

/// Shares of handshakes in which a flight is lost: 0 to 1 each, at most 1 together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// The client's second flight.
    pub client: f64,
    /// The server's first flight, except its first datagram.
    pub server: f64,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Acknowledge at once.
    Instant,
    /// Wait for the certificate.
    Wait,
    /// Neither is faster.
    Either,
}

impl Choice {
    fn of(gain_ns: Option<f64>) -> Self {
        match gain_ns {
            Some(gain) if gain > NO_DIFFERENCE_NS => Self::Instant,
            Some(gain) if gain < -NO_DIFFERENCE_NS => Self::Wait,
            _ => Self::Either,
        }
    }
}

/// What both ways lead to where a certain flight is lost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scenario {
    /// What is lost.
    pub loss: Loss,
    /// Share of handshakes.
    pub share: f64,
    /// The server waits.
    pub wait: Handshake,
    /// The server acknowledges at once.
    pub instant: Handshake,
    /// Time by which the first byte arrives earlier with an instant acknowledgment, in ns; negative: later.
    pub gain_ns: Option<i64>,
}

impl Scenario {
    /// What to do if every handshake were like this.
    pub fn choice(&self) -> Choice {
        Choice::of(self.gain_ns.map(|gain| gain as f64))
    }
}

/// The whole answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// What to do.
    pub choice: Choice,
    /// Mean over all handshakes of what an instant acknowledgment saves; negative: what it costs.
    pub mean_gain_ns: Option<f64>,
    /// The client's first probe timeout becomes so much shorter: three times what the server would wait.
    pub first_pto_gain_ns: Option<i64>,
    /// What both ways lead to, by scenario.
    pub scenarios: Vec<Scenario>,
}

/// Below this a difference means nothing: a datagram of 1200 B takes 1 ms at 10 Mbit/s.
const NO_DIFFERENCE_NS: f64 = 1_000.0;

/// Plays all scenarios with both behaviours. `instant` is the kind of instant acknowledgment.
///
/// # Errors
/// [`Question::check`], and shares that are none.
pub fn advice(question: &Question, instant: FirstAck, losses: Losses) -> Result<Advice, QuestionError> {
    let mut scenarios = Vec::new();
    for loss in Loss::ALL {
        let share = match loss {
            Loss::None => 1.0 - losses.client - losses.server,
            Loss::ServerFlightRest => losses.server,
            Loss::ClientSecondFlight => losses.client,
        };
        let wait = handshake(question, FirstAck::Wait, loss)?;
        let instant = handshake(question, instant, loss)?;
        let gain_ns = difference(wait.first_byte_ns, instant.first_byte_ns);
        scenarios.push(Scenario { loss, share, wait, instant, gain_ns });
    }
    let mean_gain_ns = scenarios
        .iter()
        .filter(|scenario| scenario.share > 0.0)
        .map(|scenario| Some(scenario.share * scenario.gain_ns? as f64))
        .sum::<Option<f64>>();
    let choice = Choice::of(mean_gain_ns);
    let first_pto_gain_ns = difference(scenarios[0].wait.first_pto_ns, scenarios[0].instant.first_pto_ns);
    Ok(Advice { choice, mean_gain_ns, first_pto_gain_ns, scenarios })
}

fn difference(wait: Option<u64>, instant: Option<u64>) -> Option<i64> {
    i64::try_from(i128::from(wait?) - i128::from(instant?)).ok()
}

#[cfg(test)]
mod tests {
    use quiclab_units::{ByteCount, Duration};

    use super::*;

    const SMALL: u64 = 1212;
    const LARGE: u64 = 5113;

    /// Milliseconds: round-trip time, delay, bytes of the chain. Default timeouts of the study's server and of ngtcp2.
    fn question(rtt: u64, delay: u64, chain: u64) -> Question {
        Question {
            client_pto: Duration::from_millis(300),
            server_pto: Duration::from_millis(200),
            ..Question::new(Duration::from_millis(rtt), Duration::from_millis(delay), ByteCount::from_bytes(chain))
        }
    }

    fn first_byte(question: &Question, first_ack: FirstAck, loss: Loss) -> f64 {
        handshake(question, first_ack, loss).unwrap().first_byte_ns.unwrap() as f64 / 1e6
    }

    fn gain(question: &Question, loss: Loss) -> f64 {
        first_byte(question, FirstAck::Wait, loss) - first_byte(question, FirstAck::Instant, loss)
    }

    #[test]
    fn without_loss_the_first_byte_takes_two_round_trips_and_the_delay() {
        for (rtt, delay) in [(1, 0), (9, 4), (20, 25), (100, 9), (300, 1)] {
            for first_ack in [FirstAck::Wait, FirstAck::Instant, FirstAck::Padded] {
                let time = first_byte(&question(rtt, delay, SMALL), first_ack, Loss::None);
                assert_eq!(time, (2 * rtt + delay) as f64, "{rtt} {delay} {first_ack:?}");
            }
        }
    }

    /// Figure 4: three times the delay, at every round-trip time.
    #[test]
    fn the_first_timeout_gains_three_times_the_delay() {
        for rtt in [1, 9, 20, 100, 250] {
            for delay in [1, 9, 25] {
                let advice = advice(&question(rtt, delay, SMALL), FirstAck::Instant, Losses::default()).unwrap();
                assert_eq!(advice.first_pto_gain_ns, Some(3_000_000 * delay as i64), "{rtt} {delay}");
            }
        }
    }

    /// Figure 4: the client probes in vain exactly where the delay exceeds three round trips.
    #[test]
    fn a_delay_of_more_than_three_round_trips_causes_probes() {
        for (rtt, delay, probes) in [(9, 26, 0), (9, 28, 1), (20, 59, 0), (20, 61, 1)] {
            let played = handshake(&question(rtt, delay, SMALL), FirstAck::Instant, Loss::None).unwrap();
            assert_eq!(played.client_probes, probes, "{rtt} {delay}");
        }
    }

    /// Figures 7 and 13.
    #[test]
    fn with_the_clients_second_flight_lost_the_gain_is_that_of_the_timeout() {
        for rtt in [9, 20, 100] {
            for delay in [1, 4, 9] {
                assert_eq!(gain(&question(rtt, delay, SMALL), Loss::ClientSecondFlight), 3.0 * delay as f64);
            }
        }
    }

    /// Figure 6: the server has no sample, and waits for its default timeout instead of 2.5 round trips.
    #[test]
    fn with_the_rest_of_the_servers_flight_lost_waiting_wins_by_about_the_servers_timeout() {
        for delay in [0, 4] {
            let gain = gain(&question(9, delay, SMALL), Loss::ServerFlightRest);
            assert!((-200.0..-165.0).contains(&gain), "{gain}");
        }
        let slower = Question { server_pto: Duration::from_millis(999), ..question(9, 4, SMALL) };
        let gain = gain(&slower, Loss::ServerFlightRest);
        assert!((-999.0..-960.0).contains(&gain), "{gain}");
    }

    /// Figure 5: neqo and ngtcp2 gain 9.6 and 10 ms of a round trip of 9 ms; clients whose default timeout is shorter than the delay do not.
    #[test]
    fn a_server_that_the_limit_blocks_gains_a_round_trip_by_probes() {
        // RFC 9000 section 8.1.
        let question = question(9, 200, LARGE);
        assert_eq!(gain(&question, Loss::None), 9.0);
        let wait = handshake(&question, FirstAck::Wait, Loss::None).unwrap();
        assert!(!wait.fits && wait.blocked_ns > 0 && wait.client_probes == 0);
        let early = Question { client_pto: Duration::from_millis(100), ..question };
        assert_eq!(gain(&early, Loss::None), 0.0);
    }

    #[test]
    fn a_padded_acknowledgment_takes_a_third_of_the_limit() {
        // RFC 9000 section 8.1.
        let question = question(9, 4, 2400);
        let [small, padded] = [FirstAck::Instant, FirstAck::Padded].map(|ack| first_byte(&question, ack, Loss::None));
        assert_eq!((small, padded), (22.0, 31.0));
    }

    /// Table 2, with a chain that fits.
    #[test]
    fn the_advice_is_that_of_the_guideline() {
        let question = question(9, 4, SMALL);
        let choice = |client, server| advice(&question, FirstAck::Instant, Losses { client, server }).unwrap().choice;
        assert_eq!(
            [choice(0.01, 0.0), choice(0.0, 0.01), choice(0.0, 0.0)],
            [Choice::Instant, Choice::Wait, Choice::Either]
        );
    }

    // Timeouts far below the round-trip time are left out: the client has then doubled them so often before the first answer that it waits for minutes.
    proptest::proptest! {
        #[test]
        fn every_handshake_ends_and_none_is_faster_than_two_round_trips(
            rtt in 1u64..400_000_000, delay in 0u64..3_000_000_000, chain in 0u64..40_000,
            client in 100_000_000u64..2_000_000_000, server in 100_000_000u64..2_000_000_000, hello in 1u32..3, loss in 0usize..3,
        ) {
            let question = Question {
                client_pto: Duration::from_nanos(client), server_pto: Duration::from_nanos(server), hello_datagrams: hello,
                ..Question::new(Duration::from_nanos(rtt), Duration::from_nanos(delay), ByteCount::from_bytes(chain))
            };
            for first_ack in [FirstAck::Wait, FirstAck::Instant, FirstAck::Padded] {
                let played = handshake(&question, first_ack, Loss::ALL[loss]).unwrap();
                let time = played.first_byte_ns.expect("an end");
                proptest::prop_assert!(time >= 2 * rtt + delay, "{time}");
            }
        }
    }
}
