//! By how much the clock of one host is ahead of another's, from packets exchanged between them.
//!
//! As in NTP (RFC 5905, section 8), and of all exchanges the one with the shortest round trip counts: its packets waited least. The true
//! offset is never further from the answer than half of that round trip, however unlike the two directions are.

use quiclab_agent_protocol::hosts::Exchange;

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// When, by the client's clock.
    pub at_ns: u64,
    /// The server's clock less the client's.
    pub server_ahead_ns: i64,
    /// The truth is within this much of it.
    pub uncertainty_ns: u64,
    /// The exchanges.
    pub exchanges: usize,
}

/// The offset by these exchanges; `None` without any that makes sense.
pub fn offset(exchanges: &[Exchange]) -> Option<Offset> {
    let (round_trip, best) =
        exchanges.iter().filter_map(|one| Some((round_trip(one)?, one))).min_by_key(|(trip, _)| *trip)?;
    let there = i128::from(best.arrived_ns) - i128::from(best.sent_ns);
    let back = i128::from(best.answered_ns) - i128::from(best.received_ns);
    Some(Offset {
        at_ns: best.sent_ns + (best.received_ns - best.sent_ns) / 2,
        server_ahead_ns: i64::try_from((there + back).div_euclid(2)).ok()?,
        uncertainty_ns: round_trip.div_ceil(2),
        exchanges: exchanges.len(),
    })
}

/// Time on the way, there and back.
fn round_trip(one: &Exchange) -> Option<u64> {
    let all = one.received_ns.checked_sub(one.sent_ns)?;
    all.checked_sub(one.answered_ns.checked_sub(one.arrived_ns)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes an exchange with a server `ahead`, and packets that take this long there and back.
    fn exchange(ahead: i64, there: u64, back: u64) -> Exchange {
        let at = |time: u64| time.checked_add_signed(ahead).unwrap();
        let (sent, stays) = (1_000_000_000_000, 7_000);
        let arrived = sent + there;
        Exchange {
            sent_ns: sent,
            arrived_ns: at(arrived),
            answered_ns: at(arrived + stays),
            received_ns: arrived + stays + back,
        }
    }

    #[test]
    fn the_exchange_that_waited_least_decides() {
        let found = offset(&[exchange(5_000_000, 90_000, 10_000), exchange(5_000_000, 10_000, 10_000)]).unwrap();
        assert_eq!((found.server_ahead_ns, found.uncertainty_ns, found.exchanges), (5_000_000, 10_000, 2));
        assert_eq!(offset(&[exchange(-3_000, 10_000, 10_000)]).unwrap().server_ahead_ns, -3_000);
    }

    #[test]
    fn the_truth_is_within_the_uncertainty_whatever_the_directions_take() {
        for ahead in [-1_000_000_007, 0, 123_456_789] {
            for (there, back) in [(0, 50_001), (50_001, 0), (17, 33), (1, 1)] {
                let found = offset(&[exchange(ahead, there, back)]).unwrap();
                let error = found.server_ahead_ns.abs_diff(ahead);
                assert!(error <= found.uncertainty_ns, "{there} {back}: {error} > {}", found.uncertainty_ns);
            }
        }
    }

    #[test]
    fn exchanges_that_make_no_sense_say_nothing() {
        assert_eq!(offset(&[]), None);
        let mut backward = exchange(0, 10, 10);
        backward.received_ns = backward.sent_ns - 1;
        assert_eq!(offset(&[backward]), None);
    }
}
