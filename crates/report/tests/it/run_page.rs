//! The page of one run: in numbers, and in a real browser.

use crate::common;
use std::{fs, process::Command};

use quiclab_metrics::{SenderLog, SeriesPoint, Timeline, TimelineBurst};
use quiclab_report::{RunPage, render_figures, render_run_html, render_run_svg};
use quiclab_testing::has_program;

const SECOND: u64 = 1_000_000_000;

pub fn page() -> RunPage {
    let row = common::input().runs.remove(0);
    let point = |time_ns, value| SeriesPoint { time_ns, minimum: value, maximum: value, last: value };
    RunPage {
        record: row.folder,
        run: row.run,
        metrics: row.metrics,
        timeline: Timeline {
            duration_ns: SECOND,
            packets: 100,
            sending_rate_bps: vec![point(0, 10_000_000), point(SECOND / 2, 0)],
            queue_delay_ns: vec![point(0, 0), point(SECOND, 5_000_000)],
            smallest_crossing_ns: Some(20_000_000),
            drops_ns: vec![SECOND / 4],
            drops: Some(1),
            bursts: vec![TimelineBurst {
                start_ns: SECOND / 2,
                end_ns: SECOND / 2 + 90_000,
                packets: 7,
                bytes: 10_500,
            }],
            ..Timeline::default()
        },
        server_start_ns: 0,
        bytes_in_flight: vec![point(0, 12_000), point(SECOND / 2, 24_000)],
        rtt_ns: vec![point(SECOND / 10, 40_000_000)],
        lost_ns: vec![SECOND / 4],
        log: Some(SenderLog {
            congestion_window: vec![point(0, 14_000), point(SECOND / 2, 30_000)],
            pacing_rate_bps: vec![point(0, 12_000_000)],
            aligned_by: 5,
        }),
        path: None,
        host: None,
        ladder: None,
        look: None,
        facts: None,
    }
}

/// The document of a page after its scripts, and what the browser complained about.
fn load(page: &str, name: &str) -> (String, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, page).unwrap();
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=5000"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .args(["--dump-dom", &format!("file://{}", path.display())])
        .output()
        .unwrap_or_else(|error| panic!("chromium: {error}; this test needs it: apt-get install chromium"));
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    let complaints = log.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect();
    (String::from_utf8_lossy(&output.stdout).into_owned(), complaints)
}

/// The page with a script behind its own that does something to it.
fn after(script: &str) -> (String, Vec<String>) {
    let page = render_run_html(&page());
    let behind = page.rfind("</body>").unwrap();
    load(&format!("{}<script>{script}</script>{}", &page[..behind], &page[behind..]), "run.html")
}

#[test]
fn without_scripts_the_page_shows_the_whole_run() {
    let html = render_run_html(&page());
    let svg = render_run_svg(&page());
    assert!(html.contains(&svg), "the figure is in the page as it is in its file");
    for what in [
        "in flight at the tap",
        "congestion window",
        "pacing rate",
        "RTT",
        "queue",
        "dropped between the taps",
        "trains",
    ] {
        assert!(svg.contains(what), "{what}");
    }
    assert!(html.contains("at most 20000 points") && html.contains("aligned with the capture using 5 packets"));
    assert!(html.contains("server: quiche \u{b7} client: quiche"));
    let begin = html.find("<script").unwrap();
    assert!(!html[..begin].contains("src=\"") && !html[..begin].contains("href=\"http"), "it needs no network");
}

#[test]
fn times_between_clocks_that_are_not_known_well_enough_are_not_drawn_and_the_reason_is_said() {
    let mut page = page();
    assert!(render_run_html(&page).contains("wait in the bottleneck"));
    page.timeline.withhold_crossing("the clocks are known to 3 \u{b5}s only".to_owned());
    let html = render_run_html(&page);
    assert!(html.contains("not shown: the clocks are known to 3 \u{b5}s only."), "{html}");
    assert!(!html.contains("There is no second tap") && !html.contains("minus its smallest value"));
}

#[test]
fn what_is_not_known_is_said_and_not_drawn() {
    let mut page = page();
    page.log = None;
    page.timeline.drops = None;
    page.timeline.smallest_crossing_ns = None;
    page.timeline.queue_delay_ns.clear();
    page.timeline.drops_ns.clear();
    let html = render_run_html(&page);
    for what in ["congestion window by", "pacing rate by", "dropped between", "wait in the bottleneck"] {
        assert!(!html.contains(what), "{what}");
    }
    assert!(
        html.contains("queue and drops are not known") && html.contains("logged no congestion window or pacing rate")
    );
}

#[test]
fn keys_zoom_and_reset() {
    if !has_program("chromium", "chromium") {
        return;
    }
    let key = |key: &str| {
        format!("document.getElementById('timeline').dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}' }}));")
    };
    let (whole, complaints) = after("");
    assert!(complaints.is_empty(), "{complaints:?}");
    assert!(whole.contains("transform=\"matrix(1 0 0 1 0 0)\"") && whole.contains("the whole run"));
    // The middle half: twice as wide, and 595 (the middle of the plot) stays where it is.
    let (zoomed, complaints) = after(&key("+"));
    assert!(complaints.is_empty(), "{complaints:?}");
    assert!(zoomed.contains("transform=\"matrix(2 0 0 1 -595 0)\"") && zoomed.contains("0.250000 to 0.750000 s"));
    assert!(zoomed.contains("--around 0.500000s"));
    let (reset, _) = after(&format!("{}{}", key("+"), key("Escape")));
    assert!(reset.contains("transform=\"matrix(1 0 0 1 0 0)\"") && reset.contains("the whole run"));
}

#[test]
fn dragging_over_a_part_zooms_to_it() {
    if !has_program("chromium", "chromium") {
        return;
    }
    let (zoomed, complaints) = after(
        "const svg = document.getElementById('timeline'), box = svg.getBoundingClientRect();
         svg.setPointerCapture = () => {};
         const at = (name, share) => svg.dispatchEvent(new PointerEvent(name, { pointerId: 1, clientY: box.top + 50,
             clientX: box.left + box.width * (70 + 1050 * share) / 1140 }));
         at('pointerdown', 0.2); at('pointermove', 0.3); at('pointerup', 0.4);",
    );
    assert!(complaints.is_empty(), "{complaints:?}");
    let readout = zoomed.find("id=\"readout\"").unwrap();
    assert!(
        zoomed[readout..].starts_with("id=\"readout\">0.200000 to 0.400000 s") || zoomed[readout..].contains("0.200"),
        "{}",
        &zoomed[readout..readout + 80]
    );
    assert!(
        zoomed.contains("transform=\"matrix(5 0 0 1")
            || zoomed.contains("transform=\"matrix(4.99")
            || zoomed.contains("transform=\"matrix(5.00")
    );
}

#[test]
fn every_figure_is_a_file_that_a_browser_reads() {
    if !has_program("chromium", "chromium") {
        return;
    }
    let mut figures = render_figures(&common::input());
    let names: Vec<_> = figures.iter().map(|(name, _)| name.clone()).collect();
    for name in ["gap-cdf", "train-lengths", "goodput", "drops", "packet-time", "train-mix"] {
        assert!(names.iter().any(|known| known == name), "{name} is missing in {names:?}");
    }
    figures.push(("run".to_owned(), render_run_svg(&page())));
    for (name, svg) in figures {
        assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{name}: {svg}");
        let (document, _) = load(&svg, &format!("{name}.svg"));
        assert!(document.contains("</svg>") && !document.contains("parsererror"), "{name}: {document}");
    }
}
