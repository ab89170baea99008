//! The tables and the JSON, of a report that can be checked by hand.

use crate::common::input;
use quiclab_metrics::Warning;
use quiclab_report::{
    Mover, PathSummary, render_html, render_json, render_markdown, render_markdown_brief, render_terminal,
};

#[test]
fn the_terminal_table_is_the_expected_one() {
    // Goodput of 34 and 36: mean 35, sample standard deviation sqrt(2); drops of 10 and 20: 15 and sqrt(50).
    let expected = include_str!("../terminal.txt");
    let found = render_terminal(&input(), Some(120));
    assert_eq!(found, expected, "\nfound:\n{found}");
    assert!(found.contains("35.00±1.41") && found.contains("15.0±7.1"));
}

#[test]
fn what_the_terminal_shows_fits_eighty_columns() {
    let text = render_terminal(&input(), Some(80));
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "too long: {line}\n{text}");
    }
    for whole in ["35.00", "±1.41", "process,", "published"] {
        assert!(text.contains(whole), "{whole} is broken:\n{text}");
    }
    let piped = render_terminal(&input(), None);
    assert!(
        piped.lines().any(|line| line.chars().count() > 120),
        "a program finds each sentence in one line:\n{piped}"
    );
}

#[test]
fn json_holds_statistics_published_values_and_nulls() {
    let report: serde_json::Value = serde_json::from_str(&render_json(&input())).unwrap();
    assert_eq!(report["schema"], 1);
    let [quiche, quiche_off, other] = &report["groups"].as_array().unwrap()[..] else { panic!("three groups") };
    assert_eq!(quiche["label"], "quiche, gso=on");
    assert_eq!(quiche_off["label"], "quiche, gso=off");
    assert_eq!(other["label"], "other, gso=on");
    let goodput = &quiche["metrics"]["goodput_wire_bps"];
    assert_eq!(goodput["count"], 2);
    assert_eq!(goodput["mean"], 35e6);
    assert!((goodput["standard_deviation"].as_f64().unwrap() - 2f64.sqrt() * 1e6).abs() < 1e-3);
    assert_eq!(quiche["published"]["values"]["goodput_wire_bps"], 35.9e6);
    assert_eq!(quiche_off["published"]["source"], "a row that says less");
    assert!(other["published"].is_null());
    assert!(other["metrics"]["goodput_wire_bps"].is_null(), "what was not measured is null, never 0");
    assert_eq!(quiche_off["metrics"]["goodput_wire_bps"]["standard_deviation"], serde_json::Value::Null);
    assert_eq!(quiche["warnings"][0]["runs"], 1);
    assert_eq!(report["failures"][0]["message"], "the client hung");
    assert_eq!(quiche["runs"][1]["record"], "quiche-02-abc");
}

#[test]
fn markdown_has_a_row_per_group_and_one_per_published_row() {
    let text = render_markdown(&input());
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with("| ")).collect();
    assert_eq!(rows.len(), 1 + 3 + 2, "{text}");
    let columns = rows[0].matches('|').count();
    assert!(rows.iter().all(|row| row.matches('|').count() == columns), "{text}");
}

#[test]
fn equal_inputs_give_equal_bytes() {
    for render in [render_html, render_json, render_markdown] {
        assert!(render(&input()) == render(&input()));
    }
}

#[test]
fn runs_of_different_versions_are_not_mixed_in_silence() {
    let mut mixed = input();
    mixed.runs[1].versions.insert("qemu".to_owned(), "10.0".to_owned());
    let expected = "its runs used different versions of qemu";
    assert!(render_terminal(&mixed, None).contains(expected) && render_html(&mixed).contains(expected));
    assert!(!render_terminal(&input(), None).contains("different versions"));
}

#[test]
fn a_warning_counts_once_per_run() {
    let mut twice = input();
    let warning = twice.runs[0].metrics.warnings[0].clone();
    twice.runs[0].metrics.warnings.push(warning);
    let report: serde_json::Value = serde_json::from_str(&render_json(&twice)).unwrap();
    assert_eq!(report["groups"][0]["warnings"][0]["runs"], 1);
}

#[test]
fn a_rare_warning_stands_before_one_that_most_rows_have() {
    let mut many = input();
    let like = many.runs[3].clone();
    for number in 0..7 {
        let mut row = like.clone();
        row.run.settings.path.queue_limit_packets = 200 + number;
        many.runs.push(row);
    }
    for row in &mut many.runs[3..] {
        let message = format!("row {}", row.run.settings.path.queue_limit_packets);
        row.metrics.warnings = vec![Warning { code: "goodput_process_differs".to_owned(), message }];
    }
    many.runs[9].metrics.warnings.push(Warning { code: "log_cut".to_owned(), message: "rare".to_owned() });
    let terminal = render_terminal(&many, None);
    let place = |text: &str| terminal.find(text).unwrap_or_else(|| panic!("lacks {text:?}:\n{terminal}"));
    assert!(place("rare") < place("(8 of 10 rows have goodput_process_differs; the page has all of them)"));
    assert!(terminal.contains("row 143") && !terminal.contains("row 206"), "one stands for all:\n{terminal}");
    let page = render_html(&many);
    assert!(page.contains("<details>") && page.contains("row 206"), "the page has all of them");
    assert!(render_markdown(&many).contains("row 206"));
}

#[test]
fn what_comes_from_outside_cannot_become_markup() {
    let mut hostile = input();
    let text = "</script><script>alert(1)</script><img src=x onerror=alert(1)>|`";
    hostile.title = text.to_owned();
    hostile.failures[0].message = text.to_owned();
    hostile.runs[0].metrics.warnings[0].message = text.to_owned();
    for row in &mut hostile.runs {
        row.run.settings.stack.name = text.to_owned();
    }
    let page = render_html(&hostile);
    assert!(!page.contains("<script>alert") && !page.contains("<img src=x"));
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    let markdown = render_markdown(&hostile);
    let rows: Vec<_> = markdown.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(rows.iter().all(|row| columns(row) == columns(rows[0])), "{markdown}");
}

#[test]
fn the_client_is_said_where_it_is_not_always_the_same() {
    let said = |input: &quiclab_report::ReportInput| {
        (render_terminal(input, Some(140)), render_html(input), render_markdown(input))
    };
    let mut one_client = input();
    one_client.runs.truncate(3);
    let (terminal, page, markdown) = said(&one_client);
    let heading = |terminal: &str| terminal.lines().find(|line| line.contains(" runs ")).unwrap().to_owned();
    assert!(
        !heading(&terminal).contains("client ")
            && !page.contains("<th>client</th>")
            && !markdown.contains("| client |")
    );
    // Another client than the server's own stack.
    let mut foreign = one_client.clone();
    foreign.runs.iter_mut().for_each(|row| row.run.settings.stack.client = "quic-go".to_owned());
    // Two rows with the clients of two stacks.
    for (input, client) in [(foreign, "quic-go"), (input(), "other")] {
        let (terminal, page, markdown) = said(&input);
        assert!(heading(&terminal).contains(" client ") && terminal.contains(&format!(" {client} ")), "{terminal}");
        assert!(page.contains("<th>client</th>") && page.contains(&format!("<td>{client}</td>")));
        assert!(markdown.contains("| client |") && markdown.contains(&format!("| {client} |")), "{markdown}");
        let report: serde_json::Value = serde_json::from_str(&render_json(&input)).unwrap();
        let last = report["groups"].as_array().unwrap().last().unwrap();
        assert_eq!(last["client"], client);
    }
}

#[test]
fn runs_that_wrote_qlog_say_that_it_changes_them() {
    let mut all = input();
    assert!(!render_terminal(&all, None).contains("qlog"));
    all.runs[3].run.settings.tap.qlog = true;
    let one = render_terminal(&all, None);
    assert!(one.contains("In 1 of 3 rows the endpoints wrote qlog") && one.contains("others: other, "), "{one}");
    all.runs.iter_mut().for_each(|row| row.run.settings.tap.qlog = true);
    for text in [render_terminal(&all, None), render_html(&all), render_markdown(&all), render_json(&all)] {
        assert!(text.contains("That takes time and changes what they send"), "{text}");
    }
    // It changes nothing in the simulator.
    let simulated =
        PathSummary { mover: Mover::Simulator, clocks: vec![], stages: vec![], drops: vec![], drops_not_listed: 0 };
    all.runs[3].path = Some(simulated.clone());
    let others = render_terminal(&all, None);
    assert!(others.contains("In 2 of 3 rows the endpoints wrote qlog"), "{others}");
    all.runs.iter_mut().for_each(|row| row.path = Some(simulated.clone()));
    let none = render_terminal(&all, None);
    assert!(!none.contains("qlog"), "{none}");
}

#[test]
fn the_short_markdown_table_has_five_columns() {
    let text = render_markdown_brief(&input());
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 2 + 3, "{text}");
    assert!(rows.iter().all(|row| row.matches('|').count() == 6), "{text}");
    assert!(
        rows[2].starts_with("| quiche, gso=on (client: quiche) |") && rows[2].ends_with("| 35.00 \u{b1} 1.41 |"),
        "{text}"
    );
    assert!(text.contains("warnings: 1, failed runs: 1"), "{text}");
    assert!(text.contains("\u{1f7e9} quiche, gso=on\n"), "the picture of trains: {text}");
}
