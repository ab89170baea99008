//! Options of a command that makes runs again, as a shell reads them.

use std::fmt::Write as _;

use quiclab_testbed::shell::quoted;

/// Adds the options that every such command has.
pub fn push_repetition(line: &mut String, profile: Option<&str>, repetitions: Option<u32>, until_decided: bool) {
    if let Some(profile) = profile {
        let _ = write!(line, " --profile {}", quoted(profile));
    }
    if let Some(repetitions) = repetitions {
        let _ = write!(line, " --reps {repetitions}");
    }
    if until_decided {
        line.push_str(" --until-decided");
    }
}

/// Adds an option with each of these settings.
pub fn push_settings(line: &mut String, option: &str, settings: &[(String, String)]) {
    for (key, value) in settings {
        let _ = write!(line, " {option} {}", quoted(&format!("{key}={value}")));
    }
}
