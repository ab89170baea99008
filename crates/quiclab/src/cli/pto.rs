//! Arguments of `quiclab advise pto`.

use std::{path::PathBuf, str::FromStr};

use clap::Args;
use quiclab_metrics::INITIAL_RTT;
use quiclab_units::Duration;

use super::shared::{Output, parse_positive};
use crate::settings::{PtoSettings, RttSamples};

/// Largest number of samples that one argument stands for.
const MOST_SAMPLES: u32 = 100_000;

/// Arguments of `quiclab advise pto`.
#[derive(Debug, Args)]
#[command(after_help = PTO_HELP)]
pub struct PtoArguments {
    /// Round-trip times in the order in which they were measured, each [N×]RTT[/ACK_DELAY]: 9ms, 13ms/4ms, 50x9ms
    #[arg(value_name = "SAMPLE", required = true)]
    pub samples: Vec<RttSamples>,
    /// Another sequence to show beside the first, its samples separated by spaces in one argument; can be repeated. The table then has only the
    /// timeouts
    #[arg(long, value_name = "SAMPLES")]
    pub compare: Vec<Samples>,
    /// Draw the timeouts, and write them to this SVG file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Round-trip time that is assumed before the first sample
    #[arg(long, value_name = "TIME", default_value_t = INITIAL_RTT, value_parser = parse_positive::<Duration>)]
    pub initial_rtt: Duration,
    /// max_ack_delay of the peer: the largest acknowledgment delay that is believed, and part of the timeout for application data. Without it
    /// the timeout is that of Initial and Handshake packets, and every delay is believed
    #[arg(long, value_name = "TIME")]
    pub max_ack_delay: Option<Duration>,
    #[command(flatten)]
    pub output: Output,
}

impl PtoArguments {
    /// The settings that these arguments stand for.
    pub fn resolve(self) -> PtoSettings {
        let Self { samples, compare, svg, initial_rtt, max_ack_delay, output } = self;
        let sequences = [samples].into_iter().chain(compare.into_iter().map(|other| other.0)).collect();
        PtoSettings { sequences, svg, initial_rtt, max_ack_delay, json: output.json }
    }
}

const PTO_HELP: &str = "\
Examples:
  quiclab advise pto 50x9ms              a path of 9 ms whose server answers at once
  quiclab advise pto 13ms 49x9ms         the same path; the server waited 4 ms for its certificate
  quiclab advise pto 50x9ms --compare \"13ms 49x9ms\" --svg pto.svg
  quiclab advise pto 9ms 10ms/1ms 12ms/25ms --max-ack-delay 25ms --json

Rows are the state after each sample, computed as RFC 9002 (sections 5 and 6.2.1) says; the first row is that without samples.";

impl FromStr for RttSamples {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (count, sample) = match text.split_once(['x', '\u{d7}']) {
            Some((count, sample)) => (parse_count(count)?, sample),
            None => (1, text),
        };
        let (rtt, ack_delay) = match sample.split_once('/') {
            Some((rtt, delay)) => (rtt, delay.parse().map_err(|error| format!("acknowledgment delay: {error}"))?),
            None => (sample, Duration::ZERO),
        };
        let rtt: Duration = rtt.parse().map_err(|error| format!("round-trip time: {error}"))?;
        if rtt == Duration::ZERO {
            return Err("round-trip time: found 0, expected more than 0".to_owned());
        }
        Ok(Self { count, rtt, ack_delay })
    }
}

/// A sequence of samples in one argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Samples(pub Vec<RttSamples>);

impl FromStr for Samples {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let samples = text.split_whitespace().map(str::parse).collect::<Result<Vec<_>, _>>()?;
        if samples.is_empty() {
            Err("found nothing, expected samples such as \"13ms 49x9ms\"".to_owned())
        } else {
            Ok(Self(samples))
        }
    }
}

fn parse_count(text: &str) -> Result<u32, String> {
    let is_possible = |count: &u32| (1..=MOST_SAMPLES).contains(count);
    let expected = || format!("number of samples: found {text:?}, expected 1 to {MOST_SAMPLES}");
    text.trim().parse().ok().filter(is_possible).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_a_number_and_a_delay_where_they_are_given() {
        let sample = |count, rtt, delay| {
            Ok(RttSamples { count, rtt: Duration::from_millis(rtt), ack_delay: Duration::from_millis(delay) })
        };
        assert_eq!("9ms".parse(), sample(1, 9, 0));
        assert_eq!("13 ms/4 ms".parse(), sample(1, 13, 4));
        assert_eq!("50x9ms/1ms".parse(), sample(50, 9, 1));
        for (text, part) in
            [("0x9ms", "found \"0\""), ("9", "round-trip time"), ("0ms", "more than 0"), ("9ms/1", "delay")]
        {
            let error = text.parse::<RttSamples>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
