//! The page in a real browser: every picture is drawn, nothing is fetched, nothing is complained about.

use crate::common;
use std::{
    fs,
    process::{Command, Output},
};

use quiclab_report::{Comparison, Question, render_comparison_html, render_html, settings_key};
use quiclab_testing::has_program;

/// Complains about every text of a picture that is outside of it, or on another one.
const LOOK_AT_TEXTS: &str = "<script>
  document.querySelectorAll('svg.plot').forEach((svg) => {
    const box = svg.getBoundingClientRect();
    const shrunk = (text) => { const own = text.getBoundingClientRect(); return { text: text.textContent, left: own.left + 1,
      right: own.right - 1, top: own.top + 3, bottom: own.bottom - 3, slanted: /rotate\\(-35/.test(text.getAttribute('transform')) }; };
    const texts = [...svg.querySelectorAll('text')].map(shrunk);
    if (texts.length < 4 || box.width < 300) console.error(svg.id + ' has no axes');
    texts.forEach((one, place) => {
      if (one.left < box.left || one.right > box.right || one.top < box.top || one.bottom > box.bottom)
        console.error(svg.id + ': outside: ' + one.text);
      texts.slice(place + 1).forEach((other) => {
        const apart = one.right < other.left || other.right < one.left || one.bottom < other.top || other.bottom < one.top;
        if (!apart && !(one.slanted && other.slanted)) console.error(svg.id + ': ' + one.text + ' is on ' + other.text);
      });
    });
  });
</script>";

/// The page, with a look at the texts of its pictures.
fn looked_at(page: &str) -> String {
    page.replace("</body>", &format!("{LOOK_AT_TEXTS}</body>"))
}

/// Loads the page in a headless Chromium. Returns its document after all scripts have run, and its log.
pub fn load(page: &str) -> (String, String) {
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

pub fn complaints(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.contains("CONSOLE")).collect()
}

#[test]
fn every_picture_is_drawn_and_its_texts_are_apart() {
    if !has_program("chromium", "chromium") {
        return;
    }
    let (document, log) = load(&looked_at(&render_html(&common::input())));
    assert!(complaints(&log).is_empty(), "{:?}", complaints(&log));
    for id in ["gap-cdf", "train-lengths", "train-counts", "goodput", "drops", "packet-time"] {
        assert!(document.contains(&format!("<svg class=\"plot\" id=\"{id}\"")), "no {id} in the page");
    }
}

/// The page of a comparison of two sides that differ in goodput.
pub fn comparison_page() -> String {
    let [one, other] = [36e6, 30e6].map(|goodput| common::side(&[goodput, goodput + 1e5, goodput + 3e5], &[]));
    let question = Question {
        names: ["main".to_owned(), "pr".to_owned()],
        conditions: Vec::new(),
        metrics: Vec::new(),
        alpha: 0.05,
        not_judged: Default::default(),
        command: String::new(),
    };
    let comparison = Comparison::of(&one, &other, [&settings_key, &settings_key], &question).unwrap();
    render_comparison_html(&comparison, Some(([&one, &other], [&settings_key, &settings_key])))
}

#[test]
fn the_page_of_a_comparison_draws_its_pictures() {
    if !has_program("chromium", "chromium") {
        return;
    }
    let (document, log) = load(&looked_at(&comparison_page()));
    assert!(complaints(&log).is_empty(), "{:?}", complaints(&log));
    for id in ["differences-0", "gap-cdf", "train-lengths"] {
        assert!(document.contains(&format!("<svg class=\"plot\" id=\"{id}\"")), "no {id} in the page");
    }
}

#[test]
fn a_label_outside_of_its_picture_would_be_noticed() {
    if !has_program("chromium", "chromium") {
        return;
    }
    let page = render_html(&common::input());
    let label = page.find(">dropped packets</text>").unwrap();
    let path_summary = format!(" dy=\"-200\"{}", &page[label..]);
    let (_, log) = load(&looked_at(&format!("{}{path_summary}", &page[..label])));
    assert!(complaints(&log).iter().any(|line| line.contains("drops: outside: dropped packets")), "{log}");
}

#[test]
fn the_page_needs_no_network_and_no_script() {
    let page = render_html(&common::input());
    for part in ["src=\"", "href=\"http", "url(http", "@import", "src='", "<script"] {
        assert!(!page.contains(part), "{part} in {page}");
    }
    assert!(page.len() < 100_000, "{} bytes", page.len());
}
