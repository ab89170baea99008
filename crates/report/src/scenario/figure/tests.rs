use std::collections::BTreeMap;

use quiclab_experiment::{
    Compared,
    scenario::{Compare, TIME},
};

use super::{super::report::ScenarioRow, axis::Across, curves::curves, *};
use crate::plot::{AxisKind, Cells};

/// Runs with these settings, one for each of the values of every metric.
fn rows(settings: &[(&str, &str)], metrics: &[(&str, &[f64])], series: &[(&str, &[f64])]) -> Vec<ScenarioRow> {
    let count = metrics.iter().map(|(_, values)| values.len()).max().unwrap_or(1);
    let row = |place: usize| ScenarioRow {
        folder: format!("run-{place}"),
        id: String::new(),
        repetition: place as u32 + 1,
        seed: place as u64,
        settings: settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        is_whole: true,
        events: 0,
        metrics: metrics.iter().map(|(name, values)| ((*name).to_owned(), values[place])).collect(),
        series: series
            .iter()
            .map(|(name, values)| ((*name).to_owned(), values.iter().map(|value| Some(*value)).collect()))
            .collect(),
    };
    (0..count).map(row).collect()
}

fn group(rows: &[ScenarioRow]) -> Group<'_> {
    Group { label: String::new(), settings: &rows[0].settings, runs: rows.iter().collect() }
}

fn spec(x: &str, y: &[&str]) -> FigureSpec {
    let names = y.iter().map(|name| (*name).to_owned()).collect();
    FigureSpec { x: x.to_owned(), ..FigureSpec::over_time("A title: 50 flows".to_owned(), names) }
}

fn compare(setting: &str, of: &str, with: &str, how: Compared) -> Option<Compare> {
    let [setting, of, with] = [setting, of, with].map(str::to_owned);
    Some(Compare { setting, of, with, how })
}

/// Name, and x, value and spread of each point.
type Drawn = (String, Vec<(f64, Option<f64>, Option<f64>)>);

fn drawn(spec: &FigureSpec, groups: &[Group]) -> Vec<Drawn> {
    let labels = Labels::default();
    let members = members(spec, groups);
    let across = Across::of(spec, &members, &labels);
    let all = curves(spec, &members, &across, &labels).into_iter();
    all.map(|curve| (curve.name, curve.points.iter().map(|one| (one.x, one.value, one.spread)).collect())).collect()
}

/// The map of a grid.
fn cells(figure: &Figure) -> &Cells {
    match &figure.plot.traces[0].content {
        Content::Cells(cells) => cells,
        other => panic!("no cells: {other:?}"),
    }
}

const PACING: [&str; 2] = ["off", "rtt"];
const BUFFERS: [&str; 3] = ["1", "0.25", "2"];

/// Two kinds of pacing at three buffers, two repetitions: of "off" 10 and 12 times the buffer, of "rtt" 20 and 30.
fn matrix() -> Vec<Vec<ScenarioRow>> {
    let mut all = Vec::new();
    for (pacing, goodputs) in PACING.into_iter().zip([[10.0, 12.0], [20.0, 30.0]]) {
        for buffer in BUFFERS {
            let factor: f64 = buffer.parse().unwrap();
            let values = goodputs.map(|value| value * factor * 1e6);
            let settings = [("flows.pacing", pacing), ("bottleneck.buffer_bdp", buffer)];
            all.push(rows(&settings, &[("goodput_bps", &values)], &[]));
        }
    }
    all
}

#[test]
fn points_over_a_setting_are_means_in_ascending_order_with_their_spread() {
    let all = matrix();
    let groups: Vec<_> = all.iter().map(|rows| group(rows)).collect();
    let found = drawn(&spec("bottleneck.buffer_bdp", &["goodput_bps"]), &groups);
    let names: Vec<_> = found.iter().map(|curve| curve.0.as_str()).collect();
    assert_eq!(names, ["not paced", "paced"]);
    let xs: Vec<_> = found[0].1.iter().map(|point| point.0).collect();
    assert_eq!(xs, [0.25, 1.0, 2.0]);
    assert_eq!((found[0].1[1].1, found[0].1[1].2), (Some(11.0), Some(2.0_f64.sqrt())));
}

#[test]
fn a_difference_is_of_runs_with_the_same_seed() {
    let all = matrix();
    let groups: Vec<_> = all.iter().map(|rows| group(rows)).collect();
    let mut spec = spec("bottleneck.buffer_bdp", &["goodput_bps"]);
    spec.compare = compare("flows.pacing", "rtt", "off", Compared::Difference);
    let found = drawn(&spec, &groups);
    // 20 - 10 and 30 - 12: 14 and a spread of 8 / sqrt(2); without pairs the spread would be another.
    assert_eq!(found.len(), 1);
    let (x, value, spread) = found[0].1[1];
    assert_eq!((x, value), (1.0, Some(14.0)));
    assert!((spread.unwrap() - 8.0 / 2.0_f64.sqrt()).abs() < 1e-9, "{spread:?}");
    spec.compare = compare("flows.pacing", "rtt", "off", Compared::Ratio);
    assert_eq!(drawn(&spec, &groups)[0].1[2].1, Some((2.0 + 2.5) / 2.0));
    let figure = &draw(0, &spec, &groups, &Labels::default())[0];
    assert_eq!(figure.plot.y.title, "goodput: paced / not paced");
}

#[test]
fn a_cell_of_a_grid_has_no_colour_where_chance_alone_makes_such_a_difference() {
    // At "1" the sides are far apart, at "2" they overlap.
    let side = |pacing: &str, gain: &str, values: &[f64]| {
        let settings = [("flows.pacing", pacing), ("bottleneck.buffer_bdp", gain), ("flows.rtt", "10 ms")];
        rows(&settings, &[("fairness", values)], &[])
    };
    let all = [
        side("off", "1", &[0.50, 0.51, 0.49]),
        side("rtt", "1", &[0.80, 0.82, 0.81]),
        side("off", "2", &[0.50, 0.60, 0.40]),
        side("rtt", "2", &[0.45, 0.65, 0.52]),
    ];
    let groups: Vec<_> = all.iter().map(|rows| group(rows)).collect();
    let mut spec = spec("bottleneck.buffer_bdp", &["fairness"]);
    spec.kind = FigureKind::Grid;
    spec.by = Some("flows.rtt".to_owned());
    spec.compare = compare("flows.pacing", "rtt", "off", Compared::Ratio);
    let figure = &draw(0, &spec, &groups, &Labels::default())[0];
    let [shown, chance] = &cells(figure).cells[..] else { panic!("two cells: {:?}", figure.plot) };
    assert!((shown.value.unwrap() - 1.62).abs() < 0.01 && chance.value.is_none(), "{shown:?} {chance:?}");
    assert_eq!((&shown.words[..], &chance.words[..]), ("1.62", "(1.09)"));
    assert!(figure.caption.contains("Welch's t-test"), "{}", figure.caption);
}

#[test]
fn groups_of_one_run_are_compared() {
    let all = rows(&[("flows.rtt", "100 ms")], &[("share.a", &[0.6, 0.5]), ("share.b", &[0.3, 0.5])], &[]);
    let mut spec = spec("flows.rtt", &["share"]);
    spec.compare = compare("groups", "a", "b", Compared::Ratio);
    assert_eq!(drawn(&spec, &[group(&all)])[0].1, [(100.0, Some(1.5), Some(0.5_f64.sqrt()))]);
}

#[test]
fn series_begin_at_zero_and_bands_show_their_spread() {
    let settings = [("flows.a.initial_window", "10"), ("flows.a.count", "5")];
    let series: [(&str, &[f64]); 4] = [
        (TIME, &[1.0, 2.0]),
        ("goodput_bps", &[1e6, 3e6]),
        ("window_segments.a", &[20.0, 40.0]),
        ("fairness", &[0.5, 0.9]),
    ];
    let all = rows(&settings, &[], &series);
    let of = |name: &str, is_cumulative: bool| {
        let spec = FigureSpec { cumulative: is_cumulative, ..spec(TIME, &[name]) };
        drawn(&spec, &[group(&all)])[0].1.iter().map(|point| (point.0, point.1.unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(of("goodput_bps", false), [(0.0, 0.0), (1.0, 1.0), (2.0, 3.0)]);
    assert_eq!(of("goodput_bps", true), [(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)]);
    assert_eq!(of("window_segments.a", false), [(0.0, 10.0), (1.0, 20.0), (2.0, 40.0)]);
    // There is no index before anything was delivered; the axis begins at 0 all the same.
    assert_eq!(of("fairness", false), [(1.0, 0.5), (2.0, 0.9)]);
    let figure = &draw(0, &spec(TIME, &["fairness"]), &[group(&all)], &Labels::default())[0];
    assert_eq!(figure.plot.x.kind, AxisKind::Linear { range: Some((0.0, 2.0)) });
    // One run has no band, two that differ have one.
    assert_eq!(figure.plot.traces.len(), 1);
    let mut two = rows(&settings, &[("x", &[0.0, 0.0])], &series);
    two[1].series.insert("fairness".to_owned(), vec![Some(0.7), Some(0.9)]);
    let figure = &draw(0, &spec(TIME, &["fairness"]), &[group(&two)], &Labels::default())[0];
    let [Content::Area(corners), Content::Line(line)] = [0, 1].map(|place| &figure.plot.traces[place].content) else {
        panic!("a band below a line: {:?}", figure.plot)
    };
    assert_eq!((line.points[0].1, corners.len()), (Some(0.6), 4));
    assert!((corners[0].1 - 0.6 - 0.02_f64.sqrt()).abs() < 1e-9, "{corners:?}");
}

#[test]
fn a_logarithmic_axis_has_its_ticks_in_full() {
    let all: Vec<_> = ["2 Mbit/s", "20 Mbit/s", "114 Mbit/s"]
        .map(|rate| rows(&[("bottleneck.rate", rate)], &[("utilisation", &[0.5])], &[]))
        .into();
    let groups: Vec<_> = all.iter().map(|rows| group(rows)).collect();
    let spec = FigureSpec { logarithmic: true, ..spec("bottleneck.rate", &["utilisation"]) };
    let figure = &draw(0, &spec, &groups, &Labels::default())[0];
    let svg = crate::plot::file(figure);
    for label in ["2", "5", "10", "20", "50", "100"] {
        assert!(svg.contains(&format!("text-anchor=\"middle\">{label}</text>")), "no {label} in {svg}");
    }
    assert_eq!(figure.plot.x.title, "rate of the bottleneck, Mbit/s");
}

#[test]
fn a_setting_with_names_has_bars() {
    let all: Vec<_> = ["drop_tail", "red"]
        .map(|queue| rows(&[("bottleneck.queue", queue)], &[("utilisation", &[0.5, 0.7])], &[]))
        .into();
    let groups: Vec<_> = all.iter().map(|rows| group(rows)).collect();
    let plot = &draw(0, &spec("bottleneck.queue", &["utilisation"]), &groups, &Labels::default())[0].plot;
    assert_eq!(plot.x.kind, AxisKind::Names(vec!["drop-tail".to_owned(), "RED".to_owned()]));
    let Content::Bars(bars) = &plot.traces[0].content else { panic!("no bars: {plot:?}") };
    assert_eq!(bars.values.iter().map(|value| value.unwrap()).collect::<Vec<_>>(), [0.6, 0.6]);
    assert!(bars.errors.iter().all(|error| (error - 0.02_f64.sqrt()).abs() < 1e-9), "{bars:?}");
}

#[test]
fn a_grid_has_a_cell_for_each_pair_of_values_and_a_bar_of_colours() {
    let all = matrix();
    let groups: Vec<_> = all.iter().map(|rows| group(rows)).collect();
    let mut spec = spec("bottleneck.buffer_bdp", &["goodput_bps"]);
    spec.kind = FigureKind::Grid;
    spec.by = Some("flows.pacing".to_owned());
    let figures = draw(2, &spec, &groups, &Labels::default());
    assert_eq!(figures[0].id, "figure-3-a-title-50-flows");
    let drawn = cells(&figures[0]).cells.iter().map(|cell| (cell.row, cell.column, cell.value.unwrap()));
    // The first value of a setting is at the bottom.
    let expected = [(0, 0, 6.25), (0, 1, 25.0), (0, 2, 50.0), (1, 0, 2.75), (1, 1, 11.0), (1, 2, 22.0)];
    assert_eq!(drawn.collect::<Vec<_>>(), expected);
    let names = |names: &[&str]| AxisKind::Names(names.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(figures[0].plot.y.kind, names(&["paced", "not paced"]));
    assert_eq!(figures[0].plot.x.kind, names(&["0.25", "1", "2"]));
    let svg = crate::plot::file(&figures[0]);
    // The largest value has the last colour, right and at the top; the smallest the first one.
    let cell = |colour: &str| {
        let element = svg.split("<rect ").find(|it| it.contains(&format!("fill=\"{colour}\""))).unwrap().to_owned();
        let of = |name: &str| -> f64 {
            let from = element.find(&format!("{name}=\"")).unwrap() + name.len() + 2;
            element[from..].split('"').next().unwrap().parse().unwrap()
        };
        (of("x"), of("y"))
    };
    let (most, least) = (cell("#4a98c9"), cell("#f7fbff"));
    assert!(most.0 > least.0 && most.1 < least.1, "{most:?} {least:?}");
    for text in [">22<", ">6.25<", ">goodput, Mbit/s<", ">pacing<", ">buffer, BDP<"] {
        assert!(svg.contains(text), "no {text} in {svg}");
    }
}

#[test]
fn a_grid_of_more_settings_is_drawn_for_each_of_their_values() {
    let matrix_groups = matrix();
    let groups: Vec<_> = matrix_groups.iter().map(|rows| group(rows)).collect();
    let mut longer: Vec<Vec<ScenarioRow>> = matrix_groups.clone();
    longer.iter_mut().flatten().for_each(|row| {
        row.settings.insert("flows.rtt".to_owned(), "280 ms".to_owned());
    });
    let both: Vec<_> = groups.into_iter().chain(longer.iter().map(|rows| group(rows))).collect();
    let mut spec = spec("bottleneck.buffer_bdp", &["goodput_bps"]);
    spec.kind = FigureKind::Grid;
    spec.by = Some("flows.pacing".to_owned());
    let all: BTreeMap<_, _> =
        draw(0, &spec, &both, &Labels::default()).into_iter().map(|figure| (figure.id, figure.title)).collect();
    assert_eq!(all.len(), 2, "{all:?}");
    // Colours mean the same in both.
    longer.iter_mut().flatten().for_each(|row| *row.metrics.get_mut("goodput_bps").unwrap() *= 10.0);
    let both: Vec<_> = matrix_groups.iter().chain(&longer).map(|rows| group(rows)).collect();
    for figure in draw(0, &spec, &both, &Labels::default()) {
        assert_eq!(cells(&figure).ends, (2.75, 500.0));
    }
    assert!(all.values().any(|title| title == "A title: 50 flows: RTT 280 ms"), "{all:?}");
}
