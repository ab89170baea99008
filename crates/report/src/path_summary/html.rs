//! The path of a run, or of groups of runs, as tables.

use maud::{Markup, html};

use quiclab_agent_protocol::{
    forwarder::Lateness,
    stage::{ASKED, StageSeen},
};

use super::{Mover, PathSummary, StageSummary};
use crate::{columns::NOTHING, groups::Group};

/// Drops that the page of a run lists.
const MOST_DROPS: usize = 200;

/// The path of one run: what moved the packets, each stage, and each packet that was dropped.
pub(crate) fn of_run(path: &PathSummary) -> Markup {
    let has_rules = path.has_rules();
    html! {
        h2 { "Path" }
        p { (mover(&path.mover)) }
        @if let Mover::Forwarder { lateness: Some(lateness), .. } = &path.mover { p { (late(lateness)) } }
        @if !path.clocks.is_empty() { p { (path.clocks.join(" ")) } }
        @if !path.stages.is_empty() {
            div.wide {
                table {
                    thead { tr {
                        th.text { "stage" } th { "kind" } @if has_rules { th { "drops" } th { "asked about" } th { "not decided" } }
                        th { "passed" } th { "dropped" }
                    } }
                    tbody {
                        @for stage in &path.stages {
                            tr {
                                th { (stage.place) }
                                td { (stage.seen.kind.replace('_', " ")) }
                                @if has_rules {
                                    td { @if let Some(rule) = &stage.rule { code { (rule) } } }
                                    td { @if stage.rule.is_some() { (asked(&stage.seen)) } }
                                    td { @if stage.rule.is_some() { (stage.seen.rule_counts().undecided) } }
                                }
                                td { (stage.seen.packets_passed) }
                                td { (drops(&stage.seen)) }
                            }
                        }
                    }
                }
            }
        }
        (dropped(path))
    }
}

fn dropped(path: &PathSummary) -> Markup {
    let more = path.drops.len().saturating_sub(MOST_DROPS) as u64 + path.drops_not_listed;
    html! {
        @if !path.drops.is_empty() {
            details open[path.has_rules()] {
                summary { "Dropped packets" }
                div.wide {
                    table {
                        thead { tr { th { "at, ms" } th.text { "stage" } th { "cause" } th.text { "held" } } }
                        tbody {
                            @for drop in path.drops.iter().take(MOST_DROPS) {
                                tr {
                                    td { (format!("{:.3}", drop.time_ns as f64 / 1e6)) }
                                    th { (drop.place) }
                                    td { (drop.cause.replace('_', " ")) }
                                    td.text { (drop.held.as_deref().unwrap_or("not read")) }
                                }
                            }
                        }
                    }
                }
                @if more > 0 { p.note { (more) " more are not listed." } }
                p.note { "Times count from the path's start, when the server listened." }
            }
        }
    }
}

/// A table with a row for each group of runs; nothing where no record says what its path did.
pub(crate) fn of_groups(groups: &[Group]) -> Markup {
    let rows: Vec<_> =
        groups.iter().map(|group| (group, paths(group))).filter(|(_, paths)| !paths.is_empty()).collect();
    let has_forwarder =
        rows.iter().flat_map(|(_, paths)| paths).any(|path| matches!(path.mover, Mover::Forwarder { .. }));
    let has_drops =
        rows.iter().flat_map(|(_, paths)| paths).any(|path| path.stages.iter().any(|stage| stage.seen.all_drops() > 0));
    html! {
        @if has_forwarder || has_drops {
            details {
                summary { "Path: what moved the packets, and what it dropped" }
                div.wide {
                    table {
                        thead { tr {
                            th {} th { "moved by" } @if has_forwarder { th { "late, 99 of 100 at most, \u{b5}s" } }
                            th.text { "packets dropped in each run, by stage" }
                        } }
                        tbody {
                            @for (group, paths) in &rows {
                                tr {
                                    th { (group.label) }
                                    td { (movers(paths)) }
                                    @if has_forwarder { td { (latest(paths)) } }
                                    td.text { @for line in stages(paths) { div { (line) } } }
                                }
                            }
                        }
                    }
                }
                @for why in reasons(&rows) { p.note { (why) } }
            }
        }
    }
}

fn paths<'a>(group: &Group<'a>) -> Vec<&'a PathSummary> {
    group.runs.iter().filter_map(|run| run.path.as_ref()).collect()
}

/// Each word once.
fn movers(paths: &[&PathSummary]) -> String {
    let mut words: Vec<_> = paths.iter().map(|path| path.mover.word()).collect();
    words.dedup();
    words.join(", ")
}

/// Why each of them moved packets.
fn reasons(rows: &[(&Group, Vec<&PathSummary>)]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for path in rows.iter().flat_map(|(_, paths)| paths) {
        let mover = &path.mover;
        let sentence = format!("{}: {}.", mover.word(), mover.why());
        if !mover.why().is_empty() && !all.contains(&sentence) {
            all.push(sentence);
        }
    }
    all
}

/// The largest 99th percentile of the runs.
fn latest(paths: &[&PathSummary]) -> String {
    let late = paths.iter().filter_map(|path| match &path.mover {
        Mover::Forwarder { lateness, .. } => Some((*lateness)?.percentile_99_ns),
        _ => None,
    });
    late.max().map_or_else(|| NOTHING.to_owned(), |late| format!("{:.1}", late as f64 / 1e3))
}

/// A line for each stage that dropped something, or has a rule to do so: how many packets it dropped in each run.
fn stages(paths: &[&PathSummary]) -> Vec<String> {
    let mut places: Vec<&StageSummary> = Vec::new();
    for stage in paths.iter().flat_map(|path| &path.stages) {
        if !places.iter().any(|known| known.place == stage.place) {
            places.push(stage);
        }
    }
    let line = |first: &&StageSummary| {
        let own = paths.iter().flat_map(|path| &path.stages).filter(|stage| stage.place == first.place);
        let counts: Vec<u64> = own.map(|stage| stage.seen.all_drops()).collect();
        let (least, most) = (counts.iter().min()?, counts.iter().max()?);
        if *most == 0 && first.rule.is_none() {
            return None;
        }
        let counts = if least == most { most.to_string() } else { format!("{least} to {most}") };
        let rule = first.rule.as_ref().map_or_else(String::new, |rule| format!(" ({rule})"));
        Some(format!("{counts} by {}{rule}", first.place))
    };
    let lines: Vec<_> = places.iter().filter_map(line).collect();
    if lines.is_empty() { vec!["none".to_owned()] } else { lines }
}

fn mover(mover: &Mover) -> String {
    match mover {
        Mover::Kernel(why) => format!("The kernel moved the packets between the hosts: {why}."),
        Mover::Simulator => "The simulator moved the packets between the hosts.".to_owned(),
        Mover::Forwarder { why, is_realtime, .. } => {
            let priority =
                if *is_realtime { "" } else { " It had no real-time priority, so endpoints could delay it." };
            format!("quiclab's forwarder moved the packets between the hosts in user space: {why}.{priority}")
        }
    }
}

fn late(late: &Lateness) -> String {
    let microseconds = |nanoseconds: u64| format!("{:.1} \u{b5}s", nanoseconds as f64 / 1e3);
    format!(
        "Of the {} packets that left, half were at most {} later than planned, 99 of 100 at most {}, and the latest one {}.",
        late.packets,
        microseconds(late.median_ns),
        microseconds(late.percentile_99_ns),
        microseconds(late.largest_ns)
    )
}

/// `3 (content)`, or only 0.
fn drops(stage: &StageSeen) -> String {
    let causes: Vec<_> =
        stage.drops.iter().map(|(cause, count)| format!("{count} ({})", cause.replace('_', " "))).collect();
    if causes.is_empty() { "0".to_owned() } else { causes.join(", ") }
}

fn asked(stage: &StageSeen) -> String {
    stage.counts.get(ASKED).map_or_else(|| NOTHING.to_owned(), u64::to_string)
}
