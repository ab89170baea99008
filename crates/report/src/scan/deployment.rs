//! Table 1: who deploys instant ACKs.

use std::collections::BTreeMap;

use quiclab_metrics::FirstAnswer;

use super::{
    published::{self, PublishedCdn},
    rows::{Key, OTHERS, Row, Rows, TextId},
    section::{Count, Line, Section, Table, number, percent, tenth},
};
use crate::{
    columns::NOTHING,
    quantiles::{ascending, quantile},
};

/// CDNs of the table; those with the most names.
const MOST_CDNS: usize = 40;

/// Names of one CDN.
#[derive(Default)]
struct Deployment {
    /// Handshakes, and those with an instant ACK.
    handshakes: [u64; 2],
    names: u64,
    with_instant_ack: u64,
    /// Names, and those with an instant ACK, by day and place.
    measurements: BTreeMap<(u64, Option<TextId>), [u64; 2]>,
}

pub(super) fn section(rows: &Rows) -> Section {
    let mut count = Count::default();
    let used: Vec<&Row> = rows.all.iter().filter_map(|row| count.take(usable(row).map(|()| row))).collect();
    let title = "Table 1: names with instant ACKs, by CDN".to_owned();
    if count.is_empty() {
        return Section::absent(title, count.absent("Table 1"));
    }
    let (lines, left_out) = lines(by_cdn(rows, &used));
    let paragraphs = vec![format!("{}{left_out} {HOW}", count.sentence()), PUBLISHED.to_owned()];
    let table = Table { headings: HEADINGS.to_vec(), lines };
    Section { title, paragraphs, tables: vec![table], figures: Vec::new() }
}

const HEADINGS: [&str; 12] = [
    "CDN",
    "handshakes",
    "with instant ACK, %",
    "names",
    "names with instant ACK",
    "share, %",
    "measurements",
    "smallest share, %",
    "median, %",
    "largest, %",
    "variation, points",
    "names of the smallest measurement",
];
const HOW: &str = "A row is a handshake, a measurement is all handshakes of a day (UTC) and a place. A name has \
                   instant ACKs if at least one of its completed handshakes began with one; it counts once in each \
                   measurement, and once in the share of all. The variation is the largest share less the smallest; \
                   measurements of few names vary by chance. Names that are asked again and again have an instant \
                   ACK sooner or later: of repeated probing, the share of the handshakes says more.";
const PUBLISHED: &str = "Published: table 1 of ReACKed QUICer (IMC 2024), whose share is the largest of its \
                         measurements, from four places in August 2024. Its text adds that Amazon's share varies by \
                         8.3 points between days at the same place.";

fn usable(row: &Row) -> Result<(), &'static str> {
    match (row.is_completed, row.name, row.answer) {
        (false, ..) => Err("without a completed handshake"),
        (_, None, _) => Err("without a name"),
        (.., None) => Err("of which the first answer is not known"),
        _ if row.time_ns == 0 => Err("without a time"),
        _ => Ok(()),
    }
}

fn by_cdn<'a>(rows: &'a Rows, used: &[&Row]) -> BTreeMap<Key<'a>, Deployment> {
    let mut deployments: BTreeMap<Key, Deployment> = BTreeMap::new();
    let is_instant = |row: &Row| row.answer == Some(FirstAnswer::Instant);
    let mut all: Vec<_> = used.iter().map(|row| (rows.cdn(row), row.name, is_instant(row))).collect();
    for (cdn, _, is_instant) in &all {
        let handshakes = &mut deployments.entry(*cdn).or_default().handshakes;
        handshakes[0] += 1;
        handshakes[1] += u64::from(*is_instant);
    }
    for ((cdn, _), is_instant) in once(&mut all) {
        let deployment = deployments.entry(cdn).or_default();
        deployment.names += 1;
        deployment.with_instant_ack += u64::from(is_instant);
    }
    let mut all: Vec<_> =
        used.iter().map(|row| ((rows.cdn(row), row.day(), row.place), row.name, is_instant(row))).collect();
    for (((cdn, day, place), _), is_instant) in once(&mut all) {
        let measurement = deployments.entry(cdn).or_default().measurements.entry((day, place)).or_default();
        measurement[0] += 1;
        measurement[1] += u64::from(is_instant);
    }
    deployments
}

/// Each key and name once, with whether any of its rows had an instant ACK.
fn once<K: Ord + Copy>(
    rows: &mut [(K, Option<TextId>, bool)],
) -> impl Iterator<Item = ((K, Option<TextId>), bool)> + '_ {
    rows.sort_unstable();
    // False comes before true, so the last row of a name says whether there is one.
    rows.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1))
        .filter_map(<[_]>::last)
        .map(|(key, name, is_instant)| ((*key, *name), *is_instant))
}

/// Each CDN with its published values below, then what was published of others.
fn lines(deployments: BTreeMap<Key, Deployment>) -> (Vec<Line>, String) {
    let mut all: Vec<_> = deployments.into_iter().collect();
    all.sort_by_key(|(key, it)| (std::cmp::Reverse(it.names), *key));
    let rest = all.split_off(all.len().min(MOST_CDNS)).len();
    let left_out = if rest > 0 { format!(" CDNs with fewer names that are not shown: {rest}.") } else { String::new() };
    all.sort_by_key(|(key, _)| *key);
    let mut lines = Vec::new();
    let mut shown = Vec::new();
    for (key, deployment) in all {
        let name = key.name(OTHERS);
        let published = published::of_cdn(&name);
        lines.push(deployment.line(&name));
        lines.extend(published.map(|cdn| published_line(cdn, "published")));
        shown.extend(published.map(|cdn| cdn.name));
    }
    let alone = published::CDNS.iter().filter(|cdn| !shown.contains(&cdn.name));
    lines.extend(alone.map(|cdn| published_line(cdn, &format!("{}, published", cdn.name))));
    (lines, left_out)
}

impl Deployment {
    fn line(&self, name: &str) -> Line {
        let shares = self.measurements.values().filter_map(|[names, instant]| percent(*instant, *names));
        let shares = ascending(shares.collect());
        let (smallest, largest) = (shares.first().copied(), shares.last().copied());
        let [handshakes, with_instant_ack] = self.handshakes;
        let cells = vec![
            handshakes.to_string(),
            tenth(percent(with_instant_ack, handshakes)),
            self.names.to_string(),
            self.with_instant_ack.to_string(),
            tenth(percent(self.with_instant_ack, self.names)),
            self.measurements.len().to_string(),
            tenth(smallest),
            tenth(quantile(&shares, 0.5)),
            tenth(largest),
            tenth(largest.zip(smallest).map(|(largest, smallest)| largest - smallest)),
            number(self.measurements.values().map(|[names, _]| *names as f64).min_by(f64::total_cmp)),
        ];
        Line::own(name, cells)
    }
}

fn published_line(cdn: &PublishedCdn, name: &str) -> Line {
    let mut cells = vec![NOTHING.to_owned(); HEADINGS.len() - 1];
    cells[2] = cdn.names.to_string();
    cells[8] = tenth(Some(cdn.largest_percent));
    cells[9] = tenth(Some(cdn.variation_points));
    Line::published(name, cells)
}
