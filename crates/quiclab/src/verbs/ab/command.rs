//! The command that makes a comparison again.

use std::fmt::Write as _;

use quiclab_testbed::shell::quoted;

use crate::settings::AbSettings;

/// The command, with everything that decides what is run and judged; folders and jobs make no difference.
pub fn command_line(settings: &AbSettings) -> String {
    let mut line = "quiclab ab".to_owned();
    for path in &settings.paths {
        let _ = write!(line, " {}", quoted(path));
    }
    let settings_of =
        [("--a", &settings.a), ("--b", &settings.b), ("--set", &settings.set), ("--filter", &settings.filters)];
    for (option, pairs) in settings_of {
        for (key, value) in pairs {
            let _ = write!(line, " {option} {}", quoted(&format!("{key}={value}")));
        }
    }
    if let Some(profile) = &settings.profile {
        let _ = write!(line, " --profile {}", quoted(profile));
    }
    if let Some(repetitions) = settings.repetitions {
        let _ = write!(line, " --reps {repetitions}");
    }
    if settings.until_decided {
        line.push_str(" --until-decided");
    }
    for condition in &settings.judge.conditions {
        let _ = write!(line, " --fail-if {}", quoted(&condition.to_string()));
    }
    for metric in &settings.judge.metrics {
        let _ = write!(line, " --metric {metric}");
    }
    line
}
