//! Runs that failed at an earlier look.

use quiclab_report::{FailureRow, ReportInput};

/// The runs of one side that failed at any look so far. Each look tries them again, and a failure that does not repeat would disappear: the
/// more looks, the fewer failures.
#[derive(Debug, Default)]
pub struct EarlierFailures(Vec<FailureRow>);

impl EarlierFailures {
    /// Adds what failed at this look, and counts as failed what failed before, whatever came of it now.
    pub fn keep(&mut self, input: &mut ReportInput) {
        let Self(earlier) = self;
        let has = |rows: &[FailureRow], folder: &str| rows.iter().any(|row| row.folder == folder);
        input.runs.retain(|run| !has(earlier, &run.folder));
        for failure in earlier.iter() {
            if !has(&input.failures, &failure.folder) {
                let message = format!("{} (succeeded when tried again)", failure.message);
                input.failures.push(FailureRow { message, ..failure.clone() });
            }
        }
        let new: Vec<_> = input.failures.iter().filter(|row| !has(earlier, &row.folder)).cloned().collect();
        earlier.extend(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(failed: &[&str]) -> ReportInput {
        let failure = |folder: &&str| FailureRow {
            folder: folder.to_string(),
            message: "exit status 9".to_owned(),
            failed: None,
        };
        ReportInput {
            experiment: "x".to_owned(),
            title: "x".to_owned(),
            source: None,
            command: "x".to_owned(),
            ranking: false,
            runs: Vec::new(),
            failures: failed.iter().map(failure).collect(),
            published: Vec::new(),
            expectations: Vec::new(),
            expectations_left_out: Vec::new(),
            looks: None,
            until: None,
            figures: Vec::new(),
            ladders: std::collections::BTreeMap::new(),
            machine: None,
        }
    }

    #[test]
    fn a_failure_that_does_not_repeat_stays_a_failure() {
        let mut earlier = EarlierFailures::default();
        let seen = [&["one", "two"][..], &["two"], &["three"]].map(|failed| {
            let mut input = input(failed);
            earlier.keep(&mut input);
            let mut failed: Vec<_> = input.failures.iter().map(|row| row.folder.clone()).collect();
            failed.sort();
            failed
        });
        assert_eq!(seen[0], ["one", "two"]);
        assert_eq!(seen[1], ["one", "two"]);
        assert_eq!(seen[2], ["one", "three", "two"]);
    }
}
