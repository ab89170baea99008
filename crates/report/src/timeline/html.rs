//! The page around the figure.

use maud::{Markup, PreEscaped, html};
use quiclab_experiment::settings_text;
use quiclab_metrics::{Evidence, MOST_DROPS, TIMELINE_POINTS, judge};

use super::{draw::render_run_svg, host, run_page::RunPage};
use crate::columns::{COLUMNS, NOTHING};
use crate::notes::QLOG_NOTE;
use crate::page::page_with;
use crate::path_summary::{PathSummary, html::of_run};
use crate::verdicts::verdict_list;

const STYLE: &str = include_str!("timeline.css");
const SCRIPT: &str = include_str!("zoom.js");
/// Shown before and after a train that is zoomed to.
const AROUND_NS: u64 = 2_000_000;

/// The page. It needs no network, and shows the whole run without scripts.
pub fn render_run_html(page: &RunPage) -> String {
    let stack = &page.run.settings.stack;
    let evidence = Evidence { run: &page.metrics, packets: page.facts.as_ref() };
    let body = html! {
        h1 { (page.record) }
        p.lead {
            code { (page.run.experiment) } " \u{b7} server: " (stack.server) " \u{b7} client: " (stack.client) " \u{b7} seed " (page.run.seed)
            @if let Some(look) = &page.look { " \u{b7} " a href=(look) { "every packet" } }
            @if let Some(ladder) = &page.ladder { " \u{b7} " a href=(ladder) { "the handshake, datagram by datagram" } }
        }
        (warnings(page))
        (verdict_list(&judge(&evidence), page.look.as_deref(), page.server_start_ns, None))
        h2 { "Over time" }
        div.timeline data-record=(page.record) { (PreEscaped(render_run_svg(page))) }
        div #controls hidden {
            p { button #reset type="button" { "whole run" } " " span #readout {} }
            p.note {
                "Drag over a part to zoom in; double-click, 0 or Escape shows the whole run. With the figure in \
                 focus, + and \u{2212} zoom, arrows move, Home and End go to the ends. To list the visible packets, \
                 run in the result folder: " code #command {}
            }
        }
        @for note in notes(page) { p.note { (note) } }
        @if let Some(path) = &page.path { (of_run(path)) }
        (host::of_run(page))
        (bursts(page))
        details { summary { "Every metric" } (metrics(page)) }
        details { summary { "Settings" } pre { (settings_text(&page.run.settings)) } }
        script { (PreEscaped(SCRIPT)) }
    };
    page_with(&page.record, STYLE, &body)
}

fn warnings(page: &RunPage) -> Markup {
    let warnings = &page.metrics.warnings;
    html! {
        @if !warnings.is_empty() {
            section.warnings {
                h2 { "Check these warnings before you trust the numbers" }
                ul { @for warning in warnings { li { (warning.message) " " code { (warning.code) } } } }
            }
        }
    }
}

/// What the figure does not show, and what to know of what it shows.
fn notes(page: &RunPage) -> Vec<String> {
    let timeline = &page.timeline;
    let mut notes = vec![format!(
        "A curve has at most {TIMELINE_POINTS} points; if there are more values, each point covers a piece of time, \
         and the line goes from its smallest to its largest value."
    )];
    match timeline.smallest_crossing_ns {
        None if timeline.no_crossing.is_some() => notes.extend(
            timeline.no_crossing.as_ref().map(|why| format!("The wait in the bottleneck's queue is not shown: {why}.")),
        ),
        Some(smallest) => notes.push(format!(
            "The wait in the queue is the time between the two taps minus its smallest value, {:.3} ms, drawn at the \
             time a packet left the queue.",
            smallest as f64 / 1e6
        )),
        None => notes.push("There is no second tap, so queue and drops are not known.".to_owned()),
    }
    if let (Some(drops), Some(counted)) = (timeline.drops, page.metrics.metrics.drops_packets)
        && drops != counted
    {
        notes.push(format!(
            "{drops} packets are missing behind the bottleneck, but its counters show {counted}: packets may have \
             been lost elsewhere, or were too short to be recognised ({}).",
            timeline.not_followed
        ));
    }
    if timeline.drops.is_some_and(|drops| drops > MOST_DROPS as u64) {
        notes.push(format!("Only the first {MOST_DROPS} drops are marked."));
    }
    if timeline.bursts_left_out > 0 {
        notes.push(format!("{} later trains are not marked.", timeline.bursts_left_out));
    }
    let is_simulated = page.path.as_ref().is_some_and(PathSummary::is_simulated);
    match &page.log {
        None => {
            let cost = if is_simulated { "" } else { ", which changes what it sends" };
            notes.push(format!(
                "The sender logged no congestion window or pacing rate; tap.qlog = true enables its log{cost}."
            ));
        }
        Some(log) if log.aligned_by == 0 => notes.push(
            "No packet of the sender's log was found in the capture, so the log is assumed to begin with the flow; it \
             may be shifted."
                .to_owned(),
        ),
        Some(log) => notes.push(format!(
            "The sender's log was aligned with the capture using {} packets that are in both.",
            log.aligned_by
        )),
    }
    if page.run.settings.tap.qlog && !is_simulated {
        notes.push(QLOG_NOTE.to_owned());
    }
    notes
}

fn bursts(page: &RunPage) -> Markup {
    let bursts = &page.metrics.distributions.bursts;
    // Their times count from the sender's first packet.
    let base = page.server_start_ns;
    html! {
        @if !bursts.is_empty() {
            h2 { "The longest trains and their causes" }
            div.wide {
                table.bursts {
                    thead { tr { th { "at, ms" } th { "packets" } th { "bytes" } th { "cause" } th { "evidence" } th {} } }
                    tbody {
                        @for burst in bursts {
                            @let start = base + burst.start_ns;
                            tr {
                                td { (format!("{:.3}", start as f64 / 1e6)) }
                                td { (burst.packets) }
                                td { (burst.bytes) }
                                td { (burst.cause.name()) }
                                td { (burst.evidence) }
                                td {
                                    button type="button" hidden data-from=(start.saturating_sub(AROUND_NS)) data-to=(start + AROUND_NS) {
                                        "show"
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn metrics(page: &RunPage) -> Markup {
    html! {
        div.wide {
            table {
                tbody {
                    @for column in COLUMNS {
                        tr {
                            th { (column.heading) }
                            td { ((column.value)(&page.metrics.metrics).map_or_else(|| NOTHING.to_owned(), |value| column.number(value))) }
                        }
                    }
                }
            }
        }
    }
}
