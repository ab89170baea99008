//! Delay that changes over time as a list says.

use quiclab_units::{Duration, Time};
use toml::Value;

use crate::{
    content::Payload,
    fifo::Fifo,
    packet::Packet,
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

/// Steps of a delay over time, repeated at their end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelaySteps {
    /// The steps: when each begins, counted from the beginning of the list, and how long the delay is from then on.
    steps: Vec<(Duration, Duration)>,
    length: Duration,
}

/// What is wrong with a list of delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DelayStepsError {
    /// No step at the beginning.
    #[error("found no delay at 0 ns, expected the first step there")]
    NoBeginning,
    /// Time does not grow.
    #[error("step {number}: found {found} after {before}, expected increasing times")]
    NotGrowing {
        /// Counted from 1.
        number: usize,
        /// Its time.
        found: Duration,
        /// The time of the step before.
        before: Duration,
    },
    /// The list ends before its last step.
    #[error("found a length of {length}, expected more than {last}, when the last step begins")]
    TooShort {
        /// The length.
        length: Duration,
        /// When the last step begins.
        last: Duration,
    },
}

impl DelaySteps {
    /// Makes a list of these steps (since when, how long); after `length` they begin anew.
    ///
    /// # Errors
    /// Where there is none at 0, their times do not grow, or the length is not beyond the last.
    pub fn new(steps: Vec<(Duration, Duration)>, length: Duration) -> Result<Self, DelayStepsError> {
        if steps.first().is_none_or(|(since, _)| *since > Duration::ZERO) {
            return Err(DelayStepsError::NoBeginning);
        }
        for (index, pair) in steps.windows(2).enumerate() {
            let ((before, _), (found, _)) = (pair[0], pair[1]);
            if found <= before {
                return Err(DelayStepsError::NotGrowing { number: index + 2, found, before });
            }
        }
        let last = steps.last().map_or(Duration::ZERO, |(since, _)| *since);
        if length <= last {
            return Err(DelayStepsError::TooShort { length, last });
        }
        Ok(Self { steps, length })
    }

    /// The delay of a packet that comes now.
    pub fn at(&self, now: Time) -> Duration {
        let within = Duration::from_nanos(now.as_nanos() % self.length.as_nanos());
        let place = self.steps.partition_point(|(since, _)| *since <= within);
        self.steps[place - 1].1
    }
}

/// Delays each packet by what the list says when it comes. Packets keep their order: where the delay falls, they wait for those before.
pub struct DelayTrace<P> {
    steps: DelaySteps,
    travelling: Fifo<P>,
    last: Time,
}

impl<P> DelayTrace<P> {
    /// Makes a stage that delays packets by these steps.
    pub fn new(steps: DelaySteps) -> Self {
        Self { steps, travelling: Fifo::default(), last: Time::from_nanos(0) }
    }
}

impl<P> Stage<P> for DelayTrace<P> {
    fn name(&self) -> &'static str {
        "delay-trace"
    }

    fn handle_packet(&mut self, now: Time, packet: Packet<P>, _out: &mut Out<P>) {
        self.last = self.last.max(now + self.steps.at(now));
        self.travelling.push(self.last, packet);
    }

    fn next_time(&self) -> Option<Time> {
        self.travelling.next_time()
    }

    fn handle_timeout(&mut self, now: Time, out: &mut Out<P>) {
        self.travelling.pass_due(now, out);
    }

    fn backlog(&self) -> Backlog {
        self.travelling.backlog()
    }
}

stage_settings! {
    /// Delays each packet by what a list says when it comes. Packets keep their order.
    DelayTraceSettings: "delay_trace" {
        /// `[since, delay]` pairs, the first since 0. In an experiment file `file = "NAME"` names a file beside it instead, with
        /// milliseconds: since when, and how long, on each line
        steps: Steps,
        /// when the list begins again
        length: Duration,
    }
}

/// Pairs of times: since when, and how long the delay is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps(pub Vec<(Duration, Duration)>);

impl SettingValue for Steps {
    const TAKES: &'static str = "list of pairs of times";

    fn read(value: &Value) -> Result<Self, String> {
        let expected = "pairs of times such as [[\"0 ms\", \"20 ms\"], [\"500 ms\", \"40 ms\"]]";
        let pairs = value.as_array().ok_or_else(|| unexpected(value, expected))?;
        let pair = |pair: &Value| match pair.as_array().map(Vec::as_slice) {
            Some([since, delay]) => Ok((Duration::read(since)?, Duration::read(delay)?)),
            _ => Err(unexpected(pair, expected)),
        };
        pairs.iter().map(pair).collect::<Result<_, _>>().map(Self)
    }

    fn write(&self) -> Option<Value> {
        let pair = |(since, delay): &(Duration, Duration)| {
            Value::Array([since, delay].iter().filter_map(|time| time.write()).collect())
        };
        Some(Value::Array(self.0.iter().map(pair).collect()))
    }
}

impl StageKind for DelayTraceSettings {
    fn part<P: Payload>(&self, _random: Random) -> Result<Part<P>, String> {
        let steps = DelaySteps::new(self.steps.0.clone(), self.length).map_err(|error| error.to_string())?;
        Ok(Part::Stage(Box::new(DelayTrace::new(steps))))
    }

    fn kernel(&self) -> Kernel {
        Kernel::Refused("it has no queueing discipline for delays that change".to_owned())
    }

    fn longest_delay(&self) -> Duration {
        self.steps.0.iter().map(|(_, delay)| *delay).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{packet::Ecn, pipeline::Pipeline};

    fn milliseconds(list: &[(u64, u64)], length: u64) -> Result<DelaySteps, DelayStepsError> {
        let list = list.iter().map(|(at, delay)| (Duration::from_millis(*at), Duration::from_millis(*delay)));
        DelaySteps::new(list.collect(), Duration::from_millis(length))
    }

    #[test]
    fn packets_keep_their_order_where_the_delay_falls() {
        let steps = milliseconds(&[(0, 20), (10, 5)], 30).unwrap();
        let mut path: Pipeline<()> = Pipeline::new(vec![Box::new(DelayTrace::new(steps))]);
        for at in [0, 9, 10, 24, 29, 30] {
            path.handle_packet(Time::from_nanos(at * 1_000_000), Packet::new(100, 0, Ecn::NotCapable, ()));
        }
        let arrived: Vec<u64> = std::iter::from_fn(|| path.poll_packet(Time::from_nanos(1 << 40)))
            .map(|(time, _)| time.as_nanos() / 1_000_000)
            .collect();
        assert_eq!(arrived, [20, 29, 29, 29, 34, 50]);
    }

    #[test]
    fn steps_that_make_no_sense_are_refused() {
        assert_eq!(milliseconds(&[], 1), Err(DelayStepsError::NoBeginning));
        assert_eq!(milliseconds(&[(1, 1)], 5), Err(DelayStepsError::NoBeginning));
        assert!(matches!(
            milliseconds(&[(0, 1), (5, 1), (4, 1)], 9),
            Err(DelayStepsError::NotGrowing { number: 3, .. })
        ));
        assert!(matches!(milliseconds(&[(0, 1), (5, 1)], 5), Err(DelayStepsError::TooShort { .. })));
    }
}
