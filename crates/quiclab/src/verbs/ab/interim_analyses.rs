//! How often A and B are repeated, and when that ends.

use std::time::{Duration, Instant};

use quiclab_metrics::alpha_at_analysis;

use crate::settings::{AbSettings, Budget};

/// Fewer pairs say next to nothing of chance.
const FIRST: u32 = 3;
/// Runs of both sides, where no budget is given.
const USUAL_BUDGET: Budget = Budget::Runs(40);

/// The looks at results that grow.
#[derive(Debug)]
pub struct InterimAnalyses {
    /// `None`: as many as the file says.
    repetitions: Option<u32>,
    /// Counted from 1.
    look: u32,
    budget: Option<Budget>,
    /// Runs that one more repetition on both sides takes.
    groups: usize,
    start: Instant,
    /// Why no more was run.
    ended: Option<String>,
}

impl InterimAnalyses {
    /// The first look. `groups` is the number of settings of both sides together.
    pub fn new(settings: &AbSettings, groups: usize) -> Self {
        let until_decided = settings.until_decided;
        let budget = until_decided.then(|| settings.budget.unwrap_or(USUAL_BUDGET));
        let repetitions = match until_decided {
            true => Some(within(budget, groups, settings.repetitions.unwrap_or(FIRST).max(FIRST))),
            false => settings.repetitions,
        };
        Self { repetitions, look: 1, budget, groups, start: Instant::now(), ended: None }
    }

    /// Repetitions up to this look.
    pub fn repetitions(&self) -> Option<u32> {
        self.repetitions
    }

    /// The part of `alpha` that may be spent at this look: all of it where there is only one.
    pub fn alpha(&self, alpha: f64) -> f64 {
        if self.budget.is_some() { alpha_at_analysis(alpha, self.look) } else { alpha }
    }

    /// Goes on to the next look, and says with how many repetitions, if the budget has room for it; `runs` are those so far.
    pub fn next(&mut self, runs: usize) -> Option<u32> {
        let (budget, now) = self.budget.zip(self.repetitions)?;
        let doubled = within(Some(budget), self.groups, now.saturating_mul(2));
        let fits = match budget {
            Budget::Runs(_) => doubled > now,
            Budget::Time(limit) => fits(self.start.elapsed(), limit, runs, (doubled - now) as usize * self.groups),
        };
        if !fits {
            let evaluations = self.evaluations();
            self.ended =
                Some(format!("not decided within the budget: {now} repetitions on each side after {evaluations}"));
            return None;
        }
        self.repetitions = Some(doubled);
        self.look += 1;
        self.repetitions
    }

    /// What came of repeating; nothing where it was not asked for.
    pub fn in_words(&self) -> Option<String> {
        let repetitions = self.repetitions.filter(|_| self.budget.is_some())?;
        let evaluations = self.evaluations();
        Some(self.ended.clone().unwrap_or_else(|| {
            format!(
                "decided after {evaluations} with {repetitions} repetitions on each side; the evaluations share the \
                 allowed error"
            )
        }))
    }

    fn evaluations(&self) -> String {
        if self.look == 1 { "1 evaluation".to_owned() } else { format!("{} evaluations", self.look) }
    }
}

/// Number of repetitions that a budget of runs allows, one at least.
fn within(budget: Option<Budget>, groups: usize, repetitions: u32) -> u32 {
    match budget {
        Some(Budget::Runs(runs)) => repetitions.min((runs / groups.max(1)) as u32).max(1),
        _ => repetitions,
    }
}

/// True where so many more runs, as long as those so far, end within the limit.
fn fits(elapsed: Duration, limit: Duration, runs: usize, more: usize) -> bool {
    elapsed.as_secs_f64() * (1.0 + more as f64 / runs.max(1) as f64) <= limit.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(budget: Option<Budget>, repetitions: Option<u32>) -> InterimAnalyses {
        InterimAnalyses { repetitions, look: 1, budget, groups: 2, start: Instant::now(), ended: None }
    }

    #[test]
    fn without_until_decided_there_is_one_look_with_all_of_the_error() {
        let mut once = looks(None, Some(5));
        assert_eq!(once.alpha(0.05), 0.05);
        assert_eq!(once.next(10), None);
        assert_eq!(once.in_words(), None);
    }

    #[test]
    fn looks_double_up_to_the_budget_and_split_the_error() {
        let mut looks = looks(Some(Budget::Runs(40)), Some(3));
        let mut seen = vec![(looks.repetitions(), looks.alpha(0.06))];
        while looks.next(0).is_some() {
            seen.push((looks.repetitions(), looks.alpha(0.06)));
        }
        let repetitions: Vec<_> = seen.iter().map(|(repetitions, _)| repetitions.unwrap()).collect();
        assert_eq!(repetitions, [3, 6, 12, 20]);
        assert!(seen.iter().map(|(_, alpha)| alpha).sum::<f64>() < 0.06);
        assert!(looks.in_words().unwrap().contains("not decided within the budget: 20 repetitions"));
    }

    #[test]
    fn a_second_look_at_very_many_repetitions_does_not_overflow() {
        let limit = Duration::from_secs(1 << 40);
        assert_eq!(looks(Some(Budget::Time(limit)), Some(u32::MAX - 1)).next(usize::MAX), Some(u32::MAX));
    }

    #[test]
    fn a_budget_of_time_ends_before_a_look_that_would_exceed_it() {
        // 10 runs took 10 s; 10 more take 10 s more.
        assert!(fits(Duration::from_secs(10), Duration::from_secs(20), 10, 10));
        assert!(!fits(Duration::from_secs(10), Duration::from_secs(19), 10, 10));
    }
}
