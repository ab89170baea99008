//! A comparison as a page that needs no network.

use maud::{Markup, html};

use super::{
    compare::{Key, pairs_of},
    forest,
    handshakes::Handshakes,
    measure::{Row, SideNumbers},
    result::{Comparison, Pair},
    words,
};
use crate::{
    columns::NOTHING,
    figures::{Scene, draw_all},
    groups::{self, Group},
    input::ReportInput,
    page::{page_with, picture},
};

const STYLE: &str = include_str!("comparison.css");

/// The page: verdict, conditions, a table and a picture of differences for each pair, the distributions of both sides, and every metric. The
/// inputs are those that the comparison was made of, and pair runs by the same keys; without them it has no distributions.
pub fn render_comparison_html(comparison: &Comparison, inputs: Option<([&ReportInput; 2], [Key; 2])>) -> String {
    let body = html! {
        h1 { "A/B: " (comparison.names[1]) " against " (comparison.names[0]) }
        dl.sides {
            @for ((letter, name), made) in ["A", "B"].into_iter().zip(&comparison.names).zip(&comparison.made_by) {
                dt { (letter) }
                dd { (name) @if !made.is_empty() { " \u{b7} " code { (made) } } }
            }
        }
        section.verdict {
            p { strong { (comparison.answer) } }
            @for verdict in &comparison.verdict {
                @if comparison.verdict.len() > 1 { p { strong { (verdict.label) } ": " (verdict.text) } }
                @if let Some(why) = &verdict.why { p { "Why: " (why) } }
            }
            @for note in &comparison.notes { p.note { (note) } }
        }
        (failures(comparison))
        (conditions(comparison))
        @if let Some(handshakes) = &comparison.handshakes { (handshake_cells(handshakes, comparison.alpha)) }
        @for (place, pair) in comparison.pairs.iter().enumerate() {
            h2 { (pair.label) }
            p.note { (pair.runs[0]) " runs of A, " (pair.runs[1]) " of B, " (pair.how_compared()) "." }
            (table(pair, comparison.alpha, &|row| row.is_primary))
            @if let Some(figure) = forest::draw(place, pair) { (picture(&figure)) }
            details {
                summary { "Every other metric" }
                (table(pair, comparison.alpha, &|row| !row.is_primary))
            }
        }
        @for cpu in comparison.cpu.iter().filter(|cpu| cpu.was_asked) { (cpu.on_page(comparison.alpha)) }
        (trains(comparison))
        @if let Some((inputs, keys)) = inputs { (distributions(inputs, keys)) }
        (how_to_read(comparison))
        @for (letter, alone) in ["A", "B"].into_iter().zip(&comparison.only_in) {
            @for label in alone { p { "Only in " (letter) ": " (label) } }
        }
    };
    page_with("A/B", STYLE, &body)
}

/// Every cell of handshakes, worst first.
fn handshake_cells(handshakes: &Handshakes, alpha: f64) -> Markup {
    html! {
        h2 { "Handshakes that complete" }
        p.note { "Rates have exact intervals (" (words::level(alpha)) "); cells that got worse come first." }
        table {
            tr { th { "settings" } th { "A" } th { "B" } th { "outcome" } th { "why B failed" } }
            @for cell in &handshakes.cells {
                tr {
                    td { (cell.label) }
                    td { (cell.rate(0)) }
                    td { (cell.rate(1)) }
                    td { (cell.outcome_text()) }
                    td { (cell.reason().unwrap_or_default()) }
                }
            }
        }
    }
}

fn failures(comparison: &Comparison) -> Markup {
    html! {
        @if let Some(words) = comparison.failures.in_words() {
            section.failed {
                h2 { "Failed runs" }
                p { (words) }
                ul {
                    @for (letter, messages) in ["A", "B"].into_iter().zip(&comparison.failures.messages) {
                        @for (record, message) in messages { li { (letter) ": " code { (record) } ": " (message) } }
                    }
                }
            }
        }
    }
}

fn conditions(comparison: &Comparison) -> Markup {
    html! {
        @if !comparison.conditions.is_empty() {
            h2 { "Conditions" }
            div.wide {
                table.expectations {
                    thead { tr { th {} th { "fail if" } th { "of" } th { "by these numbers" } } }
                    tbody {
                        @for judgement in &comparison.conditions {
                            tr {
                                td.outcome data-outcome=(judgement.outcome.word()) { (judgement.outcome.word()) }
                                th { code { (judgement.condition) } }
                                td { (judgement.label) }
                                td { (judgement.numbers) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn table(pair: &Pair, alpha: f64, is_in: &dyn Fn(&Row) -> bool) -> Markup {
    html! {
        div.wide {
            table {
                thead {
                    tr {
                        th {} th { "A" } th { "B" } th { "B \u{2212} A" } th { (words::level(alpha)) " interval" } th { "of A" }
                        th { "p, corrected" } th.words { "outcome" }
                    }
                }
                tbody {
                    @for row in pair.metrics.iter().filter(|row| is_in(row)) {
                        tr {
                            th title=(row.metric) { (row.heading) }
                            td title=[medians(&row.a)] { (row.cell(&row.a)) }
                            td title=[medians(&row.b)] { (row.cell(&row.b)) }
                            @let [middle, interval] = row.difference_cells();
                            td { (middle) }
                            td { (interval) }
                            td { (row.relative_cell()) }
                            td { (row.p_cell()) }
                            td.outcome data-outcome=(row.change.word()) { (row.outcome_cell()) }
                        }
                    }
                }
            }
        }
    }
}

/// What a pointer over a cell shows.
fn medians(side: &Option<SideNumbers>) -> Option<String> {
    let side = side.as_ref()?;
    let values: Vec<_> = side.values.iter().map(|(seed, value)| format!("seed {seed}: {value}")).collect();
    Some(format!("median {}, in the unit of metrics.json; {}", side.median, values.join(", ")))
}

fn trains(comparison: &Comparison) -> Markup {
    html! {
        @if !comparison.trains.is_empty() {
            h2 { "A train that shows it" }
            @for train in &comparison.trains {
                p { strong { (train.label) } ", seed " (train.seed) ": " (train.heading()) "." }
                div.wide {
                    table.expectations {
                        tbody {
                            @for (letter, side) in ["A", "B"].into_iter().zip(&train.sides) {
                                tr { th { (letter) } td { (side.in_words()) } }
                            }
                        }
                    }
                }
                p.note { code { (train.more) } }
            }
        }
    }
}

/// The pictures of a report, with both sides of each pair in them.
fn distributions(inputs: [&ReportInput; 2], keys: [Key; 2]) -> Markup {
    let groups = inputs.map(groups::all);
    let sides: Vec<_> = pairs_of(&groups, keys)
        .into_iter()
        .flat_map(|pair| {
            ["A", "B"].into_iter().zip(pair).map(|(letter, group)| Group {
                label: format!("{letter}: {}", group.label),
                settings: group.settings,
                runs: group.runs.clone(),
                repeated: Vec::new(),
                published: None,
            })
        })
        .collect();
    let scene = Scene { groups: &sides, alone: &[], machine: None };
    let figures: Vec<_> = draw_all(&scene);
    html! { @for figure in &figures { (picture(figure)) } }
}

fn how_to_read(comparison: &Comparison) -> Markup {
    html! {
        h2 { "How to read this" }
        p.note {
            "Mean \u{b1} standard deviation over the runs; " (NOTHING) " where nothing could be measured. \
             Each interval is for a single metric. The p-values of the metrics in the first table of each pair are \
             corrected together by Holm's method, and those of all other metrics separately: below " (comparison.alpha)
            " a difference counts as shown. \"Would have been seen\" is the smallest true change that four of five \
             comparisons like this one would show. A difference that is shown and \"too small to matter\" is below one \
             hundredth for shares, one packet or one percent for packets, and one percent for everything else."
        }
    }
}
