//! Figure 10: the ACK delay that servers report against the round-trip time that it is a part of.

use quiclab_metrics::FirstAnswer;

use super::{
    curves::{Curve, Values, curves, distributions, largest, mark},
    published::{CDNS, of_cdn},
    rows::{Key, OTHERS, Row, Rows},
    section::{Count, Line, Section, Table, number, percent, tenth},
};
use crate::plot::Figure;

/// CDNs of the table.
const MOST_CDNS: usize = 40;

/// One of the pictures.
struct Part {
    id: &'static str,
    title: &'static str,
    /// Reported delay.
    delay: fn(&Row) -> Option<u64>,
    answer: Option<FirstAnswer>,
    published: &'static str,
}

const PARTS: [Part; 3] = [
    Part {
        id: "scan-fig10-coalesced",
        title: "Initial packets, ACK and ServerHello in one datagram",
        delay: |row| row.initial_ack_delay_ns,
        answer: Some(FirstAnswer::Coalesced),
        published: "Published (appendix D, figure 10), share above the RTT: Akamai 99.8 %, Amazon 87.3 %, Cloudflare \
                    99.9 %, Fastly 60.5 %, Google 34.8 %, Meta 100 %, others 77.9 %; less than 1 ms apart for 99.8 % \
                    of the names.",
    },
    Part {
        id: "scan-fig10-instant",
        title: "Initial packets, instant ACK",
        delay: |row| row.initial_ack_delay_ns,
        answer: Some(FirstAnswer::Instant),
        published: "Published (appendix D, figure 10): most instant ACKs report a delay above the RTT, except \
                    Akamai's and those of others, of which 61 % and 79.1 % are below it.",
    },
    Part {
        id: "scan-fig10-handshake",
        title: "Handshake packets",
        delay: |row| row.handshake_ack_delay_ns,
        answer: None,
        published: "The RTT is that of the Initial packets. Nothing is published of Handshake packets of servers in \
                    the wild; of 16 servers in a testbed, 11 send no ACK in them (appendix D).",
    },
];

pub(super) fn section(rows: &Rows) -> Section {
    let title = "Figure 10: reported ACK delay less RTT".to_owned();
    let mut section = Section { title, paragraphs: vec![MEANING.to_owned()], tables: Vec::new(), figures: Vec::new() };
    for part in &PARTS {
        part.add_to(&mut section, rows);
    }
    section
}

const MEANING: &str = "The RTT is the time from the ClientHello to its acknowledgment at the tap of the scan, so a \
                       delay above it cannot be true. RFC 9002, section 5.3, lets clients ignore the delay in \
                       Initial packets, and forbids to subtract it from a sample where less than the smallest RTT \
                       would remain.";

impl Part {
    /// Milliseconds by which the delay is longer than the round-trip time.
    fn difference(&self, row: &Row) -> Result<f64, &'static str> {
        match (self.answer, row.answer) {
            (Some(_), None) => return Err("of which the first answer is not known"),
            (Some(wanted), Some(answer)) if wanted != answer => return Err("with another first answer"),
            _ => (),
        }
        match ((self.delay)(row), row.first_rtt_ns) {
            (Some(delay), Some(rtt)) => Ok((i128::from(delay) - i128::from(rtt)) as f64 / 1e6),
            (None, Some(_)) => Err("with an RTT but without an ACK delay"),
            (Some(_), None) => Err("with an ACK delay but without an RTT"),
            (None, None) => Err("without both"),
        }
    }

    fn add_to(&self, section: &mut Section, rows: &Rows) {
        let mut count = Count::default();
        let mut values = Values::new();
        for row in &rows.all {
            let Some(difference) = count.take(self.difference(row)) else { continue };
            values.entry(rows.cdn(row)).or_default().push(difference);
        }
        if count.is_empty() {
            section.paragraphs.push(format!("{}: {}", self.title, count.absent("this picture")));
            return;
        }
        let table = self.table(values.clone());
        let (curves, said) = curves(values, OTHERS, |_| None);
        let mut plot = distributions(&curves, "ACK delay less RTT, ms", false);
        mark(&mut plot, 0.0, "the RTT");
        let caption = format!(
            "Share of rows in which the delay is at most so much longer than the RTT; the axis has all but 1 % at \
             each end. {}{said} {}",
            count.sentence(),
            self.published
        );
        section.tables.push(table);
        section.figures.push(Figure { id: self.id.to_owned(), title: self.title.to_owned(), caption, plot });
    }

    fn table(&self, values: Values) -> Table {
        let has_published = self.answer == Some(FirstAnswer::Coalesced);
        let mut headings = vec![self.title, "rows", "delay above RTT, %", "apart by less than 1 ms, %", "median, ms"];
        headings.extend(has_published.then_some("delay above RTT, published, %"));
        let published = |name: &str| of_cdn(name).and_then(|cdn| cdn.delay_above_rtt_percent);
        let line = |(key, values): (Key, Vec<f64>)| {
            let name = key.name(OTHERS);
            let mut cells = shares(&values);
            cells.extend(has_published.then(|| tenth(published(&name))));
            Line::own(name, cells)
        };
        let mut lines: Vec<_> = largest(values, MOST_CDNS).0.into_iter().map(line).collect();
        if has_published {
            let is_shown = |name: &str| lines.iter().any(|line| line.name.eq_ignore_ascii_case(name));
            let alone = CDNS.iter().filter(|cdn| cdn.delay_above_rtt_percent.is_some() && !is_shown(cdn.name));
            let alone = alone.map(|cdn| {
                let mut cells = vec![crate::columns::NOTHING.to_owned(); 4];
                cells.push(tenth(cdn.delay_above_rtt_percent));
                Line::published(format!("{}, published", cdn.name), cells)
            });
            let alone: Vec<_> = alone.collect();
            lines.extend(alone);
        }
        Table { headings, lines }
    }
}

fn shares(values: &[f64]) -> Vec<String> {
    let count = |is_counted: fn(f64) -> bool| values.iter().filter(|value| is_counted(**value)).count() as u64;
    let all = values.len() as u64;
    let curve =
        Curve { name: String::new(), values: crate::quantiles::ascending(values.to_vec()), published_median: None };
    vec![
        all.to_string(),
        tenth(percent(count(|value| value > 0.0), all)),
        tenth(percent(count(|value| value.abs() < 1.0), all)),
        number(curve.quantile(0.5)),
    ]
}
