//! Verdicts, as the pages and the terminal show them.

use std::fmt::Write as _;

use maud::{Markup, html};
use quiclab_metrics::{Evidence, Verdict, Verdicts, judge};
use quiclab_units::shown;
use serde_json::json;

use crate::groups::Group;

/// Above the numbers of a page. `page`: where packets are shown, empty for this page, `None`: nowhere;
/// `start_ns`: the sender's first packet on that page.
pub(crate) fn verdict_list(verdicts: &Verdicts, page: Option<&str>, start_ns: u64) -> Markup {
    html! {
        section.verdicts aria-label="Verdicts" {
            @if verdicts.found.is_empty() { p { "No rule found anything remarkable." } }
            ul {
                @for verdict in &verdicts.found {
                    li {
                        (verdict.text)
                        @if let (Some(at), Some(page)) = (verdict.at_ns, page) {
                            " " a href=(format!("{page}#time={:.6}", (start_ns + at) as f64 / 1e9)) { "show" }
                        }
                        span.evidence { (evidence(verdict)) " " code { (verdict.rule) } }
                    }
                }
            }
            @if !verdicts.not_judged.is_empty() {
                details {
                    summary { "Rules that lack data: " (verdicts.not_judged.len()) }
                    ul { @for one in &verdicts.not_judged { li { code { (one.rule) } ": " (one.reason) } } }
                }
            }
        }
    }
}

/// The numbers with their bounds: `cpu_busy_share 0.86 (from 0.6)`.
fn evidence(verdict: &Verdict) -> String {
    let mut text = String::new();
    for measured in &verdict.evidence {
        let separator = if text.is_empty() { "" } else { ", " };
        let _ = write!(text, "{separator}{} {}", measured.name, short(measured.value));
        if let Some(bound) = measured.bound {
            let _ = write!(text, " (from {})", short(bound));
        }
    }
    text
}

fn short(value: f64) -> String {
    let text = if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.3}") };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Lines for the terminal: a heading, and each verdict with its evidence.
pub fn verdicts_in_words(name: &str, verdicts: &Verdicts) -> String {
    let mut text = format!("{}\n", shown(name));
    if verdicts.found.is_empty() {
        text += "  no rule found anything remarkable\n";
    }
    for verdict in &verdicts.found {
        let _ = writeln!(text, "  {}\n      {} [{}]", shown(&verdict.text), evidence(verdict), verdict.rule);
    }
    if !verdicts.not_judged.is_empty() {
        let rules: Vec<_> = verdicts.not_judged.iter().map(|one| one.rule).collect();
        let _ = writeln!(text, "  not judged for want of data: {}", rules.join(", "));
    }
    text
}

/// One JSON object: by transfer, what rules found and why others were not applied.
pub fn verdicts_as_json<'a>(transfers: impl Iterator<Item = (&'a str, &'a Verdicts)>) -> String {
    let all: Vec<_> = transfers.map(|(name, verdicts)| json!({ "name": name, "verdicts": verdicts })).collect();
    // Strings, numbers and vectors of them alone.
    let text = serde_json::to_string_pretty(&json!({ "schema": 1, "transfers": all }));
    text.expect("verdicts hold only what JSON can say") + "\n"
}

/// Above the numbers of a report: for each group of runs, the sentence of the first run that a rule applies to, and in how many.
pub(crate) fn verdicts_of_groups(groups: &[Group]) -> Markup {
    let all: Vec<_> = groups.iter().map(|group| (group.label.as_str(), group.runs.len(), of_group(group))).collect();
    html! {
        @if all.iter().any(|(_, _, found)| !found.is_empty()) {
            section.verdicts {
                h2 { "In words" }
                ul {
                    @for (label, runs, found) in &all {
                        @for (verdict, times) in found {
                            li {
                                strong { (label) }
                                @if times < runs { " (" (times) " of " (runs) " runs)" }
                                ": " (verdict.text) " " code { (verdict.rule) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What rules say of the runs of a group, each with the number of runs.
pub(crate) fn of_group(group: &Group) -> Vec<(Verdict, usize)> {
    let mut found: Vec<(Verdict, usize)> = Vec::new();
    for run in &group.runs {
        for verdict in judge(&Evidence { run: &run.metrics, packets: None }).found {
            match found.iter_mut().find(|(known, _)| known.rule == verdict.rule) {
                Some((_, times)) => *times += 1,
                None => found.push((verdict, 1)),
            }
        }
    }
    found
}
