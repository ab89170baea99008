//! Figures 9 and 15: how servers answer over time, when they are asked again and again.

use std::collections::BTreeMap;

use quiclab_metrics::FirstAnswer;

use super::{
    course::{Clock, Course, Group, NO_GROUP},
    curves::{Values, largest},
    published::COALESCED_PERCENT,
    rows::{Key, Row, Rows, TextId},
    section::{Count, Line, Section, Table, number, percent, tenth},
    week_pictures,
};
use crate::{
    columns::NOTHING,
    quantiles::{ascending, quantile},
};

const NO_PLACE: &str = "no place given";
const MOST_PLACES: usize = 6;
const MOST_GROUPS: usize = 6;
/// Names that were asked less often say little of how often something happens.
const FEWEST_ANSWERS: u64 = 10;
const MOST_NAMES: usize = 20;

pub(super) fn section(rows: &Rows) -> Section {
    let title = "Figures 9 and 15: answers over time".to_owned();
    let mut count = Count::default();
    let used: Vec<&Row> = rows.all.iter().filter_map(|row| count.take(usable(row).map(|()| row))).collect();
    if count.is_empty() {
        return Section::absent(title, count.absent("The course over time"));
    }
    let names = names(rows, &used);
    let Some(clock) = Clock::of(&used) else {
        let why = format!(
            "The course over time is absent: all {} rows that can be used are of one hour. {}",
            used.len(),
            count.sentence()
        );
        return Section { tables: names.into_iter().collect(), ..Section::absent(title, why) };
    };
    let (courses, said) = courses(rows, &used, clock);
    let sentence = format!("{}{said}", count.sentence());
    let figures = courses.iter().enumerate().flat_map(|(number, (place, course))| {
        week_pictures::draw(number + 1, &place.name(NO_PLACE), course, clock, &sentence)
    });
    let figures = figures.collect();
    let paragraphs = vec![format!("{sentence} {MEANING}"), PUBLISHED.to_owned()];
    let tables = [Some(places(&courses)), names].into_iter().flatten().collect();
    Section { title, paragraphs, tables, figures }
}

const MEANING: &str = "Where there is no group of targets, names are grouped by their rank. A server that has the \
                       certificate at hand has no reason to acknowledge first: many answers with ACK and ServerHello \
                       in one datagram are a sign of caching.";
const PUBLISHED: &str = "Published (section 4.3, figures 9 and 15; Cloudflare, servers in the city of the probe): \
                         medians from the instant ACK to the ServerHello of 2.1 ms in Sao Paulo and Hamburg, 2.4 ms \
                         in Los Angeles, 2.6 ms in Hong Kong, larger by day than by night. Of the study's own names \
                         99.9 % of the answers to one handshake a minute began with an instant ACK; at one a second \
                         7.5 % had ACK and ServerHello in one datagram, as fast as instant ACKs.";

fn usable(row: &Row) -> Result<(), &'static str> {
    match row.answer {
        None => Err("of which the first answer is not known"),
        Some(_) if row.time_ns == 0 => Err("without a time"),
        Some(_) if !row.is_acknowledged() => Err("without an acknowledgment of the ClientHello"),
        Some(_) => Ok(()),
    }
}

/// The courses of the places with the most rows, with the groups that have the most rows in all places.
fn courses<'a>(rows: &'a Rows, used: &[&Row], clock: Clock) -> (Vec<(Key<'a>, Course<'a>)>, String) {
    let kept = |text: fn(&Row) -> Option<TextId>, most: usize| {
        let mut sizes = Values::new();
        for row in used {
            sizes.entry(rows.key(text(row))).or_default().push(0.0);
        }
        largest(sizes, most)
    };
    let (places, groups) = (kept(|row| row.place, MOST_PLACES), kept(|row| row.group, MOST_GROUPS));
    let is_kept = |kept: &[(Key, Vec<f64>)], key: Key| kept.iter().any(|(other, _)| *other == key);
    let mut courses: BTreeMap<Key, Course> = BTreeMap::new();
    for row in used {
        let (place, group) = (rows.key(row.place), rows.key(row.group));
        if is_kept(&places.0, place) && is_kept(&groups.0, group) {
            courses.entry(place).or_default().add(row, group, clock.step(row));
        }
    }
    (courses.into_iter().collect(), format!("{}{}", places.1, groups.1))
}

/// Each place and group over the whole time.
fn places(courses: &[(Key, Course)]) -> Table {
    let headings = vec![
        "place",
        "group",
        "answers",
        "with ServerHello, %",
        "instant ACKs with a time",
        "25 %, ms",
        "median, ms",
        "75 %, ms",
    ];
    let line = |place: &str, key: &Key, group: &Group| {
        let [coalesced, all] = group.coalesced.values().fold([0, 0], |sum, one| [sum[0] + one[0], sum[1] + one[1]]);
        let leads = ascending(group.leads.values().flatten().copied().collect());
        let mut cells =
            vec![key.name(NO_GROUP), all.to_string(), tenth(percent(coalesced, all)), leads.len().to_string()];
        cells.extend([0.25, 0.5, 0.75].map(|share| number(quantile(&leads, share))));
        Line::own(place, cells)
    };
    let lines = courses
        .iter()
        .flat_map(|(place, course)| course.by_group.iter().map(|(key, group)| line(&place.name(NO_PLACE), key, group)));
    Table { headings, lines: lines.collect() }
}

/// The names that were asked most often. `None` where none was asked often.
fn names(rows: &Rows, used: &[&Row]) -> Option<Table> {
    let mut counts: BTreeMap<Key, [u64; 3]> = BTreeMap::new();
    for row in used.iter().filter(|row| row.name.is_some()) {
        let counts = counts.entry(rows.key(row.name)).or_default();
        counts[0] += 1;
        counts[1] += u64::from(row.is_coalesced());
        counts[2] += u64::from(row.answer == Some(FirstAnswer::AckAlone));
    }
    let mut often: Vec<_> = counts.into_iter().filter(|(_, [all, ..])| *all >= FEWEST_ANSWERS).collect();
    often.sort_by_key(|(key, [all, ..])| (std::cmp::Reverse(*all), *key));
    often.truncate(MOST_NAMES);
    let line = |(key, [all, coalesced, alone]): (Key, [u64; 3])| {
        let name = key.name("");
        let published = COALESCED_PERCENT.iter().find(|(other, _)| name.eq_ignore_ascii_case(other));
        let published = published.map_or(NOTHING.to_owned(), |(_, share)| format!("{share:.1}"));
        let shares = [coalesced, alone].map(|part| tenth(percent(part, all)));
        Line::own(name, [vec![all.to_string()], shares.to_vec(), vec![published]].concat())
    };
    let headings =
        vec!["name", "answers", "with ServerHello, %", "no ServerHello, %", "with ServerHello, published, %"];
    (!often.is_empty()).then(|| Table { headings, lines: often.into_iter().map(line).collect() })
}
