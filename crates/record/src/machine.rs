//! What else the machine did around a run in real time: part of `path.json`. What it found out is what warnings rest on.

use quiclab_units::Duration;
use serde::{Deserialize, Serialize};

use crate::nanoseconds;

/// Steal of more than this share of one CPU during a run is a warning.
const MOST_STEAL: f64 = 0.01;

/// The machine that a run in real time was performed on, before the run and during it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineSeen {
    /// When the run began, in milliseconds since 1970 by the machine's clock: the order of the runs of a session follows from it.
    pub started_unix_ms: u64,
    /// Why the machine was not quiet when the run began; empty where it was.
    pub not_quiet: Vec<String>,
    /// How long the run waited for quiet.
    #[serde(rename = "waited_ns", with = "nanoseconds")]
    pub waited: Duration,
    /// How long it would have waited at most.
    #[serde(rename = "longest_wait_ns", with = "nanoseconds")]
    pub longest_wait: Duration,
    /// The mean number of tasks that ran or waited to run over the last minute.
    pub load_1_minute: Option<f64>,
    /// The time just before the run.
    pub before: MachineWindow,
    /// The time of the run itself; `None` where it could not be read.
    pub during: Option<MachineWindow>,
    /// Frequencies of the CPUs when the run began; `None` where the kernel does not say.
    pub frequency: Option<FrequencySeen>,
    /// The hottest sensor when the run began; `None` where there is none.
    pub hottest: Option<TemperatureSeen>,
}

/// What a machine's CPUs did for a time. A value is `None` where the kernel does not count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineWindow {
    /// How long.
    #[serde(rename = "length_ns", with = "nanoseconds")]
    pub length: Duration,
    /// CPUs that the machine has.
    pub cpus: u32,
    /// CPU time of other processes, and of the kernel for them, summed over all CPUs (`/proc/stat`, in steps of 10 ms). `None` during a run,
    /// where it cannot be told from the run's own.
    #[serde(rename = "others_ns", with = "nanoseconds::option")]
    pub others: Option<Duration>,
    /// Time in which a virtual machine was ready to run and its host ran something else, summed over all CPUs.
    #[serde(rename = "steal_ns", with = "nanoseconds::option")]
    pub steal: Option<Duration>,
    /// Time in which some task was ready to run and had no CPU (`/proc/pressure/cpu`, "some").
    #[serde(rename = "waiting_ns", with = "nanoseconds::option")]
    pub waiting: Option<Duration>,
    /// How often a CPU was slowed down because it was too hot, summed over all CPUs.
    pub throttles: Option<u64>,
}

/// Frequencies of CPUs in kHz, as `cpufreq` has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrequencySeen {
    /// Frequency of the slowest CPU at that moment.
    pub lowest_khz: u64,
    /// Frequency of the fastest CPU at that moment.
    pub highest_khz: u64,
    /// The highest that every CPU may take now; `None` where the kernel does not say.
    pub allowed_khz: Option<u64>,
    /// The highest that the hardware has; `None` where the kernel does not say.
    pub hardware_khz: Option<u64>,
    /// What chooses the frequency, such as `performance`; each once.
    pub governors: Vec<String>,
}

/// A sensor of temperature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemperatureSeen {
    /// Its name, such as `x86_pkg_temp`.
    pub sensor: String,
    /// Thousandths of a degree Celsius.
    pub millidegrees: i64,
    /// The lowest temperature at which the machine slows down or stops; `None` where the kernel does not say.
    pub limit_millidegrees: Option<i64>,
}

impl MachineWindow {
    /// A time as a number of CPUs: 1 where one CPU was busy all the time.
    pub fn as_cpus(&self, time: Duration) -> f64 {
        time.as_nanos() as f64 / self.length.as_nanos().max(1) as f64
    }
}

impl MachineSeen {
    /// What to look at before trusting the run, where the machine was not quiet when it began.
    pub fn why_not_quiet(&self) -> Option<String> {
        (!self.not_quiet.is_empty()).then(|| {
            let seconds = |time: Duration| time.as_nanos() as f64 / 1e9;
            format!(
                "the machine was not quiet when the run began: {} (waited {:.1} s, the limit is {:.1} s)",
                self.not_quiet.join("; "),
                seconds(self.waited),
                seconds(self.longest_wait)
            )
        })
    }

    /// The same, where something outside of the machine slowed the run down.
    pub fn why_disturbed(&self) -> Option<String> {
        let during = self.during?;
        let steal = during.steal.map(|steal| during.as_cpus(steal)).filter(|share| *share > MOST_STEAL);
        let steal = steal.map(|share| format!("another virtual machine took {:.0} % of a CPU (steal)", share * 100.0));
        let throttles = during.throttles.filter(|count| *count > 0);
        let throttles = throttles.map(|count| format!("CPUs were slowed down {count} times because they were too hot"));
        let all: Vec<_> = steal.into_iter().chain(throttles).collect();
        (!all.is_empty()).then(|| format!("during the run {}", all.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> MachineSeen {
        let window = MachineWindow {
            length: Duration::from_secs(2),
            cpus: 4,
            others: None,
            steal: Some(Duration::from_millis(20)),
            waiting: None,
            throttles: Some(0),
        };
        MachineSeen {
            started_unix_ms: 0,
            not_quiet: Vec::new(),
            waited: Duration::ZERO,
            longest_wait: Duration::from_secs(3),
            load_1_minute: None,
            before: window,
            during: Some(window),
            frequency: None,
            hottest: None,
        }
    }

    #[test]
    fn a_quiet_machine_is_no_warning() {
        assert_eq!((seen().why_not_quiet(), seen().why_disturbed()), (None, None));
    }

    #[test]
    fn steal_of_more_than_a_hundredth_of_a_cpu_is_a_warning() {
        let mut seen = seen();
        seen.during.as_mut().unwrap().steal = Some(Duration::from_millis(21));
        assert_eq!(seen.why_disturbed().unwrap(), "during the run another virtual machine took 1 % of a CPU (steal)");
    }

    #[test]
    fn a_run_that_began_all_the_same_says_how_long_it_waited() {
        let not_quiet = vec!["others use 1.9 of 2 CPUs".to_owned()];
        let seen = MachineSeen { not_quiet, waited: Duration::from_millis(3100), ..seen() };
        let expected =
            "the machine was not quiet when the run began: others use 1.9 of 2 CPUs (waited 3.1 s, the limit is 3.0 s)";
        assert_eq!(seen.why_not_quiet().unwrap(), expected);
    }
}
