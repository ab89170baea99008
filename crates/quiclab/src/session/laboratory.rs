//! Opens testbeds with the stacks that the command line asks for.

use std::{
    path::Path,
    slice,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use anyhow::{Result, bail};
use quiclab_experiment::AnyRun;
use quiclab_testbed::{
    cache::Cache,
    hosts::{Hosts, NAME},
    laboratory::Laboratory,
    registry::{default_testbed, testbed},
    stack_store::StackRequest,
    testbed::Testbed,
};

use crate::{session::prepared_archive, terminal::progress};

/// The default testbed with its stacks.
///
/// # Errors
/// As [`Laboratory::open`].
pub fn open(stacks: &StackRequest, stop: Arc<AtomicBool>) -> Result<Laboratory> {
    open_on(default_testbed(), stacks, stop)
}

/// The testbed with its stacks.
///
/// # Errors
/// As [`Laboratory::open`].
pub fn open_on(testbed: Arc<dyn Testbed>, stacks: &StackRequest, stop: Arc<AtomicBool>) -> Result<Laboratory> {
    prepared_archive::take_installed(&Cache::from_environment()?)?;
    Laboratory::open(testbed, stacks, stop, progress::say)
}

/// The testbed with the stacks for `run`; without any where it needs none.
///
/// # Errors
/// As [`Laboratory::open`].
pub fn open_for(
    run: &AnyRun,
    testbed: Arc<dyn Testbed>,
    stacks: &StackRequest,
    stop: Arc<AtomicBool>,
) -> Result<Laboratory> {
    if run.stacks().is_empty() {
        return Laboratory::without_stacks(testbed, stop, progress::say);
    }
    open_on(testbed, stacks, stop)
}

/// Makes what `run` needs. Unlike where there are many runs, one that lacks a stack cannot be skipped.
///
/// # Errors
/// As [`Laboratory::prepare`], and where any of its stacks cannot be built.
pub fn prepare_only(laboratory: &Laboratory, run: &AnyRun, timeout: Duration) -> Result<()> {
    match laboratory.prepare(slice::from_ref(run), timeout)?.first_key_value() {
        None => Ok(()),
        Some((name, why)) => bail!("{name} could not be built: {why}"),
    }
}

/// The testbed that `--testbed` names; the default one without it.
///
/// # Errors
/// Where there is none of that name.
pub fn named(name: Option<&str>) -> Result<Arc<dyn Testbed>> {
    name.map_or_else(|| Ok(default_testbed()), testbed)
}

/// The same, with the hosts that `--hosts` names.
///
/// # Errors
/// Where another testbed is to use hosts.
pub fn named_with(name: Option<&str>, hosts: Option<&Path>) -> Result<Arc<dyn Testbed>> {
    match (name, hosts) {
        (Some(NAME), Some(file)) => Ok(Arc::new(Hosts::of(file))),
        (_, Some(_)) => bail!("--hosts: not with the testbed {}, only with --testbed {NAME}", name.unwrap_or("vm")),
        (name, None) => named(name),
    }
}
