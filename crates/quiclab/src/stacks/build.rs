//! `quiclab stacks build`

use std::time::Instant;

use anyhow::Result;
use serde_json::json;

use crate::{cli::StacksBuildArguments, laboratory::Laboratory, output, signals};

/// Builds stacks. Returns the number of those that could not be built, at most 99.
///
/// # Errors
/// An unknown name, or an interruption.
pub fn build(arguments: &StacksBuildArguments) -> Result<u8> {
    let laboratory = Laboratory::open(&arguments.stacks, signals::stop_flag()?)?;
    let names: Vec<_> = match &arguments.names[..] {
        [] => laboratory.usual().map(|manifest| manifest.name.clone()).collect(),
        names => names.to_vec(),
    };
    for name in &names {
        laboratory.source(name)?;
    }
    let mut rows = Vec::new();
    let mut failed = 0_usize;
    for name in &names {
        let start = Instant::now();
        let error = match laboratory.stack(name) {
            Ok(_) => None,
            Err(error) if signals::is_interruption(&error) => return Err(error),
            Err(error) => Some(format!("{error:#}")),
        };
        let seconds = start.elapsed().as_secs_f64();
        failed += usize::from(error.is_some());
        if !arguments.output.json {
            let outcome = error.as_ref().map_or_else(|| "built".to_owned(), |error| format!("FAILED: {error}"));
            output::print(&format!("{name}: {outcome} ({seconds:.1} s)\n"))?;
        }
        rows.push(json!({ "stack": name, "seconds": seconds, "error": error }));
    }
    if arguments.output.json {
        output::print(&(serde_json::to_string_pretty(&rows)? + "\n"))?;
    }
    Ok(failed.min(99) as u8)
}
