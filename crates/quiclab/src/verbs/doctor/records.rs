//! `quiclab doctor --records`: reads every byte of every record, and compares it with what was written.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use quiclab_record::{Contents, RecordError, Records, layout::DAMAGED_FOLDER};
use rayon::prelude::*;
use serde_json::json;

use crate::terminal::output;

/// Records lie no deeper below a folder that is named.
const DEEPEST: usize = 6;

/// What was found of one record.
struct Checked {
    record: PathBuf,
    /// What is wrong with its files; empty for a whole record.
    damage: Vec<String>,
    /// It was written by a version that noted no hashes.
    has_no_hashes: bool,
}

/// Checks all records below `folders`. Returns 0 where all are whole, 1 otherwise.
///
/// # Errors
/// Where there are no records, or something cannot be read.
pub fn check(folders: &[PathBuf], is_json: bool) -> Result<u8> {
    let mut found = Vec::new();
    for folder in folders {
        let before = found.len();
        find(folder, DEEPEST, &mut found)?;
        if found.len() == before {
            bail!(
                "{}: found no records, expected some\nhint: name a folder that quiclab run has filled",
                folder.display()
            );
        }
    }
    let checked = found.into_par_iter().map(check_one).collect::<Result<Vec<_>>>()?;
    let damaged: Vec<_> = checked.iter().filter(|checked| !checked.damage.is_empty()).collect();
    let without_hashes = checked.iter().filter(|checked| checked.has_no_hashes).count();
    if is_json {
        let listed = damaged.iter().map(|checked| json!({ "record": checked.record, "damage": checked.damage }));
        let all = json!({
            "records": checked.len(),
            "without_hashes": without_hashes,
            "damaged": listed.collect::<Vec<_>>(),
        });
        output::print(&(serde_json::to_string_pretty(&all)? + "\n"))?;
    } else {
        let mut text = String::new();
        for line in damaged.iter().flat_map(|checked| &checked.damage) {
            text.push_str(&format!("{line}\n"));
        }
        text.push_str(&format!("{} records, {} damaged\n", checked.len(), damaged.len()));
        output::print(&text)?;
        if without_hashes > 0 {
            status!("quiclab: {without_hashes} records of earlier versions have no hashes; only lengths were checked");
        }
        if !damaged.is_empty() {
            status!("hint: the command that made a record performs its run again and keeps the damaged one");
        }
    }
    Ok(u8::from(!damaged.is_empty()))
}

fn check_one(record: PathBuf) -> Result<Checked> {
    let in_words = |errors: Vec<RecordError>| errors.iter().map(RecordError::brief).collect();
    // Lengths, and whether the files can be read as what they are.
    let loaded = match quiclab_record::AnyRecord::load(&record) {
        Ok(_) => Vec::new(),
        Err(error) if error.is_damage() => vec![error],
        Err(error) => return Err(error.into()),
    };
    let damage = match Contents::changes(&record) {
        // The first file that cannot be read is one of them, unless it was damaged before it was written.
        Ok(changes) if changes.is_empty() => in_words(loaded),
        Ok(changes) => in_words(changes),
        Err(error) if error.is_damage() => in_words(vec![error]),
        Err(error) => return Err(error.into()),
    };
    let contents = Contents::check(&record, None);
    let has_no_hashes = contents.is_ok_and(|contents| contents.is_none_or(|contents| !contents.has_hashes()));
    Ok(Checked { record, damage, has_no_hashes })
}

/// Records at `folder` or below it, in order of name. Those that were set aside are known to be damaged.
fn find(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<()> {
    if folder.join(quiclab_record::layout::RUN_FILE).is_file() {
        found.push(folder.to_path_buf());
        return Ok(());
    }
    let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let names = Records::open(folder)?.names()?;
    found.extend(names.iter().map(|name| folder.join(name)));
    let is_other = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        path.is_dir() && !name.starts_with('.') && name != DAMAGED_FOLDER && !names.contains(&name)
    };
    let mut below: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(is_other).collect();
    below.sort();
    below.iter().try_for_each(|folder| find(folder, depth, found))
}
