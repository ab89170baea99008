//! `exchange_latency_*`, `nothing_to_send_share`: how long requests wait for their responses, and how long the sender waits for requests. An
//! *exchange* is a bidirectional stream of the client: its request, then the response.
//!
//! The time is that of the tap: from the first packet with bytes of the request to the packet that completes the response, each byte counted
//! when it is seen first. At the client's end of a path that is what the client waits. At the server's end it is how long the server takes
//! to send everything once, so losses do not show.

use std::collections::BTreeMap;

use quiclab_units::{Duration, Time};
use quiclab_wire::{QuicFrame, Role};

use crate::output::RunMetrics;
use crate::ranges::RangeSet;
use crate::samples::Samples;

/// The metrics here, by name.
pub(crate) const NAMES: [&str; 5] = [
    "exchanges_complete",
    "exchange_latency_median_ns",
    "exchange_latency_p95_ns",
    "exchange_latency_p99_ns",
    "exchange_latency_max_ns",
];
/// Exchanges that are followed at the same time.
const MOST_OPEN: usize = 1 << 16;
/// Values that have a 95th percentile of their own, below which it is the largest one.
const LEAST_FOR_P95: u64 = 20;
/// The same for the 99th.
const LEAST_FOR_P99: u64 = 100;

/// The exchanges of one connection.
#[derive(Default)]
pub(crate) struct ExchangeMeter {
    open: BTreeMap<u64, Exchange>,
    /// Numbers of the exchanges that are over: their later packets repeat what was seen.
    over: RangeSet,
    latencies: Samples,
    /// When the first request was seen, and when the last response was complete.
    first: Option<Time>,
    last: Option<Time>,
    /// Time without an open exchange, before the last request that was seen.
    idle: Duration,
    /// Exchanges that were not followed, because too many were open.
    not_followed: u64,
}

struct Exchange {
    began: Time,
    received: RangeSet,
    /// Length of the response, once its end was seen.
    length: Option<u64>,
}

/// The number of a client's bidirectional stream among those, RFC 9000 section 2.1.
fn number(stream: u64) -> Option<u64> {
    (stream & 0b11 == 0).then_some(stream >> 2)
}

impl ExchangeMeter {
    /// A frame of a packet that `sender` sent, and that was read.
    pub(crate) fn on_frame(&mut self, sender: Role, time: Time, frame: &QuicFrame) {
        match (sender, frame) {
            (Role::Client, QuicFrame::Stream { stream, .. }) => self.on_request(*stream, time),
            (Role::Server, QuicFrame::Stream { stream, offset, length, fin, .. }) => {
                self.on_response(*stream, time, *offset, *length, *fin);
            }
            // Nothing completes it.
            (Role::Server, QuicFrame::ResetStream { stream, .. }) => {
                if let Some(number) = number(*stream) {
                    self.end(number, time);
                }
            }
            _ => {}
        }
    }

    fn on_request(&mut self, stream: u64, time: Time) {
        let Some(number) = number(stream) else { return };
        if self.over.contains(number) || self.open.contains_key(&number) {
            return;
        }
        if self.open.len() == MOST_OPEN {
            self.not_followed += 1;
            return;
        }
        self.first.get_or_insert(time);
        if let Some(since) = self.last.filter(|_| self.open.is_empty()) {
            self.idle = self.idle + time.checked_since(since).unwrap_or_default();
        }
        self.open.insert(number, Exchange { began: time, received: RangeSet::default(), length: None });
    }

    fn on_response(&mut self, stream: u64, time: Time, offset: u64, length: u64, fin: bool) {
        let Some((number, exchange)) = number(stream).and_then(|number| Some((number, self.open.get_mut(&number)?)))
        else {
            return;
        };
        let end = offset.saturating_add(length);
        exchange.received.insert(offset, end);
        if fin {
            exchange.length = Some(end);
        }
        if exchange.length == Some(exchange.received.members()) {
            if let Some(latency) = time.checked_since(exchange.began) {
                self.latencies.add(latency.as_nanos());
            }
            self.end(number, time);
        }
    }

    fn end(&mut self, number: u64, time: Time) {
        if self.open.remove(&number).is_some() {
            self.last = Some(time);
            self.over.insert(number, number + 1);
        }
    }

    pub(crate) fn finish(mut self, run: &mut RunMetrics) {
        // A selection of them has other percentiles.
        if self.latencies.count() == 0 || self.not_followed > 0 {
            return;
        }
        let count = self.latencies.count();
        let metrics = &mut run.metrics;
        metrics.exchanges_complete = Some(count);
        if count > 1 {
            let between = self.first.zip(self.last).and_then(|(first, last)| last.checked_since(first));
            metrics.nothing_to_send_share = between
                .filter(|between| *between > Duration::ZERO)
                .map(|between| self.idle.as_nanos() as f64 / between.as_nanos() as f64);
        }
        metrics.exchange_latency_median_ns = self.latencies.median();
        metrics.exchange_latency_max_ns = self.latencies.maximum();
        let mut of_many = |least, share| (count >= least).then(|| self.latencies.quantile(share)).flatten();
        metrics.exchange_latency_p95_ns = of_many(LEAST_FOR_P95, 0.95);
        metrics.exchange_latency_p99_ns = of_many(LEAST_FOR_P99, 0.99);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::default() + Duration::from_nanos(milliseconds * 1_000_000)
    }

    fn response(meter: &mut ExchangeMeter, stream: u64, time: u64, range: std::ops::Range<u64>, fin: bool) {
        meter.on_response(stream, at(time), range.start, range.end - range.start, fin);
    }

    fn metrics(meter: ExchangeMeter) -> crate::Metrics {
        let mut run = RunMetrics::empty();
        meter.finish(&mut run);
        run.metrics
    }

    #[test]
    fn an_exchange_lasts_from_its_request_to_the_last_byte_that_was_missing() {
        let mut meter = ExchangeMeter::default();
        meter.on_request(4, at(10));
        // A request that is sent again began when it was sent first.
        meter.on_request(4, at(15));
        response(&mut meter, 4, 30, 0..1000, false);
        response(&mut meter, 4, 31, 2000..3000, true);
        response(&mut meter, 4, 32, 0..1000, false);
        assert_eq!(meter.latencies.count(), 0, "the middle was lost");
        response(&mut meter, 4, 70, 1000..2000, false);
        // A copy, and a request that comes late, begin nothing.
        response(&mut meter, 4, 90, 0..3000, true);
        meter.on_request(4, at(91));
        response(&mut meter, 4, 99, 0..3000, true);
        let metrics = metrics(meter);
        assert_eq!((metrics.exchanges_complete, metrics.exchange_latency_median_ns), (Some(1), Some(60_000_000)));
        assert_eq!((metrics.exchange_latency_p95_ns, metrics.exchange_latency_p99_ns), (None, None));
    }

    #[test]
    fn a_sender_without_an_open_exchange_has_nothing_to_send() {
        let mut meter = ExchangeMeter::default();
        for (stream, begins, ends) in [(0, 0, 10), (4, 30, 50), (8, 40, 60), (12, 100, 110)] {
            meter.on_request(stream, at(begins));
            if stream != 4 {
                response(&mut meter, stream, ends, 0..5, true);
            }
            if stream == 8 {
                // Later than the request that follows it, as responses overlap.
                response(&mut meter, 4, 70, 0..5, true);
            }
        }
        // From 10 to 30 and from 70 to 100 of 110 ms.
        assert_eq!(metrics(meter).nothing_to_send_share, Some(50.0 / 110.0));
        let mut one = ExchangeMeter::default();
        one.on_request(0, at(1));
        response(&mut one, 0, 3, 0..5, true);
        assert_eq!(metrics(one).nothing_to_send_share, None, "one transfer has no pauses between requests");
    }

    #[test]
    fn an_empty_response_ends_with_the_stream() {
        let mut meter = ExchangeMeter::default();
        meter.on_request(0, at(1));
        response(&mut meter, 0, 3, 0..0, true);
        assert_eq!(metrics(meter).exchange_latency_max_ns, Some(2_000_000));
    }

    #[test]
    fn streams_of_the_server_and_of_one_direction_are_no_exchanges() {
        let mut meter = ExchangeMeter::default();
        for stream in [1, 2, 3] {
            meter.on_request(stream, at(1));
            response(&mut meter, stream, 2, 0..10, true);
        }
        response(&mut meter, 0, 2, 0..10, true);
        assert_eq!(metrics(meter).exchanges_complete, None, "nor is a response without its request");
    }

    #[test]
    fn a_stream_that_is_reset_is_never_complete() {
        let mut meter = ExchangeMeter::default();
        meter.on_request(0, at(1));
        meter.on_frame(Role::Server, at(2), &QuicFrame::ResetStream { stream: 0, error: 1, final_size: 5 });
        response(&mut meter, 0, 3, 0..5, true);
        assert_eq!(metrics(meter).exchanges_complete, None);
    }

    #[test]
    fn percentiles_are_nearest_ranks_of_enough_exchanges() {
        let latencies = |count: u64| {
            let mut meter = ExchangeMeter::default();
            for number in 0..count {
                // All run at the same time, and are complete in another order than they began.
                meter.on_request(number << 2, at(number));
            }
            for number in (0..count).rev() {
                response(&mut meter, number << 2, 2 * number + 1, 0..1, true);
            }
            metrics(meter)
        };
        let milliseconds = |value: u64| Some(value * 1_000_000);
        let found = latencies(100);
        assert_eq!(found.exchanges_complete, Some(100));
        assert_eq!(found.exchange_latency_median_ns, Some(50_500_000), "1 to 100 ms");
        assert_eq!(found.exchange_latency_p95_ns, milliseconds(95));
        assert_eq!(
            (found.exchange_latency_p99_ns, found.exchange_latency_max_ns),
            (milliseconds(99), milliseconds(100))
        );
        let few = latencies(99);
        assert_eq!((few.exchange_latency_p95_ns, few.exchange_latency_p99_ns), (milliseconds(95), None));
        assert_eq!(latencies(19).exchange_latency_p95_ns, None);
    }

    #[test]
    fn too_many_at_once_have_no_percentiles() {
        let mut meter = ExchangeMeter::default();
        for number in 0..=MOST_OPEN as u64 {
            meter.on_request(number << 2, at(1));
        }
        response(&mut meter, 0, 3, 0..1, true);
        assert_eq!(metrics(meter).exchanges_complete, None);
    }
}
