use super::{super::curves::points, *};

const FOREIGN: &str = "</script><script>alert(1)</script>|`x`*_[a](b)\u{202e}\u{1b}[2J\n| evil |";

/// Every kind of row, of several CDNs, places, groups, days.
fn varied() -> Vec<ScanReportRow> {
    let row = |number: u64| {
        let text = |words: &[&str]| Some(words[number as usize % words.len()].to_owned());
        let some = |value: u64| (!number.is_multiple_of(7)).then_some(value);
        ScanReportRow {
            time_ns: 19_941 * DAY_NS + number * 977 * HOUR_NS / 100,
            name: text(&["a", "b", "c", "d", "e"]),
            rank: some(number * 13),
            group: text(&["popular", "unpopular", ""]),
            cdn: text(&["Akamai", "Amazon", FOREIGN, "Others", ""]),
            location: text(&["HKG", "GRU", "", "LAX"]),
            place: text(&["Hamburg", "Sao Paulo", FOREIGN]),
            first_answer: text(&["instant", "coalesced", "instant", "ack_alone", "silent", "odd"]),
            is_ack_padded: (!number.is_multiple_of(3)).then_some(number.is_multiple_of(2)),
            ack_to_hello_ns: some(number * 7919 % 100_000_000),
            first_rtt_ns: some(number * 104_729 % 50_000_000),
            initial_ack_delay_ns: some(number * 15_485_863 % 60_000_000),
            handshake_ack_delay_ns: some(number * 32_452_843 % 60_000_000),
            outcome: text(&["completed", "completed", "timed_out"]),
            amplification_factor: (!number.is_multiple_of(4)).then_some(number as f64 / 100.0),
            certificate_bytes: some(number * 37 % 8000),
            blocked_ns: some(number % 3 * 1_000_000),
        }
    };
    (0..600).map(row).collect()
}

fn all_bytes(rows: &[ScanReportRow]) -> String {
    let report = report(rows);
    let figures = render_scan_figures(&report).into_iter().map(|(name, svg)| name + &svg).collect::<String>();
    render_scan_html(&report) + &render_scan_markdown(&report) + &figures
}

#[test]
fn rows_in_any_order_give_the_same_bytes() {
    let rows = varied();
    let expected = all_bytes(&rows);
    let backwards: Vec<_> = rows.iter().rev().cloned().collect();
    assert!(all_bytes(&backwards) == expected, "backwards");
    // 7 and 600 have no common factor but 1.
    let scattered: Vec<_> = (0..rows.len()).map(|place| rows[place * 7 % rows.len()].clone()).collect();
    assert!(all_bytes(&scattered) == expected, "scattered");
    assert!(all_bytes(&rows[1..]) != expected, "a row less is seen");
}

#[test]
fn every_part_of_varied_rows_has_its_picture() {
    let figures: Vec<_> = render_scan_figures(&report(&varied())).into_iter().map(|(name, _)| name).collect();
    for name in ["fig08", "fig15-lead-1", "fig15-coalesced-3", "fig15-requests-2", "fig10-coalesced", "fig10-instant"] {
        assert!(figures.contains(&format!("scan-{name}")), "{name}: {figures:?}");
    }
    for name in ["fig10-handshake", "fig14", "locations", "certificates", "blocked"] {
        assert!(figures.contains(&format!("scan-{name}")), "{name}: {figures:?}");
    }
    let mut distinct = figures.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), figures.len());
}

#[test]
fn foreign_text_is_escaped_everywhere() {
    let rows: Vec<_> = varied()
        .into_iter()
        .map(|row| ScanReportRow {
            name: Some(FOREIGN.to_owned()),
            group: Some(FOREIGN.to_owned()),
            location: Some(FOREIGN.to_owned()),
            outcome: Some(if row.time_ns % 2 > 0 { "completed" } else { FOREIGN }.to_owned()),
            ..row
        })
        .collect();
    let mut report = report(&rows);
    report.title = FOREIGN.to_owned();
    report.command = FOREIGN.to_owned();
    report.note(FOREIGN);
    let html = render_scan_html(&report);
    assert!(!html.contains("<script>alert") && !html.contains("</script><script>a"));
    assert!(!html.contains("<script"), "a page with pictures needs no script");
    let markdown = render_scan_markdown(&report);
    for line in markdown.lines().filter(|line| !line.starts_with("    ")) {
        assert!(!line.contains("<script") || line.contains("\\<script"), "{line}");
        assert!(!line.replace("\\|", "").contains("| evil |"), "{line}");
        assert!(!line.replace("\\`", "").contains('`'), "{line}");
    }
    for text in [&markdown, &render_scan_html(&report), &render_scan_figures(&report)[0].1] {
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
    }
}

#[test]
fn every_line_of_a_table_has_as_many_cells_as_the_heading() {
    for rows in [varied(), vec![instant("x", "y", 1.0)], Vec::new()] {
        for section in report(&rows).sections() {
            for table in &section.tables {
                let wrong = table.lines.iter().find(|line| line.cells.len() + 1 != table.headings.len());
                assert!(wrong.is_none(), "{}: {}", section.title, wrong.unwrap().name);
            }
        }
    }
}

#[test]
fn without_rows_every_part_says_that_it_is_absent() {
    let report = report(&[]);
    for section in report.sections() {
        assert!(section.figures.is_empty() && section.tables.is_empty(), "{}", section.title);
        let said = section.paragraphs.join(" ");
        assert!(said.to_lowercase().contains("there are no rows"), "{}: {said}", section.title);
    }
    assert!(render_scan_html(&report).contains("Table 1 is absent: there are no rows."));
    assert!(render_scan_markdown(&report).contains("Figure 8 is absent: there are no rows."));
}

#[test]
fn a_row_without_values_is_counted_and_named_by_what_it_lacks() {
    let report = report(&[ScanReportRow::default()]);
    for section in &report.sections()[1..] {
        assert!(section.figures.is_empty(), "{}", section.title);
        let said = section.paragraphs.join(" ");
        assert!(said.contains("because no row can be used. Rows: 0 of 1. Left out: 1 "), "{}: {said}", section.title);
    }
}

#[test]
fn one_row_with_everything_has_pictures() {
    let row = ScanReportRow {
        handshake_ack_delay_ns: Some(1),
        initial_ack_delay_ns: Some(u64::MAX),
        certificate_bytes: Some(u64::MAX),
        blocked_ns: Some(u64::MAX),
        amplification_factor: Some(f64::MAX),
        ..instant("Meta", "a", 0.0)
    };
    let figures = render_scan_figures(&report(&[row]));
    assert_eq!(figures.len(), 6, "all but those over time, of coalesced answers, and by location");
    for (name, svg) in figures {
        assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN") && !svg.contains("inf"), "{name}: {svg}");
    }
}

#[test]
fn targets_that_were_not_asked_have_no_day() {
    let never = ScanReportRow { outcome: Some("name_nxdomain".to_owned()), ..ScanReportRow::default() };
    let rows = part(&report(&[never.clone(), instant("x", "y", 1.0)]), "Rows");
    let said = "Rows: 2; names: 1; places from where was scanned: 0; first day 2024-08-06, last day 2024-08-06 (UTC).";
    assert_eq!(rows.paragraphs, [said]);
    assert_eq!(line(&rows, 0, "name nxdomain").cells, ["1", "50.0"]);
    let rows = part(&report(&[never]), "Rows");
    assert_eq!(rows.paragraphs, ["Rows: 1; names: 0; places from where was scanned: 0."]);
    let timeless = ScanReportRow { time_ns: 0, ..instant("x", "y", 1.0) };
    let table = part(&report(&[timeless, instant("x", "y", 1.0)]), "Table 1");
    assert_eq!(line(&table, 0, "x").cells[5], "1", "one measurement");
    assert!(table.paragraphs[0].contains("1 without a time"), "{:?}", table.paragraphs);
}

#[test]
fn groups_beyond_the_largest_are_counted() {
    let rows: Vec<_> =
        (0..15).flat_map(|cdn| (0..=cdn).map(move |_| instant(&format!("cdn {cdn:02}"), "a", 1.0))).collect();
    let lead = part(&report(&rows), "Figure 8");
    let names: Vec<_> = traces(&lead, "scan-fig08").iter().map(|it| it.name.clone()).collect();
    assert_eq!((names.len(), &names[0][..], &names[11][..]), (12, "cdn 03", "cdn 14"));
    // 1 + 2 + 3 rows.
    assert!(lead.figures[0].caption.contains("Not shown: 3 smaller groups with 6 rows."));
}

#[test]
fn thinned_curves_go_through_points_of_the_distribution() {
    let values: Vec<f64> = (0..10_000).map(|place| f64::from(place / 2)).collect();
    let all = points(&values, false);
    assert!(all.len() <= 400 && all.len() > 300, "{}", all.len());
    assert_eq!((all[0], all[all.len() - 1]), ((0.0, 0.0002), (4999.0, 1.0)));
    assert!(all.iter().all(|(value, share)| (share - (value + 1.0) / 5000.0).abs() < 1e-12));
    // The share at the first value that a logarithmic axis has counts the zeros.
    assert_eq!(points(&[0.0, 0.0, 4.0, 8.0], true), [(4.0, 0.75), (8.0, 1.0)]);
}
