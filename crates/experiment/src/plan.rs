//! The plan: every run of an experiment, fully resolved.

use std::collections::BTreeMap;

use quiclab_units::Duration;
use sha2::{Digest, Sha256};

use crate::{
    changes::{Assignment, Origin},
    error::{ExperimentError, nearest, nearest_word},
    file::Experiment,
    folder_names,
    kind::TRANSFERS,
    matrix::{self, MOST_RUNS},
    overrides::Overrides,
    own_stacks::unused,
    repetitions::{Repetitions, Until},
    resolve::Refusal,
    run::{Run, Settings, word},
    set,
    settings::draft::{Draft, find},
    skipped::{Skipped, Unclaimed},
    stack::{Role, StackManifest, named},
    text::{setting_text, settings_text},
};

/// Starts of transfers are shifted by less than this, so that repetitions meet the timers of the path at other phases.
const LARGEST_SHIFT: Duration = Duration::from_millis(100);

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The experiment, with what the command line changes.
    pub experiment: Experiment,
    /// Combinations of the matrix that were left out because a stack does not claim them.
    pub skipped: usize,
    /// The reasons for skipping them, each with the number of combinations.
    pub left_out_because: BTreeMap<String, usize>,
    /// The stacks of [`Overrides::own_stacks`] that take the place of those in the file; empty where the file names one of
    /// them itself.
    pub substituted: Vec<String>,
    /// Whether the file names a stack, as name, server or client.
    pub names_stacks: bool,
    /// The stacks of [`Overrides::own_stacks`] that no run has.
    pub unused: Vec<String>,
    /// Where runs are repeated until a metric is known well enough; the runs are then those of the first look. `None` where
    /// [`Overrides::repetitions`] says how many there are.
    pub until: Option<Until>,
    /// The runs: all groups' first repetition, then all groups' second, and so on, so that every group shows early.
    pub runs: Vec<Run>,
}

impl Experiment {
    /// Expands the matrix into runs. `stacks` are the stacks there are.
    ///
    /// # Errors
    /// A stack that there is none of, a setting that a stack cannot honour, two combinations of the matrix that mean the
    /// same, no repetition at all, too many runs, a filter that no run passes, a setting among the overrides that is not one.
    pub fn plan(
        &self,
        stacks: &BTreeMap<String, StackManifest>,
        overrides: &Overrides,
    ) -> Result<Plan, ExperimentError> {
        let mut experiment = self.clone();
        let set = set::changes(&self.common.file, &TRANSFERS, &overrides.settings, self.read)?;
        experiment.common.changes = experiment.common.changes.overridden_by(set);
        let substituted = experiment.substitute(&overrides.own_stacks, stacks)?;
        let plan = experiment.expand(stacks, overrides, substituted)?;
        Ok(Plan { names_stacks: self.names_stacks(), ..plan })
    }

    fn expand(
        &self,
        stacks: &BTreeMap<String, StackManifest>,
        overrides: &Overrides,
        substituted: Vec<String>,
    ) -> Result<Plan, ExperimentError> {
        let Some(size) = matrix::size(&self.common.changes.matrix) else {
            let message = format!("matrix: found more than {MOST_RUNS} combinations, expected fewer");
            return Err(self.common.error(None, message, None));
        };
        self.refuse_too_many(size, overrides, !substituted.is_empty())?;
        let mut repetitions = Repetitions::Fixed(1);
        let mut skipped = Skipped::default();
        let resolve = |assignments: &[&Assignment]| {
            let draft = draft(assignments.iter().copied());
            repetitions = draft.repetitions.clone();
            match self.resolve(draft, stacks, assignments)? {
                Ok(settings) => Ok(Some(settings)),
                // What was asked for by name is not left out, unless the file wants that.
                Err(refused) if self.leaves_unclaimed_out || !(substituted.is_empty() || refused.is_set) => {
                    skipped.add(refused);
                    Ok(None)
                }
                Err(refused) => Err(refused.error),
            }
        };
        let groups = self.common.expand(resolve, settings_text)?;
        if groups.is_empty() {
            let error = skipped.error(&self.common);
            return Err(ExperimentError {
                hint: error.hint.or_else(|| self.client_hint(&substituted, stacks)),
                ..error
            });
        }
        // What tells a run apart does not depend on a filter, so that its folder has one name.
        let labels: BTreeMap<_, _> = groups.iter().map(settings_text).zip(folder_names::labels(&groups)).collect();
        let settings = self.filter(groups, &overrides.filters)?;
        let until = match &repetitions {
            Repetitions::Until(until) if overrides.repetitions.is_none() => Some(until.clone()),
            _ => None,
        };
        let repetitions = overrides.repetitions.unwrap_or(repetitions.first());
        if repetitions == 0 {
            return Err(self.common.error(None, "repetitions: found 0, expected at least 1".to_owned(), None));
        }
        if matrix::runs(settings.len(), repetitions).is_none() {
            return Err(self.too_many(settings.len(), repetitions));
        }
        let runs = self.common.repeated(&settings, repetitions, |settings, repetition, seed| Run {
            experiment: self.common.name.clone(),
            repetition,
            seed,
            start_shift: start_shift(seed),
            settings: settings.clone(),
            label: labels.get(&settings_text(settings)).cloned().unwrap_or_default(),
        });
        Ok(Plan {
            experiment: self.clone(),
            skipped: skipped.counts().values().sum(),
            left_out_because: skipped.counts(),
            unused: unused(&overrides.own_stacks, &runs),
            substituted,
            names_stacks: false,
            until,
            runs,
        })
    }

    /// Where every combination becomes a run, their number is known before the first is looked at.
    fn refuse_too_many(&self, size: usize, overrides: &Overrides, is_substituted: bool) -> Result<(), ExperimentError> {
        if self.leaves_unclaimed_out || is_substituted || !overrides.filters.is_empty() {
            return Ok(());
        }
        let draft = draft(&self.common.changes.assignments);
        let repetitions = overrides.repetitions.unwrap_or(draft.repetitions.first());
        if matrix::runs(size, repetitions).is_none() {
            return Err(self.too_many(size, repetitions));
        }
        Ok(())
    }

    fn too_many(&self, settings: usize, repetitions: u32) -> ExperimentError {
        let message =
            format!("found {settings} settings with {repetitions} repetitions each, expected at most {MOST_RUNS} runs");
        self.common.error(None, message, None)
    }

    /// The settings of one combination, or what a stack does not claim of it.
    fn resolve(
        &self,
        draft: Draft,
        stacks: &BTreeMap<String, StackManifest>,
        assignments: &[&Assignment],
    ) -> Result<Result<Settings, Unclaimed>, ExperimentError> {
        let origin_of = |key: &str| assignments.iter().rfind(|one| one.key == key).map(|one| one.origin);
        // Where the key stands nowhere, the stack is to blame, if that is in the file.
        let blamed = |key: &str| {
            let in_file = |origin: &Origin| origin.place().is_some();
            origin_of(key).or_else(|| origin_of("stack.name").filter(in_file))
        };
        // Builds with options, which have a space in their name, are for whoever knows the stack.
        let plain = || stacks.keys().filter(|name| !name.contains(' ')).cloned();
        let known = || match plain().collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "the name of a stack, but there are no stacks".to_owned(),
            names => format!("one of {names}"),
        };
        let asked = |key: &str, name: &String| draft.is_given(key).then(|| name.clone());
        let Some(name) = asked("stack.name", &draft.settings.stack.name) else {
            let message = format!("stack.name: missing; expected {}", known());
            return Err(self.common.error(
                None,
                message,
                Some("add [stack] name = \"...\", or \"stack.name\" = [...] to [matrix]".into()),
            ));
        };
        let find = |key: &str, name: &str| {
            named(stacks, name).ok_or_else(|| {
                let hint = nearest(name, stacks.keys().map(String::as_str)).map(|near| format!("did you mean {near}?"));
                self.common.error_from(origin_of(key), format!("{key}: found {name:?}, expected {}", known()), hint)
            })
        };
        let under_test = find("stack.name", &name)?;
        let side = |key: &str, asked: &Option<String>, role: Role| {
            let name = asked.as_deref().unwrap_or_else(|| {
                if under_test.has(role) { &name } else { under_test.peer.as_deref().unwrap_or(&name) }
            });
            let manifest = find(key, name)?;
            if manifest.has(role) {
                return Ok(manifest);
            }
            let message = format!("{key}: found {name:?}, which has no {}; expected a stack with one", word(&role));
            Err(self.common.error_from(blamed(key), message, None))
        };
        let server = side("stack.server", &asked("stack.server", &draft.settings.stack.server), Role::Server)?;
        let client = side("stack.client", &asked("stack.client", &draft.settings.stack.client), Role::Client)?;
        if server.transport != client.transport {
            let message = format!(
                "stack.client: found {:?}, which uses a different transport than {:?}; expected one with the same \
                 transport",
                client.name, server.name
            );
            return Err(self.common.error_from(blamed("stack.client"), message, None));
        }
        match draft.resolve(&under_test.name, server, client) {
            Ok(settings) => Ok(Ok(settings)),
            Err(Refusal { key, message, hint, is_unclaimed }) => {
                let error = self.common.error_from(blamed(key), format!("{key}: {message}"), hint);
                if !is_unclaimed {
                    return Err(error);
                }
                Ok(Err(Unclaimed { error, is_set: origin_of(key) == Some(Origin::Set) }))
            }
        }
    }

    fn filter(&self, groups: Vec<Settings>, filters: &[(String, String)]) -> Result<Vec<Settings>, ExperimentError> {
        let mut left = groups;
        for (key, wanted) in filters {
            let key = if key == "stack" { "stack.name" } else { key };
            if key == "workload.repetitions" {
                let message = format!("--filter {key}={wanted}: found a key that no single run has");
                return Err(self.common.error(None, message, Some("--reps sets the number of repetitions".to_owned())));
            }
            let known = find(key).map(|setting| setting.key).or_else(|| TRANSFERS.knows(key).then_some(key));
            let Some(key) = known else {
                let (_, hint) = TRANSFERS.unknown_key(key);
                let message = format!("--filter {key}={wanted}: found a key that does not exist");
                return Err(self.common.error(None, message, hint));
            };
            let text = |settings: &Settings| setting_text(settings, key);
            left = self.common.filter((key, wanted), left, text, |text, values| {
                let near = nearest_word(text, values.iter().map(String::as_str)).filter(|_| values.len() > 1);
                near.map(|near| format!("did you mean {near:?}?"))
            })?;
        }
        Ok(left)
    }
}

/// The settings as these assignments leave them, not yet resolved.
fn draft<'a>(assignments: impl IntoIterator<Item = &'a Assignment>) -> Draft {
    let mut draft = Draft::default();
    for assignment in assignments {
        // Each was checked when the file was read.
        let _ = draft.set(&assignment.key, &assignment.value);
    }
    draft
}

/// Drawn from a stream of its own. The modulo favours the smaller shifts by one part in 10^11, since 2^64 is so much
/// larger than 10^8 ns.
fn start_shift(seed: u64) -> Duration {
    let mut digest = Sha256::new();
    digest.update(seed.to_le_bytes());
    digest.update("start-shift");
    let digest = digest.finalize();
    let draw = digest.iter().take(8).fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    Duration::from_nanos(draw % LARGEST_SHIFT.as_nanos())
}
