//! Completion of settings in shells.

use std::ffi::OsStr;

use clap_complete::{CompletionCandidate, engine::ArgValueCompleter};
use quiclab_experiment::{setting_about, setting_keys, setting_words};

/// Completes `KEY=VALUE`: the key of a setting, then its value where it takes words.
pub fn settings() -> ArgValueCompleter {
    ArgValueCompleter::new(candidates)
}

fn candidates(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    if let Some((key, value)) = typed.split_once('=') {
        let words = setting_words(key).into_iter().filter(|word| word.starts_with(value));
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
