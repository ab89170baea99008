//! Colours of every kind of page, light and dark: each is one of the page's variables, and can be read on its ground.

use std::collections::{BTreeMap, BTreeSet};

use quiclab_report::{
    Ladder, LadderConnection, LadderDatagram, LadderMark, LadderMarkKind, LadderTaps, render_html, render_interop_html,
    render_ladder_html, render_look_html, render_run_html,
};
use quiclab_wire::Role;

use crate::{browser, common, interop, look_page, run_page};

/// A page of each kind, with its name.
pub fn pages() -> Vec<(&'static str, String)> {
    vec![
        ("report", render_html(&common::input())),
        ("comparison", browser::comparison_page()),
        ("run", render_run_html(&run_page::page())),
        ("look", render_look_html(&[look_page::transfer("one")])),
        ("interop", render_interop_html(&interop::matrix())),
        ("ladder", render_ladder_html(&ladder())),
    ]
}

/// A handshake with a mark of every kind, and one datagram that was lost.
fn ladder() -> Ladder {
    let datagram = |sender, at_ms: u64, arrived: Option<u64>| LadderDatagram {
        sender,
        sent_ns: at_ms * 1_000_000,
        arrived_ns: arrived.map(|it| it * 1_000_000),
        dropped_by: Some("to_client.loss (flight 1)".to_owned()),
        bytes: 1200,
        packets: vec!["Initial 0: CRYPTO 0+90".to_owned(), "Handshake 0: ".to_owned() + &"CRYPTO 90+649, ".repeat(12)],
        steps: vec!["ServerHello"],
    };
    let kinds = [
        LadderMarkKind::Sample,
        LadderMarkKind::Timeout,
        LadderMarkKind::LoggedTimeout,
        LadderMarkKind::Probe,
        LadderMarkKind::Blocked,
    ];
    let mark = |(place, kind): (usize, LadderMarkKind)| LadderMark {
        side: [Role::Client, Role::Server][place % 2],
        time_ns: (30 + place as u64 * 20) * 1_000_000,
        until_ns: (kind == LadderMarkKind::Blocked).then_some(150_000_000),
        kind,
        words: "first sample 45.546 ms, so the probe timeout is 136.639 ms".to_owned(),
    };
    let connection = LadderConnection {
        name: "193.167.0.100:57157 to 193.167.100.100:443".to_owned(),
        datagrams: vec![
            datagram(Role::Client, 0, Some(10)),
            datagram(Role::Server, 11, None),
            datagram(Role::Server, 13, Some(23)),
        ],
        marks: kinds.into_iter().enumerate().map(mark).collect(),
        left_out: 3,
        taps: LadderTaps::Two,
    };
    Ladder { title: "ngtcp2-01-255b98b0649a7c25".to_owned(), connections: vec![connection], ..Ladder::default() }
}

/// The rules of a page without its palette and without those for colours of pictures.
fn rules(page: &str) -> String {
    let style = page.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
    let mut rest = style.to_owned();
    while let Some(start) = rest.find(":root {") {
        let end = start + rest[start..].find('}').unwrap();
        rest.replace_range(start..=end, "");
    }
    rest.lines().filter(|line| !line.trim_start().starts_with(".plot [")).collect::<Vec<_>>().join("\n")
}

/// Every `#RGB` and `#RRGGBB` of a text.
fn literals(text: &str) -> BTreeSet<&str> {
    let length = |rest: &str| rest.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(rest.len());
    let all = text.match_indices('#').map(|(place, _)| &text[place + 1..place + 1 + length(&text[place + 1..])]);
    all.filter(|word| [3, 6].contains(&word.len()) && word.chars().all(|it| it.is_ascii_hexdigit())).collect()
}

/// The variables of the light and of the dark palette.
fn palettes(page: &str) -> [BTreeMap<&str, &str>; 2] {
    let blocks: Vec<_> = page.split(":root {").skip(1).map(|part| part.split('}').next().unwrap()).collect();
    let [light, dark] = blocks[..] else { panic!("{} palettes", blocks.len()) };
    [light, dark].map(|block| {
        block
            .split(';')
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.trim(), value.trim()))
            .filter(|(name, _)| name.starts_with("--"))
            .collect()
    })
}

/// The contrast of two colours, from 1 to 21 (WCAG 2.1, relative luminance).
fn contrast(one: &str, other: &str) -> f64 {
    let luminance = |colour: &str| {
        let channel = |from: usize| {
            let value = f64::from(u8::from_str_radix(&colour[from..from + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    };
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn every_colour_of_a_page_is_a_variable_with_a_dark_value() {
    for (name, page) in pages() {
        assert_eq!(literals(&rules(&page)), BTreeSet::new(), "colours of the page {name} that no palette has");
        let [light, dark] = palettes(&page);
        assert!(light.keys().eq(dark.keys()), "{name}: {light:?} {dark:?}");
        for used in rules(&page).split("var(").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            assert!(light.contains_key(used), "{name}: no {used}");
        }
    }
}

#[test]
fn words_can_be_read_on_every_ground_in_both_schemes() {
    let (_, page) = &pages()[0];
    for palette in palettes(page) {
        for ground in ["--paper", "--panel", "--head", "--mark-panel", "--warning-panel", "--failure-panel"] {
            for words in ["--ink", "--faint", "--mark", "--good", "--unsure", "--bad"] {
                let found = contrast(palette[words], palette[ground]);
                assert!(found >= 4.5, "{words} {} on {ground} {}: {found}", palette[words], palette[ground]);
            }
        }
        assert!(contrast(palette["--good"], palette["--good-panel"]) >= 4.5);
    }
}

#[test]
fn every_colour_of_a_picture_is_seen_on_a_dark_page() {
    for (name, page) in pages() {
        let paper = palettes(&page)[1]["--paper"];
        let mut seen = 0;
        for picture in page.split("<svg").skip(1).map(|part| part.split("</svg>").next().unwrap()) {
            for element in picture.split('<').filter(|element| !element.contains("class=\"")) {
                for attribute in ["color", "fill", "stroke"] {
                    let Some(value) = element.split(&format!(" {attribute}=\"#")).nth(1) else { continue };
                    let light = format!("#{}", value.split('"').next().unwrap());
                    let rule = format!(".plot [{attribute}=\"{light}\"] {{ {attribute}: ");
                    let dark = page.split(&rule).nth(1).map_or(light.as_str(), |rest| rest.split(';').next().unwrap());
                    let found = contrast(dark, paper);
                    assert!(found >= 3.0, "{name}: {attribute} {light}, on dark pages {dark}: {found} in {element}");
                    seen += 1;
                }
            }
        }
        assert!(seen > 0 || ["look", "interop"].contains(&name), "{name} has no colours");
    }
}
