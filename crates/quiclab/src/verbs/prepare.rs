//! `quiclab tools prepare`

use std::time::Duration;

use anyhow::{Result, bail};
use quiclab_experiment::{AnyRun, Overrides};
use quiclab_testbed::{cache::Cache, vm::testbed::kernel};
use quiclab_units::ShowPath;

use crate::{
    cli::PrepareArguments,
    session::experiment_files::read_experiment,
    session::{
        laboratory::open,
        prepared_archive::{self, Taken},
        signals,
    },
    terminal::output,
};

/// Host time for booting is limited by itself; no run is performed.
const NO_RUN: Duration = Duration::ZERO;

/// Makes what an experiment needs, or everything.
///
/// # Errors
/// A setting without a file, a missing program or package with how to get it, or a failed build.
pub fn prepare(arguments: &PrepareArguments) -> Result<u8> {
    if let (None, [(key, value), ..]) = (&arguments.file, &arguments.set.settings[..]) {
        bail!(
            "--set {key}={value}: found no experiment file to set it in, expected one\nhint: quiclab tools prepare FILE \
             --set ..."
        );
    }
    if let Some(from) = &arguments.from {
        for taken in prepared_archive::take(&Cache::from_environment()?, from, arguments.sha256.as_deref())? {
            let Taken { path, sha256, taken, all } = taken;
            status!("quiclab: {}: took {taken} of {all} things; the cache had the others", path.shown());
            if arguments.sha256.is_none() {
                status!(
                    "quiclab: {}: sha256 {sha256}, compared with nothing but its name\nhint: --sha256",
                    path.shown()
                );
            }
        }
        return Ok(0);
    }
    let laboratory = open(&arguments.stacks.request(), signals::stop_flag()?)?;
    match &arguments.file {
        Some(file) => {
            let settings = arguments.set.settings.clone();
            let overrides =
                Overrides { settings, own_stacks: laboratory.stack_store.own.clone(), ..Overrides::default() };
            let plan = read_experiment(file, arguments.profile.as_deref())?
                .plan(&laboratory.stack_store.manifests(), &overrides)?;
            laboratory.prepare(&plan.runs.into_iter().map(AnyRun::from).collect::<Vec<_>>(), NO_RUN)?;
        }
        None => {
            kernel(&laboratory.stack_store, "6.1")?;
            for manifest in laboratory.stack_store.usual() {
                laboratory.build(&manifest.name)?;
            }
        }
    }
    if let Some(folder) = &arguments.to {
        let (archive, sha256) = prepared_archive::pack(&laboratory.stack_store.cache, folder)?;
        output::print(&format!("{}\n", archive.shown()))?;
        status!("quiclab: for whoever takes it, by other means than the archive: --sha256 {sha256}");
    }
    status!("quiclab: everything is ready");
    Ok(0)
}
