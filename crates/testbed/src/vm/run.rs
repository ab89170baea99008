//! Performs one run: restore, orders in, results out.

use std::{
    fs::{self, File},
    io::Write,
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use quiclab_agent::{machine::POWER_OFF_STATUS, slot};
use quiclab_experiment::{
    run::{Run, Versions},
    stack::StackManifest,
};
use quiclab_metrics::RunMetrics;

use super::{
    machine::Size,
    monitor::{HostUse, describe},
    orders,
    state::{Guest, Host},
};
use crate::{
    cache::Cache,
    collect::{Results, RunFailure, excerpt},
    record::Records,
    stack::BuiltStack,
};

/// What performing runs needs.
#[derive(Clone, Debug)]
pub struct Vm {
    /// Where saved states are.
    pub cache: Cache,
    /// The guest.
    pub guest: Guest,
}

/// A run that went well.
#[derive(Clone, Debug)]
pub struct Performed {
    /// Its record.
    pub record: PathBuf,
    /// Its metrics.
    pub metrics: RunMetrics,
    /// What its QEMU used.
    pub host_use: HostUse,
    /// Host time from start to end.
    pub elapsed: Duration,
}

/// How performing a run can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum PerformError {
    /// The run failed; what is known of it is in the folder. Other runs can go on.
    #[error("{failure}")]
    Run {
        /// Why.
        failure: RunFailure,
        /// What its endpoints said, if anything.
        kept: Option<PathBuf>,
    },
    /// The testbed failed, or was told to stop.
    #[error("{0:#}")]
    Testbed(#[from] anyhow::Error),
}

impl Vm {
    /// What a run with this stack is made with: part of its identity.
    ///
    /// # Errors
    /// Where a part cannot be read.
    pub fn versions(&self, run: &Run, manifest: &StackManifest, stack: &BuiltStack) -> Result<Versions> {
        let size = Size::for_transfer(run.settings.workload.size)?;
        let mut versions = Versions::from([
            ("testbed".into(), "vm".into()),
            ("qemu".into(), self.guest.qemu_version.clone()),
            ("kernel".into(), self.guest.kernel.version()?),
            ("guest".into(), self.guest.identity(size)?),
            ("quiclab".into(), env!("CARGO_PKG_VERSION").into()),
            ("stack.files".into(), stack.digest()?),
            ("stack.version".into(), manifest.version.clone()),
            ("stack.build_profile".into(), manifest.build.profile.clone()),
        ]);
        for package in &manifest.guest.packages {
            let version = self.guest.image.package_version(package)?;
            let version =
                version.with_context(|| format!("the guest image has no package {package}\nhint: quiclab prepare"))?;
            versions.insert(format!("package.{package}"), version);
        }
        Ok(versions)
    }

    /// Performs `run` and writes its record.
    ///
    /// # Errors
    /// See [`PerformError`].
    pub fn perform(
        &self,
        run: &Run,
        manifest: &StackManifest,
        stack: &BuiltStack,
        records: &Records,
        failures: &Path,
        host: &Host,
    ) -> Result<Performed, PerformError> {
        let start = Instant::now();
        let versions = self.versions(run, manifest, stack)?;
        let name = run.folder_name(&versions);
        let size = Size::for_transfer(run.settings.workload.size)?;
        let state = self.guest.saved_state(&self.cache, size, host)?;
        let work = records.begin(&name)?;
        let [slot_path, console] = ["slot", "console"].map(|name| work.folder().join(name));
        write_slot(
            &slot_path,
            size.slot_bytes,
            &slot::encode_orders(&orders::of_run(run, manifest)?).map_err(anyhow::Error::new)?,
        )?;
        let qemu = state.restore(&self.guest, &stack.file(), &slot_path, &console, host)?;
        let end = qemu.wait()?;
        let keep = |results: Option<&Results>, failure: RunFailure| -> Result<PerformError> {
            let kept = keep_failure(&failures.join(&name), results, &console, run, &failure)?;
            Ok(PerformError::Run { failure, kept: Some(kept) })
        };
        let results = match Results::open(&slot_path) {
            Ok(results) if end.status.code() == Some(POWER_OFF_STATUS) => results,
            other => {
                let why = other.err().map(|error| format!("; {error}")).unwrap_or_default();
                let said = format!("QEMU {}{why}; its console says: {}", describe(end.status), excerpt(&console, 4000));
                return Err(keep(None, RunFailure::Guest(said))?);
            }
        };
        if let Some(failure) = results.failure(run)? {
            return Err(keep(Some(&results), failure)?);
        }
        let draft = records.begin(&name)?;
        let metrics = results.write_record(draft.folder(), run, &versions)?;
        let record = draft.finish()?;
        // An earlier attempt's remains would only confuse.
        let _ = fs::remove_dir_all(failures.join(&name));
        Ok(Performed { record, metrics, host_use: end.host_use, elapsed: start.elapsed() })
    }
}

/// The slot with orders in it. Its blocks are reserved, so that a full disk shows now and not as a fault in QEMU.
fn write_slot(path: &Path, length: u64, orders: &[u8]) -> Result<()> {
    let mut file = File::create(path).with_context(|| path.display().to_string())?;
    // SAFETY: plain system call on a live descriptor.
    let error = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length as i64) };
    if error != 0 {
        let error = std::io::Error::from_raw_os_error(error);
        return Err(error).with_context(|| {
            format!(
                "{}: reserving {length} bytes\nhint: free some space, or use --out to move to another disk",
                path.display()
            )
        });
    }
    file.write_all(orders).with_context(|| path.display().to_string())
}

fn keep_failure(
    folder: &Path,
    results: Option<&Results>,
    console: &Path,
    run: &Run,
    failure: &RunFailure,
) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    fs::write(folder.join("failure.txt"), format!("{failure}\n"))?;
    fs::write(folder.join("run.toml"), run.to_toml())?;
    if let Some(results) = results {
        fs::write(folder.join("path.json"), serde_json::to_string_pretty(results.report())?)?;
        results.write_endpoint_files(folder)?;
    }
    if console.exists() {
        fs::copy(console, folder.join("console"))?;
    }
    Ok(folder.to_path_buf())
}
