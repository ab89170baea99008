//! `quiclab bundle` and `quiclab verify` of what it writes, with runs of models, which need no virtual machine.

use std::fs;

use crate::common::{
    Bench, CommandOutput,
    models::{SMALL, run},
    output_of, quiclab, records,
};

struct Bundled {
    files: Bench,
}

impl Bundled {
    fn new() -> Self {
        let files = Bench::new(SMALL);
        let done = run(&files, "results", &[]);
        assert_eq!(done.status, Some(0), "{}", done.errors);
        Self { files }
    }

    fn bundle(&self, out: &str) -> CommandOutput {
        let mut command = quiclab();
        command.arg("bundle").arg(self.files.out("results")).arg(self.files.out(out));
        command.args(["--author", "Doe, Jane"]).arg("--experiment").arg(self.files.file());
        output_of(&mut command)
    }

    fn verify(&self, name: &str, more: &[&str]) -> CommandOutput {
        output_of(quiclab().arg("verify").arg(self.files.out(name)).args(more))
    }
}

#[test]
fn a_bundle_has_the_same_bytes_each_time_and_is_verified() {
    let bundled = Bundled::new();
    for name in ["one.zip", "two.zip"] {
        let done = bundled.bundle(name);
        assert_eq!(done.status, Some(0), "{}", done.errors);
        assert!(done.output.contains("4 records"), "{}", done.output);
    }
    let [one, two] = ["one.zip", "two.zip"].map(|name| fs::read(bundled.files.out(name)).unwrap());
    assert!(one == two, "the bytes differ");
    let done = bundled.verify("one.zip", &[]);
    assert_eq!(done.status, Some(0), "{}{}", done.output, done.errors);
    assert!(done.output.contains("4 of 4 repeated runs are the same in every byte"), "{}", done.output);
    let done = bundled.verify("one.zip", &["--sample", "1", "--json"]);
    assert!(done.output.contains("\"not_chosen\": 3"), "{}", done.output);
    let done = bundled.verify("one.zip", &["--sample", "0"]);
    assert!(done.status == Some(0) && done.output.contains("4 runs were not chosen"), "{}", done.output);
}

#[test]
fn a_cut_or_changed_bundle_and_a_damaged_record_are_refused() {
    let bundled = Bundled::new();
    assert_eq!(bundled.bundle("whole.zip").status, Some(0));
    let whole = fs::read(bundled.files.out("whole.zip")).unwrap();
    fs::write(bundled.files.out("cut.zip"), &whole[..whole.len() - 10]).unwrap();
    let done = bundled.verify("cut.zip", &[]);
    assert_eq!(done.status, Some(125), "{}{}", done.output, done.errors);
    assert!(done.errors.contains("cut.zip: found no whole zip archive"), "{}", done.errors);
    let mut changed = whole;
    let middle = changed.len() / 2;
    changed[middle] ^= 0x55;
    fs::write(bundled.files.out("changed.zip"), &changed).unwrap();
    let done = bundled.verify("changed.zip", &["--sample", "0"]);
    assert!(matches!(done.status, Some(1 | 125)), "{}{}", done.output, done.errors);
    assert!(format!("{}{}", done.output, done.errors).contains("found"), "{}{}", done.output, done.errors);
    let results = bundled.files.out("results");
    let record = records(&results)[0].clone();
    fs::write(results.join(&record).join("metrics.json"), "{}").unwrap();
    let done = bundled.bundle("damaged.zip");
    assert_eq!(done.status, Some(125), "{}", done.errors);
    assert!(done.errors.contains("metrics.json"), "{}", done.errors);
    assert!(!bundled.files.out("damaged.zip").exists());
}

#[test]
fn a_sample_of_a_single_record_is_refused() {
    let bundled = Bundled::new();
    let results = bundled.files.out("results");
    let record = records(&results)[0].clone();
    let done = bundled.verify(&format!("results/{record}"), &["--sample", "1"]);
    assert!(done.status == Some(125) && done.errors.contains("expected a bundle"), "{}", done.errors);
    assert_eq!(bundled.verify(&format!("results/{record}"), &[]).status, Some(0));
}
