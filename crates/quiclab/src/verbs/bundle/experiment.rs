//! The experiment's files.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Component, Path, PathBuf},
};

use anyhow::Result;
use quiclab_inputs::{MOST_TEXT_BYTES, read_all_text};

use crate::session::experiment_files::{self, read_text};

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
        status!(
            "quiclab: skipping the experiment file: {command:?} names none that is there; the settings of each run are in its \
             run.toml\nhint: --experiment FILE"
        );
        return Ok(BTreeMap::new());
    };
    let text = read_text(&path)?;
    let mut files = BTreeMap::from([(name_of(&path), real(&path))]);
    let Ok(table) = text.parse::<toml::Table>() else { return Ok(files) };
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut named = named_files(table, "");
    while let Some((name, is_path)) = named.pop() {
        // By the rule of the verbs that run experiments: whoever wrote this one does not choose what else of this machine is packed.
        let Ok(file) = experiment_files::open(folder, &name, Some("")) else { continue };
        let path = real(&folder.join(&name));
        let is_new = files.insert(name_of(&path), path).is_none();
        if is_path
            && is_new
            && let Some(table) = read_all_text(&file, MOST_TEXT_BYTES).ok().and_then(|text| text.parse().ok())
        {
            let below = Path::new(&name).parent().and_then(Path::to_str).unwrap_or_default();
            named.extend(named_files(table, below));
        }
    }
    Ok(files)
}

/// The files that a table names, relative to the folder of the experiment where those of the table are relative to `below`; true for paths
/// to include, which name others.
fn named_files(table: toml::Table, below: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let mut values = vec![(String::new(), toml::Value::Table(table))];
    while let Some((key, value)) = values.pop() {
        match value {
            toml::Value::Table(table) => values.extend(table),
            toml::Value::Array(list) => values.extend(list.into_iter().map(|value| (key.clone(), value))),
            toml::Value::String(name) if ["file", "include", "path.include"].contains(&key.as_str()) => {
                found.push((Path::new(below).join(name).display().to_string(), key != "file"));
            }
            _ => {}
        }
    }
    found
}

/// Words of a command that end as experiment files do, without the quotes of a shell.
fn command_words(command: &str) -> impl Iterator<Item = &str> {
    command.split_whitespace().map(|word| word.trim_matches('\'')).filter(|word| word.ends_with(".toml"))
}

/// What a link leads to: links are not packed.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

/// The path as seen from the current folder where it is below it, and the file's own name otherwise.
fn name_of(path: &Path) -> String {
    let absolute = real(path);
    let here = env::current_dir().and_then(fs::canonicalize).unwrap_or_default();
    let below = absolute.strip_prefix(&here).ok().filter(|below| below.to_str().is_some());
    let name = below.map(Path::to_path_buf).or_else(|| absolute.file_name().map(PathBuf::from)).unwrap_or_default();
    let parts = name.components().filter_map(|part| match part {
        Component::Normal(part) => Some(part.to_string_lossy().into_owned()),
        _ => None,
    });
    format!("experiment/{}", parts.collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_a_command_and_the_files_that_it_names_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        fs::create_dir(folder.path().join("paths")).unwrap();
        fs::write(&path, "[path]\ninclude = [\"paths/cable.toml\", \"none\"]\n").unwrap();
        fs::write(folder.path().join("paths/cable.toml"), "[[to_client]]\nfile = \"fading\"\n").unwrap();
        fs::write(folder.path().join("paths/fading"), "").unwrap();
        let command = format!("quiclab run '{}' --profile quick", path.display());
        let found: Vec<_> = files(None, &command).unwrap().into_keys().collect();
        assert_eq!(found, ["experiment/cable.toml", "experiment/fading", "experiment/mine.toml"]);
        assert!(files(None, "quiclab run /no/such.toml").unwrap().is_empty());
        assert!(files(Some(Path::new("/no/such.toml")), "").is_err());
    }

    #[test]
    fn an_experiment_packs_no_other_files_of_the_machine() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("experiment");
        fs::create_dir(&folder).unwrap();
        fs::write(outer.path().join("secret"), "secret").unwrap();
        fs::write(folder.join("notes"), "named by no key").unwrap();
        std::os::unix::fs::symlink("../secret", folder.join("link")).unwrap();
        nix::unistd::mkfifo(&folder.join("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let path = folder.join("mine.toml");
        let named = "\"/etc/passwd\", \"../secret\", \"link\", \"fifo\", \"/proc/self/environ\", \"mine.toml\"";
        fs::write(&path, format!("title = \"notes\"\nsource = \"/etc/passwd\"\n[path]\ninclude = [{named}]\n"))
            .unwrap();
        let found: Vec<_> = files(Some(&path), "").unwrap().into_keys().collect();
        assert_eq!(found, ["experiment/mine.toml"]);
    }
}
