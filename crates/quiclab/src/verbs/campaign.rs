//! `quiclab campaign`: hands over to the Python package, which spreads runs over machines with Dask.

use std::{
    env,
    ffi::OsString,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

/// The package's variable for the path of the command.
const COMMAND: &str = "QUICLAB";
/// Fails where a package is missing, and says which.
const TRIAL: &str = "import distributed, fsspec, quiclab.campaign";

/// Becomes the Python program; returns only where that fails.
///
/// # Errors
/// No Python, or one without the packages: the message says how to get them.
pub fn campaign(python: Option<PathBuf>, words: &[OsString]) -> Result<u8> {
    let set = || env::var_os("QUICLAB_PYTHON").filter(|value| !value.is_empty()).map(PathBuf::from);
    let python = python.or_else(set).unwrap_or_else(|| "python3".into());
    let trial = Command::new(&python).args(["-c", TRIAL]).stdin(Stdio::null()).output();
    let trial = trial.with_context(|| {
        format!("{}: cannot be started\nhint: install Python 3.10 or newer, or name it with --python", python.display())
    })?;
    if !trial.status.success() {
        let output_tail = String::from_utf8_lossy(&trial.stderr);
        let missing = output_tail.trim().lines().last().unwrap_or("it says nothing").to_owned();
        bail!(
            "{}: found {missing}, expected the packages quiclab and dask\nhint: {} -m pip install 'quiclab[campaign]', \
             or name another Python with --python",
            python.display(),
            python.display()
        );
    }
    let command = env::current_exe().context("this program's own path")?;
    let error = Command::new(&python).args(["-m", "quiclab.campaign"]).args(words).env(COMMAND, command).exec();
    Err(error).with_context(|| python.display().to_string())
}
