//! What the hosts of a run did, as one account: each host sampled at times of its own, by its own clock.

use anyhow::{Result, ensure};
use quiclab_agent_protocol::activity::{Activity, Batches, MOST_ACTIVITY_BYTES, Missing, Series};

/// Values of an account: each takes two bytes of JSON at least.
const MOST_VALUES: usize = (MOST_ACTIVITY_BYTES / 2) as usize;

/// Names for what is not an endpoint, so that those of different hosts stay apart.
fn name_at(role: &str, of: &str) -> String {
    match of {
        "server" | "client" => of.to_owned(),
        other => format!("{role}_{other}"),
    }
}

/// What one host sampled, with its role.
pub(super) struct Sampled {
    /// `server` or `client`.
    pub role: &'static str,
    /// What it sampled, with times by the server's clock.
    pub activity: Activity,
}

/// Makes one account of them. Its steps are those of the first host that has any; what others counted is spread over these steps as if it had
/// come steadily, and their sums stay what they are.
///
/// # Errors
/// Many steps of one host and many series of another one, which would be too much together.
pub(super) fn merge(all: Vec<Sampled>) -> Result<Activity> {
    let times_ns =
        all.iter().map(|one| &one.activity.times_ns).find(|times| times.len() > 1).cloned().unwrap_or_default();
    let counters: usize = all.iter().flat_map(|one| &one.activity.series).map(|series| series.counters.len()).sum();
    let values = counters.saturating_mul(times_ns.len());
    ensure!(values <= MOST_VALUES, "what the hosts did: found {values} values, expected at most {MOST_VALUES}");
    let mut merged = Activity { times_ns, ..Activity::default() };
    for Sampled { role, activity } in all {
        let Activity { times_ns, series, system_calls, batches, missing, threads_not_listed } = activity;
        merged.series.extend(series.into_iter().map(|one| {
            let of = name_at(role, &one.of);
            Series { of, ..on_steps(one, &times_ns, &merged.times_ns) }
        }));
        merged.system_calls.extend(system_calls);
        merged.batches.extend(batches.into_iter().filter(|one: &Batches| one.of == role));
        for Missing { what, reason } in missing {
            merged.missing.push(Missing { what, reason: format!("at the {role}'s host: {reason}") });
        }
        merged.threads_not_listed = merged.threads_not_listed.saturating_add(threads_not_listed);
    }
    Ok(merged)
}

/// A series over other steps of time.
fn on_steps(series: Series, own_ns: &[u64], steps_ns: &[u64]) -> Series {
    if own_ns == steps_ns || steps_ns.len() < 2 {
        return series;
    }
    let own = &own_ns[(series.first_step as usize).min(own_ns.len())..];
    let counters = series.counters.into_iter().map(|(name, counted)| (name, spread(&counted, own, steps_ns))).collect();
    Series { first_step: 0, counters, ..series }
}

/// What was counted in the steps between `own_ns`, counted in those between `steps_ns`. What is outside of these is in the nearest one.
/// A host may say any numbers: a sum that is too large is the largest one.
fn spread(counted: &[u64], own_ns: &[u64], steps_ns: &[u64]) -> Vec<u64> {
    let steps = steps_ns.len() - 1;
    let mut place = 0;
    let mut before = 0_u64;
    let mut at_step = 0_u64;
    let mut sums = Vec::with_capacity(steps);
    for end in &steps_ns[1..] {
        // Whole steps that have ended by then.
        while place < counted.len() && own_ns.get(place + 1).is_some_and(|own_end| own_end <= end) {
            before = before.saturating_add(counted[place]);
            place += 1;
        }
        let part = match (counted.get(place), own_ns.get(place), own_ns.get(place + 1)) {
            (Some(count), Some(start), Some(own_end)) if end > start => {
                let share = u128::from(*count) * u128::from(end - start) / u128::from((own_end - start).max(1));
                u64::try_from(share).unwrap_or(*count)
            }
            _ => 0,
        };
        at_step = at_step.max(before.saturating_add(part));
        sums.push(at_step);
    }
    if let Some(last) = sums.last_mut() {
        *last = counted.iter().copied().fold(0, u64::saturating_add);
    }
    let mut previous = 0;
    sums.into_iter().map(|sum| sum - std::mem::replace(&mut previous, sum)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use quiclab_agent_protocol::activity::Subject;

    use super::*;

    fn sampled(role: &'static str, of: &str, times_ns: &[u64], first_step: u32, counted: &[u64]) -> Sampled {
        let series = Series {
            of: of.to_owned(),
            subject: Subject::Core { core: 0 },
            first_step,
            counters: BTreeMap::from([("count".to_owned(), counted.to_vec())]),
        };
        let activity = Activity { times_ns: times_ns.to_vec(), series: vec![series], ..Activity::default() };
        Sampled { role, activity }
    }

    #[test]
    fn counts_are_spread_over_the_steps_of_the_other_host_and_none_is_lost() {
        // Half of the first step, the other half with a quarter of the next one.
        assert_eq!(spread(&[10, 8], &[100, 200, 300], &[50, 150, 225, 400]), [5, 7, 6]);
        for steps in [&[0, 1000][..], &[120, 130], &[0, 50], &[900, 950, 1000], &[100, 200, 300], &[0, 110, 111, 290]] {
            let found = spread(&[7, 0, 5], &[100, 170, 210, 333], steps);
            assert_eq!((found.iter().sum::<u64>(), found.len()), (12, steps.len() - 1), "{steps:?}");
        }
    }

    #[test]
    fn hosts_stay_apart_and_endpoints_keep_their_names() {
        let server = sampled("server", "machine", &[0, 100, 200], 0, &[3, 4]);
        let client = sampled("client", "client", &[40, 100, 160, 200], 1, &[6, 2]);
        let merged = merge(vec![server, client]).unwrap();
        let names: Vec<&str> = merged.series.iter().map(|series| series.of.as_str()).collect();
        assert_eq!((names, &merged.times_ns[..]), (vec!["server_machine", "client"], &[0, 100, 200][..]));
        assert_eq!(merged.series[0].counters["count"], [3, 4]);
        assert_eq!(merged.series[1].counters["count"], [0, 8]);
    }

    #[test]
    fn a_host_that_could_not_be_sampled_is_named() {
        let reason = Missing { what: "activity".to_owned(), reason: "no".to_owned() };
        let nothing = Activity { missing: vec![reason], ..Activity::default() };
        let client = sampled("client", "agent", &[40, 100], 0, &[6]);
        let merged = merge(vec![Sampled { role: "server", activity: nothing }, client]).unwrap();
        assert_eq!(merged.missing[0].reason, "at the server's host: no");
        assert_eq!((merged.times_ns.len(), merged.series[0].of.as_str()), (2, "client_agent"));
    }

    #[test]
    fn numbers_of_hosts_are_added_without_overflow_and_little_does_not_become_much() {
        let server = || sampled("server", "machine", &[0, 100, 200], 0, &[3, 4]);
        let mut client = sampled("client", "client", &[40, 100, 160, 200], 0, &[u64::MAX, u64::MAX, 2]);
        client.activity.threads_not_listed = u64::MAX;
        let merged = merge(vec![
            Sampled { activity: Activity { threads_not_listed: 1, ..server().activity }, ..server() },
            client,
        ]);
        let merged = merged.unwrap();
        assert_eq!(
            merged.series[1].counters["count"].iter().try_fold(0, |sum: u64, one| sum.checked_add(*one)),
            Some(u64::MAX)
        );
        assert_eq!(merged.threads_not_listed, u64::MAX);
        // A megabyte of times and a megabyte of empty series.
        let steps = sampled("server", "machine", &vec![1; 500_000], 0, &[]);
        let mut many = sampled("client", "client", &[1, 2], 0, &[]);
        many.activity.series = vec![many.activity.series[0].clone(); 20_000];
        let error = merge(vec![steps, many]).unwrap_err().to_string();
        assert_eq!(error, "what the hosts did: found 10000500000 values, expected at most 16777216");
    }
}
