//! `quiclab stacks`

use anyhow::Result;
use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

use crate::{cli::StacksArguments, laboratory::Laboratory, output, signals};

/// Prints the table of stacks.
///
/// # Errors
/// Where there are none, or a manifest is wrong.
pub fn stacks(arguments: &StacksArguments) -> Result<u8> {
    let laboratory = Laboratory::open(arguments.stacks.folder.as_deref(), signals::stop_flag()?)?;
    if arguments.output.json {
        let all: Vec<_> = laboratory.manifests.values().collect();
        output::print(&(serde_json::to_string_pretty(&all)? + "\n"))?;
        return Ok(0);
    }
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    if let Some(width) = output::terminal_width() {
        table.set_width(width);
    }
    table.set_header(["stack", "version", "HTTP", "congestion control", "GSO", "pacing", "licence"]);
    for manifest in laboratory.manifests.values() {
        table.add_row([
            manifest.name.clone(),
            manifest.version.clone(),
            words(&manifest.http),
            manifest.congestion_control.join(", "),
            words(&manifest.gso),
            words(&manifest.pacing),
            manifest.licence.clone(),
        ]);
    }
    output::print(&format!(
        "{table}\nThe first of each list that an experiment does not set is in stack.toml under [default].\n"
    ))?;
    Ok(0)
}

/// Values as they are written in files.
fn words<T: Serialize>(values: &[T]) -> String {
    let text = |value: &T| serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned));
    values.iter().filter_map(text).collect::<Vec<_>>().join(", ")
}
