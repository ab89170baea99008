//! What a file asks for: one plan, whatever the workload of its runs.

use anyhow::{Result, bail};
use quiclab_experiment::{
    AnyRun, Expectation, Overrides, Plan, Published,
    scenario::{FigureSpec, Scenario, ScenarioPlan, TIME, scenario_labels},
};
use quiclab_sim::measures::{METRICS, SERIES, is_named};

use crate::{
    cli::RunArguments,
    run::words::{notes, run_labels},
};

/// The runs of a file, and what the report says besides.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Name of the experiment.
    pub experiment: String,
    /// What it measures, in a line.
    pub title: String,
    /// Where it comes from.
    pub source: Option<String>,
    /// What others published.
    pub published: Vec<Published>,
    /// What must hold.
    pub expectations: Vec<Expectation>,
    /// What must hold of runs that are not part of this plan.
    pub expectations_left_out: Vec<Expectation>,
    /// Whether senders are ranked.
    pub ranking: bool,
    /// The pictures that the file asks for; transfers always have the same ones.
    pub figures: Vec<FigureSpec>,
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
    /// Of transfers between stacks.
    pub fn of_transfers(plan: &Plan, arguments: &RunArguments) -> Self {
        let all: Vec<_> = plan.runs.iter().filter(|run| run.repetition == 1).map(|run| &run.settings).collect();
        let has_runs = |expectation: &Expectation| {
            let mut subjects = expectation.subjects(&all).into_iter();
            subjects.any(|subject| subject.with.is_none_or(|with| !with.is_empty()))
        };
        let (expectations, expectations_left_out) = plan.expectations.iter().cloned().partition(has_runs);
        Self {
            experiment: plan.experiment.clone(),
            title: plan.title.clone(),
            source: plan.source.clone(),
            published: plan.published.clone(),
            expectations,
            expectations_left_out,
            ranking: plan.ranking,
            figures: Vec::new(),
            substituted: plan.substituted.clone(),
            notes: notes(plan, arguments),
            kind: AnyRun::TRANSFER,
            labels: run_labels(plan),
            runs: plan.runs.iter().cloned().map(AnyRun::from).collect(),
        }
    }

    /// Of the flows of models in a file.
    ///
    /// # Errors
    /// What is wrong with the file, with its place.
    pub fn of_models(file: &str, text: &str, profile: Option<&str>, overrides: &Overrides) -> Result<Self> {
        let scenario = Scenario::parse(file, text, profile)?;
        let plan = scenario.plan(overrides)?;
        check_names(file, &scenario, &plan)?;
        Ok(Self {
            experiment: scenario.name.clone(),
            title: scenario.title.clone(),
            source: scenario.source.clone(),
            published: Vec::new(),
            expectations: scenario.expectations,
            expectations_left_out: Vec::new(),
            ranking: false,
            figures: scenario.figures,
            substituted: Vec::new(),
            notes: Vec::new(),
            kind: AnyRun::MODELS,
            labels: labels(&plan),
            runs: plan.runs.into_iter().map(AnyRun::from).collect(),
        })
    }
}

/// Checks that expectations and figures name metrics and series that the runs have.
fn check_names(file: &str, scenario: &Scenario, plan: &ScenarioPlan) -> Result<()> {
    let groups: Vec<&str> =
        plan.settings.iter().flat_map(|settings| settings.flows.keys().map(String::as_str)).collect();
    for expectation in &scenario.expectations {
        if !is_named(METRICS, groups.iter().copied(), &expectation.metric) {
            bail!(
                "{file}: expect.metric: found {:?} with the claim {:?}, expected one of {}, where GROUP is the name of a group of flows",
                expectation.metric,
                expectation.claim,
                METRICS.join(", ")
            );
        }
    }
    for figure in &scenario.figures {
        let list = if figure.x == TIME { SERIES } else { METRICS };
        if let Some(wrong) = figure.y.iter().find(|name| !is_named(list, groups.iter().copied(), name)) {
            bail!(
                "{file}: figure.y: found {wrong:?} in {:?}, expected one of {}, where GROUP is the name of a group of flows",
                figure.title,
                list.join(", ")
            );
        }
    }
    Ok(())
}

/// Each run of models in a few words.
fn labels(plan: &ScenarioPlan) -> Vec<String> {
    let texts: Vec<_> = plan.settings.iter().map(|settings| settings.texts()).collect();
    let labels = scenario_labels(&texts);
    let named = plan.runs.iter().enumerate();
    named.map(|(place, run)| format!("{}, repetition {}", labels[place % labels.len()], run.repetition)).collect()
}
