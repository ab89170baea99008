//! The promise: the same run gives the same bytes, in any process and beside any other run.

use std::{fs, path::Path};

use crate::common::{Bench, REAL_STACKS, output_of, quiclab, records};

const EXPERIMENT: &str = r#"
name = "tests/determinism"
title = "Two stacks, two seeds"
[workload]
size = "1 MiB"
repetitions = 2
[matrix]
"stack.name" = ["ngtcp2", "tcp-tls"]
"#;

fn bytes(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn fresh_processes_one_by_one_or_side_by_side_give_the_same_bytes() {
    let bench = Bench::new(EXPERIMENT);
    for (out, jobs) in [("one", "1"), ("two", "2")] {
        let result = output_of(&mut bench.run(REAL_STACKS, out, &["-j", jobs]));
        assert_eq!(result.status, Some(0), "{}", result.errors);
    }
    let [one, two] = [bench.out("one"), bench.out("two")];
    let names = records(&one);
    assert_eq!(names.len(), 4);
    assert_eq!(names, records(&two));
    for name in &names {
        for file in ["wire.pcapng", "metrics.json", "run.toml", "path.json"] {
            let same = bytes(&one.join(name).join(file)) == bytes(&two.join(name).join(file));
            assert!(same, "{name}/{file} differs; keep both: quiclab run with -j 1 and -j 2 makes them again");
        }
    }
    for file in ["report.html", "report.json", "report.md", "experiment.json"] {
        assert!(bytes(&one.join(file)) == bytes(&two.join(file)), "{file} differs");
    }

    // Another seed is another run.
    for stack in ["ngtcp2", "tcp-tls"] {
        let of_stack: Vec<_> = names.iter().filter(|name| name.starts_with(stack)).collect();
        let [first, second] = of_stack[..] else { panic!("two repetitions of {stack}") };
        let [first, second] = [first, second].map(|name| gaps(&one.join(name).join("metrics.json")));
        assert_ne!(first, second, "{stack}: two seeds gave the same gaps");
    }

    let record = one.join(&names[0]);
    let verified = output_of(quiclab().arg("verify").arg(&record).args(["--stacks", REAL_STACKS]));
    assert_eq!(verified.status, Some(0), "{}{}", verified.output, verified.errors);
    assert!(verified.output.contains("every byte is the same"), "{}", verified.output);

    // A single changed byte is found by its hash, and where that was changed as well, by repeating the run.
    let capture = record.join("wire.pcapng");
    let mut changed = bytes(&capture);
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    fs::write(&capture, changed).unwrap();
    let verify = || {
        let result = output_of(quiclab().arg("verify").arg(&record).args(["--json", "--stacks", REAL_STACKS]));
        assert_eq!(result.status, Some(1), "{}", result.errors);
        serde_json::from_str::<serde_json::Value>(&result.output).unwrap()
    };
    let difference = verify()["differences"]["wire.pcapng"].as_str().unwrap().to_owned();
    assert!(difference.starts_with("found SHA-256 "), "{difference}");
    quiclab_record::Contents::write(&record).unwrap();
    let result = verify();
    let difference = result["differences"]["wire.pcapng"].as_str().unwrap();
    assert!(difference.contains(&format!("first difference at byte {middle}")), "{difference}");

    // Another version is not compared but named.
    let file = record.join("run.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("qemu = \"QEMU", "qemu = \"qemu")).unwrap();
    quiclab_record::Contents::write(&record).unwrap();
    let result = output_of(quiclab().arg("verify").arg(&record).args(["--stacks", REAL_STACKS]));
    assert_eq!(result.status, Some(125));
    assert!(result.errors.contains("qemu: recorded with qemu"), "{}", result.errors);
}

fn gaps(metrics: &Path) -> serde_json::Value {
    let metrics: serde_json::Value = serde_json::from_slice(&bytes(metrics)).unwrap();
    metrics["distributions"]["gaps_ns"].clone()
}
