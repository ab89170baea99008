//! Time that the guest's CPU is taken away from everything: draws it, and hands it to the kernel module of kernel/module/cpu_theft.c.

use std::{
    fs::{self, File},
    io::Write,
    iter::from_fn,
    path::Path,
};

use anyhow::{Context, Result, ensure};
use quiclab_agent_protocol::{
    orders::{TheftDistribution, Thefts},
    report::StolenTime,
};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, Exp, Pareto};

/// Where the module takes its plan and says what it took.
const FOLDER: &str = "/sys/kernel/debug/cpu_theft";
/// The module takes no longer plan in one piece.
const MOST_THEFTS: usize = 1 << 20;
/// The module takes no longer theft. With a shape of 2.5 and a mean of 1 ms one in 10^7 is longer than 0.4 s.
const LONGEST_NS: f64 = 1e9;
/// Shape by which long thefts become rare: the mean and the variance are finite, higher moments are not.
const PARETO_SHAPE: f64 = 2.5;

/// Begins with the thefts. They last for `time_ns` at least before they repeat themselves, if they are not more than a million.
///
/// # Errors
/// Where the kernel has no such module, or does not take the plan.
pub fn begin(thefts: &Thefts, time_ns: u64) -> Result<()> {
    let mut left = time_ns;
    let mut draw = draws(thefts)?;
    let pairs = from_fn(|| {
        let pair = draw();
        let has_begun = left > 0;
        left = left.saturating_sub(pair.0 + pair.1);
        has_begun.then_some(pair)
    });
    let mut plan = Vec::new();
    for (interval, length) in pairs.take(MOST_THEFTS) {
        plan.extend(interval.to_ne_bytes());
        plan.extend(length.to_ne_bytes());
    }
    let path = Path::new(FOLDER).join("plan");
    fs::write(&path, plan).with_context(|| path.display().to_string())
}

/// Ends them, and says what was taken.
///
/// # Errors
/// Where the kernel has no such module.
pub fn end() -> Result<StolenTime> {
    let path = Path::new(FOLDER).join("plan");
    // An empty plan is a system call of no bytes, which fs::write does not make.
    let written = File::options().write(true).open(&path).and_then(|mut file| file.write(&[]));
    written.with_context(|| path.display().to_string())?;
    let read = |name: &str| -> Result<u64> {
        let path = Path::new(FOLDER).join(name);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        text.trim().parse().with_context(|| format!("{}: found {text:?}", path.display()))
    };
    Ok(StolenTime { count: read("count")?, time_ns: read("nanoseconds")? })
}

/// Nanoseconds from the end of the theft before, at least 1, and nanoseconds of the theft.
fn draws(thefts: &Thefts) -> Result<impl FnMut() -> (u64, u64)> {
    let [interval, length] = [thefts.interval_ns, thefts.length_ns].map(|mean| mean as f64);
    ensure!(interval >= 1.0 && length >= 1.0, "thefts: found a mean of 0, expected more");
    let seed = thefts.seed.as_slice().try_into().context("thefts.seed: expected 32 bytes")?;
    let mut generator = ChaCha8Rng::from_seed(seed);
    let intervals = Exp::new(1.0 / interval)?;
    let exponential = Exp::new(1.0 / length)?;
    let pareto = Pareto::new(length * (PARETO_SHAPE - 1.0) / PARETO_SHAPE, PARETO_SHAPE)?;
    let distribution = thefts.distribution;
    Ok(move || {
        let (interval, length) = match distribution {
            TheftDistribution::Constant => (interval, length),
            TheftDistribution::Exponential => (intervals.sample(&mut generator), exponential.sample(&mut generator)),
            TheftDistribution::Pareto => (intervals.sample(&mut generator), pareto.sample(&mut generator)),
        };
        (interval.max(1.0) as u64, length.min(LONGEST_NS) as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(distribution: TheftDistribution, seed: u8) -> (f64, f64) {
        let thefts = Thefts { seed: vec![seed; 32], distribution, interval_ns: 900_000, length_ns: 100_000 };
        let mut draw = draws(&thefts).unwrap();
        let count = 200_000;
        let mut sums = (0.0, 0.0);
        for _ in 0..count {
            let (interval, length) = draw();
            sums = (sums.0 + interval as f64, sums.1 + length as f64);
        }
        (sums.0 / f64::from(count), sums.1 / f64::from(count))
    }

    #[test]
    fn intervals_and_lengths_have_the_means_that_were_asked_for() {
        for distribution in [TheftDistribution::Constant, TheftDistribution::Exponential, TheftDistribution::Pareto] {
            let (interval, length) = means(distribution, 1);
            // The standard error of the mean of 200 000 exponential draws is 0.2 %, of these Pareto draws 0.2 % as well.
            assert!((interval / 900_000.0 - 1.0).abs() < 0.01, "{distribution:?}: {interval}");
            assert!((length / 100_000.0 - 1.0).abs() < 0.02, "{distribution:?}: {length}");
        }
    }

    /// Drawn with rand_chacha 0.9 and rand_distr 0.5: an upgrade that changes them changes results.
    #[test]
    fn thefts_are_the_same_with_every_version_of_their_libraries() {
        let drawn = |distribution| {
            let thefts = Thefts { seed: vec![1; 32], distribution, interval_ns: 900_000, length_ns: 100_000 };
            let mut draw = draws(&thefts).unwrap();
            [(); 3].map(|()| draw())
        };
        let exponential = [(920_969, 144_620), (717_376, 46_961), (282_085, 104_424)];
        assert_eq!(drawn(TheftDistribution::Exponential), exponential);
        assert_eq!(drawn(TheftDistribution::Pareto), [(920_969, 61_275), (717_376, 63_184), (282_085, 72_836)]);
    }

    #[test]
    fn the_seed_says_what_is_drawn() {
        assert_eq!(means(TheftDistribution::Pareto, 1), means(TheftDistribution::Pareto, 1));
        assert_ne!(means(TheftDistribution::Pareto, 1), means(TheftDistribution::Pareto, 2));
    }
}
