//! A link whose capacity changes as a recorded one did, in the format of Mahimahi.

use std::num::ParseIntError;

use quiclab_units::{Duration, Time};
use toml::Value;

use crate::{
    content::Payload,
    packet::Packet,
    queue::QueueDiscipline,
    random::Random,
    spec::{
        declare::stage_settings,
        kernel::Kernel,
        kind::StageKind,
        part::Part,
        value::{SettingValue, unexpected},
    },
    stage::{Backlog, Out, Stage},
};

/// Bytes that one opportunity of a Mahimahi trace delivers (Netravali and others, "Mahimahi: Accurate Record-and-Replay for HTTP", 2015): a whole
/// frame with what its tunnel adds.
pub const OPPORTUNITY_BYTES: u32 = 1504;

/// When a link may deliver: a list of milliseconds that is repeated when it has come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryTrace {
    /// Nanoseconds from the beginning, none earlier than the one before.
    opportunities: Vec<u64>,
    /// Length of the trace in nanoseconds, which is when it begins anew; more than 0.
    length: u64,
}

/// What is wrong with a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// No number.
    #[error("line {line}: found {found:?}, expected a whole number of milliseconds")]
    NoNumber {
        /// Counted from 1.
        line: usize,
        /// The line.
        found: String,
        /// Why.
        source: ParseIntError,
    },
    /// Time runs backwards.
    #[error("line {line}: found {found} ms after {before} ms, expected times that do not decrease")]
    Decreasing {
        /// Counted from 1.
        line: usize,
        /// The time there.
        found: u64,
        /// The time before it.
        before: u64,
    },
    /// Nothing is ever delivered, or everything at once.
    #[error("found a trace whose last line is {last} ms, expected more than 0 ms: it is repeated after that time")]
    NoLength {
        /// The last time; 0 of an empty trace.
        last: u64,
    },
    /// A time is larger than a clock of nanoseconds holds.
    #[error("line {line}: found {found} ms, expected at most {most} ms", most = MOST_MILLISECONDS)]
    TooLate {
        /// Counted from 1.
        line: usize,
        /// The time there.
        found: u64,
    },
}

/// A year, so that no sum overflows.
const MOST_MILLISECONDS: u64 = 365 * 24 * 3_600_000;

impl DeliveryTrace {
    /// Reads a text with one whole number of milliseconds on each line; each is an opportunity to deliver [`OPPORTUNITY_BYTES`]. Empty
    /// lines and those that begin with `#` are left out.
    ///
    /// # Errors
    /// Where a line is something else, time decreases, or the trace has no length.
    pub fn from_mahimahi(text: &str) -> Result<Self, TraceError> {
        let mut opportunities = Vec::new();
        let mut before = 0;
        for (index, line) in text.lines().enumerate() {
            let (line, text) = (index + 1, line.trim());
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let milliseconds: u64 =
                text.parse().map_err(|source| TraceError::NoNumber { line, found: text.to_owned(), source })?;
            if milliseconds < before {
                return Err(TraceError::Decreasing { line, found: milliseconds, before });
            }
            if milliseconds > MOST_MILLISECONDS {
                return Err(TraceError::TooLate { line, found: milliseconds });
            }
            before = milliseconds;
            opportunities.push(Duration::from_millis(milliseconds).as_nanos());
        }
        if before == 0 {
            return Err(TraceError::NoLength { last: before });
        }
        Ok(Self { opportunities, length: Duration::from_millis(before).as_nanos() })
    }

    /// When opportunity `number` is, counted from 0 over all repetitions.
    fn time(&self, number: u64) -> Time {
        let per_round = self.opportunities.len() as u64;
        let (round, place) = (number / per_round, number % per_round);
        Time::from_nanos(round.saturating_mul(self.length).saturating_add(self.opportunities[place as usize]))
    }

    /// The first opportunity at or after `now`.
    fn first_from(&self, now: Time) -> u64 {
        // An opportunity at the very end of the trace is at the beginning of the next round as well, and earlier by number.
        let round = (now.as_nanos() / self.length).saturating_sub(1);
        let mut number = round * self.opportunities.len() as u64;
        let within = now.as_nanos() - round * self.length;
        number += self.opportunities.partition_point(|time| *time < within.min(self.length)) as u64;
        while self.time(number) < now {
            number += 1;
        }
        number
    }
}

/// Delivers packets at the opportunities of a trace. Each opportunity has so many bytes; a packet that needs more waits for the next, and what is left
/// of an opportunity when nothing waits is lost.
pub struct TraceLink<P, Q> {
    trace: DeliveryTrace,
    queue: Q,
    /// The packet that is being delivered, and how many of its bytes are missing.
    sending: Option<(Packet<P>, u32)>,
    /// The opportunity that is used next; meaningful while a packet is being delivered.
    next: u64,
}

impl<P, Q: QueueDiscipline<P>> TraceLink<P, Q> {
    /// Makes a link that delivers by `trace`, behind `queue`.
    pub fn new(trace: DeliveryTrace, queue: Q) -> Self {
        Self { trace, queue, sending: None, next: 0 }
    }

    fn take_next(&mut self, now: Time, out: &mut Out<P>) -> bool {
        if self.sending.is_none() {
            self.sending = self.queue.dequeue(now, &mut out.fates).map(|(_, packet)| {
                let bytes = packet.bytes;
                (packet, bytes)
            });
        }
        self.sending.is_some()
    }
}

impl<P, Q: QueueDiscipline<P>> Stage<P> for TraceLink<P, Q> {
    fn name(&self) -> &'static str {
        "trace-link"
    }

    fn handle_packet(&mut self, now: Time, packet: Packet<P>, out: &mut Out<P>) {
        let was_idle = self.sending.is_none();
        self.queue.enqueue(now, packet, &mut out.fates);
        if was_idle && self.take_next(now, out) {
            // One that has just been used, or would have been by a packet that had come in time, is gone.
            self.next = self.next.max(self.trace.first_from(now));
        }
    }

    fn next_time(&self) -> Option<Time> {
        match &self.sending {
            Some(_) => Some(self.trace.time(self.next)),
            None => self.queue.ready_time(),
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut Out<P>) {
        if self.sending.is_none() {
            if self.take_next(now, out) {
                self.next = self.next.max(self.trace.first_from(now));
            }
            return;
        }
        self.next += 1;
        let mut room = OPPORTUNITY_BYTES;
        while room > 0 && self.take_next(now, out) {
            let Some((packet, missing)) = self.sending.take() else { return };
            if missing > room {
                self.sending = Some((packet, missing - room));
                return;
            }
            room -= missing;
            out.pass(packet);
        }
        self.take_next(now, out);
    }

    fn backlog(&self) -> Backlog {
        let mut backlog = self.queue.backlog();
        if let Some((packet, _)) = &self.sending {
            backlog.add(packet.bytes);
        }
        backlog
    }
}

stage_settings! {
    /// Delivers packets at the opportunities of a recorded link, from the queue right before it. Each opportunity has 1504 bytes; a packet
    /// that needs more waits for the next, and what is left of an opportunity when nothing waits is lost (Mahimahi, 2015).
    RateTraceSettings: "rate_trace" {
        /// when the opportunities are, in whole milliseconds; the last one is when the trace begins again. In an experiment file
        /// `file = "NAME"` names a Mahimahi trace beside it instead, one number on a line
        milliseconds: DeliveryTrace,
    }
}

impl SettingValue for DeliveryTrace {
    const TAKES: &'static str = "list of numbers that do not fall, as a text or a list";

    fn read(value: &Value) -> Result<Self, String> {
        let expected = "milliseconds that do not fall, such as \"0 1 3 4\"";
        let text = match value {
            Value::String(text) => text.split_ascii_whitespace().collect::<Vec<_>>().join("\n"),
            Value::Array(values) => {
                let number = |value: &Value| value.as_integer().map(|number| number.to_string());
                let numbers: Option<Vec<_>> = values.iter().map(number).collect();
                numbers.ok_or_else(|| unexpected(value, expected))?.join("\n")
            }
            other => return Err(unexpected(other, expected)),
        };
        Self::from_mahimahi(&text).map_err(|error| error.to_string())
    }

    fn write(&self) -> Option<Value> {
        let milliseconds =
            self.opportunities.iter().map(|time| (time / Duration::from_millis(1).as_nanos()).to_string());
        Some(Value::String(milliseconds.collect::<Vec<_>>().join(" ")))
    }
}

impl DeliveryTrace {
    /// Bits per second of all opportunities together.
    pub fn mean_rate_bps(&self) -> f64 {
        let bits = self.opportunities.len() as f64 * f64::from(OPPORTUNITY_BYTES) * 8.0;
        bits * 1e9 / self.length as f64
    }
}

impl StageKind for RateTraceSettings {
    fn part<P: Payload>(&self, _random: Random) -> Result<Part<P>, String> {
        let trace = self.milliseconds.clone();
        Ok(Part::Rate(Box::new(move |queue| Box::new(TraceLink::new(trace, queue)))))
    }

    fn kernel(&self) -> Kernel {
        Kernel::Refused("it has no queueing discipline for traces".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        packet::Ecn,
        pipeline::Pipeline,
        queue::{Limit, drop_tail::DropTail},
    };

    fn path(trace: &str) -> Pipeline<()> {
        let trace = DeliveryTrace::from_mahimahi(trace).unwrap();
        Pipeline::new(vec![Box::new(TraceLink::new(trace, DropTail::new(Limit::Packets(100))))])
    }

    /// Arrivals in milliseconds of packets (milliseconds, bytes).
    fn arrivals(trace: &str, packets: &[(u64, u32)]) -> Vec<u64> {
        let mut path = path(trace);
        for (milliseconds, bytes) in packets {
            path.handle_packet(Time::from_nanos(milliseconds * 1_000_000), Packet::new(*bytes, 0, Ecn::NotCapable, ()));
        }
        std::iter::from_fn(|| path.poll_packet(Time::from_nanos(1 << 50)))
            .map(|(time, _)| time.as_nanos() / 1_000_000)
            .collect()
    }

    #[test]
    fn a_packet_takes_the_next_opportunity_and_the_trace_begins_anew() {
        assert_eq!(arrivals("3\n5\n10\n", &[(0, 1504); 5]), [3, 5, 10, 13, 15]);
        assert_eq!(arrivals("3\n5\n10\n", &[(4, 1504), (11, 100), (24, 100)]), [5, 13, 25]);
    }

    #[test]
    fn small_packets_share_an_opportunity_and_a_large_one_takes_several() {
        assert_eq!(arrivals("2\n4\n", &[(0, 700), (0, 700), (0, 700)]), [2, 2, 4]);
        assert_eq!(arrivals("2\n4\n", &[(0, 1600), (0, 1408)]), [4, 4]);
    }

    #[test]
    fn several_opportunities_in_a_millisecond_are_several() {
        assert_eq!(arrivals("1\n1\n1\n2\n", &[(0, 1504); 6]), [1, 1, 1, 2, 3, 3]);
    }

    #[test]
    fn at_saturation_the_rate_is_that_of_the_trace() {
        // 12 opportunities in 12 ms: 1504 bytes per millisecond.
        let trace: String = (1..=12).map(|step| format!("{step}\n")).collect();
        let all = arrivals(&trace, &[(0, 1504); 100]);
        assert_eq!(all.last(), Some(&100));
    }

    #[test]
    fn a_trace_that_makes_no_sense_is_refused_by_its_line() {
        let error = |text: &str| DeliveryTrace::from_mahimahi(text).unwrap_err().to_string();
        assert!(error("1\nx\n").starts_with("line 2: found \"x\""));
        assert!(error("5\n\n4\n").starts_with("line 3: found 4 ms after 5 ms"));
        assert!(error("").contains("last line is 0 ms"));
        assert!(error("0\n0\n").contains("last line is 0 ms"));
        assert!(error("-1\n").starts_with("line 1"));
        assert!(error("99999999999999\n").contains("expected at most"));
    }
}
