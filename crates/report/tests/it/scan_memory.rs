//! A million rows of a scan. Each test of cargo-nextest is alone in its process, so that the peak is that of the report.

use quiclab_report::{ScanReport, ScanReportRow, render_scan_html};

const ROWS: u64 = 1_000_000;
const LIMIT_KIB: u64 = 1024 * 1024;
/// A page that a browser opens at once. The library that draws is 4 MiB of it.
const LARGEST_PAGE: usize = 6 * 1024 * 1024;

/// `VmHWM` of this process.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Every column has a value, and each name is a new one.
fn row(number: u64) -> ScanReportRow {
    let text = |kind: &str, many: u64| Some(format!("{kind} {}", number % many));
    ScanReportRow {
        time_ns: 1_722_902_400_000_000_000 + number * 604_800_000,
        name: Some(format!("name-{number}.example.org")),
        rank: Some(number + 1),
        group: text("group", 3),
        cdn: text("cdn", 200),
        location: text("location", 300),
        place: text("place", 4),
        first_answer: Some(if number.is_multiple_of(3) { "coalesced" } else { "instant" }.to_owned()),
        is_ack_padded: Some(number.is_multiple_of(5)),
        ack_to_hello_ns: Some(number * 7919 % 100_000_000),
        first_rtt_ns: Some(number * 104_729 % 50_000_000),
        initial_ack_delay_ns: Some(number * 15_485_863 % 60_000_000),
        handshake_ack_delay_ns: Some(number * 32_452_843 % 60_000_000),
        outcome: Some("completed".to_owned()),
        amplification_factor: Some(number as f64 % 401.0 / 100.0),
        certificate_bytes: Some(number * 37 % 8000),
        blocked_ns: Some(number % 2 * 1_000_000),
    }
}

#[test]
fn a_million_rows_need_less_than_a_gibibyte() {
    if !quiclab_testing::has_own_process() {
        return;
    }
    let mut report = ScanReport::new("Scan", "quiclab scan --report rows.parquet");
    (0..ROWS).for_each(|number| report.push(&row(number)));
    let rows_kib = peak_kib();
    let page = render_scan_html(&report);
    let peak = peak_kib();
    eprintln!("rows: {rows_kib} KiB; peak: {peak} KiB; page: {} bytes", page.len());
    assert!(peak < LIMIT_KIB, "{peak} KiB at the peak, expected less than {LIMIT_KIB}");
    assert!(page.len() < LARGEST_PAGE, "{} bytes, expected less than {LARGEST_PAGE}", page.len());
    assert!(page.contains("Rows: all 1000000."));
}
