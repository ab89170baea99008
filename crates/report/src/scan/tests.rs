use crate::plot::{Content, Trace};

use super::{
    section::{Line, Section},
    *,
};

mod courses;
mod shapes;

const DAY_NS: u64 = 86_400_000_000_000;
const HOUR_NS: u64 = 3_600_000_000_000;

/// A completed handshake that began with an instant ACK.
pub(super) fn instant(cdn: &str, name: &str, lead_ms: f64) -> ScanReportRow {
    ScanReportRow {
        time_ns: 19_941 * DAY_NS,
        name: Some(name.to_owned()),
        cdn: Some(cdn.to_owned()),
        first_answer: Some("instant".to_owned()),
        is_ack_padded: Some(false),
        ack_to_hello_ns: Some((lead_ms * 1e6) as u64),
        first_rtt_ns: Some(10_000_000),
        outcome: Some("completed".to_owned()),
        ..ScanReportRow::default()
    }
}

/// A completed handshake with ACK and ServerHello in one datagram.
pub(super) fn coalesced(cdn: &str, name: &str) -> ScanReportRow {
    ScanReportRow {
        first_answer: Some("coalesced".to_owned()),
        is_ack_padded: None,
        ack_to_hello_ns: Some(0),
        ..instant(cdn, name, 0.0)
    }
}

pub(super) fn report(rows: &[ScanReportRow]) -> ScanReport {
    let mut report = ScanReport::new("Scan", "quiclab scan --report rows.parquet");
    rows.iter().for_each(|row| report.push(row));
    report
}

/// The part whose title begins so.
pub(super) fn part(report: &ScanReport, title: &str) -> Section {
    report.sections().into_iter().find(|section| section.title.starts_with(title)).unwrap()
}

pub(super) fn line<'a>(section: &'a Section, table: usize, name: &str) -> &'a Line {
    let lines = &section.tables[table].lines;
    lines.iter().find(|line| line.name == name).unwrap_or_else(|| panic!("no line {name}"))
}

/// The traces of a picture.
pub(super) fn traces(section: &Section, id: &str) -> Vec<Trace> {
    let figure = section.figures.iter().find(|figure| figure.id == id).unwrap_or_else(|| panic!("no picture {id}"));
    figure.plot.traces.clone()
}

/// The points of a line.
pub(super) fn points_of(trace: &Trace) -> Vec<(f64, Option<f64>)> {
    match &trace.content {
        Content::Line(line) => line.points.clone(),
        other => panic!("no line: {other:?}"),
    }
}

#[test]
fn table_1_has_shares_of_names_by_cdn_and_how_they_vary_over_days_and_places() {
    let at = |day: u64, place: &str, name: &str, is_instant: bool| {
        let row = if is_instant { instant("Amazon", name, 1.0) } else { coalesced("Amazon", name) };
        ScanReportRow { time_ns: (19_941 + day) * DAY_NS + HOUR_NS, place: Some(place.to_owned()), ..row }
    };
    let mut rows = Vec::new();
    // 1 of 4, 2 of 4, 2 of 2.
    for name in ["a", "b", "c", "d"] {
        rows.push(at(0, "Hamburg", name, name == "a"));
        rows.push(at(0, "Sao Paulo", name, name == "a" || name == "b"));
    }
    rows.push(at(1, "Hamburg", "b", true));
    rows.push(at(1, "Hamburg", "c", true));
    // The same name again, without: it has instant ACKs all the same, and counts once.
    rows.push(at(0, "Hamburg", "a", false));
    // Left out.
    rows.push(ScanReportRow { outcome: Some("timed_out".to_owned()), ..at(2, "Hamburg", "e", false) });
    rows.push(ScanReportRow { name: None, ..at(2, "Hamburg", "", false) });
    rows.push(ScanReportRow { first_answer: Some("nonsense".to_owned()), ..at(2, "Hamburg", "f", false) });
    // Of no CDN, by either name.
    rows.push(ScanReportRow { cdn: None, ..at(0, "Hamburg", "g", true) });
    rows.push(ScanReportRow { cdn: Some("Others".to_owned()), ..at(0, "Hamburg", "h", false) });
    let table = part(&report(&rows), "Table 1");
    let expected = ["11", "45.5", "4", "3", "75.0", "3", "25.0", "50.0", "100.0", "75.0", "2"];
    assert_eq!(line(&table, 0, "Amazon").cells, expected);
    let expected = ["2", "50.0", "2", "1", "50.0", "1", "50.0", "50.0", "50.0", "0.0", "2"];
    assert_eq!(line(&table, 0, "Others").cells, expected);
    let said = &table.paragraphs[0];
    assert!(said.starts_with("Rows: 13 of 16. Left out: 1 of which the first answer"), "{said}");
    assert!(said.contains("; 1 without a completed handshake; 1 without a name."), "{said}");
}

#[test]
fn published_values_stand_below_those_of_the_same_cdn_and_alone_where_there_is_none() {
    let table = part(&report(&[instant("cloudflare", "a", 3.0)]), "Table 1");
    let lines: Vec<_> = table.tables[0].lines.iter().map(|line| (&line.name[..], line.is_published)).collect();
    assert_eq!(lines[..3], [("cloudflare", false), ("published", true), ("Akamai, published", true)]);
    let nothing = crate::columns::NOTHING;
    let [names, largest, variation] = [2, 8, 9].map(|cell| &line(&table, 0, "published").cells[cell][..]);
    assert_eq!((names, largest, variation), ("247407", "99.9", "0.1"));
    assert_eq!(line(&table, 0, "published").cells[0], nothing);
    assert_eq!(line(&table, 0, "Google, published").cells[8], "11.5");
    assert_eq!(table.tables[0].lines.len(), 1 + published::CDNS.len());
    let lead = part(&report(&[instant("cloudflare", "a", 3.0)]), "Figure 8");
    assert_eq!(line(&lead, 0, "cloudflare").cells[6], "3.2");
}

#[test]
fn figure_8_has_quantiles_of_instant_acks_alone() {
    let mut rows: Vec<_> = (1..=101).map(|ms| instant("Akamai", "a", f64::from(ms))).collect();
    rows[0].is_ack_padded = Some(true);
    rows[1].is_ack_padded = None;
    rows.push(coalesced("Akamai", "a"));
    rows.push(ScanReportRow { ack_to_hello_ns: None, ..instant("Akamai", "a", 0.0) });
    let lead = part(&report(&rows), "Figure 8");
    let expected = ["101", "6", "26", "51", "76", "96", "20.9", "1.0"];
    assert_eq!(line(&lead, 0, "Akamai").cells, expected);
    let caption = &lead.figures[0].caption;
    assert!(
        caption.contains("Rows: 101 of 103. Left out: 1 in which no instant ACK came; 1 without a time"),
        "{caption}"
    );
    let curve = &traces(&lead, "scan-fig08")[0];
    assert_eq!((&curve.name[..], points_of(curve)[50].0, points_of(curve)[100].1), ("Akamai", 51.0, Some(1.0)));
}

#[test]
fn figure_10_has_the_share_of_delays_above_the_rtt_in_each_space() {
    // RTT 10 ms; by so much the delay is longer.
    let delays = [8.0, 9.5, 10.0, 10.5, 13.0_f64].map(|ms| Some((ms * 1e6) as u64));
    let mut rows: Vec<_> =
        delays.iter().map(|delay| ScanReportRow { initial_ack_delay_ns: *delay, ..coalesced("Fastly", "a") }).collect();
    rows.push(coalesced("Fastly", "a"));
    rows.push(ScanReportRow { first_rtt_ns: None, initial_ack_delay_ns: Some(1), ..coalesced("Fastly", "a") });
    rows.push(ScanReportRow { handshake_ack_delay_ns: Some(11_000_001), ..instant("Meta", "b", 1.0) });
    let delay = part(&report(&rows), "Figure 10");
    // 1 ms is not less than 1 ms.
    let edge = ScanReportRow { initial_ack_delay_ns: Some(11_000_000), ..coalesced("Google", "c") };
    let at_the_edge = part(&report(&[edge]), "Figure 10");
    assert_eq!(line(&at_the_edge, 0, "Google").cells, ["1", "100.0", "0.0", "1", "34.8"]);
    assert_eq!(line(&delay, 0, "Fastly").cells, ["5", "40.0", "60.0", "0", "60.5"]);
    assert_eq!(line(&delay, 1, "Meta").cells, ["1", "100.0", "0.0", "1"]);
    assert!(
        delay.paragraphs.iter().any(|it| it.contains("instant ACK: this picture is absent")),
        "{:?}",
        delay.paragraphs
    );
    let caption = &delay.figures[0].caption;
    assert!(
        caption.contains("Rows: 5 of 8. Left out: 1 with an ACK delay but without an RTT; 1 with an RTT but"),
        "{caption}"
    );
    assert_eq!(points_of(&traces(&delay, "scan-fig10-coalesced")[0])[0].0, -2.0);
}

#[test]
fn figure_14_has_boxes_by_place_and_by_location_of_the_server() {
    let mut rows = Vec::new();
    for ms in 1..=5 {
        let place = Some("Hong Kong".to_owned());
        let row = instant("Google", "a", f64::from(ms));
        rows.push(ScanReportRow { place, location: Some("HKG".to_owned()), ..row.clone() });
        rows.push(ScanReportRow { place: Some("Sao Paulo".to_owned()), ack_to_hello_ns: Some(30_000_000), ..row });
    }
    let places = part(&report(&rows), "Figure 14");
    assert_eq!(line(&places, 0, "Hong Kong").cells, ["Google", "5", "2", "3", "4"]);
    assert_eq!(line(&places, 0, "Sao Paulo").cells, ["Google", "5", "30", "30", "30"]);
    assert_eq!(line(&places, 1, "HKG").cells[..5], ["5", "1.2", "2", "3", "4"]);
    assert_eq!(line(&places, 1, "location not known").cells[0], "5");
    let boxes = traces(&places, "scan-fig14").into_iter().map(|trace| match trace.content {
        Content::Boxes(boxes) => boxes.iter().map(|(place, quartiles)| (*place, quartiles.values[2])).collect(),
        other => panic!("no boxes: {other:?}"),
    });
    assert_eq!(boxes.collect::<Vec<Vec<_>>>(), [[(0, 3.0)], [(0, 30.0)]]);
    rows.iter_mut().for_each(|row| row.location = None);
    let places = part(&report(&rows), "Figure 14");
    assert!(places.paragraphs[0].starts_with("There is no picture by location"), "{:?}", places.paragraphs);
}

#[test]
fn certificates_and_waits_are_counted_at_the_limit() {
    let row = |bytes: u64, blocked_ns: u64, factor: f64| ScanReportRow {
        certificate_bytes: Some(bytes),
        blocked_ns: Some(blocked_ns),
        amplification_factor: Some(factor),
        ..instant("Meta", "a", 1.0)
    };
    let rows = [
        row(3600, 0, 3.0),
        row(3601, 4_000_000, 3.01),
        row(5113, 8_000_000, f64::NAN),
        ScanReportRow { certificate_bytes: None, ..row(0, 0, 1.0) },
        ScanReportRow { blocked_ns: None, ..row(1000, 0, 1.0) },
    ];
    let report = report(&rows);
    let certificates = part(&report, "Certificates");
    // Above 3600 bytes: 3601 and 5113, of four.
    assert_eq!(line(&certificates, 0, "Meta").cells[6], "50.0");
    let blocked = part(&report, "Blocked");
    // Not a number is not known.
    assert_eq!(line(&blocked, 0, "Meta").cells, ["4", "50.0", "6", "3", "3", "33.3"]);
    let caption = &blocked.figures[0].caption;
    assert!(caption.contains("Rows: 3 of 5. Left out: 1 of which it is not known"), "{caption}");
    let steps = &traces(&blocked, "scan-blocked")[0];
    assert_eq!(points_of(steps), [(3750.0, Some(0.5)), (5250.0, Some(1.0))]);
}
