use plotly::{Bar, Plot, Scatter, common::Line, common::LineShape, layout::BarMode};

use super::*;
use crate::figures::style;

fn figure(plot: Plot) -> Figure {
    Figure { id: "f".to_owned(), title: "A < B".to_owned(), caption: String::new(), plot }
}

/// Values of an attribute of all elements with this tag and fill.
fn attribute(svg: &str, tag: &str, colour: &str, name: &str) -> Vec<f64> {
    let elements = svg.split('<').filter(|it| it.starts_with(tag) && it.contains(&format!("fill=\"{colour}\"")));
    let value = |element: &str| {
        let begin = element.find(&format!("{name}=\"")).unwrap() + name.len() + 2;
        element[begin..].split('"').next().unwrap().parse().unwrap()
    };
    elements.map(value).collect()
}

#[test]
fn bars_beside_each_other_are_as_high_as_their_values() {
    let mut plot = Plot::new();
    for (place, values) in [[10.0, 20.0], [5.0, 0.0]].into_iter().enumerate() {
        let bar = Bar::new(vec!["one", "two"], values.to_vec()).name(format!("bar {place}"));
        plot.add_trace(bar.marker(plotly::common::Marker::new().color(style::colour(place))));
    }
    plot.set_layout(style::bar_layout(style::axis("y")).bar_mode(BarMode::Group));
    let svg = svg(&figure(plot));
    let heights = attribute(&svg, "rect", "#0072B2", "height");
    // The first is the mark in the legend.
    assert_eq!(heights[0], 10.0);
    assert!((heights[2] / heights[1] - 2.0).abs() < 1e-3, "{heights:?}");
    let others = attribute(&svg, "rect", "#D55E00", "height");
    assert!((heights[1] / others[1] - 2.0).abs() < 1e-3 && others[2] == 0.0, "{others:?}");
    // Beside each other: the second begins where the first ends.
    let [left, width, right] = [("#0072B2", "x"), ("#0072B2", "width"), ("#D55E00", "x")]
        .map(|(colour, name)| attribute(&svg, "rect", colour, name)[1]);
    assert!((left + width - right).abs() < 0.02, "{left} {width} {right}");
    assert!(svg.contains("A &lt; B"));
}

#[test]
fn stacked_bars_lie_end_to_end() {
    let mut plot = Plot::new();
    for (place, share) in [0.25, 0.75].into_iter().enumerate() {
        let bar = Bar::new(vec![share], vec!["one"]).orientation(plotly::common::Orientation::Horizontal);
        let bar = bar.name(format!("{place}")).marker(plotly::common::Marker::new().color(style::colour(place)));
        plot.add_trace(bar);
    }
    let x = style::axis("x").range(vec![0.0, 1.0]);
    plot.set_layout(style::layout(x, style::axis("")).bar_mode(BarMode::Stack));
    let svg = svg(&figure(plot));
    let of = |colour, name| attribute(&svg, "rect", colour, name)[1];
    assert!((of("#D55E00", "width") / of("#0072B2", "width") - 3.0).abs() < 1e-3);
    assert!((of("#0072B2", "x") + of("#0072B2", "width") - of("#D55E00", "x")).abs() < 0.02);
}

#[test]
fn decades_are_as_wide_as_each_other_on_a_logarithmic_axis() {
    let mut plot = Plot::new();
    let line = Line::new().shape(LineShape::Hv).color("#123456");
    plot.add_trace(Scatter::new(vec![1.0, 10.0, 100.0], vec![0.0, 0.5, 1.0]).name("a").line(line));
    let x = style::axis("x").type_(plotly::layout::AxisType::Log);
    plot.set_layout(style::layout(x, style::axis("y").range(vec![0.0, 1.0])));
    let svg = svg(&figure(plot));
    // The first is the mark in the legend.
    let paths = svg.split("<path d=\"").filter(|it| it.contains("stroke=\"#123456\""));
    let path = paths.last().unwrap().split('"').next().unwrap();
    let numbers: Vec<f64> =
        path.split(|it: char| !it.is_ascii_digit() && it != '.').filter_map(|it| it.parse().ok()).collect();
    // M x0 y0 H x1 V y1 H x2 V y2
    let [x0, y0, x1, y1, x2, y2] = numbers[..] else { panic!("{path}") };
    assert!(((x1 - x0) - (x2 - x1)).abs() < 0.02 && x1 > x0, "{path}");
    assert!(((y0 - y1) - (y1 - y2)).abs() < 0.02 && y1 < y0, "{path}");
}

#[test]
fn boxes_reach_from_the_first_to_the_third_quartile_in_the_order_of_the_axis() {
    let boxes = plotly::BoxPlot::<&str, f64>::new_xy(vec!["10", "2"], Vec::new());
    let boxes = boxes.lower_fence(vec![1.0, 0.0]).q1(vec![2.0, 1.0]).median(vec![3.0, 1.5]);
    let boxes = boxes.q3(vec![6.0, 2.0]).upper_fence(vec![20.0, 3.0]).name("a");
    let mut plot = Plot::new();
    plot.add_trace(boxes.marker(plotly::common::Marker::new().color("#123456")));
    let x = style::axis("x").type_(plotly::layout::AxisType::Category);
    let x = x.category_order(plotly::layout::CategoryOrder::Array).category_array(vec!["2", "10"]);
    plot.set_layout(style::layout(x, style::axis("y").range(vec![0.0, 40.0])));
    let svg = svg(&figure(plot));
    // The first is the mark in the legend.
    let [heights, tops, lefts] = ["height", "y", "x"].map(|name| attribute(&svg, "rect", "#123456", name));
    assert_eq!(heights.len(), 3, "{svg}");
    assert!((heights[1] / heights[2] - 4.0).abs() < 1e-2, "{heights:?}");
    assert!(tops[1] < tops[2] && lefts[1] > lefts[2], "{tops:?} {lefts:?}");
    // The last of them: whiskers from 0 to 3, a box from 1 to 2.
    let path = svg.rsplit("<path d=\"").find(|it| it.contains("stroke=\"#123456\"")).unwrap();
    let path = path.split('"').next().unwrap();
    let ends: Vec<f64> = path.split('V').skip(1).filter_map(|it| it.split('M').next()?.parse().ok()).collect();
    let [lower, upper] = ends[..] else { panic!("{path}") };
    assert!(((lower - upper) / heights[2] - 3.0).abs() < 1e-2, "{path}");
}
