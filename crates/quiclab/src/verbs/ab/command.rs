//! The command that makes a comparison again.

use std::fmt::Write as _;

use quiclab_testbed::shell::quoted;

use crate::{
    session::command_words::{push_repetition, push_settings},
    settings::{AbSettings, Budget, SMALLEST_CHANGE},
};

/// The command, with everything that decides what is run and judged; folders and jobs make no difference.
pub fn command_line(settings: &AbSettings) -> String {
    let mut line = "quiclab ab".to_owned();
    for path in &settings.paths {
        let _ = write!(line, " {}", quoted(path));
    }
    if let Some(testbed) = &settings.testbed {
        let _ = write!(line, " --testbed {testbed}");
    }
    push_settings(&mut line, "--a", &settings.a);
    push_settings(&mut line, "--b", &settings.b);
    push_settings(&mut line, "--set", &settings.set);
    push_settings(&mut line, "--filter", &settings.filters);
    push_repetition(&mut line, settings.profile.as_deref(), settings.repetitions, settings.until_decided);
    match settings.budget {
        Some(Budget::Runs(runs)) => drop(write!(line, " --budget {runs}")),
        Some(Budget::Time(time)) => drop(write!(line, " --budget '{} s'", time.as_secs_f64())),
        None => {}
    }
    if settings.smallest_change != SMALLEST_CHANGE {
        let _ = write!(line, " --smallest-change {}", settings.smallest_change);
    }
    for condition in &settings.judge.conditions {
        let _ = write!(line, " --fail-if {}", quoted(&condition.to_string()));
    }
    for metric in &settings.judge.metrics {
        let _ = write!(line, " --metric {metric}");
    }
    if settings.judge.strict {
        line.push_str(" --strict");
    }
    line
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Verb};

    fn settings(words: &[&str]) -> AbSettings {
        match Cli::try_parse_from([&["quiclab"], words].concat()).unwrap().verb {
            Verb::Ab(arguments) => arguments.resolve(),
            _ => unreachable!("the verb is ab"),
        }
    }

    #[test]
    fn the_command_has_all_that_decides_and_neither_folders_nor_jobs() {
        let what = ["ab", "main", "pr x", "gate.toml", "--a", "stack.gso=on", "--set", "path.rate=20 Mbit/s"];
        let how = ["--until-decided", "--budget", "2 min", "--fail-if", "drops_packets > +10", "--strict"];
        let where_to = ["--out", "there", "--jobs", "2", "--html", "page.html"];
        let line = command_line(&settings(&[&what[..], &how, &where_to].concat()));
        assert_eq!(
            line,
            "quiclab ab main 'pr x' gate.toml --a stack.gso=on --set 'path.rate=20 Mbit/s' --until-decided --budget '120 s' \
             --fail-if 'drops_packets > +10' --strict"
        );
        assert_eq!(command_line(&settings(&["ab", "main", "pr"])), "quiclab ab main pr");
        assert_eq!(
            command_line(&settings(&["ab", "main", "pr", "--testbed", "sim"])),
            "quiclab ab main pr --testbed sim"
        );
    }
}
