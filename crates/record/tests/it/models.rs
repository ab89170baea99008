//! The record of a run of models: docs/reference/record.md has every key, and a damaged file is named.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use quiclab_experiment::{AnyRun, Overrides, run::Versions, scenario::Scenario};
use quiclab_metrics::{Warning, Withheld};
use quiclab_record::{
    AnyRecord, BottleneckSeen, Draft, End, GroupSeen, ModelsMetrics, ModelsObserved, Records, RunFile, Seen,
    layout::{MODELS_METRICS_SCHEMA, MODELS_PATH_SCHEMA},
};
use serde_json::Value;

const REFERENCE: &str = include_str!("../../../../docs/reference/record.md");

fn observed() -> ModelsObserved {
    ModelsObserved {
        schema: MODELS_PATH_SCHEMA,
        testbed: "sim".to_owned(),
        counted_until_ns: Some(1),
        bottlenecks: vec![BottleneckSeen {
            queue: "red".to_owned(),
            packets_passed: 1,
            packets_dropped: 2,
            packets_marked: 3,
            packets_waiting: 4,
        }],
        groups: BTreeMap::from([(
            "all".to_owned(),
            GroupSeen { flows: 1, segments_sent: 5, segments_retransmitted: 2, segments_delivered: 3, timeouts: 1 },
        )]),
    }
}

fn measured() -> ModelsMetrics {
    ModelsMetrics {
        schema: MODELS_METRICS_SCHEMA,
        metrics: BTreeMap::from([("fairness".to_owned(), None), ("goodput_bps".to_owned(), Some(0.1))]),
        withheld: vec![Withheld { reason: "none".to_owned(), metrics: vec!["fairness".to_owned()] }],
        warnings: vec![Warning { code: "ended_early".to_owned(), message: "it ended early".to_owned() }],
        end: End::TooManyEvents,
        events: 7,
        series: BTreeMap::from([("time".to_owned(), vec![Some(0.5), None])]),
    }
}

fn draft(records: &Records) -> Draft {
    let text = "name = \"x\"\ntitle = \"X\"\n[flows]\ncount = 2\n";
    let plan = Scenario::parse("x.toml", text, None).unwrap().plan(&Overrides::default()).unwrap();
    let run: AnyRun = plan.runs[0].clone().into();
    let versions = Versions::from([("testbed".to_owned(), "sim".to_owned())]);
    let draft = records.begin(&run.folder_name(&versions)).unwrap();
    draft.fill(&RunFile::of(&run, &versions), &Seen::Models(observed(), Box::new(measured()))).unwrap();
    draft
}

/// The keys of a value, as the reference writes them.
fn keys(value: &Value, place: &str, names_of: &[&str], into: &mut BTreeSet<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let any = names_of.contains(&place);
                let key = if any { "*" } else { key.as_str() };
                let place = if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") };
                if !any {
                    into.insert(place.clone());
                }
                keys(value, &place, names_of, into);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| keys(value, &format!("{place}[]"), names_of, into)),
        _ => {}
    }
}

#[test]
fn the_reference_has_every_key_of_a_record_of_models() {
    for (heading, text) in
        [("path.json of models", observed().to_json()), ("metrics.json of models", measured().to_json())]
    {
        let section = REFERENCE.split("\n## ").find(|section| section.lines().next() == Some(heading)).unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let documented: BTreeSet<_> = rows.map(str::to_owned).collect();
        let mut found = BTreeSet::new();
        keys(&serde_json::from_str(&text).unwrap(), "", &["groups", "metrics", "series"], &mut found);
        assert_eq!(found, documented, "{heading}");
    }
}

#[test]
fn a_record_of_models_is_read_back_and_a_damaged_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let records = Records::open(folder.path()).unwrap();
    let path = draft(&records).finish().unwrap();
    let AnyRecord::Models(record) = AnyRecord::load(&path).unwrap() else { panic!("a transfer") };
    assert_eq!((record.observed, record.metrics), (observed(), measured()));
    assert_eq!(record.run.run.settings.flows["all"].count, 2);
    let error = |name: &str, change: &dyn Fn(&Path)| {
        let whole = fs::read(path.join(name)).unwrap();
        change(&path.join(name));
        let error = AnyRecord::load(&path).unwrap_err().to_string();
        assert!(error.contains(&path.join(name).display().to_string()), "{error}");
        fs::write(path.join(name), whole).unwrap();
        error
    };
    for name in ["run.toml", "path.json", "metrics.json", "contents.json"] {
        assert!(error(name, &|path| fs::remove_file(path).unwrap()).contains("hint: the command that made the record"));
    }
    // Of the same length, so that only its contents are wrong.
    let newer = |path: &Path| {
        let text = fs::read_to_string(path).unwrap().replacen("\"schema\": 1", "\"schema\": 9", 1);
        fs::write(path, text).unwrap();
    };
    assert!(error("metrics.json", &newer).contains("found schema 9"));
    let cut = |path: &Path| fs::write(path, "{}").unwrap();
    assert!(error("path.json", &cut).contains("found 2 bytes"));
    assert!(AnyRecord::load(&path).is_ok());
}
