//! The page of a scenario.

use std::collections::BTreeMap;

use maud::{Markup, html};
use quiclab_experiment::scenario::Labels;

use super::{
    figure::figures,
    findings::scenario_findings,
    group::{Group, metric_names},
    metric::heading,
    report::ScenarioReport,
};
use crate::page::{expectations, failures, page, picture};

/// The page.
pub fn render_scenario_html(report: &ScenarioReport) -> String {
    let groups = Group::all(report);
    let body = html! {
        h1 { (report.title) }
        p.lead {
            code { (report.experiment) }
            @if let Some(source) = &report.source { " \u{b7} after " (source) }
            " \u{b7} made by " code { (report.command) }
            " \u{b7} simulator " code { (report.simulator) }
        }
        (failures(&report.failures, &BTreeMap::new()))
        @if let Some(warning) = report.unfinished() {
            section.warnings { h2 { "Check these warnings before you trust the numbers" } ul { li { (warning) } } }
        }
        (expectations(&scenario_findings(report), &[]))
        @for figure in figures(report, &groups) { (picture(&figure)) }
        h2 { "Numbers" }
        (numbers(&groups, &report.labels))
        h2 { "Settings" }
        @for group in &groups { (settings(group)) }
    };
    page(&report.experiment, &body)
}

fn numbers(groups: &[Group], labels: &Labels) -> Markup {
    let metrics = metric_names(groups);
    html! {
        div.wide {
            table {
                thead { tr { th {} th { "runs" } @for metric in &metrics { th { (heading(metric, labels)) } } } }
                tbody {
                    @for group in groups {
                        tr {
                            th { (group.label) }
                            td { (group.runs.len()) }
                            @for metric in &metrics { td { (group.cell(metric)) } }
                        }
                    }
                }
            }
        }
        p.note { "Mean \u{b1} standard deviation over the runs. runs.parquet has every run." }
    }
}

fn settings(group: &Group) -> Markup {
    html! {
        details {
            summary { (group.label) }
            table.versions {
                tbody { @for (key, value) in group.settings { tr { th { (key) } td { code { (value) } } } } }
            }
        }
    }
}
