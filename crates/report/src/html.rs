//! One page with everything, which needs no network.

use std::collections::BTreeMap;

use maud::{Markup, html};
use quiclab_experiment::Published;
use quiclab_units::ByteCount;

use crate::{
    columns::{Column, NOTHING, handshake_columns, host_columns, main_columns, whole_columns},
    figures::{Scene, draw_all},
    findings::findings,
    groups::{self, Group, GroupWarning, published_alone},
    input::{ReportInput, RunRow},
    notes::notes,
    page::{expectations, failures, page, picture},
    path_summary, phases,
    ranking::{CRITERIA, Ranking, rankings},
    results_table::{ResultsRow, ResultsTable, RowOf},
    scenario::transfer_figures,
    verdicts::verdicts_of_groups,
    warning_groups::{of_runs, warning_groups},
};

/// The page.
pub fn render_html(input: &ReportInput) -> String {
    render_html_with_pages(input, &BTreeMap::new())
}

/// The page, with links to pages of single runs: by name of the record, where its page is.
pub fn render_html_with_pages(input: &ReportInput, pages: &BTreeMap<String, String>) -> String {
    let groups = groups::all(input);
    let alone = published_alone(input, &groups);
    let scene = Scene { groups: &groups, alone: &alone, machine: input.machine };
    let asked = transfer_figures(input, &groups);
    let figures: Vec<_> = asked.into_iter().chain(draw_all(&scene)).collect();
    let body = html! {
        h1 { (input.title) }
        p.lead {
            code { (input.experiment) }
            @if let Some(source) = &input.source { " \u{b7} after " (source) }
            " \u{b7} made by " code { (input.command) }
        }
        (failures(&input.failures, &input.ladders))
        (warnings(&groups))
        (verdicts_of_groups(&groups))
        @for ranking in rankings(input, &groups) { (ranking_table(&ranking)) }
        h2 { "Numbers" }
        (table(&groups, &alone))
        (side_by_side("Every metric", &groups, whole_columns(), false))
        (side_by_side("What the hosts did", &groups, host_columns(), true))
        (side_by_side("Handshake", &groups, handshake_columns(), is_of_handshakes(input)))
        (path_summary::html::of_groups(&groups))
        (phases::of_groups(&groups))
        (expectations(&findings(input), &input.expectations_left_out))
        @for figure in &figures { (picture(figure)) }
        h2 { "Settings" }
        @for group in &groups { (settings(group)) }
        h2 { "Records" }
        (ladders(input))
        (records(&groups, pages, &input.ladders))
    };
    page(&input.experiment, &body)
}

/// A transfer up to this fits into the first flights after the handshake.
const SHORT_TRANSFER: ByteCount = ByteCount::from_bytes(20_000);

fn warnings(groups: &[Group]) -> Markup {
    let mixed: Vec<_> = groups.iter().filter_map(|group| Some((group, group.mixed_versions()?))).collect();
    let warnings = warning_groups(groups);
    let line = |group: &Group, warning: &GroupWarning| {
        html! { strong { (group.label) } (of_runs(group, warning)) ": " (warning.message) }
    };
    html! {
        @if !warnings.is_empty() || !mixed.is_empty() {
            section.warnings {
                h2 { "Check these warnings before you trust the numbers" }
                ul {
                    @for (group, message) in &mixed { li { strong { (group.label) } ": " (message) } }
                    @for warning_groups in &warnings {
                        @if warning_groups.is_common() {
                            li {
                                details {
                                    summary {
                                        code { (warning_groups.code) } " in " (warning_groups.rows.len()) " of " (groups.len()) " rows, such as "
                                        (line(warning_groups.rows[0].0, &warning_groups.rows[0].1))
                                    }
                                    ul { @for (group, warning) in &warning_groups.rows[1..] { li { (line(group, warning)) } } }
                                }
                            }
                        } @else {
                            @for (group, warning) in &warning_groups.rows { li { (line(group, warning)) " " code { (warning_groups.code) } } }
                        }
                    }
                }
            }
        }
    }
}

fn table(groups: &[Group], alone: &[&Published]) -> Markup {
    let results = ResultsTable::of(groups, alone, main_columns());
    html! {
        div.wide {
            table {
                thead {
                    tr {
                        th {} @if results.tells_clients { th { "client" } } th { "runs" }
                        @for heading in results.headings() { th { (heading) } }
                    }
                }
                tbody { @for row in &results.rows { (table_row(row, results.tells_clients)) } }
            }
        }
        p.note { "Mean \u{b1} standard deviation over the runs; " (NOTHING) " where nothing could be measured." }
        @for note in notes(groups) { p.note { strong { (note) } } }
        @for line in results.rows.iter().filter_map(|row| row.of.source_line("Published")) { p.note { (line) } }
    }
}

fn table_row(row: &ResultsRow, tells_clients: bool) -> Markup {
    let cells = html! { @for cell in &row.cells { td { (cell) } } };
    match row.of {
        RowOf::Runs(group) => html! {
            tr {
                th { (row.of.name()) }
                @if tells_clients { td { (group.settings.stack.client) } }
                td { (group.runs.len()) }
                (cells)
            }
        },
        RowOf::Published(..) | RowOf::Alone(_) => html! {
            tr.published {
                th title=[row.of.source()] { (row.of.name()) }
                @if tells_clients { td {} }
                td {}
                (cells)
            }
        },
    }
}

fn ranking_table(ranking: &Ranking) -> Markup {
    html! {
        h2 { "Ranking: " (ranking.path) }
        div.wide {
            table {
                thead {
                    tr {
                        th {}
                        th { "mean place" }
                        @for criterion in &CRITERIA { th { (criterion.heading) } }
                        th { "most bursts by, share of all packets" }
                    }
                }
                tbody {
                    @for row in &ranking.rows {
                        tr {
                            th { (row.label) }
                            td { (format!("{:.2}", row.mean_place)) }
                            @for (criterion, place) in CRITERIA.iter().zip(row.places) { td { (criterion.cell(place)) } }
                            td { (row.cause_cell()) }
                        }
                    }
                }
            }
        }
        p.note {
            "Means over the runs, with the place among all in brackets: " (ranking.rows.len()) "; equal values share a \
             place, and groups without a value are last. All four criteria have the same weight."
        }
    }
}

/// Whether the experiment's transfers are so short that the handshake is what it is about.
pub fn is_of_handshakes(input: &ReportInput) -> bool {
    input.runs.iter().all(|run| run.run.settings.workload.all_bytes() <= SHORT_TRANSFER)
}

/// Groups side by side, with a line for each of these metrics that has a value; nothing where none has.
fn side_by_side(
    title: &str,
    groups: &[Group],
    columns: impl Iterator<Item = &'static Column>,
    is_open: bool,
) -> Markup {
    let summaries = |column| groups.iter().map(|group| group.summary(column)).collect::<Vec<_>>();
    let rows: Vec<_> = columns.map(|column| (column, summaries(column))).collect();
    let rows: Vec<_> = rows.into_iter().filter(|(_, summaries)| summaries.iter().any(Option::is_some)).collect();
    html! {
        @if !rows.is_empty() { details open[is_open] {
            summary { (title) }
            div.wide {
                table {
                    thead { tr { th {} @for group in groups { th { (group.label) } } } }
                    tbody {
                        @for (column, summaries) in &rows {
                            tr {
                                th { (column.heading) }
                                @for summary in summaries { td { (column.cell(summary.as_ref())) } }
                            }
                        }
                    }
                }
            }
        } }
    }
}

fn settings(group: &Group) -> Markup {
    let versions = group.runs.first().map(|run| &run.versions);
    html! {
        details {
            summary { (group.label) }
            pre { (quiclab_experiment::settings_text(group.settings)) }
            @if let Some(versions) = versions {
                table.versions {
                    tbody { @for (name, version) in versions { tr { th { (name) } td { code { (version) } } } } }
                }
            }
        }
    }
}

/// Links to the ladders, a row for each group of runs.
fn ladders(input: &ReportInput) -> Markup {
    let groups = groups::all(input);
    let link = |run: &RunRow| Some((run.run.repetition, input.ladders.get(&run.folder)?));
    let rows: Vec<(&str, Vec<_>)> = groups
        .iter()
        .map(|group| (group.label.as_str(), group.runs.iter().filter_map(|run| link(run)).collect::<Vec<_>>()))
        .filter(|(_, links)| !links.is_empty())
        .collect();
    let missing = input.runs.len() - input.runs.iter().filter(|run| input.ladders.contains_key(&run.folder)).count();
    html! {
        @if !rows.is_empty() {
            h2 { "Handshakes, datagram by datagram" }
            div.wide {
                table {
                    thead { tr { th {} th.text { "repetition" } } }
                    tbody {
                        @for (label, links) in &rows {
                            tr {
                                th { (label) }
                                td.text { @for (repetition, page) in links { a href=(page) { (repetition) } " " } }
                            }
                        }
                    }
                }
            }
            @if missing > 0 {
                p.note { (missing) " runs have no such page. " code { "quiclab report DIR --ladders" } " writes one for each run." }
            }
        }
    }
}

fn packets_of(run: &RunRow) -> Option<&str> {
    run.packet_summary.as_ref()?.page.as_deref()
}

fn records(groups: &[Group], pages: &BTreeMap<String, String>, ladders: &BTreeMap<String, String>) -> Markup {
    html! {
        @if !pages.is_empty() {
            p {
                "Over time: "
                @for (place, run) in groups.iter().flat_map(|group| &group.runs).filter(|run| pages.contains_key(&run.folder)).enumerate() {
                    @if place > 0 { ", " }
                    a href=(pages[&run.folder]) { (run.folder) }
                }
                ". " code { "quiclab report RECORD" } " makes such a page of any other run."
            }
        }
        details {
            summary { "Every run" }
            div.wide {
                table {
                    thead { tr { th { "record" } th { "seed" } @for column in main_columns() { th { (column.heading) } } } }
                    tbody {
                        @for run in groups.iter().flat_map(|group| &group.runs) {
                            tr {
                                th {
                                    a href=(run.folder) { (run.folder) }
                                    @if let Some(page) = ladders.get(&run.folder) { " " a href=(page) { "handshake" } }
                                    @if let Some(page) = packets_of(run) { " " a href=(page) { "packets" } }
                                }
                                td { (run.run.seed) }
                                @for column in main_columns() {
                                    @let value = (column.value)(&run.metrics.metrics);
                                    td { (value.map_or_else(|| NOTHING.to_owned(), |value| column.number(value))) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
