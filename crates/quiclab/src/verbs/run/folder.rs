//! Where the results of an experiment go, and the command that makes them again.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use quiclab_testbed::{hash, registry::default_testbed, shell::quoted};

use crate::{
    session::command_words::{push_repetition, push_settings},
    settings::{MOST_REPETITIONS, RunSettings, WAIT_FOR_QUIET},
};

/// Longest part of a folder's name that says what the command line changes, in characters. Names of 255 bytes are the longest
/// that file systems take.
const LONGEST_CHANGES: usize = 80;

/// The folder of an experiment's results. `substituted` are the user's own stacks that take the place of the file's. What changes
/// the experiment has a folder of its own, so that no report takes the place of one about other runs. `suffix` keeps the results of
/// one testbed apart from those of another.
pub fn results_folder(experiment: &str, substituted: &[String], suffix: &str, settings: &RunSettings) -> PathBuf {
    let mut own = experiment.to_owned();
    if let Some(profile) = &settings.profile {
        let letters = profile.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '_' });
        let _ = write!(own, "-{}", letters.collect::<String>());
    }
    let changes = changes(substituted, &settings.set);
    if !changes.is_empty() {
        let _ = write!(own, "-{changes}");
    }
    own.push_str(suffix);
    match &settings.out {
        Some(folder) if settings.has_several() => folder.join(own),
        Some(folder) => folder.clone(),
        None => Path::new("results").join(own),
    }
}

/// What a command line changes, as part of a folder's name: `mystack-rate_20_Mbit_s`.
fn changes(substituted: &[String], settings: &[(String, String)]) -> String {
    let stacks = substituted.iter().map(|name| plain(name));
    let settings = settings.iter().map(|(key, value)| {
        let key = key.rsplit('.').next().unwrap_or(key);
        format!("{}_{}", plain(key), plain(value))
    });
    let all = stacks.chain(settings).collect::<Vec<_>>().join("-");
    if all.chars().count() <= LONGEST_CHANGES {
        return all;
    }
    let start: String = all.chars().take(LONGEST_CHANGES).collect();
    format!("{start}-{}", hash::Hasher::default().part(all.as_bytes()).short())
}

/// A value can be any text, a folder's name not.
fn plain(text: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || letter == '.';
    let words = text.split(|letter| !is_plain(letter)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}

/// The command that makes these runs again. Number of jobs and folder make no difference, so they are not part of it.
pub fn command_line(file: &Path, settings: &RunSettings) -> String {
    let mut line = format!("quiclab run {}", quoted(&file.display().to_string()));
    push_repetition(&mut line, settings.profile.as_deref(), settings.repetitions, settings.until_decided);
    if settings.most_repetitions != MOST_REPETITIONS {
        let _ = write!(line, " --most-repetitions {}", settings.most_repetitions);
    }
    if settings.wait_for_quiet != WAIT_FOR_QUIET {
        let _ = write!(line, " --wait-for-quiet {}", settings.wait_for_quiet.as_secs());
    }
    if let Some(name) = &settings.testbed
        && name != default_testbed().name()
    {
        let _ = write!(line, " --testbed {name}");
    }
    if settings.roofline {
        line.push_str(" --roofline");
    }
    for path in &settings.stacks.own {
        let _ = write!(line, " --stack {}", quoted(&path.display().to_string()));
    }
    if settings.stacks.replace {
        line.push_str(" --replace");
    }
    push_settings(&mut line, "--set", &settings.set);
    push_settings(&mut line, "--filter", &settings.filters);
    line
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Verb};

    fn settings(words: &[&str]) -> RunSettings {
        match Cli::try_parse_from([&["quiclab", "run", "x.toml"], words].concat()).unwrap().verb {
            Verb::Run(arguments) => arguments.resolve().unwrap().1,
            _ => unreachable!("the verb is run"),
        }
    }

    fn folder(substituted: &[&str], words: &[&str]) -> String {
        let substituted: Vec<_> = substituted.iter().map(|name| (*name).to_owned()).collect();
        results_folder("a/b", &substituted, "", &settings(words)).display().to_string()
    }

    #[test]
    fn what_the_command_line_changes_has_a_folder_of_its_own() {
        assert_eq!(folder(&[], &[]), "results/a/b");
        assert_eq!(folder(&[], &["--profile", "quick 1"]), "results/a/b-quick_1");
        assert_eq!(folder(&["mine"], &[]), "results/a/b-mine");
        let set = ["--set", "path.rate=20 Mbit/s", "--set", "stack.gso=[\"on\", \"off\"]"];
        assert_eq!(folder(&[], &set), "results/a/b-rate_20_Mbit_s-gso_on_off");
        assert_eq!(folder(&["mine"], &["--set", "stack.gso=on", "--out", "there"]), "there");
    }

    #[test]
    fn a_folder_name_is_short_however_much_is_changed() {
        let long = |last: &str| format!("stack.name={}{last}", "x".repeat(400));
        let [one, other] = ["1", "2"].map(|last| folder(&[], &["--set", &long(last)]));
        assert!(one.len() < 130, "{one}");
        assert_ne!(one, other);
    }

    #[test]
    fn the_command_says_what_was_set() {
        let line = command_line(Path::new("x.toml"), &settings(&["--set", "path.rate=20 Mbit/s", "--reps", "2"]));
        assert_eq!(line, "quiclab run x.toml --reps 2 --set 'path.rate=20 Mbit/s'");
        let again = settings(&["--reps", "2", "--set", "path.rate=20 Mbit/s"]);
        assert_eq!((again.repetitions, again.set), (Some(2), vec![("path.rate".to_owned(), "20 Mbit/s".to_owned())]));
    }
}
