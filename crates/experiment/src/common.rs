//! What experiment files of every workload say alike, and how their matrix becomes runs.

use std::collections::BTreeMap;

use crate::{
    changes::{Assignment, Changes, Origin},
    error::{ExperimentError, Place},
    expect::Expectation,
    matrix::{combinations, described},
    reader::{Reader, Table},
    scenario::FigureSpec,
    text::canonical,
};

/// What a file says whatever the workload of its runs, one profile chosen.
#[derive(Clone, Debug)]
pub struct Common {
    /// The name: one or more words with `/` between, such as `quic-steps/baseline`. Words are of letters, digits, `.`, `_` and
    /// `-` and do not begin with a dot, because the name becomes a folder.
    pub name: String,
    /// What the experiment measures, in a line.
    pub title: String,
    /// Where the experiment comes from; `None` where the file does not say.
    pub source: Option<String>,
    /// The seed of the first repetition; repetition r has `seed + r - 1`. 0 to 10^15, 1 where the file does not say.
    pub seed: u64,
    /// The claims that must hold, in the order of the file.
    pub expectations: Vec<Expectation>,
    /// The figures that the file asks for, in its order.
    pub figures: Vec<FigureSpec>,
    pub(crate) file: String,
    pub(crate) changes: Changes,
}

impl Reader<'_> {
    pub(crate) fn common(&self, root: &Table, profile: Option<&str>) -> Result<Common, ExperimentError> {
        Ok(Common {
            name: self.name(root)?,
            title: self.required_text(root, "title")?,
            source: self.optional_text(root, "source")?,
            seed: root.get("seed").map_or(Ok(1), |seed| self.seed(seed))?,
            expectations: root.get("expect").map_or(Ok(Vec::new()), |expect| self.expectations(expect))?,
            figures: self.figures(root)?,
            file: self.file.to_owned(),
            changes: self.all_changes(root, profile)?,
        })
    }
}

impl Common {
    pub(crate) fn error(&self, place: Option<Place>, message: String, hint: Option<String>) -> ExperimentError {
        ExperimentError { file: self.file.clone(), place, message, hint }
    }

    /// An error about a value from `origin`.
    pub(crate) fn error_from(&self, origin: Option<Origin>, message: String, hint: Option<String>) -> ExperimentError {
        let prefix = origin.map_or("", Origin::prefix);
        self.error(origin.and_then(Origin::place), format!("{prefix}{message}"), hint)
    }

    /// The settings of every combination of the matrix, in its order, without those that `resolve` leaves out. `key` tells settings apart: runs
    /// that do not differ would have the same identity, and the same record.
    ///
    /// # Errors
    /// Those of `resolve`, and two combinations with the same settings.
    pub(crate) fn expand<S, K: Ord>(
        &self,
        mut resolve: impl FnMut(&[&Assignment]) -> Result<Option<S>, ExperimentError>,
        key: impl Fn(&S) -> K,
    ) -> Result<Vec<S>, ExperimentError> {
        let mut all = Vec::new();
        let mut planned = BTreeMap::new();
        for combination in combinations(&self.changes.matrix) {
            let assignments: Vec<_> = self.changes.assignments.iter().chain(combination.iter().copied()).collect();
            let Some(settings) = resolve(&assignments)? else { continue };
            let words = described(&combination);
            if let Some(same) = planned.insert(key(&settings), words.clone()) {
                let message = format!(
                    "matrix: found {words} and {same}, which describe the same run; expected different settings"
                );
                return Err(self.error_from(combination.last().map(|last| last.origin), message, None));
            }
            all.push(settings);
        }
        Ok(all)
    }

    /// Keeps the settings whose `text` is `wanted`, the value that `--filter` gives to `key`.
    ///
    /// # Errors
    /// Nothing is left: what there is instead, with the hint that `hint` makes of the text and these values.
    pub(crate) fn filter<S>(
        &self,
        (key, wanted): (&str, &str),
        mut settings: Vec<S>,
        text: impl Fn(&S) -> Option<String>,
        hint: impl FnOnce(&str, &[String]) -> Option<String>,
    ) -> Result<Vec<S>, ExperimentError> {
        let mut values: Vec<_> = settings.iter().filter_map(&text).collect();
        let canonical = canonical(wanted);
        settings.retain(|settings| text(settings).as_ref() == Some(&canonical));
        if !settings.is_empty() {
            return Ok(settings);
        }
        values.sort();
        values.dedup();
        let others = match values.join(", ") {
            none if none.is_empty() => "another key, because it has no effect in any run".to_owned(),
            values => format!("one of {values}"),
        };
        let message = format!("--filter {key}={wanted}: no run has it; expected {others}");
        Err(self.error(None, message, hint(&canonical, &values)))
    }

    /// The runs: every setting's first repetition, then every setting's second, and so on, so that every group shows early. `run` makes one of
    /// its settings, the number of the repetition, and its seed.
    pub(crate) fn repeated<S, R>(&self, settings: &[S], repetitions: u32, run: impl Fn(&S, u32, u64) -> R) -> Vec<R> {
        let mut runs = Vec::new();
        for repetition in 1..=repetitions {
            let seed = self.seed + u64::from(repetition) - 1;
            runs.extend(settings.iter().map(|settings| run(settings, repetition, seed)));
        }
        runs
    }
}
