//! A report of either kind of workload.

use std::collections::{BTreeMap, BTreeSet};

use quiclab_experiment::{AnyRun, settings_text};

use crate::{
    FailureRow, Finding, Outcome, ReportInput, ScenarioReport, findings,
    groups::{self, Group, GroupWarning},
    render_figures, render_html_with_pages, render_json, render_markdown, render_markdown_brief,
    render_scenario_figures, render_scenario_html, render_scenario_json, render_scenario_markdown,
    render_scenario_terminal, render_terminal,
    scenario::scenario_groups,
    scenario_findings,
    warning_groups::of_runs,
};

/// Everything that a report shows, whatever the workload of its runs.
#[derive(Clone, Debug)]
pub enum AnyReport {
    /// A report of transfers between stacks.
    Transfers(Box<ReportInput>),
    /// A report of flows of models.
    Models(Box<ScenarioReport>),
}

/// A text that two runs share if they have the same settings.
pub fn group_key(run: &AnyRun) -> String {
    match run {
        AnyRun::Transfer(run) => settings_text(&run.settings),
        AnyRun::Models(run) => format!("{:?}", run.settings.texts()),
    }
}

impl AnyReport {
    /// Name of the experiment.
    pub fn experiment(&self) -> &str {
        match self {
            Self::Transfers(input) => &input.experiment,
            Self::Models(report) => &report.experiment,
        }
    }

    /// What failed.
    pub fn failures(&self) -> &[FailureRow] {
        match self {
            Self::Transfers(input) => &input.failures,
            Self::Models(report) => &report.failures,
        }
    }

    /// What came of the expectations.
    pub fn findings(&self) -> Vec<Finding> {
        match self {
            Self::Transfers(input) => findings(input),
            Self::Models(report) => scenario_findings(report),
        }
    }

    /// The groups of runs that undecided claims are about: [`group_key`] of their runs.
    pub fn undecided(&self) -> BTreeSet<String> {
        let keys: Vec<String> = match self {
            Self::Transfers(input) => groups::all(input).iter().map(|group| settings_text(group.settings)).collect(),
            Self::Models(report) => scenario_groups(report).map(|settings| format!("{settings:?}")).collect(),
        };
        let findings = self.findings();
        let undecided = findings.iter().filter(|finding| finding.outcome == Outcome::Undecided);
        undecided.flat_map(|finding| &finding.groups).filter_map(|place| keys.get(*place).cloned()).collect()
    }

    /// The warnings about runs and their repetitions, as (row, which of its runs, sentence). None of models, whose runs are exact.
    pub fn warnings(&self) -> Vec<(String, String)> {
        let Self::Transfers(input) = self else { return Vec::new() };
        let groups = groups::all(input);
        let of_group = |group: &Group| {
            let line = |warning: &GroupWarning| {
                (format!("{}{}", group.label, of_runs(group, warning)), warning.message.clone())
            };
            group.warnings().iter().map(line).collect::<Vec<_>>()
        };
        groups.iter().flat_map(of_group).collect()
    }

    /// Claims about runs that are not part of the plan.
    pub fn claims_left_out(&self) -> Vec<String> {
        match self {
            Self::Transfers(input) => input.expectations_left_out.iter().map(|one| one.claim.clone()).collect(),
            Self::Models(_) => Vec::new(),
        }
    }

    /// The report of transfers; `None` of models.
    pub fn into_transfers(self) -> Option<ReportInput> {
        match self {
            Self::Transfers(input) => Some(*input),
            Self::Models(_) => None,
        }
    }

    /// The report as JSON, for programs.
    pub fn json(&self) -> String {
        match self {
            Self::Transfers(input) => render_json(input),
            Self::Models(report) => render_scenario_json(report),
        }
    }

    /// The page. `pages` are the pages of single runs, by the names of their records.
    pub fn html(&self, pages: &BTreeMap<String, String>) -> String {
        match self {
            Self::Transfers(input) => render_html_with_pages(input, pages),
            Self::Models(report) => render_scenario_html(report),
        }
    }

    /// The table, for a terminal of that width.
    pub fn terminal(&self, width: Option<u16>) -> String {
        match self {
            Self::Transfers(input) => render_terminal(input, width),
            Self::Models(report) => render_scenario_terminal(report, width),
        }
    }

    /// The table, for a README.
    pub fn markdown(&self) -> String {
        match self {
            Self::Transfers(input) => render_markdown(input),
            Self::Models(report) => {
                let title = format!("# {}\n\n{}\n\n    {}\n\n", report.experiment, report.title, report.command);
                title + &render_scenario_markdown(report)
            }
        }
    }

    /// A short table, for a pull request.
    pub fn markdown_brief(&self) -> String {
        match self {
            Self::Transfers(input) => render_markdown_brief(input),
            Self::Models(report) => render_scenario_markdown(report),
        }
    }

    /// The figures as SVG files: name and text.
    pub fn figures(&self) -> Vec<(String, String)> {
        match self {
            Self::Transfers(input) => render_figures(input),
            Self::Models(report) => render_scenario_figures(report),
        }
    }
}
