//! From what a record says of its hosts to the curves of a run's page.

use std::path::Path;

use anyhow::Result;
use quiclab_record::{HostActivity, HostSeries};
use quiclab_report::{HostCurve, HostPictures};
use quiclab_units::Time;

/// Curves of a panel: as many as there are colours.
const MOST_CURVES: usize = 7;

/// Reads what the hosts of the record in `folder` did. `origin`: the first packet at the sender's tap. `None` where they were not sampled.
///
/// # Errors
/// Where it is there and cannot be read.
pub fn read(folder: &Path, origin: Option<Time>) -> Result<Option<HostPictures>> {
    let (Some(activity), Some(origin)) = (HostActivity::read(folder)?, origin) else { return Ok(None) };
    Ok(Some(pictures(&activity, origin.as_nanos())))
}

fn pictures(activity: &HostActivity, origin_ns: u64) -> HostPictures {
    let curves = Curves { activity, origin_ns };
    let (threads, threads_left_out) = curves.threads();
    let both = |kind: &str, counters: &[&str], unit: f64| -> Vec<HostCurve> {
        let of = |role| activity.of(role, kind).next().map(|series| curves.per_second(role, series, counters, unit));
        ["server", "client"].into_iter().filter_map(of).collect()
    };
    let dropped: Vec<HostCurve> = ["server", "client"]
        .into_iter()
        .filter_map(|role| {
            let series = activity.of(role, "udp").next()?;
            let drops = series.sum("receive_buffer_drops").filter(|drops| *drops > 0)?;
            Some(curves.of(format!("{role}: {drops}"), series, |step, _| step("receive_buffer_drops") as f64))
        })
        .collect();
    HostPictures {
        threads,
        threads_left_out,
        cores: curves.cores(),
        switches: both("endpoint", &["voluntary_switches", "involuntary_switches"], 1e3),
        system_calls: both("system_calls", &["calls"], 1e3),
        receive_buffer_drops: dropped,
        calls_by_name: activity.system_calls.clone(),
        missing: activity.missing.iter().map(|it| (it.what.clone(), it.reason.clone())).collect(),
        step_ns: activity.times_ns.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0),
    }
}

struct Curves<'a> {
    activity: &'a HostActivity,
    origin_ns: u64,
}

impl Curves<'_> {
    /// `value`: from what was counted in a step, by name, and the step's length in ns.
    fn of(&self, name: String, series: &HostSeries, value: impl Fn(&dyn Fn(&str) -> u64, f64) -> f64) -> HostCurve {
        let steps = series.counters.values().map(Vec::len).max().unwrap_or(0);
        let mut points = Vec::new();
        for step in 0..steps {
            let times = self.activity.times_ns.get(series.first_step as usize + step..);
            let Some([begin, end]) = times.and_then(<[u64]>::first_chunk) else { continue };
            let counted =
                |name: &str| series.counters.get(name).and_then(|values| values.get(step)).copied().unwrap_or(0);
            let value = value(&counted, (end - begin).max(1) as f64);
            points.push((begin.saturating_sub(self.origin_ns), value));
            if step + 1 == steps {
                points.push((end.saturating_sub(self.origin_ns), value));
            }
        }
        HostCurve { name, points }
    }

    fn per_second(&self, name: &str, series: &HostSeries, counters: &[&str], unit: f64) -> HostCurve {
        self.of(name.to_owned(), series, |step, length_ns| {
            counters.iter().map(|name| step(name)).sum::<u64>() as f64 * 1e9 / length_ns / unit
        })
    }

    /// Draws the threads that used most CPU time, and says how many others there are.
    fn threads(&self) -> (Vec<HostCurve>, u64) {
        let used = |series: &HostSeries| series.sum("cpu_ns").unwrap_or(0);
        let mut all: Vec<&HostSeries> = self.activity.series.iter().filter(|series| series.kind == "thread").collect();
        all.sort_by_key(|series| std::cmp::Reverse(used(series)));
        let shown = all.iter().take(MOST_CURVES).map(|series| {
            let name = series.name.as_deref().unwrap_or_default();
            let thread = match (series.process, series.number) {
                (Some(process), Some(number)) if process != number => format!(" {number}"),
                _ => String::new(),
            };
            let name = format!("{}: {name}{thread}", series.of);
            self.of(name, series, |step, length_ns| step("cpu_ns") as f64 / length_ns)
        });
        let left_out = all.len().saturating_sub(MOST_CURVES) as u64 + self.activity.threads_not_listed;
        (shown.collect(), left_out)
    }

    /// The cores that were busiest, and what all of them spent on packets and lost to other machines.
    fn cores(&self) -> Vec<HostCurve> {
        let mut all: Vec<&HostSeries> = self.activity.cores().collect();
        all.sort_by_key(|series| series.sum("idle_ns"));
        all.truncate(MOST_CURVES - 2);
        all.sort_by_key(|series| series.number);
        let share = |step: &dyn Fn(&str) -> u64, of: &[&str], series: &HostSeries| {
            let all: u64 = series.counters.keys().map(|name| step(name)).sum();
            of.iter().map(|name| step(name)).sum::<u64>() as f64 / all.max(1) as f64
        };
        let busy = all.into_iter().map(|series| {
            let host = series.of.strip_suffix("_machine").map_or_else(String::new, |role| format!("{role}'s "));
            let name = format!("{host}core {}", series.number.unwrap_or(0));
            self.of(name, series, |step, _| 1.0 - share(step, &["idle_ns", "io_wait_ns"], series))
        });
        let mut curves: Vec<HostCurve> = busy.collect();
        if let Some(sum) = self.all_cores() {
            for (name, counter) in [("softirq, of all cores", "softirq_ns"), ("stolen, of all cores", "steal_ns")] {
                if sum.sum(counter).is_some_and(|time| time > 0) {
                    curves.push(self.of(name.to_owned(), &sum, |step, _| share(step, &[counter], &sum)));
                }
            }
        }
        curves
    }

    /// The sum of all cores that were there all the time.
    fn all_cores(&self) -> Option<HostSeries> {
        let mut cores = self.activity.cores().filter(|series| series.first_step == 0);
        let mut sum = cores.next()?.clone();
        for core in cores {
            for (name, values) in &mut sum.counters {
                for (sum, value) in values.iter_mut().zip(core.counters.get(name).into_iter().flatten()) {
                    *sum += value;
                }
            }
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(of: &str, kind: &str, number: u32, counters: &[(&str, &[u64])]) -> HostSeries {
        HostSeries {
            of: of.to_owned(),
            kind: kind.to_owned(),
            process: None,
            number: Some(number),
            name: Some("t".to_owned()),
            first_step: 0,
            counters: counters.iter().map(|(name, values)| ((*name).to_owned(), values.to_vec())).collect(),
        }
    }

    fn activity(series: Vec<HostSeries>) -> HostActivity {
        HostActivity {
            schema: 1,
            times_ns: vec![1_000, 1_100, 1_300],
            series,
            system_calls: Default::default(),
            batches: Vec::new(),
            missing: Vec::new(),
            threads_not_listed: 2,
        }
    }

    #[test]
    fn curves_begin_at_the_first_packet_and_are_divided_by_the_length_of_each_step() {
        let thread = series("server", "thread", 1, &[("cpu_ns", &[50, 50])]);
        let seen = pictures(&activity(vec![thread]), 1_050);
        assert_eq!(seen.threads[0].points, [(0, 0.5), (50, 0.25), (250, 0.25)]);
        assert_eq!((seen.step_ns, seen.threads_left_out), (200, 2));
        assert!(seen.switches.is_empty() && seen.receive_buffer_drops.is_empty());
    }

    #[test]
    fn the_busiest_threads_are_drawn_and_the_others_counted() {
        let threads = (0..10).map(|number| series("client", "thread", number, &[("cpu_ns", &[u64::from(number), 0])]));
        let seen = pictures(&activity(threads.collect()), 0);
        assert_eq!((seen.threads.len(), seen.threads_left_out), (MOST_CURVES, 5));
        assert_eq!(seen.threads[0].name, "client: t");
        assert!(seen.threads[0].points[0].1 > seen.threads[6].points[0].1);
    }

    #[test]
    fn a_core_is_busy_when_it_is_not_idle_and_softirq_is_of_all_cores() {
        let core = |number, idle: u64, softirq: u64| {
            series(
                "machine",
                "core",
                number,
                &[("idle_ns", &[idle, idle]), ("softirq_ns", &[softirq, softirq]), ("io_wait_ns", &[0, 0])],
            )
        };
        let seen = pictures(&activity(vec![core(0, 75, 25), core(1, 100, 0)]), 0);
        let last = |place: usize| seen.cores[place].points.last().unwrap().1;
        assert_eq!([last(0), last(1), last(2)], [0.25, 0.0, 0.125]);
        assert_eq!(seen.cores[2].name, "softirq, of all cores");
    }
}
