//! What all pages share: the frame, figures, failures, and what came of expectations.

use std::collections::BTreeMap;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use quiclab_experiment::Expectation;

use crate::{
    findings::Finding,
    input::FailureRow,
    plot::{self, Figure},
};

const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";
const STYLE: &str = include_str!("style.css");

/// A whole page that needs no network.
pub(crate) fn page(title: &str, body: &Markup) -> String {
    page_with(title, "", body)
}

/// A whole page that needs no network. `style` is added to that of all pages.
pub(crate) fn page_with(title: &str, style: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                // Holds the page to its promise: nothing is fetched, not even by a script.
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " \u{b7} quiclab" }
                style { (PreEscaped(STYLE)) (PreEscaped(plot::style::rules_of_pages())) (PreEscaped(style)) }
                // An empty icon keeps browsers from asking a server for one.
                link rel="icon" href="data:,";
            }
            body { (body) }
        }
    };
    page.into_string()
}

pub(crate) fn failures(failures: &[FailureRow], ladders: &BTreeMap<String, String>) -> Markup {
    html! {
        @if !failures.is_empty() {
            section.failed {
                h2 { "Failed runs: " (failures.len()) }
                ul {
                    @for failure in failures {
                        li {
                            code { (failure.folder) } ": " (failure.message)
                            @if let Some(page) = ladders.get(&failure.folder) { " " a href=(page) { "handshake" } }
                        }
                    }
                }
            }
        }
    }
}

/// Expectations and what came of it; nothing where nothing was expected.
pub(crate) fn expectations(findings: &[Finding], left_out: &[Expectation]) -> Markup {
    html! {
        @if !findings.is_empty() || !left_out.is_empty() {
            h2 { "Expectations" }
            div.wide {
                table.expectations {
                    thead { tr { th {} th { "claim" } th { "by these numbers" } } }
                    tbody {
                        @for finding in findings {
                            tr {
                                td.outcome data-outcome=(finding.outcome.word()) { (finding.outcome.word()) }
                                th {
                                    (finding.claim)
                                    @if let Some(source) = &finding.source { p.note { (source) } }
                                }
                                td { (finding.numbers()) }
                            }
                        }
                        @for expectation in left_out {
                            tr { td { "skipped" } th { (expectation.claim) } td { "not part of this plan" } }
                        }
                    }
                }
            }
        }
    }
}

/// A figure with its title and its caption.
pub(crate) fn picture(figure: &Figure) -> Markup {
    html! {
        section.figure {
            h2 { (figure.title) }
            div.wide { (PreEscaped(plot::inline(figure))) }
            p.note { (figure.caption) }
        }
    }
}
