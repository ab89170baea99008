//! The stacks that a testbed has built, in the form in which it runs them.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use anyhow::{Context, Result};
use quiclab_experiment::run::Run;

use crate::{
    perform::{Side, Sides},
    stack::{BuiltStack, Source},
    stack_store::StackStore,
    testbed::{Built, Manifests},
};

/// Built stacks by name, shared by all workers.
#[derive(Debug)]
pub(crate) struct BuiltStacks<S>(Mutex<BTreeMap<String, S>>);

impl<S> Default for BuiltStacks<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S: Clone> BuiltStacks<S> {
    /// Keeps a stack; it takes the place of an earlier one of that name.
    pub(crate) fn insert(&self, name: &str, stack: S) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), stack);
    }

    /// Builds a stack, unless the cache has it, and keeps what `prepare` makes of it.
    ///
    /// # Errors
    /// Where it cannot be built or prepared.
    pub(crate) fn build(
        &self,
        stack_store: &StackStore,
        source: &Source,
        again: bool,
        prepare: impl FnOnce(BuiltStack) -> Result<S>,
    ) -> Result<Built> {
        let stack = BuiltStack::prepare(&stack_store.cache, source, again, &stack_store.stop)?;
        let built = Built { digest: stack.digest()?, made: stack.made.clone() };
        self.insert(&source.manifest.name, prepare(stack)?);
        Ok(built)
    }

    /// The stacks of a run.
    ///
    /// # Errors
    /// Where one was not built.
    pub(crate) fn of(&self, run: &Run) -> Result<Pair<S>> {
        let stacks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let find = |name: &String| stacks.get(name).cloned().with_context(|| format!("stack {name} was not built"));
        Ok(Pair { server: find(&run.settings.stack.server)?, client: find(&run.settings.stack.client)? })
    }
}

/// The built stacks of a run.
pub(crate) struct Pair<S> {
    server: S,
    client: S,
}

impl<S> Pair<S> {
    /// The same, with what they say of themselves.
    pub(crate) fn sides<'a>(&'a self, manifests: Manifests<'a>) -> Sides<'a, S> {
        Sides {
            server: Side { manifest: manifests.server, stack: &self.server },
            client: Side { manifest: manifests.client, stack: &self.client },
        }
    }
}
