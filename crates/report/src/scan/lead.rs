//! Figures 8 and 14: how long before the ServerHello instant ACKs arrive.

use std::collections::{BTreeMap, BTreeSet};

use quiclab_metrics::FirstAnswer;

use super::{
    curves::{Curve, Values, curves, distributions, largest, quantiles},
    published::of_cdn,
    rows::{Key, OTHERS, Row, Rows},
    section::{Count, Line, Section, Table, milliseconds, number, percent, tenth},
};
use crate::{
    plot::{Axis, Content, Figure, Plot, Quartiles, style},
    quantiles::ascending,
};

const MOST_PLACES: usize = 7;
const MOST_LOCATIONS: usize = 30;
const NO_PLACE: &str = "no place given";
const NO_LOCATION: &str = "location not known";

/// Time from an instant ACK to the ServerHello.
fn lead(row: &Row) -> Result<f64, &'static str> {
    match (row.answer, row.ack_to_hello_ns) {
        (None, _) => Err("of which the first answer is not known"),
        (Some(FirstAnswer::Instant), Some(time)) => Ok(milliseconds(time)),
        (Some(FirstAnswer::Instant), None) => Err("without a time from the ACK to the ServerHello"),
        (Some(_), _) => Err("in which no instant ACK came"),
    }
}

/// Figure 8.
pub(super) fn by_cdn(rows: &Rows) -> Section {
    let mut count = Count::default();
    let mut values = Values::new();
    let mut padded: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for row in &rows.all {
        let Some(time) = count.take(lead(row)) else { continue };
        values.entry(rows.cdn(row)).or_default().push(time);
        if let Some(is_padded) = row.is_ack_padded {
            let counts = padded.entry(rows.cdn(row).name(OTHERS)).or_default();
            counts[0] += u64::from(is_padded);
            counts[1] += 1;
        }
    }
    let title = "Figure 8: from an instant ACK to the ServerHello, by CDN".to_owned();
    if count.is_empty() {
        return Section::absent(title, count.absent("Figure 8"));
    }
    let (curves, said) = curves(values, OTHERS, |name| of_cdn(name)?.lead_median_ms);
    let mut table = quantiles(&curves, "ms, by CDN");
    table.headings.push("padded ACKs, %");
    for (line, curve) in table.lines.iter_mut().zip(&curves) {
        line.cells.push(tenth(padded.get(&curve.name).and_then(|[padded, known]| percent(*padded, *known))));
    }
    let caption = format!(
        "Share of instant ACKs that arrive at most this long before the ServerHello. {}{said} Published medians \
         (section 4.3, figure 8): Cloudflare 3.2 ms, Amazon 6.4 ms, Akamai 20.9 ms, Google 30.3 ms.",
        count.sentence()
    );
    let plot = distributions(&curves, "from ACK to ServerHello, ms", true);
    let figure = Figure { id: "scan-fig08".to_owned(), title: "ACK to ServerHello by CDN".to_owned(), caption, plot };
    Section { title, paragraphs: Vec::new(), tables: vec![table], figures: vec![figure] }
}

/// Figure 14: by the place from where was scanned and CDN, and by where the server is.
pub(super) fn by_place(rows: &Rows) -> Section {
    let mut count = Count::default();
    let mut by_place: BTreeMap<Key, Values> = BTreeMap::new();
    let mut by_location = Values::new();
    let mut sizes = Values::new();
    for row in &rows.all {
        let Some(time) = count.take(lead(row)) else { continue };
        by_place.entry(rows.key(row.place)).or_default().entry(rows.cdn(row)).or_default().push(time);
        sizes.entry(rows.key(row.place)).or_default().push(time);
        by_location.entry(rows.key(row.location)).or_default().push(time);
    }
    let title = "Figure 14: from an instant ACK to the ServerHello, by place".to_owned();
    if count.is_empty() {
        return Section::absent(title, count.absent("Figure 14"));
    }
    let (places, said) = largest(sizes, MOST_PLACES);
    by_place.retain(|key, _| places.iter().any(|(place, _)| place == key));
    let paragraph = format!(
        "{}{said} Published (appendix G, figure 14): from four places the times of Akamai, Amazon, Cloudflare and \
         others are alike; Google's servers with instant ACKs were reached in numbers only from Sao Paulo.",
        count.sentence()
    );
    let curves_by_place: Vec<(String, Vec<Curve>)> = by_place
        .into_iter()
        .map(|(place, values)| (place.name(NO_PLACE), curves(values, OTHERS, |_| None).0))
        .collect();
    let mut figures = vec![boxes("scan-fig14", "ACK to ServerHello by CDN and place", &curves_by_place, &paragraph)];
    let has_locations = by_location.keys().any(|key| !key.is_none());
    let (locations, said) = largest(by_location, MOST_LOCATIONS);
    let locations = locations.into_iter().map(|(key, values)| Curve {
        name: key.name(NO_LOCATION),
        values: ascending(values),
        published_median: None,
    });
    let locations: Vec<_> = locations.collect();
    let mut tables = vec![place_table(&curves_by_place)];
    let mut paragraphs = Vec::new();
    if has_locations {
        tables.push(quantiles(&locations, "ms, by location of the server"));
        let caption = format!("By the server's location, as it says in a header. {}{said}", count.sentence());
        let title = "ACK to ServerHello by location of the server";
        figures.push(boxes("scan-locations", title, &[("all places".to_owned(), locations)], &caption));
    } else {
        paragraphs.push("There is no picture by location of the server: no row that can be used has one.".to_owned());
    }
    Section { title, paragraphs, tables, figures }
}

/// One box for each CDN, one colour for each place.
fn boxes(id: &str, title: &str, traces: &[(String, Vec<Curve>)], caption: &str) -> Figure {
    // Others last, wherever they were seen first.
    let all = traces.iter().flat_map(|(_, curves)| curves).map(|curve| (curve.name == OTHERS, &curve.name));
    let order: BTreeSet<(bool, &String)> = all.collect();
    let order: Vec<String> = order.into_iter().map(|(_, name)| name.clone()).collect();
    let place_of = |curve: &Curve| order.iter().position(|name| *name == curve.name);
    let mut plot = Plot::new(Axis::names("", order.clone()), Axis::linear("from ACK to ServerHello, ms"));
    for (place, (name, curves)) in traces.iter().enumerate() {
        let boxes = curves.iter().filter_map(|curve| Some((place_of(curve)?, Quartiles::of(&curve.values)?)));
        plot.add(name, style::colour(place), Content::Boxes(boxes.collect()));
    }
    let caption =
        format!("Box: the middle half of the rows, with the median. Whiskers: from 5 to 95 % of them. {caption}");
    Figure { id: id.to_owned(), title: title.to_owned(), caption, plot }
}

fn place_table(by_place: &[(String, Vec<Curve>)]) -> Table {
    let headings = vec!["ms, by place", "CDN", "rows", "25 %", "median", "75 %"];
    let line = |place: &str, curve: &Curve| {
        let mut cells = vec![curve.name.clone(), curve.values.len().to_string()];
        cells.extend([0.25, 0.5, 0.75].map(|share| number(curve.quantile(share))));
        Line::own(place, cells)
    };
    let lines = by_place.iter().flat_map(|(place, curves)| curves.iter().map(|curve| line(place, curve)));
    Table { headings, lines: lines.collect() }
}
