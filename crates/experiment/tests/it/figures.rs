//! `[[figure]]` and `[labels]` of scenario files: what they say, and what is wrong with them.

use quiclab_experiment::{
    Compared,
    scenario::{Compare, FigureKind, FigureSpec, Scenario},
};

const HEAD: &str = "name = \"x\"\ntitle = \"X\"\n[flows]\n";

fn parse(lines: &str) -> Result<Scenario, String> {
    Scenario::parse("x.toml", &format!("{HEAD}{lines}"), None).map_err(|error| error.to_string())
}

/// The only figure, with these lines after its title.
fn figure(lines: &str) -> Result<FigureSpec, String> {
    parse(&format!("[[figure]]\ntitle = \"T\"\n{lines}")).map(|scenario| scenario.common.figures[0].clone())
}

fn refused(lines: &str) -> String {
    figure(lines).expect_err(lines)
}

#[test]
fn a_figure_is_curves_over_time_unless_it_says_otherwise() {
    let found = figure("y = \"goodput_bps\"\n").unwrap();
    assert_eq!(found, FigureSpec::over_time("T".to_owned(), vec!["goodput_bps".to_owned()]));
}

#[test]
fn a_figure_says_all_that_it_can() {
    let found = figure(
        "kind = \"grid\"\nx = \"bottleneck.rate\"\nby = \"bottleneck.buffer_bdp\"\ny = \"goodput_bps\"\ncaption = \"C\"\n\
         x_label = \"rate\"\ny_label = \"lead\"\ny_range = [-1, 2.5]\n\
         compare = { setting = \"flows.pacing\", of = \"rtt\", with = \"off\", as = \"difference\" }\n",
    )
    .unwrap();
    assert_eq!((found.kind, found.by.as_deref()), (FigureKind::Grid, Some("bottleneck.buffer_bdp")));
    assert_eq!((found.y_range, found.caption.as_deref()), (Some((-1.0, 2.5)), Some("C")));
    assert_eq!((found.x_label.as_deref(), found.y_label.as_deref()), (Some("rate"), Some("lead")));
    let [setting, of, with] = ["flows.pacing", "rtt", "off"].map(str::to_owned);
    assert_eq!(found.compare, Some(Compare { setting, of, with, how: Compared::Difference }));
    // What is stored with the results is the same.
    let text = toml::to_string(&found).unwrap();
    assert_eq!(toml::from_str::<FigureSpec>(&text).unwrap(), found);
}

#[test]
fn values_that_are_compared_are_written_as_runs_have_them() {
    let compare = |setting: &str, of: &str, with: &str| {
        let line = format!("compare = {{ setting = {setting:?}, of = {of}, with = {with}, as = \"ratio\" }}\n");
        figure(&format!("x = \"flows.rtt\"\ny = \"goodput_bps\"\n{line}")).unwrap().compare.unwrap()
    };
    let found = compare("bottleneck.rate", "\"1000 kbit/s\"", "\"2 Mbit/s\"");
    assert_eq!((found.of.as_str(), found.with.as_str()), ("1 Mbit/s", "2 Mbit/s"));
    let found = compare("bottleneck.buffer_bdp", "1.0", "0.25");
    assert_eq!((found.of.as_str(), found.with.as_str()), ("1", "0.25"));
}

#[test]
fn groups_in_one_run_are_compared_by_their_names() {
    let lines = "y = \"goodput_bps\"\ncompare = { setting = \"groups\", of = \"a\", with = \"b\", as = \"ratio\" }\n";
    assert_eq!(figure(lines).unwrap().names(), ["goodput_bps.a", "goodput_bps.b"]);
}

#[test]
fn two_units_on_one_axis_are_refused() {
    let error = refused("y = [\"goodput_bps\", \"goodput_bps.a\", \"queue_packets\"]\n");
    assert_eq!(
        error,
        "x.toml:6:5: figure.y: found \"goodput_bps\" (Mbit/s) and \"queue_packets\" (packets), expected metrics with \
         the same unit on one axis\nhint: write a [[figure]] for each"
    );
    assert!(refused("x = \"flows.rtt\"\ny = [\"timeouts.a\", \"fairness\"]\n").contains("(a count)"));
    assert!(figure("x = \"flows.rtt\"\ny = [\"utilisation\", \"fairness\"]\n").is_ok());
    // Ratios have no unit.
    let ratio = "compare = { setting = \"flows.pacing\", of = \"rtt\", with = \"off\", as = \"ratio\" }\n";
    assert!(figure(&format!("y = [\"goodput_bps\", \"queue_packets\"]\n{ratio}")).is_ok());
}

#[test]
fn what_cannot_be_drawn_is_refused_where_it_stands() {
    for (lines, expected) in [
        (
            "y = \"a\"\nz = 1\n",
            "x.toml:7:1: figure.z: found a key that does not exist\nhint: a table has title, caption",
        ),
        ("", "x.toml:4:1: figure.y: missing; expected the name of a metric, or a list of them"),
        ("y = 3\n", "x.toml:6:5: figure.y: found 3, expected the name of a metric, or a list of them"),
        (
            "x = \"flows.rt\"\ny = \"a\"\n",
            "x.toml:6:5: figure.x: found \"flows.rt\", expected \"time\" or the key of a setting",
        ),
        (
            "x = \"flows.rtt\"\ny = \"goodput_bps\"\ncumulative = true\n",
            "x.toml:8:14: figure.cumulative: found true without x",
        ),
        (
            "y = \"fairness\"\ncumulative = true\n",
            "x.toml:7:14: figure.cumulative: found true with \"fairness\", which is",
        ),
        ("kind = \"pie\"\ny = \"a\"\n", "x.toml:6:8: figure.kind: found \"pie\", expected \"curves\" or \"grid\""),
        ("kind = \"grid\"\nx = \"flows.rtt\"\ny = \"a\"\n", "x.toml:4:1: figure.by: missing; a grid needs the key"),
        ("kind = \"grid\"\nby = \"flows.rtt\"\ny = \"a\"\n", "x.toml:4:1: figure.x: missing or \"time\"; a grid needs"),
        (
            "kind = \"grid\"\nx = \"flows.rtt\"\nby = \"flows.rtt\"\ny = \"a\"\n",
            "x.toml:8:6: figure.by: found the same setting as in x, expected another one",
        ),
        (
            "kind = \"grid\"\nx = \"flows.rtt\"\nby = \"flows.count\"\ny = [\"a\", \"b\"]\n",
            "x.toml:9:5: figure.y: found several metrics, expected one in a grid",
        ),
        (
            "by = \"flows.rtt\"\ny = \"a\"\n",
            "x.toml:6:6: figure.by: found in a figure of curves; expected kind = \"grid\"",
        ),
        (
            "y = \"a\"\nx_range = [2, 1]\n",
            "x.toml:7:11: figure.x_range: found [2, 1], expected two numbers, the smaller",
        ),
        ("y = \"a\"\nx_range = [1]\n", "figure.x_range: found [1], expected two numbers, the smaller first"),
        (
            "x = \"flows.rtt\"\nlogarithmic = true\ny = \"a\"\nx_range = [0, 1]\n",
            "x.toml:9:11: figure.x_range: found a range that begins at 0 or below",
        ),
        ("y = \"a\"\ny_label = 3\n", "x.toml:7:11: figure.y_label: found 3, expected a string"),
    ] {
        let found = refused(lines);
        assert!(found.contains(expected), "{lines}\nfound    {found}\nexpected {expected}");
    }
}

#[test]
fn a_comparison_names_a_setting_two_of_its_values_and_how() {
    for (compare, expected) in [
        ("{ setting = \"flows.pacing\", of = \"rt\", with = \"off\", as = \"ratio\" }", "flows.pacing: found \"rt\""),
        (
            "{ setting = \"flows.pace\", of = \"rtt\", with = \"off\", as = \"ratio\" }",
            "flows.pace: found a key that does not",
        ),
        (
            "{ setting = \"flows.pacing\", of = \"rtt\", with = \"rtt\", as = \"ratio\" }",
            "found \"rtt\" twice, expected two",
        ),
        (
            "{ setting = \"flows.pacing\", of = \"rtt\", as = \"ratio\" }",
            "figure.compare.with: missing; expected setting",
        ),
        (
            "{ setting = \"flows.pacing\", of = \"rtt\", with = \"off\", as = \"sum\" }",
            "found \"sum\", expected \"difference\" or",
        ),
        ("{ setting = \"flows.pacing\", by = \"rtt\" }", "figure.compare.by: found a key that does not exist"),
        ("3", "figure.compare: found 3, expected a table"),
    ] {
        let found = refused(&format!("y = \"goodput_bps\"\ncompare = {compare}\n"));
        assert!(found.contains(expected), "{compare}\nfound    {found}\nexpected {expected}");
    }
    let own = "x = \"flows.pacing\"\ny = \"goodput_bps\"\n\
               compare = { setting = \"flows.pacing\", of = \"rtt\", with = \"off\", as = \"ratio\" }\n";
    assert!(refused(own).contains("figure.compare: found the setting of an axis, expected another one"));
}

#[test]
fn labels_name_settings_values_and_groups() {
    let scenario = parse(
        "[labels.\"flows.pacing\"]\nname = \"kind\"\noff = \"Reno\"\n[labels.\"bottleneck.buffer_bdp\"]\n\"1.0\" = \"large\"\n\
         [labels.\"bottleneck.rate\"]\n\"1000 kbit/s\" = \"slow\"\n[labels.groups]\nplain = \"Plain flows\"\n",
    )
    .unwrap();
    let labels = &scenario.labels;
    assert_eq!(labels.setting("flows.pacing"), "kind");
    assert_eq!(labels.phrase("flows.pacing", "off"), "Reno");
    // As runs have them.
    assert_eq!(labels.phrase("bottleneck.buffer_bdp", "1"), "large");
    assert_eq!(labels.phrase("bottleneck.rate", "1 Mbit/s"), "slow");
    assert_eq!((labels.group("plain"), labels.group("paced")), ("Plain flows", "paced"));
}

#[test]
fn labels_of_what_does_not_exist_are_refused() {
    for (lines, expected) in [
        (
            "[labels.\"flows.pace\"]\noff = \"x\"\n",
            "labels.flows.pace: found a key that does not exist\nhint: a table of labels",
        ),
        (
            "[labels.\"flows.pacing\"]\nno = \"x\"\n",
            "x.toml:5:1: labels.flows.pacing.no: found a value that flows.pacing cannot have",
        ),
        ("[labels.\"flows.pacing\"]\noff = 3\n", "labels.flows.pacing: found 3, expected a string"),
        ("[labels]\ngroups = 3\n", "labels.groups: found 3, expected a table"),
    ] {
        let found = parse(lines).expect_err(lines);
        assert!(found.contains(expected), "{lines}\nfound    {found}\nexpected {expected}");
    }
}
