//! Every input that the fuzzer found worth keeping, on the stable compiler: no panic, no wrong result.
//! The fuzzer itself is `make fuzz`; its inputs are in `fuzz/corpus`.

#[path = "../fuzz_corpus/targets.rs"]
mod targets;

use std::{env, fs, path::Path};

use crate::common::{NAME, data};

quiclab_testing::replay_corpora!(&targets::ALL);

/// What the fuzzer begins with: every schema of every file. With `UPDATE=1` they are written.
#[test]
fn every_schema_is_a_seed() {
    let read = |path: &str| fs::read(data("").join(path)).unwrap();
    let of_vm = |file: &str| read(&format!("vm/{NAME}/{file}"));
    let mut seeds = Vec::new();
    let mut seed = |name: &str, files: &[(&str, &[u8])]| {
        let mut input = Vec::new();
        files.iter().for_each(|(file, contents)| targets::push(&mut input, file, contents));
        seeds.push((format!("seed-{name}"), input));
    };
    for schema in ["1", "2", "3"] {
        seed(&format!("metrics-{schema}"), &[("metrics.json", &read(&format!("metrics/{schema}.json")))]);
    }
    for form in ["first", "last", "simulated", "two-stacks"] {
        seed(&format!("path-{form}"), &[("path.json", &read(&format!("path/{form}.json")))]);
    }
    seed(
        "whole",
        &["run.toml", "path.json", "metrics.json"]
            .map(|file| (file, of_vm(file)))
            .each_ref()
            .map(|(file, contents)| (*file, &contents[..])),
    );
    seed(
        "logs",
        &[
            ("metrics.json", b"{}"),
            ("server/keys.log", &of_vm("server/keys.log")),
            ("server/planned.csv", b"1,1000\n2,2000\n"),
            ("server/qlog/a.sqlog", b"\x1e{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"trace\":{\"vantage_point\":{\"type\":\"server\"}}}\n\x1e{\"time\":1,\"name\":\"recovery:metrics_updated\",\"data\":{\"congestion_window\":9000}}\n"),
        ],
    );
    seed("contents-1", &[("contents.json", b"{\"schema\": 1, \"files\": {\"path.json\": 2323}}")]);
    let models = models();
    seed("models", &models.each_ref().map(|(file, contents)| (*file, &contents[..])));
    let folder = Path::new(CORPORA).join("record");
    for (name, input) in seeds {
        targets::record(&input);
        let path = folder.join(name);
        if env::var_os("UPDATE").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &input).unwrap();
        }
        assert!(fs::read(&path).ok().as_ref() == Some(&input), "{}: write it with UPDATE=1", path.display());
    }
}

/// A small record of models.
fn models() -> [(&'static str, Vec<u8>); 3] {
    use quiclab_experiment::{AnyRun, Overrides, run::Versions, scenario::Scenario};
    let text = "name = \"x\"\ntitle = \"X\"\n[flows]\ncount = 2\n";
    let plan = Scenario::parse("x.toml", text, None).unwrap().plan(&Overrides::default()).unwrap();
    let run: AnyRun = plan.runs[0].clone().into();
    let run = quiclab_record::RunFile::of(&run, &Versions::from([("testbed".to_owned(), "sim".to_owned())]));
    let run = quiclab_record::RunFile { schema: 2, ..run };
    let seen = br#"{"schema":1,"testbed":"sim","counted_until_ns":1,"bottlenecks":[{"queue":"red","packets_passed":1,"packets_dropped":2,"packets_marked":3,"packets_waiting":4}],"groups":{"all":{"flows":1,"segments_sent":5,"segments_retransmitted":2,"segments_delivered":3,"timeouts":1}}}"#;
    let metrics = br#"{"schema":1,"metrics":{"fairness":null,"goodput_bps":0.1},"withheld":[{"reason":"none","metrics":["fairness"]}],"warnings":[],"end":"in_time","events":7,"series":{"time":[0.5,null]}}"#;
    [
        ("run.toml", run.to_toml().unwrap().into_bytes()),
        ("path.json", seen.to_vec()),
        ("metrics.json", metrics.to_vec()),
    ]
}
