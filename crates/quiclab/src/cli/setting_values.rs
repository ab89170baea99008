//! Completion of settings and names in shells.

use std::ffi::OsStr;

use clap_complete::{
    CompletionCandidate,
    engine::{ArgValueCompleter, PathCompleter, ValueCompleter as _},
};
use quiclab_experiment::{setting_about, setting_keys, setting_words};
use quiclab_interop::CASES;
use quiclab_report::metric_names;
use quiclab_testbed::stack_store::shipped_names;

use crate::help_pages::{PAGES, Page};

/// Settings whose values are names of stacks.
const STACK_KEYS: [&str; 3] = ["stack.name", "stack.server", "stack.client"];

/// Completes `KEY=VALUE`: the key of a setting, then its value where it takes words.
pub fn settings() -> ArgValueCompleter {
    ArgValueCompleter::new(candidates)
}

/// Completes the name of a shipped stack.
pub fn stacks() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| beginning_with(typed, &shipped_names()))
}

/// Completes the name of a shipped stack, or a path.
pub fn stacks_and_paths() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let names = beginning_with(typed, &shipped_names());
        names.into_iter().chain(PathCompleter::any().complete(typed)).collect()
    })
}

/// Completes the name of a metric.
pub fn metrics() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        beginning_with(typed, &metric_names().map(str::to_owned).collect::<Vec<_>>())
    })
}

/// Completes the name of an interop case.
pub fn interop_cases() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        beginning_with(typed, &CASES.iter().map(|case| case.name.to_owned()).collect::<Vec<_>>())
    })
}

/// Completes the topic of a page of the documentation.
pub fn topics() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        beginning_with(typed, &PAGES.iter().map(|page: &Page| page.topic().to_owned()).collect::<Vec<_>>())
    })
}

fn beginning_with(typed: &OsStr, names: &[String]) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    names.iter().filter(|name| name.starts_with(typed)).map(CompletionCandidate::new).collect()
}

fn candidates(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    if let Some((key, value)) = typed.split_once('=') {
        let names = if STACK_KEYS.contains(&key) { shipped_names() } else { Vec::new() };
        let words = setting_words(key).into_iter().map(str::to_owned).chain(names);
        let words = words.filter(|word| word.starts_with(value));
        return words.map(|word| CompletionCandidate::new(format!("{key}={word}"))).collect();
    }
    let keys = setting_keys().into_iter().filter(|key| key.starts_with(typed));
    keys.map(|key| CompletionCandidate::new(format!("{key}=")).help(setting_about(key).map(Into::into))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(typed: &str) -> Vec<String> {
        candidates(OsStr::new(typed)).iter().map(|one| one.get_value().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn keys_are_completed_up_to_the_equals_sign() {
        assert_eq!(completed("vm.th"), ["vm.theft_length=", "vm.theft_interval=", "vm.theft_distribution="]);
        assert_eq!(completed(""), setting_keys().iter().map(|key| format!("{key}=")).collect::<Vec<_>>());
        assert_eq!(completed("no.such"), [""; 0]);
    }

    #[test]
    fn values_are_completed_where_they_are_words() {
        assert_eq!(completed("stack.gso=o"), ["stack.gso=off", "stack.gso=on"]);
        assert_eq!(completed("tap.qlog="), ["tap.qlog=true", "tap.qlog=false"]);
        assert_eq!(completed("tap.snaplen="), ["tap.snaplen=full"]);
        assert_eq!(completed("path.rate=4"), [""; 0]);
    }

    #[test]
    fn every_key_says_what_it_is() {
        assert!(candidates(OsStr::new("")).iter().all(|one| one.get_help().is_some()));
    }
}
