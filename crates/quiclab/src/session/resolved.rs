//! A single run with every setting, as a file: what `quiclab run --dry-run --json` prints and `quiclab tools perform` reads.

use std::path::Path;

use anyhow::{Context, Result, bail};
use quiclab_experiment::{
    AnyRun,
    run::{Run, Versions},
    scenario::ScenarioRun,
};
use quiclab_testbed::testbed::TESTBED_VERSION;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{bounded_input, experiment_files::read_text};

/// Where the testbed's name stands, beside the keys of the run.
const TESTBED: &str = "testbed";
/// Where the kind of the run stands, beside them; without it, the run is a transfer.
const KIND: &str = "kind";
/// How to get such a file.
const HINT: &str =
    "hint: quiclab run FILE --dry-run --json prints the resolved runs of an experiment; jq '.[0]' takes the first";

/// A run, and where it is to be performed.
#[derive(Debug)]
pub struct ResolvedRun {
    /// The run.
    pub run: AnyRun,
    /// Name of the testbed; `None` where the file names none.
    pub testbed: Option<String>,
}

impl ResolvedRun {
    /// Reads a file; `-` is standard input. TOML, JSON, or the `run.toml` of a record.
    ///
    /// # Errors
    /// Where it cannot be read, is something else, or has a key that is missing, unknown, or of a wrong type: the message names it.
    pub fn read(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            let text = bounded_input::read_text(path, quiclab_inputs::MOST_TEXT_BYTES, "TOML or JSON")?;
            return Self::parse("standard input", &text);
        }
        Self::parse(&path.display().to_string(), &read_text(path)?)
    }

    /// The same of a text; `name` is for messages.
    ///
    /// # Errors
    /// As [`ResolvedRun::read`].
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let value: Value = if text.trim_start().starts_with(['{', '[']) {
            serde_json::from_str(text).with_context(|| format!("{name}: not JSON"))?
        } else {
            toml::from_str(text).with_context(|| format!("{name}: not TOML"))?
        };
        let mut keys = match value {
            Value::Object(keys) => keys,
            Value::Array(runs) => bail!("{name}: found a list of {} runs, expected a single run\n{HINT}", runs.len()),
            _ => bail!("{name}: found no table, expected a resolved run\n{HINT}"),
        };
        let kind = match keys.remove(KIND) {
            None => AnyRun::TRANSFER.to_owned(),
            Some(Value::String(kind)) if [AnyRun::TRANSFER, AnyRun::MODELS].contains(&kind.as_str()) => kind,
            Some(other) => {
                bail!("{name}: {KIND}: found {other}, expected {:?} or {:?}", AnyRun::TRANSFER, AnyRun::MODELS)
            }
        };
        let run = |place: &str, value: Value| -> Result<AnyRun> {
            if kind == AnyRun::MODELS {
                return Ok(read_value::<ScenarioRun>(name, place, value)?.into());
            }
            Ok(read_value::<Run>(name, place, value)?.into())
        };
        // As a record has it.
        if let (Some(resolved), Some(versions)) = (keys.remove("run"), keys.remove("versions")) {
            let versions: Versions = read_value(name, "versions", versions)?;
            return Ok(Self { run: run("run", resolved)?, testbed: versions.get(TESTBED_VERSION).cloned() });
        }
        let testbed = match keys.remove(TESTBED) {
            None => None,
            Some(Value::String(testbed)) => Some(testbed),
            Some(other) => bail!("{name}: {TESTBED}: found {other}, expected the name of a testbed"),
        };
        if !keys.contains_key("settings") {
            bail!(
                "{name}: settings: missing, expected a run with every setting resolved, not an experiment file\n{HINT}"
            );
        }
        Ok(Self { run: run("", Value::Object(keys))?, testbed })
    }

    /// The run as JSON.
    ///
    /// # Errors
    /// Where a value has no JSON form.
    pub fn to_json(&self) -> Result<Value> {
        let mut keys = Map::new();
        keys.extend(self.testbed.clone().map(|name| (TESTBED.to_owned(), name.into())));
        keys.insert(KIND.to_owned(), self.run.kind().into());
        if let Value::Object(run) = serde_json::to_value(&self.run)? {
            keys.extend(run);
        }
        Ok(Value::Object(keys))
    }
}

/// A value of the file `name`, that stands at `place` there.
fn read_value<T: DeserializeOwned>(name: &str, place: &str, value: Value) -> Result<T> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = [place, &error.path().to_string()].map(|part| part.trim_matches('.')).join(".");
        let path = path.trim_matches('.').to_owned();
        let place = if path.is_empty() { String::new() } else { format!("{path}: ") };
        anyhow::anyhow!("{name}: {place}{}\n{HINT}", error.into_inner())
    })
}

#[cfg(test)]
mod tests {
    use quiclab_experiment::{Experiment, Overrides};

    use super::*;

    fn resolved() -> ResolvedRun {
        let stacks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stacks");
        let sources = quiclab_testbed::stack::sources(&stacks).unwrap();
        let manifests = sources.into_iter().map(|(name, source)| (name, source.manifest)).collect();
        let text = "name = \"x\"\ntitle = \"x\"\nseed = 7\n[stack]\nname = \"ngtcp2\"\n[tap]\nsnaplen = \"full\"\n";
        let plan = Experiment::parse("x.toml", text, None).unwrap().plan(&manifests, &Overrides::default()).unwrap();
        ResolvedRun { run: plan.runs[0].clone().into(), testbed: Some("sim".to_owned()) }
    }

    fn transfer(run: &AnyRun) -> Run {
        let AnyRun::Transfer(run) = run else { panic!("a run of models") };
        (**run).clone()
    }

    #[test]
    fn a_run_of_models_is_the_same_after_json_and_toml() {
        let text = "name = \"x\"\ntitle = \"x\"\n[bottleneck]\nqueue = \"codel\"\n[flows.a]\ncount = 2\nworkload = \"arrivals\"\narrivals = [[\"1 s\", 10]]\n[flows.b]\necn = true\n";
        let plan = quiclab_experiment::scenario::Scenario::parse("x.toml", text, None);
        let run: AnyRun = plan.unwrap().plan(&Overrides::default()).unwrap().runs.remove(0).into();
        let json = ResolvedRun { run: run.clone(), testbed: Some("sim".to_owned()) }.to_json().unwrap();
        for text in [json.to_string(), toml::to_string(&json).unwrap()] {
            let back = ResolvedRun::parse("x", &text).unwrap_or_else(|error| panic!("{error:#}\n{text}"));
            assert_eq!(back.run, run);
        }
        let wrong = json.to_string().replace("\"hops\":1", "\"hops\":\"two\"");
        assert!(error(&wrong).contains("settings.bottleneck.hops"), "{}", error(&wrong));
        let unknown = json.to_string().replace("\"scenario\",\"experiment\"", "\"parade\",\"experiment\"");
        let unknown = unknown.replace("\"kind\":\"scenario\"", "\"kind\":\"parade\"");
        assert!(
            error(&unknown).contains("kind: found \"parade\", expected \"transfer\" or \"scenario\""),
            "{}",
            error(&unknown)
        );
    }

    fn error(text: &str) -> String {
        format!("{:#}", ResolvedRun::parse("run.json", text).unwrap_err())
    }

    #[test]
    fn a_run_is_the_same_after_json_and_toml() {
        let resolved = resolved();
        let json = resolved.to_json().unwrap();
        let toml = toml::to_string(&json).unwrap();
        let record = format!("id = \"x\"\n[versions]\ntestbed = \"sim\"\n[run]\n{}", {
            let table: toml::Table = toml::from_str(&transfer(&resolved.run).to_toml()).unwrap();
            toml::to_string(&toml::Table::from_iter([("run".to_owned(), toml::Value::Table(table))]))
                .unwrap()
                .replacen("[run]\n", "", 1)
        });
        for text in [json.to_string(), toml, record] {
            let back = ResolvedRun::parse("x", &text).unwrap_or_else(|error| panic!("{error:#}\n{text}"));
            assert_eq!(back.testbed.as_deref(), Some("sim"));
            let without_label = Run { label: String::new(), ..transfer(&resolved.run) };
            assert_eq!(back.run, without_label.into());
            assert_eq!(back.run.id(&Versions::new()), resolved.run.id(&Versions::new()));
        }
    }

    #[test]
    fn what_is_missing_unknown_or_of_a_wrong_type_is_named() {
        let with = |change: &dyn Fn(&mut Value)| {
            let mut json = resolved().to_json().unwrap();
            change(&mut json);
            error(&json.to_string())
        };
        let path = |json: &mut Value| json["settings"]["path"].as_object_mut().unwrap().clone();
        assert!(!path(&mut resolved().to_json().unwrap()).is_empty());
        let unknown = with(&|json| json["settings"]["workload"]["sise"] = "1 MiB".into());
        for part in ["run.json: settings", "workload.sise", "did you mean workload.size?", "--dry-run --json"] {
            assert!(unknown.contains(part), "{unknown}");
        }
        let missing = with(&|json| drop(json.as_object_mut().unwrap().remove("seed")));
        assert!(missing.contains("missing field `seed`"), "{missing}");
        let wrong = with(&|json| json["settings"]["workload"]["files"] = "three".into());
        assert!(wrong.contains("workload.files: found \"three\", expected"), "{wrong}");
        let unit = with(&|json| json["settings"]["workload"]["size"] = 7.into());
        assert!(unit.contains("workload.size: found 7, expected"), "{unit}");
        let testbed = with(&|json| json["testbed"] = 7.into());
        assert!(testbed.contains("testbed: found 7"), "{testbed}");
    }

    #[test]
    fn an_experiment_file_and_a_list_are_refused_with_what_to_do() {
        for (text, part) in [
            ("name = \"x\"\ntitle = \"x\"\n[stack]\nname = \"quiche\"\n", "settings: missing"),
            ("[{}, {}]", "a list of 2 runs"),
            ("{\"settings\"", "not JSON"),
            ("settings = ", "not TOML"),
            ("[]", "a list of 0 runs"),
        ] {
            let error = error(text);
            assert!(error.starts_with("run.json: ") && error.contains(part), "{error}");
        }
    }
}
