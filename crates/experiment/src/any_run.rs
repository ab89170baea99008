//! One resolved run of either kind of workload: a transfer between stacks, or flows of models.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    run::{Run, Versions},
    scenario::ScenarioRun,
    settings_differences,
    text::setting_list,
};

/// One run, whatever its workload. Serialized, it is the run alone; [`AnyRun::kind`] says which kind it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AnyRun {
    /// A transfer between stacks.
    Transfer(Box<Run>),
    /// Flows of models.
    Models(Box<ScenarioRun>),
}

impl AnyRun {
    /// The kind of a transfer, as `run.toml` has it.
    pub const TRANSFER: &'static str = "transfer";
    /// The kind of a run of models.
    pub const MODELS: &'static str = "scenario";

    /// The kind of the run: [`AnyRun::TRANSFER`] or [`AnyRun::MODELS`].
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Transfer(_) => Self::TRANSFER,
            Self::Models(_) => Self::MODELS,
        }
    }

    /// Name of the experiment.
    pub fn experiment(&self) -> &str {
        match self {
            Self::Transfer(run) => &run.experiment,
            Self::Models(run) => &run.experiment,
        }
    }

    /// The number of the repetition, from 1.
    pub fn repetition(&self) -> u32 {
        match self {
            Self::Transfer(run) => run.repetition,
            Self::Models(run) => run.repetition,
        }
    }

    /// The number from which everything random in the run is derived.
    pub fn seed(&self) -> u64 {
        match self {
            Self::Transfer(run) => run.seed,
            Self::Models(run) => run.seed,
        }
    }

    /// The identity of the run, as [`Run::id`] and [`ScenarioRun::id`] define it.
    pub fn id(&self, versions: &Versions) -> String {
        match self {
            Self::Transfer(run) => run.id(versions),
            Self::Models(run) => run.id(versions),
        }
    }

    /// Name of the run's record.
    pub fn folder_name(&self, versions: &Versions) -> String {
        match self {
            Self::Transfer(run) => run.folder_name(versions),
            Self::Models(run) => run.folder_name(versions),
        }
    }

    /// Names of the stacks that the run needs: the server's and the client's, or none.
    pub fn stacks(&self) -> Vec<&String> {
        match self {
            Self::Transfer(run) => vec![&run.settings.stack.server, &run.settings.stack.client],
            Self::Models(_) => Vec::new(),
        }
    }

    /// Every setting by its dotted key, with its text; `None` where it has no meaning beside the others. Transfers have the order of the
    /// reference, models that of the keys.
    pub fn setting_list(&self) -> Vec<(String, Option<String>)> {
        match self {
            Self::Transfer(run) => {
                setting_list(&run.settings).into_iter().map(|(key, text)| (key.to_owned(), text)).collect()
            }
            Self::Models(run) => run.settings.texts().into_iter().map(|(key, text)| (key, Some(text))).collect(),
        }
    }

    /// The settings in which two runs differ, by key; "none" where one does not have it.
    pub fn settings_differences(&self, other: &Self) -> BTreeMap<String, [String; 2]> {
        if let (Self::Transfer(one), Self::Transfer(other)) = (self, other) {
            return settings_differences(&one.settings, &other.settings);
        }
        let [one, other] = [self, other].map(|run| run.setting_list().into_iter().collect::<BTreeMap<_, _>>());
        let text = |texts: &BTreeMap<String, Option<String>>, key: &String| {
            texts.get(key).cloned().flatten().unwrap_or_else(|| "none".to_owned())
        };
        let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
        let pairs = keys.map(|key| (key.clone(), [text(&one, key), text(&other, key)]));
        pairs.filter(|(_, [one, other])| one != other).collect()
    }
}

impl From<Run> for AnyRun {
    fn from(run: Run) -> Self {
        Self::Transfer(Box::new(run))
    }
}

impl From<ScenarioRun> for AnyRun {
    fn from(run: ScenarioRun) -> Self {
        Self::Models(Box::new(run))
    }
}
