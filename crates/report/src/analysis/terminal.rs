//! The tables of the terminal.

use std::fmt::Write;

use comfy_table::{Cell, Table};
use quiclab_metrics::{DirectionAnalysis, Evidence, SummedUp, TapPlace, judge};
use quiclab_units::shown;
use quiclab_wire::Role;

use super::{
    handshake,
    input::{AnalysisInput, AnalyzedCapture, cell},
    side_by_side::{SideBySide, number},
    tap::{is_behind, tap, title, warned_places},
};
use crate::answers::{AnswerRow, render_answers_terminal};
use crate::columns::{COLUMNS, Column, Place, handshake_columns, whole_columns};
use crate::terminal::{
    paragraph::paragraphs,
    table::{DEFAULT_WIDTH, framed},
};

/// Up to so many senders stand beside each other with every metric; more stand below each other with the most important ones.
const MOST_SIDE_BY_SIDE: usize = 4;
/// What the table of many senders has besides the columns of every table.
const IN_BRIEF: [&str; 5] = ["packets_sent", "duration_ns", "packets_lost", "packets_retransmitted", "rtt_median_ns"];
/// Senders listed; the largest.
const MOST_LISTED: usize = 40;

/// What is said of flows that are not measured one by one.
fn summed_up(flows: &SummedUp) -> Option<String> {
    let of_one =
        (flows.flows_of_one_packet > 0).then(|| format!("{} flows of one packet each", flows.flows_of_one_packet));
    let small = (flows.small_flows > 0).then(|| format!("{} of the smaller flows", flows.small_flows));
    let all = [of_one, small].into_iter().flatten().collect::<Vec<_>>().join(" and ");
    let hint = "--server-port selects one server";
    (!all.is_empty()).then(|| format!("{all}, with {} packets, are counted but not measured; {hint}", flows.packets))
}

/// Tables and warnings. `width`: columns of the terminal; `None` where the output is none.
pub fn render_analysis_terminal(input: &AnalysisInput, width: Option<u16>) -> String {
    let mut directions: Vec<(&AnalyzedCapture, &DirectionAnalysis)> = input
        .captures
        .iter()
        .flat_map(|capture| capture.analysis.directions.iter().map(move |it| (capture, it)))
        .collect();
    let all = directions.len();
    let mut text = String::new();
    for capture in &input.captures {
        let analysis = &capture.analysis;
        let other = if analysis.other_packets > 0 {
            format!(", and {} of other ports", analysis.other_packets)
        } else {
            String::new()
        };
        let skipped: Vec<String> = analysis
            .capture
            .skipped
            .iter()
            .map(|(reason, count)| format!("{count} frames: {}", reason.name()))
            .collect();
        let skipped =
            if skipped.is_empty() { String::new() } else { format!("; not measured: {}", skipped.join(", ")) };
        let _ = writeln!(
            text,
            "{}: {} packets in {} flows{other}{skipped}",
            shown(&capture.file),
            analysis.packets,
            analysis.flows.len()
        );
        if let Some(line) = summed_up(&analysis.summed_up) {
            let _ = writeln!(text, "warning: {line}");
        }
    }
    directions.sort_by_key(is_behind);
    if directions.len() > MOST_SIDE_BY_SIDE {
        directions.sort_by_key(|(_, direction)| std::cmp::Reverse(direction.run.metrics.bytes_sent));
        directions.truncate(MOST_LISTED);
    }
    let columns = width.unwrap_or(DEFAULT_WIDTH);
    let senders = || directions.iter().enumerate().map(|(place, it)| (place + 1, title(it.0, it.1), &it.1.run));
    let sent = SideBySide::new("", senders(), whole_columns(), &|column, run| cell(column, &run.metrics));
    let of_handshakes = || senders().filter(|it| handshake::has_one(&it.2.metrics));
    let handshakes = SideBySide::new("Handshake", of_handshakes(), handshake_columns(), &handshake::value);
    let is_many = directions.len() > MOST_SIDE_BY_SIDE;
    let is_numbered = is_many || !sent.fits(columns) || !handshakes.fits(columns);
    if is_numbered {
        for (number, title, _) in senders() {
            let _ = writeln!(text, "{number:>4}  {}", title.join(" "));
        }
    }
    let mut text = paragraphs(&text, width);
    if !directions.is_empty() {
        let table = if is_many { framed(below(&directions), columns) } else { sent.table(is_numbered, columns) };
        let _ = writeln!(text, "{table}");
    }
    if (1..=MOST_SIDE_BY_SIDE).contains(&of_handshakes().count()) {
        let _ = writeln!(text, "{}", handshakes.table(is_numbered, columns));
        for line in handshake::notes(&directions) {
            let _ = writeln!(text, "{}", paragraphs(&line, width).trim_end());
        }
    }
    text.push_str(&answers(input, width));
    text + &paragraphs(&prose(input, &directions, all), width)
}

/// What is said about these senders and their captures, a line each. `all`: how many senders were measured.
fn prose(input: &AnalysisInput, directions: &[(&AnalyzedCapture, &DirectionAnalysis)], all: usize) -> String {
    let mut text = String::new();
    if all > directions.len() {
        let _ = writeln!(
            text,
            "the {} senders with the most bytes, of {all} that were measured; --json has all of them, --server-port selects one server",
            directions.len()
        );
    }
    for (capture, direction) in directions {
        if let Some(line) = crate::phases::line(&direction.run) {
            let _ = writeln!(text, "{}: {line}", title(capture, direction).join(" "));
        }
    }
    for (capture, direction) in directions.iter().filter(|it| it.1.sender == Role::Server && !is_behind(it)) {
        for verdict in judge(&Evidence { run: &direction.run, packets: None }).found {
            let _ = writeln!(text, "{}: {} ({})", title(capture, direction).join(" "), verdict.text, verdict.rule);
        }
    }
    for note in &input.notes {
        let _ = writeln!(text, "note: {note}");
    }
    for warning_groups in warned_places(input, directions) {
        for (whom, warning) in &warning_groups.warnings {
            let whom = if whom.is_empty() { String::new() } else { format!(", {}", whom.join(" and ")) };
            let _ = writeln!(text, "warning, {}{whom}: {} ({})", warning_groups.place, warning.message, warning.code);
        }
        if let Some(note) = &warning_groups.note {
            let _ = writeln!(text, "note, {}: {note}", warning_groups.place);
        }
    }
    text
}

/// How the servers answered, of the first connections.
fn answers(input: &AnalysisInput, width: Option<u16>) -> String {
    let mut rows = Vec::new();
    let mut all = 0;
    for capture in &input.captures {
        for flow in &capture.analysis.flows {
            let place = TapPlace::of(&capture.analysis.capture, flow.interface);
            let Some(class) = flow.handshake.as_ref().filter(|_| place != Some(TapPlace::BehindBottleneck)) else {
                continue;
            };
            all += 1;
            if rows.len() < MOST_LISTED {
                let tap = tap(capture, flow.interface).filter(|_| place.is_none());
                let at = tap.map_or(String::new(), |tap| format!(" at {tap}"));
                let (server, server_name) = (format!("{}{at}", flow.server), flow.server_name.as_deref());
                rows.push(AnswerRow { server, server_name, class });
            }
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let mut text = format!("How servers answered handshakes:\n{}", render_answers_terminal(&rows, width));
    if all > rows.len() {
        let _ = writeln!(text, "the first {} of {all} handshakes; --json has all of them", rows.len());
    }
    text
}

fn below(directions: &[(&AnalyzedCapture, &DirectionAnalysis)]) -> Table {
    let is_shown = |column: &&Column| {
        (column.place == Place::Brief || IN_BRIEF.contains(&column.metric))
            && directions.iter().any(|(_, direction)| (column.value)(&direction.run.metrics).is_some())
    };
    let columns = || COLUMNS.iter().filter(is_shown);
    let mut table = Table::new();
    table.set_header(std::iter::once("flow").chain(columns().map(|column| column.heading)));
    for (place, (_, direction)) in directions.iter().enumerate() {
        let cells = columns().map(|column| number(cell(column, &direction.run.metrics)));
        table.add_row(std::iter::once(Cell::new(place + 1)).chain(cells));
    }
    table
}
