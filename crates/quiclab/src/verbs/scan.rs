//! `quiclab scan`: how servers answer handshakes, those in captures or those that it performs.

mod active;
mod capture;
mod captures;
mod csv_text;
mod dry_run;
mod origins;
mod parts;
mod progress;
mod repeated;
mod report;
mod row;
mod rows;
mod summary;
mod whom;

use std::sync::{Arc, atomic::AtomicBool};

use anyhow::Result;

use crate::{cli::ScanArguments, session::signals, terminal::output};
use origins::Origins;
use summary::Summary;

/// Performs handshakes or finds them, and says how the servers answered. Returns 0, or 1 where a capture was cut off.
///
/// # Errors
/// A file that cannot be read or written, an interruption.
pub fn scan(arguments: &ScanArguments) -> Result<u8> {
    let stop = signals::stop_flag()?;
    let (summary, was_cut) = match &arguments.targets {
        _ if !arguments.report.report.is_empty() => return report::report(arguments).map(|()| 0),
        _ if arguments.whom.dry_run => return dry_run::dry_run(arguments).map(|()| 0),
        list if arguments.whom.duration.is_some() => (repeated::scan(arguments, list.as_deref(), &stop)?, false),
        Some(list) => (active::scan(arguments, list, &stop)?, false),
        None => of_captures(arguments, &stop)?,
    };
    if arguments.output.json {
        output::print(&(serde_json::to_string_pretty(&summary.to_json())? + "\n"))?;
    } else {
        output::print(&summary.to_text())?;
    }
    Ok(u8::from(was_cut))
}

fn of_captures(arguments: &ScanArguments, stop: &Arc<AtomicBool>) -> Result<(Summary, bool)> {
    let origins = Origins::read(&arguments.origins)?;
    let mut summary = Summary::default();
    let mut file = arguments.captures.rows.as_deref().map(rows::RowsFile::create).transpose()?;
    let was_cut = captures::read(&arguments.captures, stop, &mut |mut row| {
        origins.complete(&mut row);
        summary.add(&row);
        file.as_mut().map_or(Ok(()), |file| file.add(&row))
    })?;
    if let Some(file) = file {
        file.finish()?;
    }
    Ok((summary, was_cut))
}
