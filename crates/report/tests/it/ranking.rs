//! Senders side by side, and what was published of others.

use crate::common::input;
use quiclab_experiment::Published;
use quiclab_report::{render_html, render_json, render_markdown, render_terminal};

#[test]
fn senders_are_ranked_by_the_mean_of_their_places_where_the_experiment_asks_for_it() {
    let mut input = input();
    assert!(!render_markdown(&input).contains("Ranking"));
    input.ranking = true;
    let markdown = render_markdown(&input);
    let rows: Vec<_> = markdown
        .lines()
        .skip_while(|line| !line.starts_with("Ranking: "))
        .skip(4)
        .take_while(|line| line.starts_with('|'))
        .collect();
    assert_eq!(rows.len(), 3, "{markdown}");
    // Drops are 10 times the number of the repetition: 15 on average with two, 10 with one. Nobody has bursts or RTTs, so all are last there.
    assert!(rows[0].contains("off") && rows[0].contains("| 10.0 (1) | 30.00 (2) |"), "{}", rows[0]);
    assert!(rows[1].contains("on") && rows[1].contains("| 15.0 (3) | 35.00 (1) |"), "{}", rows[1]);
    assert!(rows[2].starts_with("| other") && rows[2].contains("| 10.0 (1) | \u{2013} |"), "{}", rows[2]);
    assert!(render_html(&input).contains("mean place"));
}

#[test]
fn what_was_published_of_something_that_was_not_run_stands_by_itself_if_it_has_a_name() {
    let mut input = input();
    let nobody = Published {
        name: Some("somebody else".to_owned()),
        matches: [("stack.name".to_owned(), "nobody".to_owned())].into(),
        values: [("drops_packets".to_owned(), 861.0)].into(),
        curves: [("gaps_us".to_owned(), vec![(10.0, 0.25), (100.0, 1.0)])].into(),
        source: Some("a paper".to_owned()),
    };
    input.published.push(Published { name: None, ..nobody.clone() });
    assert!(!render_terminal(&input, None).contains("not run here"));
    input.published.push(nobody);
    let name = "somebody else, published, not run here";
    for text in [render_terminal(&input, None), render_markdown(&input), render_html(&input)] {
        assert!(text.contains(name) && text.contains("861"), "{text}");
    }
    assert!(render_json(&input).contains("somebody else"));
}
