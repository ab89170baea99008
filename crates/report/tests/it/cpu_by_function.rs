//! CPU time by function of both sides, as people see it.

use quiclab_agent_protocol::profile::{FunctionSamples, Profile};
use quiclab_report::{
    Comparison, Question, SeededProfiles, render_comparison_html, render_comparison_markdown,
    render_comparison_terminal, settings_key,
};

use crate::common::side;

const LONG: &str = "<alloc::vec::Vec<T> as core::iter::traits::collect::Extend<T>>::extend_from_a_very_long_slice";

fn compared() -> Comparison {
    let sides = [side(&[36.9e6, 37.0e6, 37.4e6], &[]), side(&[36.9e6, 37.0e6, 37.4e6], &[])];
    let question = Question {
        names: ["main", "pr"].map(str::to_owned),
        conditions: Vec::new(),
        metrics: Vec::new(),
        alpha: 0.05,
        not_judged: Default::default(),
        command: "quiclab ab main pr".to_owned(),
    };
    Comparison::of(&sides[0], &sides[1], [&settings_key, &settings_key], &question).unwrap()
}

/// A function that grew much, nine that grew by one to nine samples, one that stayed, and the kernel.
fn profile(side: usize) -> Profile {
    let of = |program: &str, function: Option<&str>, samples: usize| FunctionSamples {
        program: program.to_owned(),
        function: function.map(str::to_owned),
        samples: samples as u64,
    };
    let mut functions = vec![of("/stack/e", Some(LONG), 100 + 200 * side), of("/stack/e", Some("same|\u{1b}"), 5)];
    functions.extend((1..=9).map(|number| of("/stack/e", Some(&format!("f{number}")), 10 + number * side)));
    functions.push(of("[kernel]", None, 50));
    let samples = functions.iter().map(|one| one.samples).sum();
    Profile { period_ns: 100_000, cpu_ns: samples * 100_000, samples, functions, notes: Vec::new() }
}

fn sampled(side: usize) -> SeededProfiles {
    [1, 2, 3].into_iter().map(|seed| (seed, Ok(profile(side)))).collect()
}

#[test]
fn the_terminal_has_eight_functions_in_eighty_columns_and_all_has_every_one() {
    let mut comparison = compared();
    comparison.attribute_cpu_time(|_, role, side| if role == "server" { sampled(side) } else { Default::default() });
    let lines = render_comparison_terminal(&comparison, Some(80), false);
    assert!(lines.0.iter().all(|(_, line)| line.chars().count() <= 80), "{lines}");
    let text = lines.to_string();
    let table: Vec<_> = text.lines().skip_while(|line| !line.contains("CPU time of the server")).collect();
    let of = |part: &str| table.iter().find(|line| line.contains(part));
    // 245 samples of 0.1 ms, and with 200 + 1 + 2 + ... + 9 more 490.
    assert!(of("total").unwrap().starts_with("  24.50  49.00  +24.50 ("), "{text}");
    let first = of("extend_from_a_very_long_slice").unwrap();
    assert!(first.starts_with("  10.00  30.00  +20.00 (") && first.contains(" * \u{2026}"), "{text}");
    assert!(of(" f3").is_some() && of(" f2").is_none(), "{text}");
    assert!(text.contains("of 4 other functions 2 differ, by less: --all shows what differs"), "{text}");
    assert!(!text.contains("CPU time of the client"), "its runs were not to be sampled");
    let all = render_comparison_terminal(&comparison, Some(80), true).to_string();
    assert!(all.contains(LONG) && all.contains(" f1\n") && all.contains("2 other functions do not differ\n"), "{all}");
}

#[test]
fn markdown_folds_it_and_the_page_has_every_function_that_differs() {
    let mut comparison = compared();
    comparison.attribute_cpu_time(|_, _, side| sampled(side));
    let text = render_comparison_markdown(&comparison);
    assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
    let rows: Vec<_> = text.lines().filter(|line| line.contains("extend\\_from")).collect();
    assert!(rows.len() == 2 && rows[0].ends_with(" | \\* |"), "server and client: {text}");
    assert!(rows[0].starts_with("| \\<alloc::vec"), "{text}");
    let page = render_comparison_html(&comparison, None);
    assert_eq!(page.matches("&lt;alloc::vec::Vec&lt;T&gt;").count(), 2);
    assert_eq!(page.matches(">f1<").count(), 2);
    assert!(!text.contains('\u{1b}') && !page.contains('\u{1b}'), "names of functions are foreign");
}

#[test]
fn a_reason_stands_where_the_functions_would_be() {
    let mut comparison = compared();
    comparison.attribute_cpu_time(|_, _, side| match side {
        0 => sampled(0),
        _ => [(1, Err("server/profile.json: <gone>".to_owned()))].into(),
    });
    let why = "no functions: B: no run has samples that can be used: seed 1: server/profile.json: ";
    let words = render_comparison_terminal(&comparison, None, true).to_string();
    assert!(words.split_whitespace().collect::<Vec<_>>().join(" ").contains(why), "{words}");
    assert!(render_comparison_markdown(&comparison).contains(&format!("{why}\\<gone\\>")));
    assert!(render_comparison_html(&comparison, None).contains(&format!("{why}&lt;gone&gt;")));
    let json: serde_json::Value = serde_json::from_str(&comparison.to_json()).unwrap();
    assert!(json["cpu"][0]["functions"].is_null() && json["cpu"][0]["total"].is_null(), "{}", json["cpu"]);
}

#[test]
fn a_comparison_without_samples_shows_nothing_and_says_so_in_json() {
    let mut comparison = compared();
    let before = render_comparison_terminal(&comparison, None, true).to_string();
    comparison.attribute_cpu_time(|_, _, _| Default::default());
    assert_eq!(render_comparison_terminal(&comparison, None, true).to_string(), before);
    let json: serde_json::Value = serde_json::from_str(&comparison.to_json()).unwrap();
    assert_eq!(json["cpu"][1]["missing"], "no run was sampled; hint: --set tap.profile=true");
}
