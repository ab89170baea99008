//! What was scanned, and how servers answered.

use std::collections::BTreeMap;

use super::{
    date::date,
    rows::{ANSWERS, Row, Rows},
    section::{Line, Section, Table, percent, tenth},
};

/// Lines of a table of foreign words.
const MOST_LINES: usize = 30;

pub(super) fn section(rows: &Rows) -> Section {
    let mut places: Vec<_> = rows.all.iter().filter_map(|row| row.place).collect();
    places.sort_unstable();
    places.dedup();
    let mut names: Vec<_> = rows.all.iter().filter_map(|row| row.name).collect();
    names.sort_unstable();
    names.dedup();
    let title = "Rows".to_owned();
    if rows.all.is_empty() {
        return Section::absent(title, "There are no rows.".to_owned());
    }
    // A target that was not asked has no time.
    let days = rows.all.iter().filter(|row| row.time_ns > 0).map(Row::day);
    let days = days.clone().min().zip(days.max());
    let days = days.map_or_else(String::new, |(first, last)| {
        format!("; first day {}, last day {} (UTC)", date(first), date(last))
    });
    let paragraph = format!(
        "Rows: {}; names: {}; places from where was scanned: {}{days}.",
        rows.all.len(),
        names.len(),
        places.len()
    );
    let tables = vec![outcomes(rows), answers(rows)];
    Section { title, paragraphs: vec![paragraph], tables, figures: Vec::new() }
}

fn table(first: &'static str, counts: Vec<(String, u64)>, all: usize) -> Table {
    let line =
        |(name, count): (String, u64)| Line::own(name, vec![count.to_string(), tenth(percent(count, all as u64))]);
    Table { headings: vec![first, "rows", "share, %"], lines: counts.into_iter().map(line).collect() }
}

fn outcomes(rows: &Rows) -> Table {
    let mut counts = BTreeMap::new();
    for row in &rows.all {
        *counts.entry(rows.key(row.outcome)).or_insert(0_u64) += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(key, count)| (std::cmp::Reverse(*count), *key));
    let others: u64 = counts.split_off(counts.len().min(MOST_LINES)).iter().map(|(_, count)| count).sum();
    let mut counts: Vec<_> =
        counts.into_iter().map(|(key, count)| (key.name("not known").replace('_', " "), count)).collect();
    counts.extend((others > 0).then(|| ("all others".to_owned(), others)));
    table("outcome", counts, rows.all.len())
}

fn answers(rows: &Rows) -> Table {
    let mut counts = BTreeMap::new();
    for row in &rows.all {
        *counts.entry(row.answer).or_insert(0_u64) += 1;
    }
    let known = ANSWERS
        .into_iter()
        .filter_map(|answer| Some((answer.name().replace('_', " "), counts.get(&Some(answer)).copied()?)));
    let unknown = counts.get(&None).map(|count| ("not known".to_owned(), *count));
    table("first answer", known.chain(unknown).collect(), rows.all.len())
}
