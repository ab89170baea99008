//! Handshakes that fail are data: what is counted, what is decided, what is said.

use std::collections::BTreeMap;

use quiclab_experiment::run::Certificate;
use quiclab_report::{
    Change, Comparison, ConditionOutcome, FailedRun, FailureCause, FailureRow, HandshakeOutcome, Question, ReportInput,
    RunRow, render_comparison_html, render_comparison_markdown, render_comparison_terminal, settings_key,
};
use serde_json::json;

use crate::common::{failure, side};

/// Handshakes over the chain of this size: those with a time complete, in milliseconds to the first byte; the others end for this cause.
fn cell(certificate: &str, times: &[Result<u64, FailureCause>]) -> ReportInput {
    let mut input = side(&vec![1e6; times.len()], &[]);
    let runs = std::mem::take(&mut input.runs);
    for (mut run, time) in runs.into_iter().zip(times) {
        run.run.settings.workload.test_case = "handshake".to_owned();
        run.run.settings.workload.certificate = Certificate::Size(certificate.parse().unwrap());
        match time {
            Ok(milliseconds) => {
                let metrics = &mut run.metrics.metrics;
                metrics.handshake_client_complete_ns = Some(milliseconds * 1_000_000);
                metrics.handshake_client_first_byte_ns = Some(milliseconds * 1_000_000);
                input.runs.push(run);
            }
            Err(cause) => input.failures.push(failed(run, *cause)),
        }
    }
    input
}

fn failed(run: RunRow, cause: FailureCause) -> FailureRow {
    let message = match cause {
        FailureCause::Endpoints => "the client ended with exit status 1",
        FailureCause::Unsupported => "the server exited with 127: it does not support the settings of the run",
        FailureCause::Other => "the guest left no results: it stopped\nhint: none",
    };
    FailureRow { message: message.to_owned(), failed: Some(FailedRun { run: run.run, cause }), ..failure(&run.folder) }
}

/// Completes in about `time` milliseconds, `count` times.
fn complete(time: u64, count: u64) -> Vec<Result<u64, FailureCause>> {
    (0..count).map(|run| Ok(time + run % 3)).collect()
}

fn fail(cause: FailureCause, count: usize) -> Vec<Result<u64, FailureCause>> {
    vec![Err(cause); count]
}

fn together(cells: impl IntoIterator<Item = ReportInput>) -> ReportInput {
    let mut all = side(&[], &[]);
    for cell in cells {
        all.runs.extend(cell.runs);
        all.failures.extend(cell.failures);
    }
    all
}

fn compared(a: &ReportInput, b: &ReportInput, conditions: &[&str]) -> Comparison {
    let question = Question {
        names: ["main".to_owned(), "pr".to_owned()],
        conditions: conditions.iter().map(|text| text.parse().unwrap()).collect(),
        metrics: Vec::new(),
        alpha: 0.05,
        not_judged: BTreeMap::new(),
        command: "quiclab ab main pr".to_owned(),
    };
    Comparison::of(a, b, [&settings_key, &settings_key], &question).unwrap()
}

#[test]
fn a_handshake_of_b_that_never_completes_is_a_verdict_and_an_exit_status() {
    let a = cell("9 kB", &complete(100, 12));
    let b = cell("9 kB", &fail(FailureCause::Endpoints, 12));
    let comparison = compared(&a, &b, &[]);
    let handshakes = comparison.handshakes.as_ref().unwrap();
    let cell = &handshakes.cells[0];
    assert_eq!((cell.outcome, cell.completed, cell.tried), (HandshakeOutcome::NeverCompletes, [12, 0], [12, 12]));
    // 2 of the 24 choose 12 ways. The sum of a single cell is no further test.
    assert!((cell.p.unwrap() - 2.0 / 2_704_156.0).abs() < 1e-12, "{:?}", cell.p);
    assert!((cell.p_corrected.unwrap() - 2.0 / 2_704_156.0).abs() < 1e-12);
    assert!(
        comparison.answer.starts_with("B fails more handshakes: 12 of 12 with ")
            && comparison.answer.ends_with("(A: 0 of 12), it never completes"),
        "{}",
        comparison.answer
    );
    // They are data and no failed runs, and count once.
    assert_eq!((comparison.failures.failed, comparison.wrong(false)), ([0, 0], 1));
    let shown = render_comparison_terminal(&comparison, Some(200), false).to_string();
    assert!(shown.starts_with("B fails more handshakes: 12 of 12"), "{shown}");
    assert!(shown.contains("NEVER COMPLETES (p < 0.001)"), "{shown}");
    assert!(shown.contains("A 12 of 12 (74 to 100 %), B 0 of 12 (0 to 26 %)"), "{shown}");
    assert!(shown.contains("B: the client ended with exit status 1 (12)") && !shown.contains("FAILED RUNS"), "{shown}");
    for text in [render_comparison_markdown(&comparison), render_comparison_html(&comparison, None)] {
        assert!(text.contains("NEVER COMPLETES") && text.contains("0 of 12 (0 to 26 %)"), "{text}");
    }
    let all: serde_json::Value = serde_json::from_str(&comparison.to_json()).unwrap();
    let cell = &all["handshakes"]["cells"][0];
    assert_eq!(cell["outcome"], "never_completes");
    assert_eq!(cell["completed"], json!([12, 0]));
    assert_eq!(cell["reasons"][1], json!({ "the client ended with exit status 1": 12 }));
}

#[test]
fn worse_cells_come_first_then_slower_ones_and_what_they_share_is_named() {
    let sides = |broken: &[Result<u64, FailureCause>], slow: u64| {
        let certificates = [("1 kB", complete(20, 12)), ("2 kB", complete(slow, 12)), ("9 kB", broken.to_vec())];
        together(certificates.map(|(certificate, times)| cell(certificate, &times)))
    };
    let half = [complete(40, 2), fail(FailureCause::Endpoints, 10)].concat();
    let comparison = compared(&sides(&complete(40, 12), 30), &sides(&half, 60), &[]);
    let cells = &comparison.handshakes.as_ref().unwrap().cells;
    let places: Vec<_> = cells.iter().map(|cell| (cell.label.as_str(), cell.outcome, cell.time)).collect();
    assert_eq!(
        places,
        [
            ("certificate=9 kB", HandshakeOutcome::FailsMore, Change::NotMeasured),
            ("certificate=2 kB", HandshakeOutcome::NoneShown, Change::Worse),
            ("certificate=1 kB", HandshakeOutcome::NoneShown, Change::Same),
        ]
    );
    assert!(
        comparison.answer.starts_with(
            "B fails more handshakes: 10 of 12 with certificate=9 kB (A: 0 of 12); slower with certificate=2 kB: "
        ),
        "{}",
        comparison.answer
    );
    let shown = |all| render_comparison_terminal(&comparison, Some(200), all).to_string();
    assert!(
        shown(false).contains("of 3 settings 1 are unchanged, 0 faster")
            && !shown(false).contains("  certificate=1 kB")
    );
    assert!(shown(true).contains("  certificate=1 kB: unchanged"), "{}", shown(true));
    // Being slower is no failure by itself, and is one with a condition; the cell that lost its handshakes is not judged.
    let comparison =
        compared(&sides(&complete(40, 12), 30), &sides(&half, 60), &["handshake_client_first_byte_ns > 1.05x"]);
    let of = |label: &str| comparison.conditions.iter().find(|one| one.label.contains(label)).unwrap();
    assert_eq!(of("2 kB").outcome, ConditionOutcome::Fails);
    assert_eq!(of("9 kB").outcome, ConditionOutcome::NotMeasured);
    assert!(of("9 kB").numbers.contains("10 of 12 handshakes of B fail"), "{}", of("9 kB").numbers);
    assert_eq!((of("1 kB").outcome, comparison.wrong(false)), (ConditionOutcome::Passes, 3));
}

#[test]
fn failures_that_can_be_chance_are_no_verdict() {
    let some = |count: usize| [complete(100, 12 - count as u64), fail(FailureCause::Endpoints, count)].concat();
    let comparison = compared(&cell("9 kB", &some(2)), &cell("9 kB", &some(4)), &[]);
    let handshakes = comparison.handshakes.as_ref().unwrap();
    assert_eq!(handshakes.cells[0].outcome, HandshakeOutcome::PerhapsMore);
    assert!(comparison.answer.starts_with("B is not shown to fail more handshakes: 4 of 12 fail (A: 2 of 12)"));
    // Failures on both sides alone are no reason to refuse B; with --strict the open question is.
    assert_eq!((comparison.wrong(false), comparison.wrong(true)), (0, 1));
    assert!(!comparison.is_decided(0.05), "more runs can show it");
}

#[test]
fn a_few_failures_in_each_of_many_cells_show_together() {
    let certificates =
        ["1 kB", "2 kB", "3 kB", "4 kB", "5 kB", "6 kB", "7 kB", "8 kB", "9 kB", "10 kB", "11 kB", "12 kB"];
    let sides =
        |times: Vec<Result<u64, FailureCause>>| together(certificates.map(|certificate| cell(certificate, &times)));
    let two = [complete(100, 6), fail(FailureCause::Endpoints, 2)].concat();
    let comparison = compared(&sides(complete(100, 8)), &sides(two), &[]);
    let handshakes = comparison.handshakes.as_ref().unwrap();
    assert!(handshakes.cells.iter().all(|cell| cell.outcome == HandshakeOutcome::PerhapsMore));
    assert_eq!((handshakes.outcome, handshakes.completed), (HandshakeOutcome::FailsMore, [96, 72]));
    assert!(
        comparison
            .answer
            .starts_with("B fails more handshakes: 24 of 96 fail (A: 0 of 96), p < 0.001, over 12 settings"),
        "{}",
        comparison.answer
    );
    assert_eq!(comparison.wrong(false), 1);
}

#[test]
fn what_the_settings_in_which_more_fail_have_in_common_is_in_the_answer() {
    let certificates = ["1 kB", "2 kB", "3 kB", "4 kB", "5 kB", "6 kB"];
    let sides = |short: Vec<Result<u64, FailureCause>>| {
        let with_mtu = |mtu: u32, times: &[Result<u64, FailureCause>]| {
            let mut all = together(certificates.map(|certificate| cell(certificate, times)));
            all.runs.iter_mut().for_each(|row| row.run.settings.path.mtu = mtu);
            all.failures
                .iter_mut()
                .flat_map(|row| &mut row.failed)
                .for_each(|failed| failed.run.settings.path.mtu = mtu);
            all
        };
        together([with_mtu(1500, &complete(100, 4)), with_mtu(1280, &short)])
    };
    let half = [complete(100, 2), fail(FailureCause::Endpoints, 2)].concat();
    let comparison = compared(&sides(complete(100, 4)), &sides(half), &[]);
    let answer = &comparison.answer;
    assert!(answer.starts_with("B fails more handshakes: 12 of 48 fail (A: 0 of 48)"), "{answer}");
    assert!(answer.contains("over 12 settings; the settings in which more fail all have mtu=1280"), "{answer}");
}

#[test]
fn what_is_not_supported_or_not_the_handshakes_fault_is_not_compared() {
    let sides = |other: &[Result<u64, FailureCause>]| together([cell("1 kB", &complete(20, 6)), cell("9 kB", other)]);
    let a = sides(&complete(40, 6));
    let unsupported =
        compared(&a, &sides(&fail(FailureCause::Unsupported, 6)), &["handshake_client_first_byte_ns > 2x"]);
    let cells = &unsupported.handshakes.as_ref().unwrap().cells;
    let cell_of = |label: &str| cells.iter().find(|cell| cell.label.contains(label)).unwrap();
    let cell = cell_of("9 kB");
    assert_eq!((cell.outcome, cell.tried), (HandshakeOutcome::NotCompared, [6, 0]));
    assert!(
        cell.not_compared.as_ref().unwrap().starts_with("B: the server exited with 127"),
        "{:?}",
        cell.not_compared
    );
    assert!(unsupported.answer.ends_with("; 1 not compared"), "{}", unsupported.answer);
    // Once because only one side has the settings, and once for the condition that cannot be judged there.
    assert_eq!((unsupported.failures.failed, unsupported.wrong(false)), ([0, 0], 2));
    // Neither side has it: nothing got worse.
    let neither = sides(&fail(FailureCause::Unsupported, 6));
    assert_eq!(compared(&neither, &neither, &[]).wrong(false), 0);
    // A failure of the laboratory is a failed run as ever, and no handshake.
    let broken = compared(&a, &sides(&[complete(40, 5), fail(FailureCause::Other, 1)].concat()), &[]);
    let handshakes = broken.handshakes.as_ref().unwrap();
    assert_eq!((handshakes.tried, handshakes.completed), ([12, 11], [12, 11]));
    assert_eq!((broken.failures.failed, broken.wrong(false)), ([0, 1], 1));
}
