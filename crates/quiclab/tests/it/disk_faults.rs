//! The disk fails at every call in turn: it is full, it reports errors, it takes half of a write, it cannot sync. Each time, the command ends
//! with an error that says so, or does its work all the same; nothing that was finished is lost; and the next start makes what is missing.
//!
//! `make disk-faults` tries every call; `make test` every 37th. DISK_FAULTS_STEP chooses, DISK_FAULTS_CASES the verbs.

mod injector;

use std::{env, fs, process::Command};

use crate::common::{output_of, records};
use crate::kills::{
    cases::{Case, all},
    place::Place,
};
use injector::{Ended, Fault, run};

/// A record that was finished before, so that there is something to lose.
const SAVED: &str = "input/saved";

/// They list the runs that failed.
const TELL_FAILURES: [&str; 4] = ["/report.html", "/report.md", "/report.json", "/runs.parquet"];

/// What came of all calls of a verb with one kind of fault.
#[derive(Debug, Default)]
struct Tally {
    calls: u64,
    tried: u64,
    errors: u64,
    /// The command did its work all the same.
    harmless: u64,
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    let done = output_of(Command::new("cp").arg("-a").arg(from).arg(to));
    assert_eq!(done.status, Some(0), "{}", done.errors);
}

/// What is there before the command starts: nothing but a finished record, where the command makes records.
fn begin(place: &Place) {
    place.clear();
    if place.path(SAVED).is_dir() {
        for name in records(&place.path(SAVED)) {
            copy(&place.path(SAVED).join(&name), &place.out().join(&name));
        }
    }
}

fn fail_at_each_call(case: &Case, step: u64) -> Vec<(Fault, Tally)> {
    let mut place = Place::new(case.name);
    (case.prepare)(&place);
    place.note_before();
    for _ in 0..2 {
        place.clear();
        let done = output_of(&mut (case.command)(&place));
        assert_eq!(done.status, Some(0), "{}: {}", case.name, done.errors);
    }
    place.note_whole(case.varies);
    if let Some(name) = records(&place.out()).first() {
        copy(&place.out().join(name), &place.path(SAVED).join(name));
    }
    let talk = tempfile::tempdir().unwrap();
    let start = |place: &Place, fault, number| {
        begin(place);
        let before = place.finished();
        let ended = run((case.command)(place), &place.path(""), talk.path(), fault, number);
        (before, ended)
    };
    let mut tallies = Vec::new();
    for fault in Fault::ALL {
        let (_, counted) = start(&place, fault, 0);
        assert!(counted.status.success(), "{}", counted.errors);
        let mut tally = Tally { calls: counted.calls, ..Tally::default() };
        // Threads change the order of calls, so the last ones may be others each time.
        for number in (1..=counted.calls).step_by(step as usize) {
            let (before, ended) = start(&place, fault, number);
            let what = format!("{}: {fault:?} at call {number} of {}: {ended:#?}", case.name, counted.calls);
            check(&ended, fault, &what);
            place.check_whole_except(&TELL_FAILURES, &before);
            tally.tried += 1;
            *if ended.status.success() { &mut tally.harmless } else { &mut tally.errors } += 1;
            if ended.status.success() {
                assert_eq!(place.missing(), Vec::<String>::new(), "{what}");
            }
            let done = output_of(&mut (case.command)(&place));
            assert_eq!(done.status, Some(0), "the next start after {what}\n{}", done.errors);
            place.check_whole(&before);
            assert_eq!((place.missing(), place.leftovers()), (Vec::new(), Vec::new()), "the next start after {what}");
        }
        eprintln!("{}: {fault:?}: {tally:?}", case.name);
        tallies.push((fault, tally));
    }
    tallies
}

/// The command ended in order, and where it did not do its work, it says why.
fn check(ended: &Ended, fault: Fault, what: &str) {
    let code = ended.status.code().unwrap_or_else(|| panic!("ended by a signal: {what}"));
    assert!(!ended.errors.contains("panicked") && code != 101, "{what}");
    let Some((program, _)) = ended.failed.as_ref().filter(|_| code != 0) else { return };
    let words = match fault {
        Fault::NoSpace => "No space left on device",
        Fault::InputOutput | Fault::Sync => "Input/output error",
        // quiclab continues it. Not every program that it starts does: mkfs.erofs says that its image was truncated.
        Fault::ShortWrite => {
            assert!(!program.ends_with("quiclab"), "a short write is no error: {what}");
            return;
        }
    };
    // mkfs.erofs names the file and what it could not do there, and not always why; or it says nothing, and its image is another one.
    let of_image = ["erofs_io: failed to ", "mkfs.erofs made two different images"];
    let by_name = program.ends_with("mkfs.erofs") && of_image.iter().any(|words| ended.errors.contains(words));
    assert!(ended.errors.contains(words) || by_name, "the message does not say what failed: {what}");
}

fn cases_of(names: &[&str]) -> Vec<&'static Case> {
    all().iter().filter(|case| names.contains(&case.name)).collect()
}

#[test]
fn a_failing_disk_loses_nothing_at_some_calls() {
    for case in cases_of(&["run-few", "analyze-parquet"]) {
        for (fault, tally) in fail_at_each_call(case, 37) {
            assert!(tally.tried > 0 || fault == Fault::Sync, "{}: {fault:?}: {tally:?}", case.name);
        }
    }
}

#[test]
#[ignore = "make disk-faults: a start of the command for each call that can fail"]
fn a_failing_disk_loses_nothing_at_any_call() {
    let step = env::var("DISK_FAULTS_STEP").map_or(1, |text| text.parse().expect("DISK_FAULTS_STEP is a number"));
    let wanted = env::var("DISK_FAULTS_CASES").unwrap_or_else(|_| "run-few,analyze-parquet,report,perform".to_owned());
    println!("\n| verb | fault | calls | tried | errors | no effect |");
    println!("|---|---|--:|--:|--:|--:|");
    for case in cases_of(&wanted.split(',').collect::<Vec<_>>()) {
        for (fault, Tally { calls, tried, errors, harmless }) in fail_at_each_call(case, step) {
            println!("| {} | {fault:?} | {calls} | {tried} | {errors} | {harmless} |", case.name);
        }
    }
}
