//! The page of captures.

use maud::{Markup, html};
use quiclab_metrics::{Burst, DirectionAnalysis, Evidence, RunMetrics, judge};
use quiclab_wire::Role;

use super::{
    figures::FIGURES,
    handshake,
    input::{AnalysisInput, AnalyzedCapture, cell},
    tap::{is_behind, title, warned_places},
};
use crate::columns::{Column, NOTHING, handshake_columns, whole_columns};
use crate::page::{page, picture};
use crate::phases;
use crate::verdicts::verdict_list;

/// Senders with pictures of their own; the largest of a page.
const MOST_PICTURED: usize = 4;

/// The page. It needs no network.
pub fn render_analysis_html(input: &AnalysisInput) -> String {
    let mut directions: Vec<(&AnalyzedCapture, &DirectionAnalysis)> = input
        .captures
        .iter()
        .flat_map(|capture| capture.analysis.directions.iter().map(move |it| (capture, it)))
        .collect();
    directions.sort_by_key(|it| (is_behind(it), std::cmp::Reverse(it.1.run.metrics.bytes_sent)));
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
        (table(&directions, whole_columns(), &|column, run| cell(column, &run.metrics)))
        (handshakes(&directions))
        @if left_out > 0 {
            p.note { "The " (MOST_PICTURED) " senders with the most bytes; " (left_out) " more are in the JSON." }
        }
        @for (place, (capture, direction)) in directions.iter().enumerate() {
            section.sender {
                h2 { (title(capture, direction).join(" ")) }
                @if direction.sender == Role::Server && !is_behind(&(*capture, *direction)) {
                    (verdict_list(&judge(&Evidence { run: &direction.run, packets: None }), None, 0, None))
                }
                @for draw in FIGURES {
                    @if let Some(figure) = draw(direction, place, input.train_threshold) { (picture(&figure)) }
                }
                (bursts(&direction.run.distributions.bursts))
                @let phases = phases::of_sender(direction.run.slow_start.as_ref(), |it| cell(it, &direction.run.metrics));
                @if let Some(table) = phases { details { summary { "Slow start and after it" } (table) } }
            }
        }
    };
    page(&files, &body)
}

/// The warnings by tap, each once.
fn warnings(input: &AnalysisInput, directions: &[(&AnalyzedCapture, &DirectionAnalysis)]) -> Markup {
    let places = warned_places(input, directions);
    let (warning_groups, noted): (Vec<_>, Vec<_>) = places.iter().partition(|place| !place.warnings.is_empty());
    html! {
        @if !warning_groups.is_empty() {
            section.warnings {
                h2 { "Check these warnings before you trust the numbers" }
                @for place in warning_groups {
                    p { strong { (place.place) } }
                    ul {
                        @for (whom, warning) in &place.warnings {
                            li {
                                @if !whom.is_empty() { (whom.join(" and ")) ": " }
                                (warning.message) " " code { (warning.code) }
                            }
                        }
                        @if let Some(note) = &place.note { li { "This tap " (note) "." } }
                    }
                }
            }
        }
        @for place in noted {
            @if let Some(note) = &place.note { p.note { (place.place) " " (note) "." } }
        }
    }
}

fn handshakes(directions: &[(&AnalyzedCapture, &DirectionAnalysis)]) -> Markup {
    let all: Vec<_> = directions.iter().filter(|(_, it)| handshake::has_one(&it.run.metrics)).copied().collect();
    html! {
        @if !all.is_empty() {
            h2 { "Handshake" }
            (table(&all, handshake_columns(), &handshake::value))
            @for line in handshake::notes(&all) { p.note { (line) } }
        }
    }
}

fn table(
    directions: &[(&AnalyzedCapture, &DirectionAnalysis)],
    columns: impl Iterator<Item = &'static Column>,
    value: &dyn Fn(&Column, &RunMetrics) -> Option<String>,
) -> Markup {
    html! {
        div.wide {
            table.flows {
                thead {
                    tr {
                        th {}
                        @for (capture, direction) in directions {
                            th { @for (place, line) in title(capture, direction).iter().enumerate() { @if place > 0 { br; } (line) } }
                        }
                    }
                }
                tbody {
                    @for column in columns {
                        @let values: Vec<_> = directions.iter().map(|(_, it)| value(column, &it.run)).collect();
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
        p.note { (NOTHING) " where nothing could be measured. docs/reference/metrics.md defines every term." }
    }
}

fn bursts(bursts: &[Burst]) -> Markup {
    html! {
        @if !bursts.is_empty() {
            details {
                summary { "The longest trains and their causes" }
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
