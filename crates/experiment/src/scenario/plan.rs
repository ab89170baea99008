//! The plan of a scenario: every run, fully resolved.

use std::collections::{BTreeMap, BTreeSet};

use quiclab_units::{Duration, Rate};
use serde::{Deserialize, Serialize};

use crate::{
    changes::Assignment,
    error::{ExperimentError, nearest},
    includes::files::read_nothing,
    kind::SCENARIOS,
    matrix::{self, MOST_RUNS},
    overrides::Overrides,
    set,
};

use super::{
    declaration::{FLOWS, of_flows, set},
    file::Scenario,
    flows::{self, CongestionControl, Flows, Recovery, WorkloadKind},
    groups::check_groups,
    settings::{self, Bottleneck, Course, Draft, ScenarioSettings, USUAL_BUFFER, USUAL_DURATION, usual_interval},
    texts::scenario_labels,
};

/// A group's name where the file gives none.
const ONLY_GROUP: &str = "all";
/// Number of flows that the simulator takes at most: some kilobytes are needed for each.
const MOST_FLOWS: u64 = 1_000_000;
/// Segments that all flows may send at once at the beginning: each takes some hundred bytes of memory.
const MOST_AT_ONCE: f64 = 1e7;
/// Number of intervals at most: more looks than this are taken for a mistake.
const MOST_INTERVALS: u64 = 1_000_000;

/// What is to be simulated.
#[derive(Clone, Debug)]
pub struct ScenarioPlan {
    /// The combinations of the matrix, in its order.
    pub settings: Vec<ScenarioSettings>,
    /// The runs: all combinations' first repetition, then all their second, and so on.
    pub runs: Vec<ScenarioRun>,
}

/// One run of a scenario, with every setting that can change its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioRun {
    /// Name of the experiment this run belongs to, for example `tcp-pacing/fig03`.
    pub experiment: String,
    /// The number of the repetition, from 1.
    pub repetition: u32,
    /// The number from which everything random in the run is derived.
    pub seed: u64,
    /// The settings.
    pub settings: ScenarioSettings,
    /// What sets its settings apart from those of the other runs of its experiment, such as `pacing=off, buffer_bdp=0.25`; for the name of
    /// its folder. Empty where there is nothing to say, and in a run that was read from a record.
    #[serde(skip)]
    pub label: String,
}

impl Scenario {
    /// Expands the matrix into runs. A scenario has no stacks, so those of `overrides` make no difference.
    ///
    /// # Errors
    /// Settings that do not go together, two combinations that are the same, too many runs, a filter that no run passes, a
    /// setting among the overrides that is not one, a setting that has no effect in any run.
    pub fn plan(&self, overrides: &Overrides) -> Result<ScenarioPlan, ExperimentError> {
        let set = set::changes(&self.common.file, &SCENARIOS, &overrides.settings, read_nothing)?;
        check_groups(&self.common, &set)?;
        let mut changed = self.clone();
        changed.common.changes = changed.common.changes.overridden_by(set.clone());
        let plan = changed.expand(overrides)?;
        self.check_effects(set)?;
        Ok(plan)
    }

    fn expand(&self, overrides: &Overrides) -> Result<ScenarioPlan, ExperimentError> {
        let too_many = |found: &str| {
            self.common.error(None, format!("matrix: found {found} runs, expected at most {MOST_RUNS}"), None)
        };
        if matrix::size(&self.common.changes.matrix).is_none() {
            return Err(too_many("more than that many"));
        }
        let mut asked = overrides.repetitions;
        let resolve = |assignments: &[&Assignment]| {
            let (resolved, file_repetitions) = self.resolve(&self.common.changes.named, assignments)?;
            asked = asked.or(Some(file_repetitions));
            Ok(Some(resolved))
        };
        let mut settings = self.common.expand(resolve, ScenarioSettings::texts)?;
        // What sets a run apart does not depend on a filter, so that its folder has one name.
        let all: Vec<_> = settings.iter().map(ScenarioSettings::texts).collect();
        let folder_labels = if all.len() > 1 { scenario_labels(&all) } else { vec![String::new(); all.len()] };
        let folder_labels: BTreeMap<_, _> = all.into_iter().zip(folder_labels).collect();
        for (key, value) in &overrides.filters {
            settings = self.filter(settings, key, value)?;
        }
        let repetitions = asked.unwrap_or(1);
        if matrix::runs(settings.len(), repetitions).is_none() {
            return Err(too_many(&format!(
                "{} settings and {repetitions} repetitions, more than that many",
                settings.len()
            )));
        }
        let runs = self.common.repeated(&settings, repetitions, |settings, repetition, seed| ScenarioRun {
            experiment: self.common.name.clone(),
            repetition,
            seed,
            settings: settings.clone(),
            label: folder_labels.get(&settings.texts()).cloned().unwrap_or_default(),
        });
        Ok(ScenarioPlan { runs, settings })
    }

    /// The settings of one combination, and how often it is repeated. `named` are groups of flows, also those that set nothing.
    pub(super) fn resolve(
        &self,
        named: &BTreeSet<String>,
        assignments: &[&Assignment],
    ) -> Result<(ScenarioSettings, u32), ExperimentError> {
        let mut draft = Draft::default();
        let mut common = Flows::default();
        let mut names = named.clone();
        names.extend(assignments.iter().filter_map(|one| of_flows(&one.key)?.0.map(str::to_owned)));
        // Each was checked when the file was read.
        for one in assignments {
            let _ = match of_flows(&one.key) {
                None => set(settings::SETTINGS, &mut draft, &one.key, &one.value),
                Some((None, key)) => set(flows::SETTINGS, &mut common, &key, &one.value),
                Some((Some(_), _)) => None,
            };
        }
        let names = if names.is_empty() { BTreeSet::from([ONLY_GROUP.to_owned()]) } else { names };
        let mut groups: BTreeMap<_, _> = names.into_iter().map(|name| (name, common.clone())).collect();
        for one in assignments {
            if let Some((Some(group), key)) = of_flows(&one.key)
                && let Some(flows) = groups.get_mut(group)
            {
                let _ = set(flows::SETTINGS, flows, &key, &one.value);
            }
        }
        let repetitions = draft.repetitions;
        let resolved = draft.resolve(groups).map_err(|(key, message)| {
            let matching = |one: &&&Assignment| one.key == key || of_flows(&one.key).is_some_and(|(_, own)| own == key);
            let origin = assignments.iter().rev().find(matching).map(|one| one.origin);
            self.common.error_from(origin, format!("{key}: {message}"), None)
        })?;
        Ok((resolved, repetitions))
    }

    fn filter(
        &self,
        settings: Vec<ScenarioSettings>,
        key: &str,
        wanted: &str,
    ) -> Result<Vec<ScenarioSettings>, ExperimentError> {
        let text = |settings: &ScenarioSettings| settings.texts().remove(key);
        if !settings.iter().any(|settings| text(settings).is_some()) {
            let known: BTreeSet<_> = settings.iter().flat_map(|settings| settings.texts().into_keys()).collect();
            let hint = nearest(key, known.iter().map(String::as_str)).map(|near| format!("did you mean {near}?"));
            let message = format!("--filter {key}={wanted}: found a key that no run has");
            return Err(self.common.error(None, message, hint));
        }
        self.common.filter((key, wanted), settings, text, |_, _| None)
    }
}

impl Draft {
    /// Closes what was left open.
    ///
    /// # Errors
    /// Key, and what is wrong with it.
    fn resolve(self, groups: BTreeMap<String, Flows>) -> Result<ScenarioSettings, (&'static str, String)> {
        for (name, flows) in &groups {
            flows.check(name, &self.bottleneck)?;
        }
        let duration = match (self.duration, self.duration_sawtooths) {
            (Some(_), Some(_)) => {
                let message = "found a value in addition to scenario.duration; expected one of the two".to_owned();
                return Err(("scenario.duration_sawtooths", message));
            }
            (given, None) => given.unwrap_or(USUAL_DURATION),
            (None, Some(count)) => sawtooths(count, self.bottleneck.rate, &groups)?,
        };
        let interval = self.interval.unwrap_or_else(|| usual_interval(duration));
        if duration.as_nanos() / interval.as_nanos() > MOST_INTERVALS {
            let message = format!("found {interval} in {duration}, expected at most {MOST_INTERVALS} intervals");
            return Err(("scenario.interval", message));
        }
        if self.warm_up >= duration {
            let message = format!("found {}, expected less than scenario.duration, which is {duration}", self.warm_up);
            return Err(("scenario.warm_up", message));
        }
        if let Some(until) = self.transfers_begin_by
            && (until <= self.warm_up || until > duration)
        {
            let message = format!(
                "found {until}, expected more than scenario.warm_up, which is {}, and at most scenario.duration, which is {duration}",
                self.warm_up
            );
            return Err(("scenario.transfers_begin_by", message));
        }
        let flows: u64 = groups.values().map(|flows| u64::from(flows.count)).sum();
        if flows > MOST_FLOWS {
            return Err(("flows.count", format!("found {flows} flows, expected at most {MOST_FLOWS} in total")));
        }
        check_side_rate(self.bottleneck.rate, self.bottleneck.side_factor)?;
        check_initial_windows(&groups)?;
        if self.bottleneck.red_minimum >= self.bottleneck.red_maximum {
            let message = format!(
                "found {}, expected less than bottleneck.red_maximum, which is {}",
                self.bottleneck.red_minimum, self.bottleneck.red_maximum
            );
            return Err(("bottleneck.red_minimum", message));
        }
        if self.buffer_packets.is_some() && self.bottleneck.buffer_bdp.is_some() {
            let message = "found a value in addition to bottleneck.buffer_bdp; expected one of the two".to_owned();
            return Err(("bottleneck.buffer_packets", message));
        }
        let buffer_bdp = self.bottleneck.buffer_bdp.or(self.buffer_packets.is_none().then_some(USUAL_BUFFER));
        let buffer_packets = match buffer_bdp {
            Some(products) => room(products, self.bottleneck.rate, &groups)?,
            None => self.buffer_packets.map_or(0, u64::from),
        };
        Ok(ScenarioSettings {
            scenario: Course {
                duration,
                duration_sawtooths: self.duration_sawtooths,
                interval,
                warm_up: self.warm_up,
                transfers_begin_by: self.transfers_begin_by,
                events: self.events,
                time_limit: self.time_limit,
            },
            bottleneck: Bottleneck {
                back_rate: self.back_rate.unwrap_or(self.bottleneck.rate),
                buffer_bdp,
                buffer_packets,
                ..self.bottleneck
            },
            flows: groups,
        })
    }
}

/// Hosts' links whose rate is rounded to 0 would carry nothing.
fn check_side_rate(rate: Rate, factor: f64) -> Result<(), (&'static str, String)> {
    let side = (rate.as_bits_per_second() as f64 * factor).round();
    if (1.0..=1e18).contains(&side) {
        return Ok(());
    }
    let message = format!(
        "found {factor} with a bottleneck.rate of {rate}; expected a number that gives the hosts' links 1 to 1e18 bit/s"
    );
    Err(("bottleneck.side_factor", message))
}

/// What all flows send at once at the beginning has to be in memory.
fn check_initial_windows(groups: &BTreeMap<String, Flows>) -> Result<(), (&'static str, String)> {
    let at_once = |flows: &Flows| {
        let longest = match flows.workload {
            WorkloadKind::Transfers => f64::from(flows.transfer_segments),
            WorkloadKind::Arrivals => flows.arrivals.iter().map(|one| one.1).max().unwrap_or(0) as f64,
            WorkloadKind::Long | WorkloadKind::OnOff => f64::INFINITY,
        };
        let window = flows.initial_window.min(flows.largest_window.unwrap_or(f64::INFINITY));
        f64::from(flows.count) * window.min(longest)
    };
    let total: f64 = groups.values().map(at_once).sum();
    if total <= MOST_AT_ONCE {
        return Ok(());
    }
    let message = format!(
        "found windows with which the flows send {total} segments at once, expected at most {MOST_AT_ONCE} in total"
    );
    Err(("flows.initial_window", message))
}

/// Room for so many bandwidth-delay products of the flows' mean round-trip time, in whole packets of the longest kind.
fn room(products: f64, rate: Rate, groups: &BTreeMap<String, Flows>) -> Result<u64, (&'static str, String)> {
    let packets = (products * packets_per_second(rate, groups) * mean_rtt_seconds(groups)).round();
    if (1.0..=1e9).contains(&packets) {
        return Ok(packets as u64);
    }
    let message = format!("found {products}, which are {packets} packets; expected 1 to 1000000000 packets");
    Err(("bottleneck.buffer_bdp", message))
}

/// Time of so many cycles of Reno's window, each RTT² × rate / packet long, in whole microseconds.
///
/// That is how long a single flow takes to gain half of its largest window, a segment for each round-trip time, if pipe and buffer hold a
/// bandwidth-delay product each. The study of TCP pacing limits its flows to this time (INFOCOM 2000, section VI-A).
fn sawtooths(count: f64, rate: Rate, groups: &BTreeMap<String, Flows>) -> Result<Duration, (&'static str, String)> {
    let seconds = count * packets_per_second(rate, groups) * mean_rtt_seconds(groups).powi(2);
    let microseconds = (seconds * 1e6).round();
    if (1.0..=1e15).contains(&microseconds) {
        return Ok(Duration::from_micros(microseconds as u64));
    }
    let message = format!("found {count}, which takes {seconds} s; expected 1 us to 1000000000 s");
    Err(("scenario.duration_sawtooths", message))
}

/// How many packets of the longest kind the bottleneck sends in a second.
fn packets_per_second(rate: Rate, groups: &BTreeMap<String, Flows>) -> f64 {
    let longest = groups.values().map(|group| group.packet.as_bytes()).max().unwrap_or(1);
    rate.as_bits_per_second() as f64 / (8.0 * longest as f64)
}

/// Over all flows.
fn mean_rtt_seconds(groups: &BTreeMap<String, Flows>) -> f64 {
    let flows: f64 = groups.values().map(|group| f64::from(group.count)).sum();
    groups.values().map(|group| f64::from(group.count) * group.rtt.as_secs_f64()).sum::<f64>() / flows
}

impl Flows {
    fn check(&self, name: &str, bottleneck: &Bottleneck) -> Result<(), (&'static str, String)> {
        let last = self.last_hop.unwrap_or(bottleneck.hops);
        if self.first_hop > last || last > bottleneck.hops {
            let message = format!(
                "found bottlenecks {} to {last} in {FLOWS}.{name}, expected some of {}",
                self.first_hop, bottleneck.hops
            );
            return Err(("flows.last_hop", message));
        }
        let hops = u64::from(last - self.first_hop + 1);
        let least = bottleneck.delay.as_nanos().saturating_mul(2 * hops);
        if self.rtt.as_nanos() < least || !self.rtt.as_nanos().is_multiple_of(2) {
            let message = format!(
                "found {} in {FLOWS}.{name}, expected an even number of nanoseconds, at least {}, which the bottlenecks take",
                self.rtt,
                Duration::from_nanos(least)
            );
            return Err(("flows.rtt", message));
        }
        let bbr = match self.congestion_control {
            CongestionControl::Bbr => Some("bbr"),
            CongestionControl::Bbr3 => Some("bbr3"),
            CongestionControl::Reno | CongestionControl::Cubic => None,
        };
        if let Some(bbr) = bbr
            && self.recovery != Recovery::Sack
        {
            let message = format!(
                "found another value than \"sack\" with congestion_control = \"{bbr}\" in {FLOWS}.{name}; expected \
                 \"sack\", which BBR needs to measure rates"
            );
            return Err(("flows.recovery", message));
        }
        if let Some(bbr) = bbr
            && self.ecn
        {
            let message = format!(
                "found true with congestion_control = \"{bbr}\" in {FLOWS}.{name}; expected false, because BBR does \
                 not react to marks"
            );
            return Err(("flows.ecn", message));
        }
        Ok(())
    }
}
