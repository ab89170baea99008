//! What a file asks for: one plan, whatever the workload of its runs.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use quiclab_experiment::{
    AnyRun, Expectation, Experiment, Overrides, Plan, Published, Until,
    scenario::{Compare, FigureSpec, GROUPS, Labels, Scenario, ScenarioPlan, TIME, scenario_labels},
};
use quiclab_pages::results::{
    index::{Index, SCHEMA},
    order::Order,
};
use quiclab_report::InterimAnalyses;
use quiclab_sim::measures::{METRICS, SERIES, is_named};

use super::plan_words::{notes, run_labels};
use crate::settings::RunSettings;

/// The runs of a file, and what the report says besides.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Name of the experiment.
    pub experiment: String,
    /// What it measures, in a line.
    pub title: String,
    /// Where it comes from.
    pub source: Option<String>,
    /// Published values, to compare with.
    pub published: Vec<Published>,
    /// The claims that must hold.
    pub expectations: Vec<Expectation>,
    /// The claims about runs that are not part of this plan.
    pub expectations_left_out: Vec<Expectation>,
    /// Whether senders are ranked.
    pub ranking: bool,
    /// The pictures that the file asks for; those of transfers come before the usual ones.
    pub figures: Vec<FigureSpec>,
    /// What settings, their values and groups of flows are called in figures and tables.
    pub words: Labels,
    /// When claims are evaluated, where runs are repeated until all are decided.
    pub looks: Option<InterimAnalyses>,
    /// Where runs are repeated until a metric is known well enough.
    pub until: Option<Until>,
    /// The user's own stacks that take the place of those in the file.
    pub substituted: Vec<String>,
    /// What a user should know before anything is run: a sentence each.
    pub notes: Vec<String>,
    /// Kind of the runs: [`AnyRun::kind`].
    pub kind: &'static str,
    /// The runs, in the order in which they are performed.
    pub runs: Vec<AnyRun>,
    /// Each run in a few words.
    pub labels: Vec<String>,
}

impl Planned {
    /// The index of results whose records have these names, without the runs of stacks that are missing.
    pub fn index(
        &self,
        command: String,
        records: Vec<String>,
        missing_stacks: BTreeMap<String, String>,
        order: Option<Order>,
    ) -> Index {
        Index {
            schema: SCHEMA,
            kind: self.kind.to_owned(),
            experiment: self.experiment.clone(),
            title: self.title.clone(),
            source: self.source.clone(),
            command,
            published: self.published.clone(),
            expectations: self.expectations.clone(),
            expectations_left_out: self.expectations_left_out.clone(),
            ranking: self.ranking,
            figures: self.figures.clone(),
            labels: self.words.clone(),
            looks: self.looks,
            until: self.until.clone(),
            order,
            records,
            missing_stacks,
            from_archives: BTreeMap::new(),
        }
    }

    /// Plans transfers between stacks.
    pub fn of_transfers(plan: &Plan, settings: &RunSettings) -> Self {
        let all: Vec<_> = plan.runs.iter().filter(|run| run.repetition == 1).map(|run| &run.settings).collect();
        let has_runs = |expectation: &Expectation| {
            let mut subjects = expectation.subjects(&all).into_iter();
            subjects.any(|subject| subject.with.is_none_or(|with| !with.is_empty()))
        };
        let Experiment { common, published, ranking, .. } = &plan.experiment;
        let (expectations, expectations_left_out) = common.expectations.iter().cloned().partition(has_runs);
        Self {
            experiment: common.name.clone(),
            title: common.title.clone(),
            source: common.source.clone(),
            published: published.clone(),
            expectations,
            expectations_left_out,
            ranking: *ranking,
            figures: common.figures.clone(),
            words: Labels::default(),
            looks: None,
            until: plan.until.clone(),
            substituted: plan.substituted.clone(),
            notes: notes(plan, settings),
            kind: AnyRun::TRANSFER,
            labels: run_labels(plan),
            runs: plan.runs.iter().cloned().map(AnyRun::from).collect(),
        }
    }

    /// Plans the flows of models in a file.
    ///
    /// # Errors
    /// What is wrong with the file, with its place.
    pub fn of_models(file: &str, text: &str, profile: Option<&str>, overrides: &Overrides) -> Result<Self> {
        let scenario = Scenario::parse(file, text, profile)?;
        let plan = scenario.plan(overrides)?;
        check_names(file, &scenario, &plan)?;
        let notes = nothing_to_compare(&scenario, &plan);
        let Scenario { common, labels, .. } = scenario;
        Ok(Self {
            experiment: common.name,
            title: common.title,
            source: common.source,
            published: Vec::new(),
            expectations: common.expectations,
            expectations_left_out: Vec::new(),
            ranking: false,
            figures: common.figures,
            words: labels,
            looks: None,
            until: None,
            substituted: Vec::new(),
            notes,
            kind: AnyRun::MODELS,
            labels: run_labels_of_models(&plan),
            runs: plan.runs.into_iter().map(AnyRun::from).collect(),
        })
    }
}

impl Planned {
    /// Keeps some of the runs, with their labels.
    pub fn retain(&mut self, keeps: impl Fn(&AnyRun) -> bool) {
        let pairs = std::mem::take(&mut self.runs).into_iter().zip(std::mem::take(&mut self.labels));
        (self.runs, self.labels) = pairs.filter(|(run, _)| keeps(run)).unzip();
    }
}

/// Checks that expectations and figures name metrics and series that the runs have.
fn check_names(file: &str, scenario: &Scenario, plan: &ScenarioPlan) -> Result<()> {
    let groups: Vec<&str> =
        plan.settings.iter().flat_map(|settings| settings.flows.keys().map(String::as_str)).collect();
    for expectation in &scenario.common.expectations {
        if !is_named(METRICS, groups.iter().copied(), &expectation.metric) {
            bail!(
                "{file}: expect.metric: found {:?} with the claim {:?}, expected one of {}, where GROUP is the name of a group of flows",
                expectation.metric,
                expectation.claim,
                METRICS.join(", ")
            );
        }
    }
    for figure in &scenario.common.figures {
        let list = if figure.x == TIME { SERIES } else { METRICS };
        if let Some(wrong) = figure.names().iter().find(|name| !is_named(list, groups.iter().copied(), name)) {
            bail!(
                "{file}: figure.y: found {wrong:?} in {:?}, expected one of {}, where GROUP is the name of a group of flows",
                figure.title,
                list.join(", ")
            );
        }
    }
    if let Some(group) = scenario.labels.groups.keys().find(|group| !groups.contains(&group.as_str())) {
        bail!(
            "{file}: labels.{GROUPS}.{group}: found no group of flows with this name, expected one of {}",
            groups.iter().copied().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
        );
    }
    Ok(())
}

/// A sentence for each figure that stays empty because no runs have the values that it compares.
fn nothing_to_compare(scenario: &Scenario, plan: &ScenarioPlan) -> Vec<String> {
    let all: Vec<_> = plan.settings.iter().map(|settings| settings.texts()).collect();
    let mut notes = Vec::new();
    for figure in &scenario.common.figures {
        let Some(Compare { setting, of, with, .. }) = figure.compare.as_ref().filter(|one| one.setting != GROUPS)
        else {
            continue;
        };
        let missing = |value: &&String| !all.iter().any(|texts| texts.get(setting) == Some(value));
        if let Some(value) = [of, with].into_iter().find(missing) {
            notes.push(format!("the figure {:?} stays empty, because no run has {setting} = {value}", figure.title));
        }
    }
    notes
}

/// Each run of models in a few words.
fn run_labels_of_models(plan: &ScenarioPlan) -> Vec<String> {
    let texts: Vec<_> = plan.settings.iter().map(|settings| settings.texts()).collect();
    let labels = scenario_labels(&texts);
    let named = plan.runs.iter().enumerate();
    named.map(|(place, run)| format!("{}, repetition {}", labels[place % labels.len()], run.repetition)).collect()
}
