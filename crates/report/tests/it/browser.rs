//! The page in a real browser: every picture is drawn, nothing is fetched, nothing is complained about.

use crate::common;
use std::{
    fs,
    process::{Command, Output},
};

use quiclab_report::{Comparison, Question, render_comparison_html, render_html, settings_key};
use quiclab_testing::has_program;

const FIGURES: usize = 5;

/// Loads the page in a headless Chromium. Returns its document after all scripts have run, and its log.
fn load(page: &str) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    fs::write(&path, page).unwrap();
    let Output { status, stdout, stderr } = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=20000"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .args(["--dump-dom", &format!("file://{}", path.display())])
        .output()
        .unwrap_or_else(|error| panic!("chromium: {error}; this test needs it: apt-get install chromium"));
    let log = String::from_utf8_lossy(&stderr).into_owned();
    assert!(status.success(), "chromium ended with {status}: {log}");
    (String::from_utf8_lossy(&stdout).into_owned(), log)
}

fn complaints(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.contains("CONSOLE")).collect()
}

#[test]
fn every_picture_is_drawn_without_a_complaint() {
    if !has_program("chromium", "chromium") {
        return;
    }
    let (document, log) = load(&render_html(&common::input()));
    assert!(complaints(&log).is_empty(), "{:?}", complaints(&log));
    for id in ["gap-cdf", "train-lengths", "goodput", "drops", "packet-time"] {
        let start = document.find(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("no {id} in the page"));
        assert!(document[start..].contains("main-svg"), "{id} is empty");
    }
    // Each picture has a layer for its traces; an error in the data would leave it out.
    assert!(document.matches("class=\"cartesianlayer\"").count() >= FIGURES, "not all pictures were drawn");
}

#[test]
fn the_page_of_a_comparison_draws_its_pictures() {
    if !has_program("chromium", "chromium") {
        return;
    }
    let [one, other] = [36e6, 30e6].map(|goodput| common::side(&[goodput, goodput + 1e5, goodput + 3e5], &[]));
    let question = Question {
        names: ["main".to_owned(), "pr".to_owned()],
        conditions: Vec::new(),
        metrics: Vec::new(),
        alpha: 0.05,
        not_judged: Default::default(),
    };
    let comparison = Comparison::of(&one, &other, [&settings_key, &settings_key], &question).unwrap();
    let (document, log) =
        load(&render_comparison_html(&comparison, Some(([&one, &other], [&settings_key, &settings_key]))));
    assert!(complaints(&log).is_empty(), "{:?}", complaints(&log));
    for id in ["differences-0", "gap-cdf", "train-lengths"] {
        let start = document.find(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("no {id} in the page"));
        assert!(document[start..].contains("main-svg"), "{id} is empty");
    }
}

#[test]
fn a_broken_page_would_be_noticed() {
    if !has_program("chromium", "chromium") {
        return;
    }
    let page = render_html(&common::input()).replace("Plotly.newPlot(\"drops\"", "Plotly.noSuchThing(\"drops\"");
    let (_, log) = load(&page);
    assert!(!complaints(&log).is_empty(), "{log}");
}

#[test]
fn the_page_needs_no_network() {
    let page = render_html(&common::input());
    // The library's code holds addresses as text; what would be fetched stands in attributes of the page's own markup.
    let start = page.find("<script").unwrap();
    let end = page.find("</script>").unwrap();
    let markup = format!("{}{}", &page[..start], &page[end..]);
    for attribute in ["src=\"", "href=\"http", "url(http", "@import", "src='"] {
        assert!(!markup.contains(attribute), "the page fetches something: {attribute}");
    }
}
