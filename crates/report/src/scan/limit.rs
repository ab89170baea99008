//! What the study does not have: certificates against the amplification limit, and servers that it keeps from sending.

use std::collections::BTreeMap;

use super::{
    curves::{Curve, Values, curves, distributions, largest, mark, quantiles},
    rows::{Key, OTHERS, Row, Rows},
    section::{Count, Line, Section, Table, milliseconds, number, percent, tenth},
};
use crate::{
    plot::{self, Axis, Figure, Mark, Plot, style},
    quantiles::{ascending, quantile},
};

/// What a server may send for the smallest datagram that may hold a ClientHello: three times 1200 bytes (RFC 9000, sections 8.1 and 14.1).
const SMALLEST_LIMIT_BYTES: u64 = 3600;
/// What a server may send at most, divided by what it received (RFC 9000, section 8.1).
const LIMIT: f64 = 3.0;
/// Sizes of certificates that are taken together, up to the last, which has no end.
const BIN_BYTES: u64 = 500;
const LAST_BIN: u64 = 20;
const MOST_CDNS: usize = 40;

/// Sizes of certificates by CDN.
pub(super) fn certificates(rows: &Rows) -> Section {
    let mut count = Count::default();
    let mut values = Values::new();
    for row in &rows.all {
        let Some(bytes) = count.take(row.certificate_bytes.ok_or(SIZE_NOT_KNOWN)) else {
            continue;
        };
        values.entry(rows.cdn(row)).or_default().push(bytes as f64);
    }
    let title = "Certificates against the amplification limit".to_owned();
    if count.is_empty() {
        return Section::absent(title, count.absent("The picture of certificates"));
    }
    let (curves, said) = curves(values, OTHERS, |_| None);
    let mut table = quantiles(&curves, "Certificate message, bytes");
    table.headings.push("above 3600 bytes, %");
    for (line, curve) in table.lines.iter_mut().zip(&curves) {
        let above = curve.values.iter().filter(|bytes| **bytes > SMALLEST_LIMIT_BYTES as f64).count();
        line.cells.push(tenth(percent(above as u64, curve.values.len() as u64)));
    }
    let mut plot = distributions(&curves, "Certificate message, bytes", false);
    mark(&mut plot, SMALLEST_LIMIT_BYTES as f64, "three times 1200 bytes");
    let caption = format!("Share of rows with a Certificate message up to this size. {}{said}", count.sentence());
    let figure =
        Figure { id: "scan-certificates".to_owned(), title: "Sizes of certificates".to_owned(), caption, plot };
    Section { title, paragraphs: vec![LIMIT_IN_WORDS.to_owned()], tables: vec![table], figures: vec![figure] }
}

const LIMIT_IN_WORDS: &str = "Before it knows that the client's address is genuine, a server may send three times \
                              what it received (RFC 9000, section 8.1): 3600 bytes for a ClientHello of one datagram \
                              of 1200 bytes, for all of its first flight, of which the certificate is a part. The \
                              study does not have this.";

/// Which servers had to wait because of the limit, by size of certificate and by CDN.
pub(super) fn blocked(rows: &Rows) -> Section {
    let mut count = Count::default();
    let mut by_cdn: BTreeMap<Key, Vec<&Row>> = BTreeMap::new();
    let mut by_bin: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
    let mut sized = Count::default();
    for row in &rows.all {
        if let Some((bytes, blocked)) = sized.take(size_and_wait(row)) {
            let bin = by_bin.entry((bytes / BIN_BYTES).min(LAST_BIN)).or_default();
            bin[0] += u64::from(blocked > 0);
            bin[1] += 1;
        }
        if count.take(row.blocked_ns.ok_or(WAIT_NOT_KNOWN)).is_some() {
            by_cdn.entry(rows.cdn(row)).or_default().push(row);
        }
    }
    let title = "Blocked by the amplification limit".to_owned();
    if count.is_empty() {
        return Section::absent(title, count.absent("The share of blocked servers"));
    }
    let (lines, said) = lines(by_cdn);
    let mut paragraphs = vec![format!("{}{said} {BLOCKED}", count.sentence())];
    let mut figures = Vec::new();
    if sized.is_empty() {
        paragraphs.push(sized.absent("The picture by size of certificate"));
    } else {
        figures.push(picture(&by_bin, &sized.sentence()));
    }
    Section { title, paragraphs, tables: vec![Table { headings: HEADINGS.to_vec(), lines }], figures }
}

const WAIT_NOT_KNOWN: &str = "of which it is not known whether the server had to wait";
const SIZE_NOT_KNOWN: &str = "without the size of a certificate";

fn size_and_wait(row: &Row) -> Result<(u64, u64), &'static str> {
    match (row.certificate_bytes, row.blocked_ns) {
        (Some(bytes), Some(blocked)) => Ok((bytes, blocked)),
        (None, _) => Err(SIZE_NOT_KNOWN),
        (_, None) => Err(WAIT_NOT_KNOWN),
    }
}

const HEADINGS: [&str; 7] = [
    "CDN",
    "rows",
    "blocked, %",
    "median wait of the blocked, ms",
    "rows with a factor",
    "median sent / received",
    "above 3, %",
];
const BLOCKED: &str = "Blocked: the server had more to send and waited for a datagram of the client. Sent and \
                       received: bytes before the client's address was validated; above 3 breaks RFC 9000, section \
                       8.1, if no datagram of the client is missing in the capture. Waits and factors are as seen at \
                       the tap of the scan.";

fn lines(by_cdn: BTreeMap<Key, Vec<&Row>>) -> (Vec<Line>, String) {
    let sizes: Values = by_cdn.iter().map(|(key, rows)| (*key, vec![0.0; rows.len()])).collect();
    let (kept, said) = largest(sizes, MOST_CDNS);
    let kept = kept.into_iter().filter_map(|(key, _)| Some((key, by_cdn.get(&key)?)));
    (kept.map(|(key, rows)| Line::own(key.name(OTHERS), cells(rows))).collect(), said)
}

fn cells(rows: &[&Row]) -> Vec<String> {
    let waits = rows.iter().filter_map(|row| row.blocked_ns.filter(|time| *time > 0)).map(milliseconds);
    let waits = Curve { name: String::new(), values: ascending(waits.collect()), published_median: None };
    let factors = ascending(rows.iter().filter_map(|row| row.amplification_factor).collect());
    let above = factors.iter().filter(|factor| **factor > LIMIT).count();
    vec![
        rows.len().to_string(),
        tenth(percent(waits.values.len() as u64, rows.len() as u64)),
        number(waits.quantile(0.5)),
        factors.len().to_string(),
        number(quantile(&factors, 0.5)),
        tenth(percent(above as u64, factors.len() as u64)),
    ]
}

fn picture(by_bin: &BTreeMap<u64, [u64; 2]>, said: &str) -> Figure {
    let shares = by_bin.iter().map(|(bin, [blocked, all])| {
        ((bin * BIN_BYTES) as f64 + BIN_BYTES as f64 / 2.0, *blocked as f64 / *all as f64)
    });
    let x = Axis::linear("Certificate message, bytes");
    let mut plot = Plot::new(x, Axis::between("share of blocked servers", 0.0, 1.0));
    let line = plot::Line::of_place(0, shares.collect()).marks(Mark::Dot);
    plot.add("blocked", style::colour(0), line);
    mark(&mut plot, SMALLEST_LIMIT_BYTES as f64, "three times 1200 bytes");
    Figure {
        id: "scan-blocked".to_owned(),
        title: "Blocked servers by size of certificate".to_owned(),
        caption: format!(
            "Certificates in steps of {BIN_BYTES} bytes, each at its middle; the last has all from {} bytes on. {said}",
            LAST_BIN * BIN_BYTES
        ),
        plot,
    }
}
