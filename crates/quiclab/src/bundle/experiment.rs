//! The experiment's files.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context, Result};
use quiclab_units::ShowPath;

/// The experiment file and the files that it names, by their names in the bundle. Empty where the file is not there, which is said.
///
/// # Errors
/// Where `given` cannot be read.
pub fn files(given: Option<&Path>, command: &str) -> Result<BTreeMap<String, PathBuf>> {
    let found = match given {
        Some(path) => Some(path.to_path_buf()),
        None => command_words(command).map(PathBuf::from).find(|path| path.is_file()),
    };
    let Some(path) = found else {
        tell!(
            "quiclab: skipping the experiment file: {command:?} names none that is there; the settings of each run are in its \
             run.toml\nhint: --experiment FILE"
        );
        return Ok(BTreeMap::new());
    };
    let text = fs::read_to_string(&path).with_context(|| path.shown())?;
    let mut files = BTreeMap::from([(name_of(&path), path.clone())]);
    let Ok(table) = text.parse::<toml::Table>() else { return Ok(files) };
    let mut words = Vec::new();
    strings(&toml::Value::Table(table), &mut words);
    let beside = path.parent().unwrap_or(Path::new(""));
    for path in words.iter().map(|word| beside.join(word)).filter(|path| path.is_file()) {
        files.insert(name_of(&path), path);
    }
    Ok(files)
}

/// Words of a command that end as experiment files do, without the quotes of a shell.
fn command_words(command: &str) -> impl Iterator<Item = &str> {
    command.split_whitespace().map(|word| word.trim_matches('\'')).filter(|word| word.ends_with(".toml"))
}

/// The path as seen from the current folder where it is below it, and the file's own name otherwise.
fn name_of(path: &Path) -> String {
    let absolute = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let here = env::current_dir().and_then(fs::canonicalize).unwrap_or_default();
    let below = absolute.strip_prefix(&here).ok().filter(|below| below.to_str().is_some());
    let name = below.map(Path::to_path_buf).or_else(|| absolute.file_name().map(PathBuf::from)).unwrap_or_default();
    let parts = name.components().filter_map(|part| match part {
        Component::Normal(part) => Some(part.to_string_lossy().into_owned()),
        _ => None,
    });
    format!("experiment/{}", parts.collect::<Vec<_>>().join("/"))
}

/// All texts in a table, however deep.
fn strings(value: &toml::Value, found: &mut Vec<String>) {
    match value {
        toml::Value::String(text) if !text.is_empty() && text.len() < 1000 => found.push(text.clone()),
        toml::Value::Array(values) => values.iter().for_each(|value| strings(value, found)),
        toml::Value::Table(table) => table.values().for_each(|value| strings(value, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_a_command_and_the_files_that_it_names_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        fs::write(&path, "[path]\ninclude = [\"cable.toml\", \"none\"]\n").unwrap();
        fs::write(folder.path().join("cable.toml"), "").unwrap();
        let command = format!("quiclab run '{}' --profile quick", path.display());
        let found: Vec<_> = files(None, &command).unwrap().into_keys().collect();
        assert_eq!(found, ["experiment/cable.toml", "experiment/mine.toml"]);
        assert!(files(None, "quiclab run /no/such.toml").unwrap().is_empty());
        assert!(files(Some(Path::new("/no/such.toml")), "").is_err());
    }
}
