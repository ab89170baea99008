//! `quiclab prepare`

use std::time::Duration;

use anyhow::{Result, bail};
use quiclab_experiment::{AnyRun, Overrides};
use quiclab_testbed::vm::testbed::kernel;

use crate::{cli::PrepareArguments, laboratory::open, run::read_experiment, signals};

/// Host time for booting is limited by itself; no run is performed.
const NO_RUN: Duration = Duration::ZERO;

/// Makes what an experiment needs, or everything.
///
/// # Errors
/// A setting without a file, a missing program or package with how to get it, or a failed build.
pub fn prepare(arguments: &PrepareArguments) -> Result<u8> {
    if let (None, [(key, value), ..]) = (&arguments.file, &arguments.set.settings[..]) {
        bail!(
            "--set {key}={value}: found no experiment file to set it in, expected one\nhint: quiclab prepare FILE \
             --set ..."
        );
    }
    let laboratory = open(&arguments.stacks, signals::stop_flag()?)?;
    match &arguments.file {
        Some(file) => {
            let settings = arguments.set.settings.clone();
            let overrides = Overrides { settings, own_stacks: laboratory.supplies.own.clone(), ..Overrides::default() };
            let plan = read_experiment(file, None)?.plan(&laboratory.supplies.manifests(), &overrides)?;
            laboratory.prepare(&plan.runs.into_iter().map(AnyRun::from).collect::<Vec<_>>(), NO_RUN)?;
        }
        None => {
            kernel(&laboratory.supplies, "6.1")?;
            for manifest in laboratory.supplies.usual() {
                laboratory.build(&manifest.name)?;
            }
        }
    }
    tell!("quiclab: everything is ready");
    Ok(0)
}
