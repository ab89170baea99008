//! What the record of a run says around the ladder of its handshake.

use maud::{Markup, html};
use quiclab_experiment::{run::Run, settings_text};
use quiclab_metrics::RunMetrics;

use crate::{
    columns::{NOTHING, handshake_columns},
    path_summary::{PathSummary, html::of_run},
};

/// The run whose handshake is shown.
#[derive(Clone, Debug)]
pub struct LadderRun {
    /// The settings of the run.
    pub run: Run,
    /// The run's metrics and warnings; `None` of a run that failed.
    pub metrics: Option<RunMetrics>,
    /// What the path did.
    pub path: PathSummary,
    /// Why it failed; `None` of a run that went well.
    pub failure: Option<String>,
}

/// Title, stacks, and what is to be said first.
pub(super) fn head(title: &str, run: &LadderRun) -> Markup {
    let stack = &run.run.settings.stack;
    let warnings = run.metrics.iter().flat_map(|metrics| &metrics.warnings);
    html! {
        h1 { (title) }
        p.lead {
            code { (run.run.experiment) } " \u{b7} server: " (stack.server) " \u{b7} client: " (stack.client) " \u{b7} seed " (run.run.seed)
        }
        @if let Some(failure) = &run.failure {
            section.failed { h2 { "This run failed" } p { (failure) } }
        }
        @if run.metrics.as_ref().is_some_and(|metrics| !metrics.warnings.is_empty()) {
            section.warnings {
                h2 { "Check these warnings before you trust the numbers" }
                ul { @for warning in warnings { li { (warning.message) " " code { (warning.code) } } } }
            }
        }
    }
}

/// Everything measured of the handshake, the path, and the settings.
pub(super) fn numbers(run: &LadderRun) -> Markup {
    let rows: Vec<_> = run
        .metrics
        .iter()
        .flat_map(|metrics| handshake_columns().map(move |column| (column, (column.value)(&metrics.metrics))))
        .collect();
    html! {
        (of_run(&run.path))
        @if !rows.is_empty() {
            h2 { "Numbers of the handshake" }
            div.wide {
                table {
                    tbody {
                        @for (column, value) in rows {
                            tr { th { (column.heading) } td { (value.map_or_else(|| NOTHING.to_owned(), |value| column.number(value))) } }
                        }
                    }
                }
            }
        }
        details { summary { "Settings" } pre { (settings_text(&run.run.settings)) } }
    }
}
