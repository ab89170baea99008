//! The expectations of a scenario.

use super::{group::Group, metric::shown, report::ScenarioReport};
use crate::findings::{Finding, judge_all};

/// What came of the expectations.
pub fn scenario_findings(report: &ScenarioReport) -> Vec<Finding> {
    let groups = Group::all(report);
    let settings: Vec<_> = groups.iter().map(|group| group.settings).collect();
    let found = judge_all(&report.expectations, &groups, &settings, report.looks);
    found.into_iter().map(|one| Finding { shown: shown(&one.metric, &report.labels), ..one }).collect()
}
