//! What counts as quiet.

use quiclab_record::{MachineWindow, TemperatureSeen};
use quiclab_units::Duration;

/// CPUs that other processes may use. A window of 100 ms has ten steps of the kernel's counter, so this is two and a half of them.
const MOST_OTHERS: f64 = 0.25;
/// CPUs that the host of a virtual machine may take: one step of the counter.
const MOST_STEAL: f64 = 0.10;
/// Share of the time in which tasks may wait for a CPU. Also counts short waits for a CPU of many, so that it is not 0 on a quiet machine.
const MOST_WAITING: f64 = 0.10;
/// A sensor must be this far below the temperature at which the machine slows down.
const LEAST_MARGIN_MILLIDEGREES: i64 = 3000;

/// Why the machine is not quiet; empty where it is. What the kernel does not count speaks for the machine.
pub(super) fn reasons(window: &MachineWindow, hottest: Option<&TemperatureSeen>) -> Vec<String> {
    let cpus = |time: Option<Duration>| time.map(|time| window.as_cpus(time));
    let mut reasons = Vec::new();
    if let Some(used) = cpus(window.others).filter(|used| *used > MOST_OTHERS) {
        reasons.push(format!("other processes use {used:.1} of {} CPUs, expected at most {MOST_OTHERS}", window.cpus));
    }
    if let Some(share) = cpus(window.waiting).filter(|share| *share > MOST_WAITING) {
        let (share, most) = (share * 100.0, MOST_WAITING * 100.0);
        reasons.push(format!("tasks wait for a CPU {share:.0} % of the time, expected at most {most:.0} %"));
    }
    if let Some(share) = cpus(window.steal).filter(|share| *share > MOST_STEAL) {
        let (share, most) = (share * 100.0, MOST_STEAL * 100.0);
        reasons.push(format!("the host takes {share:.0} % of a CPU (steal), expected at most {most:.0} %"));
    }
    if let Some(count) = window.throttles.filter(|count| *count > 0) {
        reasons.push(format!("CPUs were slowed down {count} times because they were too hot"));
    }
    if let Some(TemperatureSeen { sensor, millidegrees, limit_millidegrees: Some(limit) }) = hottest
        && limit - millidegrees < LEAST_MARGIN_MILLIDEGREES
    {
        let degrees = |milli: i64| milli as f64 / 1000.0;
        reasons.push(format!(
            "{sensor} is at {:.0} \u{b0}C, expected at most {:.0} \u{b0}C, because the machine slows down at {:.0} \u{b0}C",
            degrees(*millidegrees),
            degrees(limit - LEAST_MARGIN_MILLIDEGREES),
            degrees(*limit)
        ));
    }
    reasons
}
