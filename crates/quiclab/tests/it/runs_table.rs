//! `runs.parquet` and the traces of `--parquet`, read back.

use crate::common;
use std::{fs, fs::File, path::Path};

use crate::common::{Bench, TEST_STACKS, output_of, records};
use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::{Field, Row},
};
use serde_json::Value;

const EXPERIMENT: &str = r#"
name = "tests/table"
title = "One run that goes well, one that fails"
seed = 5
[stack]
name = "misbehaving"
[workload]
size = "64 KiB"
[tap]
snaplen = "full"
[matrix]
"stack.congestion_control" = ["not-at-all", "client-fails"]
"#;

fn rows(path: &Path) -> Vec<Row> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    SerializedFileReader::new(file).unwrap().get_row_iter(None).unwrap().map(Result::unwrap).collect()
}

fn json_of(row: &Row) -> Value {
    let value = |field: &Field| match field {
        Field::Bool(truth) => (*truth).into(),
        Field::Int(number) => (*number).into(),
        Field::Long(number) => (*number).into(),
        Field::UInt(number) => (*number).into(),
        Field::ULong(number) => (*number).into(),
        Field::Double(number) => (*number).into(),
        Field::Str(text) => text.as_str().into(),
        // Lists are not looked at.
        _ => Value::Null,
    };
    row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect()
}

#[test]
fn each_run_has_a_row_with_its_settings_and_metrics_whether_it_failed_or_not() {
    let bench = Bench::new(EXPERIMENT);
    let result = output_of(&mut bench.run(TEST_STACKS, "out", &["--parquet"]));
    assert_eq!(result.status, Some(1), "{}", result.errors);
    let out = bench.out("out");
    let names = records(&out);
    let [name] = &names[..] else { panic!("one of two runs goes well, but there are {names:?}") };
    let table: Vec<Value> = rows(&out.join("runs.parquet")).iter().map(json_of).collect();
    let [good, failed] = &table[..] else { panic!("two rows, but found {}", table.len()) };

    assert_eq!(good["record"], Value::from(name.as_str()));
    assert!(name.ends_with(good["id"].as_str().unwrap()));
    let known =
        [("testbed", "vm"), ("experiment", "tests/table"), ("stack.name", "misbehaving"), ("versions.testbed", "vm")];
    for (column, value) in known {
        assert_eq!((column, &good[column]), (column, &value.into()));
        assert_eq!((column, &failed[column]), (column, &value.into()));
    }
    assert_eq!((&good["stack.server"], &good["workload.files"]), (&"misbehaving".into(), &1.into()));
    assert_eq!((&good["seed"], &good["repetition"]), (&5.into(), &1.into()));
    assert_eq!((&good["path.rate"], &good["path.rate_bps"]), (&"40 Mbit/s".into(), &40_000_000.into()));
    assert_eq!((&good["workload.size"], &good["workload.size_bytes"]), (&"64 KiB".into(), &65_536.into()));
    assert_eq!((&good["tap.snaplen"], &good["tap.qlog"]), (&"full".into(), &false.into()));

    // The same numbers as in the record, and null for null.
    let metrics: Value = serde_json::from_slice(&fs::read(out.join(name).join("metrics.json")).unwrap()).unwrap();
    let all = metrics["metrics"].as_object().unwrap();
    assert!(all.len() > 50 && all.values().any(Value::is_null));
    for (metric, value) in all {
        assert_eq!((metric, good[metric].as_f64()), (metric, value.as_f64()));
        assert_eq!((metric, &failed[metric]), (metric, &Value::Null));
    }
    assert_eq!(good["warnings"].as_u64(), Some(metrics["warnings"].as_array().unwrap().len() as u64));
    let withheld = metrics.get("withheld").and_then(Value::as_array).map_or(0, Vec::len);
    assert_eq!(good["withheld"].as_str().unwrap().split("; ").filter(|one| one.contains(": ")).count(), withheld);
    assert_eq!((&good["failure"], &failed["warnings"]), (&Value::Null, &Value::Null));
    assert!(failed["failure"].as_str().unwrap().contains("the client ended with"), "{}", failed["failure"]);
    assert_eq!(failed["stack.congestion_control"], "client-fails");

    // The packets of the sender's tap are as many as were measured.
    let trace = out.join("trace").join(format!("record={name}"));
    let packets: Vec<Value> = rows(&trace.join("packets.parquet")).iter().map(json_of).collect();
    let sent = packets.iter().filter(|row| row["interface"] == 0 && row["sender"] == "server").count();
    assert_eq!(all["packets_sent"].as_u64(), Some(sent as u64));
    assert!(trace.join("events.parquet").is_file() && trace.join("frames.parquet").is_file());

    // Making the report again changes nothing.
    let before = fs::read(out.join("runs.parquet")).unwrap();
    let again = output_of(common::quiclab().arg("report").arg(&out));
    assert_eq!(again.status, Some(0), "{}", again.errors);
    assert!(fs::read(out.join("runs.parquet")).unwrap() == before);
}
