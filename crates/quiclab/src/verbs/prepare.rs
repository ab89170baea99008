//! `quiclab tools prepare`

use std::time::Duration;

use anyhow::{Result, bail};
use quiclab_experiment::{AnyRun, Overrides};
use quiclab_testbed::{cache::Cache, guest::kernels::kernel};
use quiclab_units::ShowPath;

use crate::{
    session::experiment_files::read_experiment,
    session::{
        laboratory::open,
        prepared_archive::{self, Taken},
        signals,
    },
    settings::PrepareSettings,
    terminal::output,
};

/// Host time for booting is limited by itself; no run is performed.
const NO_RUN: Duration = Duration::ZERO;

/// Makes what an experiment needs, or everything.
///
/// # Errors
/// A setting without a file, a missing program or package with how to get it, or a failed build.
pub fn prepare(settings: &PrepareSettings) -> Result<u8> {
    if let (None, [(key, value), ..]) = (&settings.file, &settings.set[..]) {
        bail!(
            "--set {key}={value}: found no experiment file to set it in, expected one\nhint: quiclab tools prepare FILE \
             --set ..."
        );
    }
    if let Some(from) = &settings.from {
        for taken in prepared_archive::take(&Cache::from_environment()?, from, settings.sha256.as_deref())? {
            let Taken { path, sha256, taken, all } = taken;
            status!("quiclab: {}: took {taken} of {all} things; the cache had the others", path.shown());
            if settings.sha256.is_none() {
                status!(
                    "quiclab: {}: sha256 {sha256}, compared with nothing but its name\nhint: --sha256",
                    path.shown()
                );
            }
        }
        return Ok(0);
    }
    let laboratory = open(&settings.stacks, signals::stop_flag()?)?;
    match &settings.file {
        Some(file) => {
            let overrides = Overrides {
                settings: settings.set.clone(),
                own_stacks: laboratory.stack_store.own.clone(),
                ..Overrides::default()
            };
            let plan = read_experiment(file, settings.profile.as_deref())?
                .plan(&laboratory.stack_store.manifests(), &overrides)?;
            laboratory.prepare(&plan.runs.into_iter().map(AnyRun::from).collect::<Vec<_>>(), NO_RUN)?;
        }
        None => {
            kernel(&laboratory.stack_store, "6.1")?;
            for manifest in laboratory.stack_store.default_builds() {
                laboratory.build(&manifest.name)?;
            }
        }
    }
    if let Some(folder) = &settings.to {
        let (archive, sha256) = prepared_archive::pack(&laboratory.stack_store.cache, folder)?;
        output::print(&format!("{}\n", archive.shown()))?;
        status!("quiclab: for whoever takes it, by other means than the archive: --sha256 {sha256}");
    }
    status!("quiclab: everything is ready");
    Ok(0)
}
