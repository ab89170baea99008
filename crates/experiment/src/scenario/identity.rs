//! Identity and name of a run of models.

use std::fmt::Write as _;

use crate::{
    folder_names,
    run::{Versions, identity::of_text},
};

use super::ScenarioRun;

/// Version of the canonical text. It changes only where the text of an unchanged run would.
const IDENTITY_VERSION: u32 = 1;
/// Settings that cannot change the outcome: a run that exceeds its limit has none.
const NOT_COUNTED: [&str; 1] = ["scenario.time_limit"];
/// Settings that were added later, by the end of their keys, with the text that stands for what versions without them did. At this value
/// they do not count, so that adding a setting changes no identity.
const NEUTRAL: [(&str, &str); 2] = [("ecn", "false"), ("loss", "0")];
/// Names of records begin with it, where those of transfers begin with the stack.
const PREFIX: &str = "models";

impl ScenarioRun {
    /// Identity of everything that can change the outcome: settings, seed, versions. 16 hexadecimal digits. Name of the experiment, number
    /// of the repetition and the limit of real time change nothing.
    pub fn id(&self, versions: &Versions) -> String {
        of_text(self.canonical_text(versions))
    }

    /// Name of the run's record: `models`, what sets its settings apart, repetition, identity, such as
    /// `models-pacing_rtt-buffer_bdp_0.25-01-0123456789abcdef`. All but the identity is for people.
    pub fn folder_name(&self, versions: &Versions) -> String {
        let label = folder_names::of_models(&self.label);
        folder_names::of_run(PREFIX, &label, self.repetition, &self.id(versions))
    }

    fn canonical_text(&self, versions: &Versions) -> String {
        let mut text = format!("quiclab scenario {IDENTITY_VERSION}\nseed = {}\n", self.seed);
        for (key, value) in self.settings.texts() {
            let last = key.rsplit('.').next().unwrap_or_default();
            if !NOT_COUNTED.contains(&key.as_str()) && !NEUTRAL.contains(&(last, value.as_str())) {
                let _ = writeln!(text, "{key} = {value:?}");
            }
        }
        for (name, version) in versions {
            let _ = writeln!(text, "versions.{name:?} = {version:?}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use crate::{Overrides, scenario::Scenario};

    use super::*;

    fn run(lines: &str) -> ScenarioRun {
        let text = format!("name = \"x\"\ntitle = \"X\"\n[scenario]\n{lines}");
        let plan = Scenario::parse("x.toml", &text, None).unwrap().plan(&Overrides::default()).unwrap();
        plan.runs[0].clone()
    }

    #[test]
    fn what_can_change_the_outcome_changes_the_identity() {
        let versions = Versions::from([("simulator".to_owned(), "a".to_owned())]);
        let id = |lines: &str| run(lines).id(&versions);
        let plain = id("duration = \"3 s\"\n");
        assert_eq!(plain.len(), 16);
        for same in [
            "duration = \"3000 ms\"\n",
            "duration = \"3 s\"\ntime_limit = \"1 s\"\n",
            "duration = \"3 s\"\n[flows]\necn = false\ntimestamps = \"default\"\ntransfers = \"none\"\n",
            "duration = \"3 s\"\ntransfers_begin_by = \"none\"\n[bottleneck]\nloss = 0\n",
        ] {
            assert_eq!(id(same), plain, "{same}");
        }
        for other in [
            "duration = \"4 s\"\n",
            "duration_sawtooths = 2\n",
            "duration = \"3 s\"\n[flows]\ntimestamps = true\n",
            "duration = \"3 s\"\n[bottleneck]\nloss = 0.01\n",
            "duration = \"3 s\"\n[flows.a]\ncount = 1\n",
        ] {
            assert_ne!(id(other), plain, "{other}");
        }
        let codel = "duration = \"3 s\"\n[bottleneck]\nqueue = \"codel\"\n";
        assert_ne!(id(&format!("{codel}[flows]\necn = true\n")), id(codel));
        let mut second = run("duration = \"3 s\"\n");
        second.repetition = 2;
        second.experiment = "y".to_owned();
        assert_eq!(second.id(&versions), plain);
        second.seed += 1;
        assert_ne!(second.id(&versions), plain);
        let newer = Versions::from([("simulator".to_owned(), "b".to_owned())]);
        assert_ne!(run("duration = \"3 s\"\n").id(&newer), plain);
    }

    #[test]
    fn a_record_is_named_by_what_sets_its_settings_apart() {
        let mut run = run("duration = \"3 s\"\n");
        let id = run.id(&Versions::new());
        assert_eq!(run.folder_name(&Versions::new()), format!("models-01-{id}"));
        run.label = "pacing=off, buffer_bdp=0.25".to_owned();
        assert_eq!(run.folder_name(&Versions::new()), format!("models-pacing_off-buffer_bdp_0.25-01-{id}"));
    }
}
