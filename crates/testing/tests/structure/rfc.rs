//! docs/reference/rfc-coverage.md: which rules of RFCs the code cites, and which tests cite them.

mod citations;
mod items;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use quiclab_testing::files::repository;

use crate::source::{Text, texts};
use citations::{Section, citations};
use items::place;

const PAGE: &str = "docs/reference/rfc-coverage.md";
const UPDATE: &str = "UPDATE=1 cargo test -p quiclab-testing --test structure rfc";
const BEGIN: &str = "<!-- citations: generated; UPDATE=1 cargo test -p quiclab-testing --test structure rfc -->\n";
const END: &str = "<!-- end -->";

/// What RFCs are about. One that is not listed stands on the page with its number alone.
const SUBJECTS: &[(u32, &str)] = &[
    (768, "UDP"),
    (791, "IPv4"),
    (792, "ICMP"),
    (1035, "DNS"),
    (1071, "the Internet checksum"),
    (1624, "updates of the Internet checksum"),
    (1951, "DEFLATE"),
    (2018, "TCP: selective acknowledgments"),
    (3168, "ECN"),
    (3550, "RTP"),
    (4271, "BGP"),
    (4443, "ICMPv6"),
    (5246, "TLS 1.2"),
    (5280, "X.509 certificates"),
    (5681, "TCP: congestion control"),
    (5905, "NTP"),
    (6066, "TLS: extensions"),
    (6298, "TCP: retransmission timer"),
    (6396, "MRT"),
    (6582, "TCP: NewReno"),
    (6675, "TCP: recovery by selective acknowledgments"),
    (7301, "TLS: ALPN"),
    (7323, "TCP: timestamps and window scale"),
    (7541, "HPACK"),
    (8033, "PIE"),
    (8200, "IPv6"),
    (8289, "CoDel"),
    (8290, "FQ-CoDel"),
    (8446, "TLS 1.3"),
    (8701, "TLS: GREASE"),
    (8879, "TLS: certificate compression"),
    (8985, "TCP: RACK-TLP"),
    (8999, "QUIC: what all versions share"),
    (9000, "QUIC"),
    (9001, "QUIC: TLS"),
    (9002, "QUIC: loss detection and congestion control"),
    (9110, "HTTP: semantics"),
    (9114, "HTTP/3"),
    (9204, "QPACK"),
    (9221, "QUIC: DATAGRAM frames"),
    (9287, "QUIC: greasing the fixed bit"),
    (9293, "TCP"),
    (9368, "QUIC: compatible version negotiation"),
    (9369, "QUIC version 2"),
    (9406, "HyStart++"),
    (9438, "CUBIC"),
    (9460, "DNS: SVCB and HTTPS records"),
];

/// Names of items by the files in which they cite a rule.
type Files = BTreeMap<String, BTreeSet<String>>;

#[derive(Default)]
struct Cited {
    by_code: Files,
    by_tests: Files,
}

/// Modules in files of their own that are declared for tests only, such as `crates/wire/src/quic/tests`.
fn modules_for_tests(texts: &[Text]) -> Vec<PathBuf> {
    let mut modules = Vec::new();
    for Text { path, text } in texts {
        let is_root = ["mod", "lib", "main"].iter().any(|stem| path.file_stem().is_some_and(|found| found == *stem));
        let folder = if is_root { path.parent().unwrap().to_owned() } else { path.with_extension("") };
        let declared = text.split("#[cfg(test)]").skip(1).filter_map(|rest| {
            let (name, _) = rest.trim_start().strip_prefix("mod ")?.split_once(';')?;
            name.chars().all(|sign| sign.is_alphanumeric() || sign == '_').then_some(name)
        });
        modules.extend(declared.map(|name| folder.join(name)));
    }
    modules
}

/// What is cited: sections by RFC.
fn cited() -> BTreeMap<u32, BTreeMap<Section, Cited>> {
    let mut rfcs = BTreeMap::<u32, BTreeMap<Section, Cited>>::new();
    // Here are only examples of citations.
    let here = Path::new(file!()).parent().unwrap();
    let texts = texts(true);
    let for_tests = modules_for_tests(&texts);
    for source in texts.iter().filter(|source| !source.path.starts_with(here)) {
        let module = source.path.with_extension("");
        let is_for_tests = for_tests.iter().any(|folder| module.starts_with(folder));
        let lines: Vec<_> = source.text.lines().collect();
        for citation in citations(&source.text) {
            let place = place(&source.path, &lines, citation.line);
            let cited = rfcs.entry(citation.rfc).or_default().entry(citation.section).or_default();
            let files = if place.is_test || is_for_tests { &mut cited.by_tests } else { &mut cited.by_code };
            files.entry(source.path.display().to_string()).or_default().extend(place.item);
        }
    }
    rfcs
}

/// A cell of a table: files as links, with the items in them.
fn cell(files: &Files) -> String {
    let file = |(path, items): (&String, &BTreeSet<String>)| {
        let short = path.strip_prefix("crates/").unwrap_or(path);
        let items: Vec<_> = items.iter().map(|item| format!("`{item}`")).collect();
        let items = if items.is_empty() { String::new() } else { format!(": {}", items.join(", ")) };
        format!("[{short}](../../{path}){items}")
    };
    files.iter().map(file).collect::<Vec<_>>().join("; ")
}

/// The cells behind the name of what is cited.
fn cells(Cited { by_code, by_tests }: &Cited) -> String {
    let by_code = if by_code.is_empty() { "no code cites it".to_owned() } else { cell(by_code) };
    let by_tests = if by_tests.is_empty() { "no test cites it".to_owned() } else { cell(by_tests) };
    format!("{by_code} | {by_tests} |")
}

/// Tables of the RFCs of which sections are cited, and one of all others.
fn tables() -> String {
    let rfcs = cited();
    assert!(rfcs.len() > 40, "{} RFCs: is the search for citations broken?", rfcs.len());
    let (mut text, mut others) = (String::new(), String::new());
    for (rfc, sections) in rfcs {
        let subject = SUBJECTS.iter().find(|(number, _)| *number == rfc).map(|(_, subject)| format!(": {subject}"));
        let title = format!("RFC {rfc}{}", subject.unwrap_or_default());
        if sections.keys().all(Section::is_everything) {
            others.extend(sections.values().map(|cited| format!("| {title} | {}\n", cells(cited))));
            continue;
        }
        let _ = write!(text, "\n## {title}\n\n| section | cited by code | cited by tests |\n|---|---|---|\n");
        for (section, cited) in &sections {
            let _ = writeln!(text, "| {section} | {}", cells(cited));
        }
    }
    let _ = write!(
        text,
        "\n## Cited without a section\n\n| RFC | cited by code | cited by tests |\n|---|---|---|\n{others}"
    );
    text
}

/// Compares the page with the sources. With `UPDATE=1` in the environment the page is written instead.
#[test]
fn the_page_of_rfcs_is_that_of_the_sources() {
    let file = repository().join(PAGE);
    let page = fs::read_to_string(&file).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap_or_else(|| panic!("{PAGE}: missing {BEGIN}"));
    let (_, after) = rest.split_once(END).unwrap_or_else(|| panic!("{PAGE}: missing {END}"));
    let generated = format!("{before}{BEGIN}{}\n{END}{after}", tables());
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, generated).unwrap();
        return;
    }
    let differs = page.lines().zip(generated.lines()).position(|(found, expected)| found != expected);
    assert!(
        page == generated,
        "{PAGE} differs from what the sources cite, first in line {}. To regenerate it:\n    {UPDATE}",
        differs.unwrap_or(page.lines().count().min(generated.lines().count())) + 1
    );
}
