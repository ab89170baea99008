//! What reports say of handshakes: what was lost, what the path did, ladders, maps of two settings.

use crate::common;
use std::collections::BTreeMap;

use quiclab_agent_protocol::{forwarder::Lateness, stage::StageSeen};
use quiclab_content::Lost;
use quiclab_experiment::{
    Bound, Compared, Expectation, LOST_BYTES,
    scenario::{Compare, FigureKind, FigureSpec},
};
use quiclab_path::content::Direction;
use quiclab_report::{
    Comparison, DropSummary, Mover, Outcome, PathSummary, Question, ReportInput, StageSummary, findings,
    render_figures, render_html, render_json, settings_key,
};

const FINISHED: &str = "handshake crypto 0..36";
const REQUEST: &str = "stream 0 0..20";

fn lost(data: &[&str]) -> Option<Lost> {
    let data = data.iter().map(|data| data.parse().unwrap()).collect();
    Some(Lost::of([(Direction::ToServer, data, true)]))
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// Runs of quiche with and without offload, two repetitions each, that lost this.
fn input(with: [Option<Lost>; 2], without: [Option<Lost>; 2], may_differ: f64) -> ReportInput {
    let mut input = common::input();
    let mut runs: Vec<_> = input.runs.drain(..3).collect();
    let mut second = runs[2].clone();
    (second.run.repetition, second.run.seed) = (2, 2);
    runs.push(second);
    for (run, lost) in runs.iter_mut().zip(with.into_iter().chain(without)) {
        run.lost = lost;
    }
    let expectation = Expectation {
        claim: "both lost the same".to_owned(),
        source: None,
        metric: LOST_BYTES.to_owned(),
        runs: map(&[("stack.gso", "off")]),
        bound: Bound::AtMost,
        number: may_differ,
        compared_with: Some(map(&[("stack.gso", "on")])),
        compared_as: Default::default(),
    };
    ReportInput { runs, expectations: vec![expectation], ..input }
}

#[test]
fn runs_that_lost_the_same_bytes_in_every_pair_hold() {
    let both = || [lost(&[FINISHED, REQUEST]), lost(&[FINISHED])];
    let found = findings(&input(both(), both(), 0.0)).remove(0);
    assert_eq!(found.outcome, Outcome::Holds);
    let text = found.numbers();
    assert!(
        text.starts_with("lost CRYPTO and STREAM bytes: the same in all 2 pairs of runs with the same seed"),
        "{text}"
    );
    assert!(text.ends_with("client handshake crypto 0..36, client stream 0 0..20"), "{text}");
}

#[test]
fn one_pair_that_lost_something_else_fails_and_both_losses_are_named() {
    let found = input([lost(&[FINISHED]), lost(&[FINISHED, REQUEST])], [lost(&[FINISHED]), lost(&[FINISHED])], 0.0);
    let finding = findings(&found).remove(0);
    assert_eq!(finding.outcome, Outcome::Fails);
    let text = finding.numbers();
    let expected = "not the same in 1 of 2 pairs of runs with the same seed; in repetition 2 quiche, gso=off lost client handshake \
                    crypto 0..36, quiche, gso=on lost client handshake crypto 0..36, client stream 0 0..20";
    assert!(text.contains(expected), "{text}");
    let json: serde_json::Value = serde_json::from_str(&render_json(&found)).unwrap();
    let losses = &json["expectations"][0]["losses"];
    assert_eq!((losses["pairs"].as_u64(), losses["unequal"].as_u64()), (Some(2), Some(1)));
    assert_eq!(
        losses["differences"][0],
        "client stream 0 0..20: lost 0 times by quiche, gso=off, once by quiche, gso=on"
    );
}

#[test]
fn as_many_bytes_may_differ_as_the_claim_says() {
    let one = || [lost(&[FINISHED]), lost(&[FINISHED])];
    let other = || [lost(&["handshake crypto 0..38"]), lost(&[FINISHED])];
    assert_eq!(findings(&input(one(), other(), 2.0))[0].outcome, Outcome::Holds);
    assert_eq!(findings(&input(one(), other(), 1.0))[0].outcome, Outcome::Fails);
}

#[test]
fn what_a_record_does_not_say_is_not_measured() {
    let known = || [lost(&[FINISHED]), lost(&[FINISHED])];
    let unread = Some(Lost::of([(Direction::ToServer, Vec::new(), false)]));
    for (without, expected) in [
        ([None, lost(&[FINISHED])], "does not list what was dropped"),
        ([unread, lost(&[FINISHED])], "1 lost datagrams of quiche, gso=off could not be read"),
    ] {
        let Outcome::NotMeasured(why) = findings(&input(known(), without, 0.0)).remove(0).outcome else { panic!() };
        assert!(why.contains(expected), "{why}");
    }
}

fn path(mover: Mover) -> PathSummary {
    let seen = StageSeen {
        packets_passed: 8,
        drops: BTreeMap::from([("content".to_owned(), 1)]),
        counts: BTreeMap::from([("asked".to_owned(), 9)]),
        ..StageSeen::new("loss", "content_loss")
    };
    let stage = StageSummary { place: "to_server.loss".to_owned(), rule: Some("flight 2".to_owned()), seen };
    let drop = DropSummary {
        time_ns: 12_345_678,
        place: "to_server.loss".to_owned(),
        cause: "content".to_owned(),
        held: Some("client datagram 2: Handshake 0 [CRYPTO 0..36]".to_owned()),
    };
    PathSummary { mover, clocks: Vec::new(), stages: vec![stage], drops: vec![drop], drops_not_listed: 3 }
}

fn forwarder() -> Mover {
    let lateness = Lateness { packets: 17, median_ns: 4_000, percentile_99_ns: 23_400, largest_ns: 50_000 };
    Mover::Forwarder { why: "only it does the stage loss".to_owned(), is_realtime: true, lateness: Some(lateness) }
}

#[test]
fn a_comparison_notes_losses_that_differ_where_rules_lose_datagrams() {
    let side = |data: &[&str], has_rules: bool| {
        let mut input = common::side(&[30e6, 31e6], &[]);
        for run in &mut input.runs {
            run.lost = lost(data);
            run.path = has_rules.then(|| path(forwarder()));
        }
        input
    };
    let question = Question {
        names: ["a", "b"].map(str::to_owned),
        conditions: vec![],
        metrics: vec![],
        alpha: 0.05,
        not_judged: BTreeMap::new(),
        command: String::new(),
    };
    let notes = |one: &[&str], other: &[&str], has_rules| {
        let (one, other) = (side(one, has_rules), side(other, has_rules));
        Comparison::of(&one, &other, [&settings_key, &settings_key], &question).unwrap().notes
    };
    let found = notes(&[FINISHED], &[FINISHED, REQUEST], true);
    assert!(
        found[0].contains("A and B did not lose the same CRYPTO and STREAM bytes; in repetition 1 A lost client"),
        "{found:?}"
    );
    assert_eq!(notes(&[FINISHED], &[FINISHED], true), Vec::<String>::new());
    assert_eq!(notes(&[FINISHED], &[REQUEST], false), Vec::<String>::new(), "a queue drops others in every run");
}

#[test]
fn the_report_says_what_moved_the_packets_and_links_every_ladder() {
    let mut input = common::input();
    let name = input.runs[1].folder.clone();
    input.runs[0].path = Some(path(forwarder()));
    input.runs[1].path = Some(path(forwarder()));
    input.ladders.insert(name.clone(), format!("ladders/{name}.html"));
    input.ladders.insert("other-02-def".to_owned(), "ladders/other-02-def.html".to_owned());
    let page = render_html(&input);
    for part in [
        "<td>forwarder</td><td>23.4</td>",
        "1 by to_server.loss (flight 2)",
        "forwarder: only it does the stage loss.",
        &format!("<a href=\"ladders/{name}.html\">2</a>"),
        "the client hung <a href=\"ladders/other-02-def.html\">handshake</a>",
        "3 runs have no such page.",
    ] {
        assert!(page.contains(part), "no {part}");
    }
    // Without anything to say there is nothing.
    let page = render_html(&common::input());
    assert!(!page.contains("moved by") && !page.contains("datagram by datagram"));
}

/// quiche on 34 and 36, off 30 Mbit/s; the other stack has no goodput with offload, and no run without.
fn grid(how: Option<Compare>) -> ReportInput {
    let mut spec = FigureSpec::over_time("A map".to_owned(), vec!["goodput_wire_bps".to_owned()]);
    spec.kind = FigureKind::Grid;
    spec.x = if how.is_some() { "path.rate".to_owned() } else { "stack.gso".to_owned() };
    spec.by = Some("stack.name".to_owned());
    spec.compare = how;
    ReportInput { figures: vec![spec], ..common::input() }
}

fn svg(input: &ReportInput) -> String {
    let figures = render_figures(input);
    assert_eq!(figures[0].0, "figure-1-a-map", "it comes first");
    figures[0].1.clone()
}

#[test]
fn a_map_of_two_settings_has_a_number_in_each_cell_and_says_where_there_is_none() {
    let svg = svg(&grid(None));
    for part in [">35<", ">30<", "goodput on the wire, Mbit/s", ">quiche<", ">other<"] {
        assert!(svg.contains(part), "no {part} in {svg}");
    }
    assert_eq!(svg.matches(">no value<").count(), 2);
    assert_eq!(svg.matches("fill=\"#e4e4e4\"").count(), 2);
}

#[test]
fn a_map_of_differences_compares_runs_with_the_same_seed() {
    let [setting, of, with] = ["stack.gso", "on", "off"].map(str::to_owned);
    let svg = svg(&grid(Some(Compare { setting, of, with, how: Compared::Difference })));
    // 34 - 30: the second repetition has no run to compare with.
    assert!(svg.contains(">4<"), "{svg}");
    assert!(svg.contains("goodput on the wire, Mbit/s: on minus off"), "{svg}");
}
