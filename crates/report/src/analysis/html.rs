//! The page of captures.

use maud::{Markup, html};
use quiclab_metrics::{Burst, DirectionAnalysis, RunMetrics, Warning, capture_warnings};

use super::figures::FIGURES;
use super::{AnalysisInput, AnalyzedCapture, cell, endpoints};
use crate::columns::{NOTHING, whole_columns};
use crate::html::{page, picture};
use crate::phases;

/// Senders with pictures of their own; the largest of a page.
const MOST_PICTURED: usize = 4;

/// The page. It needs no network.
pub fn render_analysis_html(input: &AnalysisInput) -> String {
    let mut directions: Vec<(&AnalyzedCapture, &DirectionAnalysis)> = input
        .captures
        .iter()
        .flat_map(|capture| capture.analysis.directions.iter().map(move |it| (capture, it)))
        .collect();
    directions.sort_by_key(|(_, direction)| std::cmp::Reverse(direction.run.metrics.bytes_sent));
    let left_out = directions.len().saturating_sub(MOST_PICTURED);
    directions.truncate(MOST_PICTURED);
    let files = input.captures.iter().map(|capture| capture.file.as_str()).collect::<Vec<_>>().join(", ");
    let body = html! {
        h1 { (files) }
        p.lead {
            "Captures read by " code { "quiclab analyze" } " \u{b7} trains at gaps below " (input.train_threshold.to_string())
        }
        @for note in &input.notes { p.note { (note) } }
        (warnings(input, &directions))
        h2 { "Numbers" }
        (table(&directions))
        @if left_out > 0 {
            p.note { "The " (MOST_PICTURED) " senders with most bytes; " (left_out) " more are in the JSON." }
        }
        @for (place, (capture, direction)) in directions.iter().enumerate() {
            @let name = name(capture, direction);
            h2 { (name) }
            @for draw in FIGURES {
                @if let Some(figure) = draw(direction, place, input.train_threshold) { (picture(&figure)) }
            }
            (bursts(&direction.run.distributions.bursts))
            @let phases = phases::of_sender(direction.run.slow_start.as_ref(), |it| cell(it, &direction.run.metrics));
            @if let Some(table) = phases { details { summary { "Slow start and after it" } (table) } }
        }
    };
    page(&files, &body)
}

fn name(capture: &AnalyzedCapture, direction: &DirectionAnalysis) -> String {
    let (from, to) = endpoints(capture, direction.flow, direction.sender);
    format!("{} {from} to {to}", direction.protocol.name().to_uppercase())
}

fn warnings(input: &AnalysisInput, directions: &[(&AnalyzedCapture, &DirectionAnalysis)]) -> Markup {
    let mut all: Vec<(String, Warning)> = Vec::new();
    for capture in &input.captures {
        let mut run = RunMetrics::empty();
        capture_warnings(&capture.analysis.capture, &mut run);
        all.extend(run.warnings.into_iter().map(|warning| (capture.file.clone(), warning)));
    }
    for (capture, direction) in directions {
        all.extend(direction.run.warnings.iter().map(|warning| (name(capture, direction), warning.clone())));
    }
    html! {
        @if !all.is_empty() {
            section.warnings {
                h2 { "Look here before you trust the numbers" }
                ul { @for (whom, warning) in &all { li { strong { (whom) } ": " (warning.message) " " code { (warning.code) } } } }
            }
        }
    }
}

fn table(directions: &[(&AnalyzedCapture, &DirectionAnalysis)]) -> Markup {
    html! {
        div.wide {
            table {
                thead { tr { th {} @for (capture, direction) in directions { th { (name(capture, direction)) } } } }
                tbody {
                    @for column in whole_columns() {
                        @let values: Vec<_> = directions.iter().map(|(_, it)| cell(column, &it.run.metrics)).collect();
                        @if values.iter().any(Option::is_some) {
                            tr {
                                th { (column.heading) }
                                @for value in values { td { (value.unwrap_or_else(|| NOTHING.to_owned())) } }
                            }
                        }
                    }
                }
            }
        }
        p.note { (NOTHING) " where nothing could be measured. Every word is defined in docs/reference/metrics.md." }
    }
}

fn bursts(bursts: &[Burst]) -> Markup {
    html! {
        @if !bursts.is_empty() {
            details {
                summary { "The longest trains and why they were sent" }
                div.wide {
                    table.bursts {
                        thead { tr { th { "at, ms" } th { "packets" } th { "bytes" } th { "cause" } th { "evidence" } } }
                        tbody {
                            @for burst in bursts {
                                tr {
                                    td { (format!("{:.3}", burst.start_ns as f64 / 1e6)) }
                                    td { (burst.packets) }
                                    td { (burst.bytes) }
                                    td { (burst.cause.name()) }
                                    td { (burst.evidence) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
