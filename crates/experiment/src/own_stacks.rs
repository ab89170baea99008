//! Stacks of the user's own in an experiment that names others.

use std::collections::BTreeMap;

use toml::Value;

use crate::{
    changes::{Assignment, Changes, Origin},
    error::ExperimentError,
    file::Experiment,
    run::{Run, Sender, Word as _},
    stack::{Role, StackManifest, named},
};

/// Which end's packets a run measures.
const SENDER: &str = "workload.sender";
/// The stack that a run is about.
const NAME: &str = "stack.name";
const SERVER: &str = "stack.server";
const CLIENT: &str = "stack.client";

impl Experiment {
    /// Puts `own` in the place of the stacks that the file names, unless it names one of `own` or the command line sets
    /// `stack.name`. Returns those that were put in.
    ///
    /// `stack.name` becomes all of `own`. A server that the file names becomes the own one, if that can serve; so does a client
    /// if it cannot, or if the file measures uploads. Other clients stay: they are what the file measures senders with; so do the servers
    /// of uploads.
    ///
    /// # Errors
    /// Where the file names servers or clients, so that several stacks could take their places in several ways.
    pub(crate) fn substitute(
        &mut self,
        own: &[String],
        stacks: &BTreeMap<String, StackManifest>,
    ) -> Result<Vec<String>, ExperimentError> {
        let names: Vec<_> =
            [NAME, SERVER, CLIENT].into_iter().flat_map(|key| self.common.changes.values_of(key)).collect();
        let is_own = |set: &&Assignment| set.value.as_str().is_some_and(|name| is_of(name, own, stacks));
        let is_asked_for = names.iter().any(|set| set.key == NAME && set.origin == Origin::Set);
        if own.is_empty() || is_asked_for || names.iter().any(is_own) {
            return Ok(Vec::new());
        }
        let serves = own.iter().all(|name| stacks.get(name).is_some_and(|manifest| manifest.has(Role::Server)));
        let senders: Vec<_> = self.common.changes.values_of(SENDER).map(|set| set.value.as_str()).collect();
        let uploads = !senders.is_empty() && senders.iter().all(|sender| *sender == Some(Sender::Client.word()));
        let side = if serves && !uploads { SERVER } else { CLIENT };
        let mut keys = vec![NAME];
        if self.sets_in_file(side) {
            if let [_, _, ..] = own {
                let message = format!("--stack: found {} stacks for a file that sets {side}, expected one", own.len());
                let hint = format!("choose one with --set '{side}=...'");
                return Err(self.common.error(None, message, Some(hint)));
            }
            keys.push(side);
        }
        let mut changes = Changes::default();
        for key in keys {
            let value = |name: &String| Assignment {
                key: key.to_owned(),
                value: Value::String(name.clone()),
                origin: Origin::OwnStack,
            };
            match own {
                [only] => changes.assignments.push(value(only)),
                all => changes.matrix.push((key.to_owned(), all.iter().map(value).collect())),
            }
        }
        self.common.changes = std::mem::take(&mut self.common.changes).overridden_by(changes);
        Ok(own.to_vec())
    }

    /// What to do where the own stacks took the server's place, cannot serve as the file asks, and the file is about clients as well.
    pub(crate) fn client_hint(
        &self,
        substituted: &[String],
        stacks: &BTreeMap<String, StackManifest>,
    ) -> Option<String> {
        let fetches = |name: &String| stacks.get(name).is_some_and(|manifest| manifest.has(Role::Client));
        if substituted.is_empty() || !substituted.iter().all(fetches) || !self.sets_in_file(CLIENT) {
            return None;
        }
        let names = substituted.join(",");
        Some(format!(
            "{names} took the server's place; --set {CLIENT}={names} keeps the file's server and tries it as the client"
        ))
    }

    /// Whether the file itself names a stack. [`Self::substitute`] removes these names.
    pub(crate) fn names_stacks(&self) -> bool {
        [NAME, SERVER, CLIENT].into_iter().any(|key| self.sets_in_file(key))
    }

    fn sets_in_file(&self, key: &str) -> bool {
        self.common.changes.values_of(key).next().is_some_and(|first| first.origin.place().is_some())
    }
}

/// The stacks of `own` that no run has on any side.
pub(crate) fn unused(own: &[String], runs: &[Run]) -> Vec<String> {
    let has = |run: &Run, own: &str| {
        let stack = &run.settings.stack;
        [&stack.name, &stack.server, &stack.client].into_iter().any(|name| name == own || base(name) == own)
    };
    own.iter().filter(|own| !runs.iter().any(|run| has(run, own))).cloned().collect()
}

/// True where `name`, which may say a version or options of a build, is one of `own`.
fn is_of(name: &str, own: &[String], stacks: &BTreeMap<String, StackManifest>) -> bool {
    let found = named(stacks, name).map_or(name, |manifest| &manifest.name);
    own.iter().any(|own| own == found || own == base(found))
}

/// A stack's name without the options of its build.
fn base(name: &str) -> &str {
    name.split_once(' ').map_or(name, |(base, _)| base)
}
