//! The order of runs in real time.
//!
//! In virtual time the order changes nothing. In real time the machine changes while a session lasts, so the settings that are compared must
//! not follow each other in a fixed order: each repetition is a block with one run of every setting, shuffled by itself.

use quiclab_experiment::AnyRun;
use quiclab_report::group_key;
use quiclab_testbed::hash::Hasher;
use serde::{Deserialize, Serialize};

/// How runs in real time were ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// What the shuffle was drawn from: the seed of the experiment.
    pub seed: u64,
    /// What was shuffled.
    pub shuffled: Shuffled,
}

/// What was shuffled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shuffled {
    /// The settings within each repetition; repetitions follow each other.
    WithinRepetitions,
}

impl Order {
    /// Gives the order of a plan; `None` of one without runs.
    pub fn of(runs: &[AnyRun]) -> Option<Self> {
        let first = runs.first()?;
        // Repetition r has seed `seed + r - 1`.
        let seed = first.seed() + 1 - u64::from(first.repetition());
        Some(Self { seed, shuffled: Shuffled::WithinRepetitions })
    }

    /// Tells when each run is performed: 0 for the first one.
    ///
    /// A run's place among the others of its repetition follows from the seed, the repetition and its settings, so that two settings keep their
    /// order when others are added or left out.
    pub fn places(self, runs: &[AnyRun]) -> Vec<usize> {
        let drawn = |run: &AnyRun| {
            let drawn = Hasher::default()
                .part(b"order of runs")
                .part(&self.seed.to_le_bytes())
                .part(&run.repetition().to_le_bytes())
                .part(group_key(run).as_bytes());
            (run.repetition(), drawn.short())
        };
        let keys: Vec<_> = runs.iter().map(drawn).collect();
        let mut order: Vec<usize> = (0..runs.len()).collect();
        order.sort_by(|one, other| keys[*one].cmp(&keys[*other]));
        let mut places = vec![0; runs.len()];
        for (place, run) in order.into_iter().enumerate() {
            places[run] = place;
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use quiclab_experiment::{Experiment, Overrides};

    use super::*;

    fn runs(text: &str) -> Vec<AnyRun> {
        let stacks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stacks");
        let sources = quiclab_testbed::stack::sources(&stacks).unwrap();
        let manifests = sources.into_iter().map(|(name, source)| (name, source.manifest)).collect();
        let text = format!("name = \"x\"\ntitle = \"x\"\n{text}");
        let plan = Experiment::parse("x.toml", &text, None).unwrap().plan(&manifests, &Overrides::default()).unwrap();
        plan.runs.into_iter().map(AnyRun::from).collect()
    }

    fn rates(list: &str, seed: u64, repetitions: u32) -> Vec<AnyRun> {
        runs(&format!(
            "seed = {seed}\n[stack]\nname = \"ngtcp2\"\n[workload]\nrepetitions = {repetitions}\n[matrix]\n\"path.rate\" = [{list}]\n"
        ))
    }

    const FOUR: &str = "\"10 Mbit/s\", \"20 Mbit/s\", \"30 Mbit/s\", \"40 Mbit/s\"";

    /// Settings in the order in which they are performed, by repetition.
    fn blocks(runs: &[AnyRun], settings: usize) -> Vec<Vec<String>> {
        let places = Order::of(runs).unwrap().places(runs);
        let mut performed: Vec<_> = places.into_iter().zip(runs).collect();
        performed.sort_by_key(|(place, _)| *place);
        let blocks = performed.chunks(settings);
        for (number, block) in (1..).zip(blocks.clone()) {
            assert!(block.iter().all(|(_, run)| run.repetition() == number), "block {number}");
        }
        blocks.map(|block| block.iter().map(|(_, run)| group_key(run)).collect()).collect()
    }

    #[test]
    fn every_repetition_has_every_setting_once_in_an_order_of_its_own() {
        let runs = rates(FOUR, 1, 30);
        let blocks = blocks(&runs, 4);
        for block in &blocks {
            let mut sorted = block.clone();
            sorted.sort();
            sorted.dedup();
            assert_eq!(sorted.len(), 4);
        }
        let mut different = blocks.clone();
        different.sort();
        different.dedup();
        // 30 draws of 24 orders: about 17 different ones.
        assert!(different.len() > 10, "{}", different.len());
        // No setting is always first.
        assert!(blocks.iter().map(|block| &block[0]).collect::<std::collections::BTreeSet<_>>().len() == 4);
    }

    #[test]
    fn the_order_follows_from_the_seed_of_the_experiment_alone() {
        let [one, again, other] = [1, 1, 2].map(|seed| blocks(&rates(FOUR, seed, 8), 4));
        assert_eq!(one, again);
        assert_ne!(one, other);
        assert_eq!(Order::of(&rates(FOUR, 7, 2)[4..]).unwrap().seed, 7);
    }

    #[test]
    fn settings_keep_their_order_when_others_are_left_out() {
        let all = blocks(&rates(FOUR, 1, 8), 4);
        let two = blocks(&rates("\"10 Mbit/s\", \"40 Mbit/s\"", 1, 8), 2);
        for (all, two) in all.iter().zip(&two) {
            let kept: Vec<_> = all.iter().filter(|key| two.contains(key)).cloned().collect();
            assert_eq!(&kept, two);
        }
    }
}
