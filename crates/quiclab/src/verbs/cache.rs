//! `quiclab cache`

use std::time::SystemTime;

use anyhow::Result;
use quiclab_testbed::cache::{Cache, Pruned, Thing};
use quiclab_units::ByteCount;
use serde_json::{Value, json};

use crate::terminal::{ages::ago, output};

/// Prints what the cache has.
///
/// # Errors
/// Where the cache cannot be read.
pub fn list(as_json: bool) -> Result<u8> {
    let cache = Cache::from_environment()?;
    let things = cache.things()?;
    let bytes: u64 = things.iter().map(|thing| thing.bytes).sum();
    if as_json {
        let all: Vec<_> = things.iter().map(row).collect();
        let all = json!({ "folder": cache.path("").display().to_string(), "bytes": bytes, "things": all });
        output::print(&(serde_json::to_string_pretty(&all)? + "\n"))?;
    } else {
        output::print(&(table(&things) + "\n"))?;
        let count = if let [_] = things[..] { "1 thing".to_owned() } else { format!("{} things", things.len()) };
        status!("quiclab: {}: {}, {count}", cache.path("").display(), size(bytes));
        for thing in &things {
            if let Some(origin) = &thing.origin {
                status!("quiclab: {} was not built here, it is {origin}", thing.name);
            }
        }
    }
    Ok(0)
}

/// Removes what was not used for longest, until the cache takes no more than `keep`; a dry run only prints it.
///
/// # Errors
/// Where the cache cannot be read or changed.
pub fn prune(keep: ByteCount, is_dry_run: bool, as_json: bool) -> Result<u8> {
    let pruned = Cache::from_environment()?.prune(keep.as_bytes(), is_dry_run)?;
    if as_json {
        let rows = |things: &[Thing]| things.iter().map(row).collect::<Vec<_>>();
        let all = json!({
            "dry_run": is_dry_run,
            "removed": rows(&pruned.removed),
            "in_use": rows(&pruned.in_use),
            "bytes_left": pruned.bytes_left,
        });
        output::print(&(serde_json::to_string_pretty(&all)? + "\n"))?;
    } else {
        let verb = if is_dry_run { "would remove" } else { "removed" };
        let line = |thing: &Thing| format!("{verb} {} ({})\n", thing.name, size(thing.bytes));
        output::print(&pruned.removed.iter().map(line).collect::<String>())?;
        status!("quiclab: {}", summary(&pruned, keep, is_dry_run));
    }
    Ok(0)
}

fn summary(pruned: &Pruned, keep: ByteCount, is_dry_run: bool) -> String {
    let mut text = format!("the cache takes {} of the disk", size(pruned.bytes_left));
    if is_dry_run {
        text = format!("{text} afterwards");
    }
    if pruned.bytes_left > keep.as_bytes() {
        let names: Vec<_> = pruned.in_use.iter().map(|thing| thing.name.as_str()).collect();
        let why = match &names[..] {
            [] => "what is left are imported stacks, which quiclab cache remove removes by name".to_owned(),
            names => format!("processes use {}", names.join(", ")),
        };
        text = format!("{text}, more than --keep {keep}: {why}");
    }
    text
}

/// Removes things by name.
///
/// # Errors
/// An unknown name, or a thing that is in use.
pub fn remove(names: &[String], as_json: bool) -> Result<u8> {
    let removed = Cache::from_environment()?.remove(names)?;
    if as_json {
        let rows: Vec<_> = removed.iter().map(row).collect();
        output::print(&(serde_json::to_string_pretty(&json!({ "removed": rows }))? + "\n"))?;
    } else {
        let line = |thing: &Thing| format!("removed {} ({})\n", thing.name, size(thing.bytes));
        output::print(&removed.iter().map(line).collect::<String>())?;
    }
    Ok(0)
}

fn row(thing: &Thing) -> Value {
    let used = thing.used.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    json!({
        "name": thing.name,
        "about": thing.about,
        "bytes": thing.bytes,
        "used_unix_seconds": used,
        "can_be_made_again": thing.can_be_made_again,
        "origin": thing.origin,
    })
}

fn table(things: &[Thing]) -> String {
    let mut table = output::table(["name", "what", "size", "used"]);
    for thing in things {
        let age = thing.used.elapsed().unwrap_or_default().as_secs();
        table.add_row([&thing.name, thing.about, &size(thing.bytes), &ago(age)]);
    }
    table.to_string()
}

/// A number of bytes for people: three digits are enough.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_readable() {
        assert_eq!([size(4096), size(90_190_235), size(8_300_000_000)], ["4.1 kB", "90.2 MB", "8.30 GB"]);
    }
}
