//! The page of a matrix.

use maud::{Markup, html};
use quiclab_interop::{Entry, Matrix, Verdict};

use super::outcome::{Outcome, cases_with, count_words, counts, description, legend, letters};
use crate::columns::NOTHING;
use crate::page::page_with;

const STYLE: &str = include_str!("interop.css");

/// The page. It needs no network, and no script.
pub fn render_interop_html(matrix: &Matrix) -> String {
    let seconds = matrix.end_unix_s.saturating_sub(matrix.begin_unix_s);
    let body = html! {
        h1 { "Interoperation" }
        p.lead {
            (matrix.servers.len()) " servers \u{b7} " (matrix.clients.len()) " clients \u{b7} " (matrix.cases.len())
            " cases \u{b7} " (count_words(counts(matrix, |_, _, _| true))) " \u{b7} in " (seconds) " s"
        }
        p.note { "Each verdict comes from the packets and the files that the client stored. The only statement of an \
                  endpoint that counts is \"not supported\"." }
        @for (stack, why) in &matrix.left_out { p.note { strong { (stack) } ": skipped, " (why) } }
        h2 { "Pairs" }
        (pairs(matrix))
        p.note { (legend(", ")) "; a letter links to its record and shows the details." }
        h2 { "Cases" }
        (cases(matrix))
        (measurements(matrix))
        (failures(matrix))
    };
    page_with("interoperation", STYLE, &body)
}

fn pairs(matrix: &Matrix) -> Markup {
    html! {
        div.wide {
            table.interop {
                thead {
                    tr { th { "client \\ server" } @for server in &matrix.servers { th { (server) } } th { "all servers" } }
                }
                tbody {
                    @for client in &matrix.clients {
                        tr {
                            th { (client) }
                            @for server in &matrix.servers { (cell(matrix, server, client)) }
                            (total(counts(matrix, |_, of, _| of == client)))
                        }
                    }
                    tr {
                        th { "all clients" }
                        @for server in &matrix.servers { (total(counts(matrix, |of, _, _| of == server))) }
                        (total(counts(matrix, |_, _, _| true)))
                    }
                }
            }
        }
    }
}

/// A line for each outcome that occurred.
fn cell(matrix: &Matrix, server: &str, client: &str) -> Markup {
    html! {
        td {
            @for outcome in Outcome::ALL {
                @let cases = cases_with(matrix, server, client, outcome);
                @if !cases.is_empty() {
                    div class=(class(outcome)) {
                        span.sign title=(outcome.name()) { (outcome.sign()) }
                        @for case in cases { " " (letter(matrix.entry(server, client, case), case)) }
                    }
                }
            }
        }
    }
}

fn letter(entry: Option<&Entry>, case: &str) -> Markup {
    let title = entry.map_or_else(|| format!("{case}: not run"), |entry| format!("{case}: {}", words(entry)));
    let record = entry.and_then(|entry| entry.record.as_ref());
    html! {
        @if let Some(record) = record {
            a href=(record) title=(title) { (letters(case)) }
        } @else {
            span title=(title) { (letters(case)) }
        }
    }
}

/// What came of it, in a tooltip.
fn words(entry: &Entry) -> String {
    match &entry.verdict {
        Verdict::Succeeded => "succeeded".to_owned(),
        Verdict::Failed { reasons } => format!("failed: {}", reasons.join("; ")),
        Verdict::CannotBeJudged { reasons } => format!("cannot be judged: {}", reasons.join("; ")),
        Verdict::Unsupported { role } => format!("the {} does not support it", role.name()),
    }
}

fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded => "succeeded",
        Outcome::Failed | Outcome::CannotBeJudged => "not-passed",
        Outcome::Unsupported => "unsupported",
        Outcome::NotRun => "not-run",
    }
}

fn total(counts: [usize; 5]) -> Markup {
    let run: usize = counts[..Outcome::NotRun as usize].iter().sum();
    html! { td.total title=(count_words(counts)) { (counts[Outcome::Succeeded as usize]) " of " (run) } }
}

fn cases(matrix: &Matrix) -> Markup {
    html! {
        div.wide {
            table.cases {
                thead {
                    tr { th.text { "letters" } th.text { "case" } @for outcome in Outcome::ALL { th { (outcome.name()) } } th.text { "passes if" } }
                }
                tbody {
                    @for case in &matrix.cases {
                        tr {
                            th { (letters(case)) }
                            th { (case) }
                            @for count in counts(matrix, |_, _, of| of == case) { td { (count) } }
                            td.text { (description(case)) }
                        }
                    }
                }
            }
        }
    }
}

fn measurements(matrix: &Matrix) -> Markup {
    html! {
        @if matrix.measured().next().is_some() {
            h2 { "Measurements" }
            div.wide {
                table.cases {
                    thead { tr { th.text { "measurement" } th.text { "server" } th.text { "client" } th { "goodput" } } }
                    tbody {
                        @for (entry, kbps) in matrix.measured() {
                            tr { th { (entry.case) } td.text { (entry.server) } td.text { (entry.client) } td { (kbps) " kbit/s" } }
                        }
                    }
                }
            }
        }
    }
}

fn failures(matrix: &Matrix) -> Markup {
    let failed: Vec<&Entry> = matrix.in_order().filter(|entry| !entry.reasons().is_empty()).collect();
    html! {
        @if !failed.is_empty() {
            h2 { "Failed: " (failed.len()) }
            div.wide {
                table.failures {
                    thead { tr { @for heading in ["case", "server", "client", "reason", "record"] { th.text { (heading) } } th { "took, s" } } }
                    tbody {
                        @for entry in &failed {
                            tr {
                                th { (entry.case) }
                                td.text { (entry.server) }
                                td.text { (entry.client) }
                                td.text { ul { @for reason in entry.reasons() { li { (reason) } } } }
                                td.text {
                                    @if let Some(record) = &entry.record { a href=(record) { (record) } } @else { (NOTHING) }
                                }
                                td { (entry.elapsed().map_or_else(|| NOTHING.to_owned(), |it| format!("{:.3}", it.as_secs_f64()))) }
                            }
                        }
                    }
                }
            }
        }
    }
}
