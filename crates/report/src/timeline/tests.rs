use super::draw::{self, Content, Curve, Panel};

fn panels() -> Vec<Panel> {
    let point = |time, value: f64| (time, [value, value, value]);
    let points = vec![point(0, 0.0), point(500_000_000, 100.0), (1_000_000_000, [20.0, 60.0, 40.0])];
    let curve = Curve { name: "in flight".to_owned(), colour: "#123456", is_filled: false, points };
    let stretches = vec![(250_000_000, 250_000_000, 1.0), (500_000_000, 750_000_000, 0.5)];
    vec![
        Panel { title: "kB".to_owned(), height: 105.0, content: Content::Curves(vec![curve]) },
        Panel { title: "marks".to_owned(), height: 50.0, content: Content::Marks { colour: "#654321", stretches } },
    ]
}

#[test]
fn values_and_marks_are_at_the_right_places() {
    let svg = draw::svg(&panels(), 1_000_000_000);
    // 1050 wide from 70 on; the first panel is 105 high below 32 and its largest value is 105 (100 and 5 %).
    let middle = draw::LEFT + draw::PLOT_WIDTH / 2.0;
    assert_eq!(middle, 595.0);
    let curve = "M70.0000 137.00V137.00H595.0000V37.00H1120.0000V117.00V77.00V97.00";
    assert!(svg.contains(&format!("<path d=\"{curve}\" fill=\"none\" stroke=\"#123456\"")), "{svg}");
    // The second panel is 50 high below 161: a quarter of the time at full height, then half of the height for a quarter.
    let marks = "M332.5000 211.0V161.0H332.5000V211.0M595.0000 211.0V186.0H857.5000V211.0";
    assert!(svg.contains(&format!("<path d=\"{marks}\"")), "{svg}");
}

#[test]
fn the_time_axis_has_round_ticks_in_seconds() {
    let svg = draw::svg(&panels(), 1_000_000_000);
    assert!(svg.contains("<text x=\"595.00\" y=\"229\" text-anchor=\"middle\">0.5</text>"), "{svg}");
    assert!(svg.contains(">1.0</text>"), "{svg}");
}

#[test]
fn an_empty_run_is_still_a_figure() {
    let svg = draw::svg(&[], 0);
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}
