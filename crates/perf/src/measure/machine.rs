//! What the machine itself does to a test: time that its hypervisor takes away, and a clock frequency that moves.

use std::fs;

/// Stolen time, as a share, from which numbers are doubtful.
const MOST_STEAL: f64 = 0.01;
/// Change of the mean frequency, as a share of the highest, from which numbers are doubtful.
const MOST_CHANGE: f64 = 0.05;

/// What the machine did since the beginning of a test.
pub struct Machine {
    before: Option<Ticks>,
    /// Lowest and highest mean over all CPUs, in kHz.
    frequency: Option<(f64, f64)>,
}

/// Times of all CPUs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    all: u64,
    stolen: u64,
}

impl Machine {
    pub fn new() -> Self {
        let mut machine = Self { before: ticks(), frequency: None };
        machine.look();
        machine
    }

    /// Looks at the frequency.
    pub fn look(&mut self) {
        if let Some(now) = frequency() {
            let (low, high) = self.frequency.unwrap_or((now, now));
            self.frequency = Some((low.min(now), high.max(now)));
        }
    }

    /// What is wrong with it.
    pub fn notes(&self) -> Vec<String> {
        let stolen = self.before.zip(ticks()).map_or(0.0, |(before, after)| stolen(before, after));
        words(stolen, self.frequency)
    }
}

fn words(stolen: f64, frequency: Option<(f64, f64)>) -> Vec<String> {
    let mut notes = Vec::new();
    if stolen >= MOST_STEAL {
        notes.push(format!(
            "the hypervisor took {:.1} % of this machine's CPU time (steal): the numbers are too low, and vary",
            100.0 * stolen
        ));
    }
    if let Some((low, high)) = frequency.filter(|(low, high)| high - low > MOST_CHANGE * high) {
        notes.push(format!(
            "the CPUs' frequency went from {:.2} to {:.2} GHz: compare nothing with this test",
            low / 1e6,
            high / 1e6
        ));
    }
    notes
}

fn stolen(before: Ticks, after: Ticks) -> f64 {
    let all = after.all.saturating_sub(before.all);
    after.stolen.saturating_sub(before.stolen) as f64 / all.max(1) as f64
}

fn ticks() -> Option<Ticks> {
    parse(&fs::read_to_string("/proc/stat").ok()?)
}

/// The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal; the rest is part of the first two (proc_stat(5)).
fn parse(text: &str) -> Option<Ticks> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> = line.split_whitespace().take(8).map_while(|field| field.parse().ok()).collect();
    Some(Ticks { all: fields.iter().sum(), stolen: *fields.get(7)? })
}

/// The mean over all CPUs, in kHz. `None`: nobody says, as in most virtual machines.
fn frequency() -> Option<f64> {
    let all: Vec<f64> = fs::read_dir("/sys/devices/system/cpu")
        .ok()?
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path().join("cpufreq/scaling_cur_freq")).ok()?.trim().parse().ok())
        .collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_the_eighth_field_and_guests_do_not_count_twice() {
        let before = parse("cpu  100 0 100 700 0 0 0 100 50 0\ncpu0 1\n").unwrap();
        assert_eq!(before, Ticks { all: 1000, stolen: 100 });
        let after = Ticks { all: 2000, stolen: 120 };
        assert!((stolen(before, after) - 0.02).abs() < 1e-12);
        assert_eq!(parse("cpu  1 2 3\n"), None);
    }

    #[test]
    fn only_what_moves_is_worth_a_note() {
        assert_eq!(words(0.009, Some((2.9e6, 3.0e6))), [""; 0]);
        let notes = words(0.032, Some((1.5e6, 3.0e6))).join("; ");
        assert!(notes.contains("took 3.2 %") && notes.contains("from 1.50 to 3.00 GHz"), "{notes}");
        assert_eq!(words(0.0, None), [""; 0]);
    }
}
