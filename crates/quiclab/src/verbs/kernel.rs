//! `quiclab tools kernel`

use std::time::Instant;

use anyhow::Result;
use quiclab_experiment::PATCHED_KERNEL;
use quiclab_testbed::{
    guest::kernels::recipe,
    kernel::{self, Kernel},
    kernel_build::{Buildable, PACED},
    stack_store::StackRequest,
};
use serde::Serialize;
use serde_json::json;

use crate::{
    session::{laboratory::open, signals},
    terminal::output,
};

/// A kernel that experiments may ask for.
#[derive(Debug, Serialize)]
struct Row {
    /// Its name in experiment files.
    kernel: &'static str,
    /// Whether the cache has it.
    cached: bool,
    /// Package and version; `null` where the cache does not have it.
    version: Option<String>,
    /// The command that brings it into the cache.
    command: &'static str,
}

/// Prints the kernels that experiments may ask for.
///
/// # Errors
/// Where the cache or the source of the patched kernel cannot be read.
pub fn list(stacks: &StackRequest, as_json: bool) -> Result<u8> {
    let laboratory = open(stacks, signals::stop_flag()?)?;
    let mut rows = Vec::new();
    for name in kernel::names() {
        let (found, command) = match name {
            PATCHED_KERNEL => {
                (recipe(&laboratory.stack_store, &PACED)?.find(&laboratory.stack_store.cache), PACED.command)
            }
            _ => (Kernel::find(&laboratory.stack_store.cache, name), "quiclab run"),
        };
        let version = found.map(|kernel| kernel.version()).transpose()?;
        rows.push(Row { kernel: name, cached: version.is_some(), version, command });
    }
    if as_json {
        output::print(&(serde_json::to_string_pretty(&rows)? + "\n"))?;
    } else {
        output::print(&(table(&rows) + "\n"))?;
    }
    Ok(0)
}

/// Builds a kernel, unless the cache has it; `again` builds it even then.
///
/// # Errors
/// A missing program or source, or a build that fails.
pub fn build(stacks: &StackRequest, kernel: &'static Buildable, again: bool, as_json: bool) -> Result<u8> {
    let laboratory = open(stacks, signals::stop_flag()?)?;
    let start = Instant::now();
    let name = kernel.name;
    let say = |text: &str| status!("quiclab: kernel {name}: {text}");
    let (kernel, built) = recipe(&laboratory.stack_store, kernel)?.build(
        &laboratory.stack_store.cache,
        again,
        &laboratory.stack_store.stop,
        &say,
    )?;
    let (version, seconds) = (kernel.version()?, start.elapsed().as_secs_f64());
    if as_json {
        let row = json!({ "kernel": name, "version": version, "built": built, "seconds": seconds });
        output::print(&(serde_json::to_string_pretty(&row)? + "\n"))?;
    } else {
        let what = if built { format!("built in {seconds:.0} s") } else { "already in the cache".to_owned() };
        output::print(&format!("{name}: {what}: {version}\n"))?;
    }
    Ok(0)
}

fn table(rows: &[Row]) -> String {
    let mut table = output::table(["kernel", "in the cache", "version", "made by"]);
    for row in rows {
        let cached = if row.cached { "yes" } else { "no" };
        table.add_row([row.kernel, cached, row.version.as_deref().unwrap_or(""), row.command]);
    }
    table.to_string()
}
