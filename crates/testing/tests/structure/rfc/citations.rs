//! Rules of RFCs that a text cites.

use std::{cmp::Ordering, fmt};

/// A place in an RFC, such as `8.1`, `A.3` or `table 5`; empty for the RFC as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section(String);

impl Section {
    /// Whether no part of the RFC is named.
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// The RFC as a whole, then sections in their order, then appendices, then tables and figures.
    fn key(&self) -> (u8, Vec<(u32, &str)>) {
        let rank = match self.0.chars().next() {
            None => 0,
            Some(first) if first.is_ascii_digit() => 1,
            Some(first) if first.is_ascii_uppercase() => 2,
            Some(_) => 3,
        };
        (rank, self.0.split(['.', ' ']).map(|part| (part.parse().unwrap_or(0), part)).collect())
    }
}

impl Ord for Section {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Section {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.chars().next() {
            None => f.write_str("as a whole"),
            Some(first) if first.is_ascii_uppercase() => write!(f, "appendix {}", self.0),
            Some(_) => f.write_str(&self.0),
        }
    }
}

/// A rule that is cited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Citation {
    /// The line of the text, from 0.
    pub line: usize,
    pub rfc: u32,
    pub section: Section,
}

/// All citations, in the order of the text: `RFC 9000 section 8.1`, `RFC 9000, sections 5.2 and 5.3`, `RFC 9002, 5.3`,
/// `rfc_9001_appendix_a_4` in a name, and `rfc9000#section-17.2` in an address.
pub fn citations(text: &str) -> Vec<Citation> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(['R', 'r']) {
        let is_inside = text[..at].ends_with(|before: char| before.is_ascii_alphanumeric());
        let rest = &text[at..];
        let read = if let Some(rest) = rest.strip_prefix("RFC") {
            words(rest)
        } else if let Some(rest) = rest.strip_prefix("rfc") {
            name(rest)
        } else {
            None
        };
        let Some((rfc, sections)) = read.filter(|_| !is_inside) else { continue };
        let line = text[..at].matches('\n').count();
        found.extend(sections.into_iter().map(|section| Citation { line, rfc, section: Section(section) }));
    }
    found
}

/// What stands behind `RFC`, in words.
fn words(rest: &str) -> Option<(u32, Vec<String>)> {
    let mut cursor = Cursor { rest };
    cursor.blank();
    let rfc = cursor.number()?;
    let mut sections = Vec::new();
    let has_comma = cursor.take(",");
    cursor.blank();
    cursor.take("(");
    let mut kind = cursor.kind();
    if kind.is_none() && has_comma {
        // `RFC 9002, 5.3`.
        sections.extend(cursor.place().filter(|place| place.contains('.')));
    }
    while let Some(known) = kind {
        cursor.blank();
        let Some(place) = cursor.place() else { break };
        sections.push(if known.is_section { place } else { format!("{} {place}", known.name) });
        // More of the kind, or another kind.
        let comma = cursor.take(",");
        cursor.blank();
        let and = cursor.take("and") || cursor.take("to");
        cursor.blank();
        if !(comma || and) {
            break;
        }
        let another = cursor.kind();
        if another.is_some_and(|another| another.is_section) {
            kind = another;
            continue;
        }
        let mut ahead = cursor;
        let is_more = ahead.place().is_some_and(|place| {
            place.contains('.') || known.is_plural || and && !ahead.rest.starts_with([' ', '\u{a0}', '-', '%'])
        });
        if !(is_more && known.is_section) {
            break;
        }
    }
    if sections.is_empty() {
        sections.push(String::new());
    }
    Some((rfc, sections))
}

/// What stands behind `rfc` in a name or an address.
fn name(rest: &str) -> Option<(u32, Vec<String>)> {
    let mut cursor = Cursor { rest };
    let is_name = cursor.take("_");
    let rfc = cursor.number()?;
    let (section, appendix, dot) =
        if is_name { ("_section_", "_appendix_", '_') } else { ("#section-", "#appendix-", '.') };
    let is_cited = cursor.take(section) || cursor.take(appendix);
    let mut parts: Vec<String> = Vec::new();
    for part in cursor.rest.split(dot).take_while(|_| is_cited) {
        let is_letter = parts.is_empty() && part.len() == 1;
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        if !digits.is_empty() {
            let is_last = digits.len() < part.len();
            parts.push(digits);
            if is_last {
                break;
            }
        } else if is_letter {
            parts.push(part.to_uppercase());
        } else {
            break;
        }
    }
    Some((rfc, vec![parts.join(".")]))
}

#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    is_section: bool,
    is_plural: bool,
}

const KINDS: &[Kind] = &[
    Kind { name: "sections", is_section: true, is_plural: true },
    Kind { name: "section", is_section: true, is_plural: false },
    Kind { name: "appendix", is_section: true, is_plural: false },
    Kind { name: "table", is_section: false, is_plural: false },
    Kind { name: "figure", is_section: false, is_plural: false },
    Kind { name: "equations", is_section: false, is_plural: true },
    Kind { name: "equation", is_section: false, is_plural: false },
];

#[derive(Clone, Copy)]
struct Cursor<'a> {
    rest: &'a str,
}

impl Cursor<'_> {
    fn take(&mut self, word: &str) -> bool {
        let rest = self.rest.strip_prefix(word);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Skips spaces, also to the next line of the same comment or text.
    fn blank(&mut self) {
        loop {
            self.rest = self.rest.trim_start_matches(' ');
            let Some((end, next)) = self.rest.split_once('\n') else { return };
            let next = next.trim_start();
            let comment = ["///", "//!", "//"].iter().find_map(|mark| next.strip_prefix(mark));
            self.rest = match (end, comment) {
                ("\\", _) => next,
                ("", Some(next)) => next,
                _ => return,
            };
        }
    }

    fn number(&mut self) -> Option<u32> {
        let end = self.rest.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(self.rest.len());
        let number = self.rest[..end].parse().ok()?;
        self.rest = &self.rest[end..];
        Some(number)
    }

    fn kind(&mut self) -> Option<Kind> {
        KINDS.iter().copied().find(|kind| self.take(kind.name))
    }

    /// Numbers with dots between them; the first may be a capital letter.
    fn place(&mut self) -> Option<String> {
        let mut place = String::new();
        let mut rest = self.rest;
        if let Some(letter) = rest.chars().next().filter(char::is_ascii_uppercase) {
            place.push(letter);
            rest = &rest[1..];
        } else {
            place.push_str(&digits(&mut rest)?);
        }
        while let Some(behind) = rest.strip_prefix('.') {
            let mut behind = behind;
            let Some(more) = digits(&mut behind) else { break };
            place.push('.');
            place.push_str(&more);
            rest = behind;
        }
        if rest.starts_with(char::is_alphanumeric) {
            return None;
        }
        self.rest = rest;
        Some(place)
    }
}

fn digits(rest: &mut &str) -> Option<String> {
    let end = rest.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(rest.len());
    let found = (end > 0).then(|| rest[..end].to_owned())?;
    *rest = &rest[end..];
    Some(found)
}

#[test]
fn every_spelling_of_a_citation_is_found() {
    let cases: &[(&str, &[(u32, &str)])] = &[
        ("RFC 9000 section 13.2.1.", &[(9000, "13.2.1")]),
        ("(RFC 9001, section 5.4.2), where", &[(9001, "5.4.2")]),
        ("RFC 9000 sections 19.12, 19.13), and of", &[(9000, "19.12"), (9000, "19.13")]),
        ("RFC 8033, section 4 and 5).", &[(8033, "4"), (8033, "5")]),
        ("RFC 9000 section 8.1 and 1200 bytes", &[(9000, "8.1")]),
        ("RFC 9000 section 8.1, 1200 bytes", &[(9000, "8.1")]),
        ("RFC 9000, section 17.2.5.2 and 6.2: the", &[(9000, "17.2.5.2"), (9000, "6.2")]),
        ("RFC 9002 section 6.2 and appendix A.", &[(9002, "6.2"), (9002, "appendix A")]),
        ("RFC 9001 appendix A.4; RFC 9369 appendix A.4.", &[(9001, "appendix A.4"), (9369, "appendix A.4")]),
        ("RFC 9002 (sections 5 and 6.2.1) says", &[(9002, "5"), (9002, "6.2.1")]),
        ("RFC 5280, 4.1.2.2).", &[(5280, "4.1.2.2")]),
        ("RFC 9000 table 5; RFC 9369 section 3.2.", &[(9000, "table 5"), (9369, "3.2")]),
        ("RFC 9000 section 18.2, figure 22.", &[(9000, "18.2")]),
        ("RFC 9000 has 17.", &[(9000, "as a whole")]),
        ("RFC 792), of", &[(792, "as a whole")]),
        ("RFC 9001 section\n    /// 5.4.2.", &[(9001, "5.4.2")]),
        ("RFC\n    /// 9002 section 5.3", &[(9002, "5.3")]),
        ("(RFC 9000, section \\\n     8.1)", &[(9000, "8.1")]),
        ("RFC 9000\nfn section()", &[(9000, "as a whole")]),
        ("fn retry_of_rfc_9001_appendix_a_4_is_a_retry()", &[(9001, "appendix A.4")]),
        ("fn smoothing_is_that_of_rfc_9002_after()", &[(9002, "as a whole")]),
        ("fn limit_of_rfc_9000_section_8_1_holds()", &[(9000, "8.1")]),
        ("<https://www.rfc-editor.org/rfc/rfc9000#section-17.2>", &[(9000, "17.2")]),
        ("fn rfc() { Rfc::default() }", &[]),
    ];
    for (text, expected) in cases {
        let found: Vec<_> = citations(text).into_iter().map(|found| (found.rfc, found.section.to_string())).collect();
        let expected: Vec<_> = expected.iter().map(|(rfc, section)| (*rfc, (*section).to_owned())).collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn sections_are_in_the_order_of_the_rfc() {
    let mut sections = ["table 5", "A.11", "10.2", "A.3", "9.3", "", "9"].map(|text| Section(text.to_owned()));
    sections.sort();
    assert_eq!(sections.map(|section| section.0), ["", "9", "9.3", "10.2", "A.3", "A.11", "table 5"]);
}
