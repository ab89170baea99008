use super::*;

fn figure(plot: Plot) -> Figure {
    Figure { id: "f".to_owned(), title: "A < B".to_owned(), caption: String::new(), plot }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// What is drawn of the traces of a colour: the legend's mark first.
fn parts<'a>(svg: &'a str, colour: &str) -> Vec<&'a str> {
    let begin = format!("<g color=\"{colour}\" fill=\"currentColor\">");
    svg.split(&begin).skip(1).map(|part| part.split("</g>").next().unwrap()).collect()
}

/// Values of an attribute of all elements with this tag.
fn attribute(part: &str, tag: &str, name: &str) -> Vec<f64> {
    let elements = part.split('<').filter(|it| it.starts_with(&format!("{tag} ")));
    let value = |element: &str| {
        let begin = element.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
        element[begin..].split('"').next().unwrap().parse().unwrap()
    };
    elements.map(value).collect()
}

/// Numbers of the first path in a part.
fn path(part: &str) -> Vec<f64> {
    let d = part.split(" d=\"").nth(1).unwrap().split('"').next().unwrap();
    d.split(|it: char| !it.is_ascii_digit() && it != '.').filter_map(|it| it.parse().ok()).collect()
}

#[test]
fn bars_beside_each_other_are_as_high_as_their_values() {
    let mut plot = Plot::new(Axis::names("", names(&["one", "two"])), Axis::linear("y, Mbit/s"));
    for (place, values) in [[10.0, 20.0], [5.0, 0.0]].into_iter().enumerate() {
        plot.add(&format!("bar {place}"), style::colour(place), Bars::of(values.to_vec()));
    }
    let svg = file(&figure(plot));
    let [first, second] = [0, 1].map(|place| parts(&svg, style::colour(place))[1]);
    let [heights, others] = [first, second].map(|part| attribute(part, "rect", "height"));
    assert!((heights[1] / heights[0] - 2.0).abs() < 1e-3, "{heights:?}");
    assert!((heights[0] / others[0] - 2.0).abs() < 1e-3 && others[1] == 0.0, "{others:?}");
    // Beside each other: the second begins where the first ends.
    let [left, width, right] =
        [(first, "x"), (first, "width"), (second, "x")].map(|(part, name)| attribute(part, "rect", name)[0]);
    assert!((left + width - right).abs() < 0.02, "{left} {width} {right}");
    assert!(svg.contains("A &lt; B") && svg.contains("<title>two\nbar 0\ny 20 Mbit/s</title>"), "{svg}");
}

#[test]
fn stacked_bars_lie_end_to_end() {
    let mut plot = Plot::new(Axis::between("x", 0.0, 1.0), Axis::names("", names(&["one"])));
    plot.is_stacked = true;
    for (place, share) in [0.25, 0.75].into_iter().enumerate() {
        plot.add(&format!("{place}"), style::colour(place), Bars::of(vec![share]));
    }
    let svg = file(&figure(plot));
    let of = |place: usize, name| attribute(parts(&svg, style::colour(place))[1], "rect", name)[0];
    assert!((of(1, "width") / of(0, "width") - 3.0).abs() < 1e-3);
    assert!((of(0, "x") + of(0, "width") - of(1, "x")).abs() < 0.02);
}

#[test]
fn the_axis_of_stacked_bars_has_room_for_their_sums() {
    let mut plot = Plot::new(Axis::names("", names(&["one"])), Axis::linear("y"));
    plot.is_stacked = true;
    for place in 0..3 {
        plot.add(&format!("{place}"), style::colour(place), Bars::of(vec![10.0]));
    }
    let svg = file(&figure(plot));
    let height = |begin: &str| {
        let element = svg[svg.find(begin).unwrap()..].split('>').next().unwrap();
        attribute(&format!("<rect {element}"), "rect", "height")[0]
    };
    let [area, bar] = ["class=\"frame\"", "clip-path=\"url(#f-area)\" x="].map(height);
    assert!((area / bar - 3.0 * 1.04).abs() < 0.01, "{area} {bar}");
}

#[test]
fn the_standard_deviation_of_a_bar_is_drawn_and_told() {
    let mut plot = Plot::new(Axis::names("", names(&["one"])), Axis::between("goodput, Mbit/s", 0.0, 20.0));
    plot.add("a", "#123456", Bars { errors: vec![5.0], ..Bars::of(vec![10.0]) });
    let svg = file(&figure(plot));
    let part = parts(&svg, "#123456")[1];
    let (height, error) = (attribute(part, "rect", "height")[0], part.split("class=\"error\"").nth(1).unwrap());
    let [_, low, high, ..] = path(error)[..] else { panic!("{error}") };
    assert!(((low - high) - height).abs() < 0.02, "5 below and 5 above are as much as the bar: {part}");
    assert!(part.contains("goodput 10 Mbit/s \u{b1} 5"), "{part}");
}

#[test]
fn decades_are_as_wide_as_each_other_on_a_logarithmic_axis() {
    let mut plot = Plot::new(Axis::logarithmic("x"), Axis::between("y", 0.0, 1.0));
    plot.add("a", "#123456", Line::of_place(0, vec![(1.0, 0.0), (10.0, 0.5), (100.0, 1.0)]).stepped());
    let svg = file(&figure(plot));
    // M x0 y0 H x1 V y1 H x2 V y2
    let [x0, y0, x1, y1, x2, y2] = path(parts(&svg, "#123456")[1])[..] else { panic!("{svg}") };
    assert!(((x1 - x0) - (x2 - x1)).abs() < 0.21 && x1 > x0, "{svg}");
    assert!(((y0 - y1) - (y1 - y2)).abs() < 0.21 && y1 < y0, "{svg}");
}

#[test]
fn boxes_reach_from_the_first_to_the_third_quartile_at_the_places_of_their_names() {
    let mut plot = Plot::new(Axis::names("x", names(&["2", "10"])), Axis::between("y", 0.0, 40.0));
    let of = |values: [f64; 5]| Quartiles { values };
    let boxes = vec![(1, of([1.0, 2.0, 3.0, 6.0, 20.0])), (0, of([0.0, 1.0, 1.5, 2.0, 3.0]))];
    plot.add("a", "#123456", Content::Boxes(boxes));
    let svg = file(&figure(plot));
    let part = parts(&svg, "#123456")[1];
    let [heights, tops, lefts] = ["height", "y", "x"].map(|name| attribute(part, "rect", name));
    assert!((heights[0] / heights[1] - 4.0).abs() < 1e-2, "{heights:?}");
    assert!(tops[0] < tops[1] && lefts[0] > lefts[1], "{tops:?} {lefts:?}");
    // The last of them: whiskers from 0 to 3, a box from 1 to 2.
    let last = part.rsplit("<path d=\"").next().unwrap().split('"').next().unwrap();
    let ends: Vec<f64> = last.split('V').skip(1).filter_map(|it| it.split('M').next()?.parse().ok()).collect();
    let [lower, upper] = ends[..] else { panic!("{last}") };
    assert!(((lower - upper) / heights[1] - 3.0).abs() < 1e-2, "{last}");
}

#[test]
fn what_lies_outside_of_the_axis_is_an_arrow_with_its_value_at_the_edge() {
    let mut plot =
        Plot::new(Axis::between("% of A", -10.0, 10.0), Axis::names("", names(&["in", "above", "below", "end"])));
    let rows = [[-5.0, 0.0, 5.0], [300.0, 700.0, 900.0], [-90.0, -70.0, -60.0], [-5.0, 3.0, 40.0]];
    plot.add("", "#123456", Content::Intervals(rows.into_iter().enumerate().collect()));
    let svg = file(&figure(plot));
    let rows: Vec<_> = svg.split("<g><title>").skip(1).collect();
    let seen = |row: &str, words: &str| {
        let row = row.split("</g>").next().unwrap();
        (row.matches("class=\"beyond\"").count(), row.contains(&format!(">{words}</text>")), row.contains("h.01"))
    };
    assert_eq!(seen(rows[0], ""), (0, false, true));
    assert_eq!(seen(rows[1], "700"), (1, true, false));
    assert_eq!(seen(rows[2], "-70"), (1, true, false));
    assert_eq!(seen(rows[3], "40"), (1, true, true));
}

#[test]
fn intervals_are_in_the_order_of_their_names_from_the_top() {
    let mut plot = Plot::new(Axis::between("% of A", -10.0, 10.0), Axis::names("", names(&["first", "second"])));
    plot.guides = vec![0.0];
    plot.add("", "#123456", Content::Intervals(vec![(0, [-5.0, 0.0, 5.0]), (1, [5.0, 6.0, 10.0])]));
    let svg = file(&figure(plot));
    let ends: Vec<_> = svg
        .split("<path d=\"")
        .filter(|it| it.contains("stroke-width=\"1.6\""))
        .map(|it| path(&format!(" d=\"{it}")))
        .collect();
    let [first, second] = &ends[..] else { panic!("{svg}") };
    assert!(first[1] < second[1], "{first:?} {second:?}");
    let middle = path(&svg[svg.find("class=\"guide\"").unwrap()..])[0];
    assert!(((first[0] + first[2]) / 2.0 - middle).abs() < 0.02 && second[0] > middle, "{first:?} {middle}");
}

#[test]
fn a_value_that_is_missing_interrupts_a_line() {
    let mut plot = Plot::new(Axis::linear("x"), Axis::linear("y"));
    plot.add(
        "a",
        "#123456",
        Line::with_gaps(0, vec![(0.0, Some(1.0)), (1.0, Some(1.0)), (2.0, None), (3.0, Some(1.0)), (4.0, Some(1.0))]),
    );
    let svg = file(&figure(plot));
    let d = parts(&svg, "#123456")[1].split(" d=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!((d.matches('M').count(), d.matches('L').count()), (2, 2), "{d}");
}

#[test]
fn a_plot_with_many_points_has_no_tooltip_for_each_of_them() {
    let svg = |count: u32| {
        let mut plot = Plot::new(Axis::linear("time, s"), Axis::linear("RTT, ms"));
        plot.add("a", "#123456", Line::of_place(0, (0..count).map(|it| (f64::from(it), 1.0)).collect()));
        file(&figure(plot))
    };
    assert!(svg(300).contains("<title>a\ntime 299 s\nRTT 1 ms</title>"));
    assert!(!svg(301).contains("time 299 s") && svg(301).contains("<title>a</title>"));
}

#[test]
fn pictures_of_one_page_share_no_identities() {
    let svg = |id: &str| {
        let mut plot = Plot::new(Axis::names("", names(&["one"])), Axis::linear("y"));
        plot.add("a", "#123456", Bars { is_hatched: true, ..Bars::of(vec![1.0]) });
        inline(&Figure { id: id.to_owned(), ..figure(plot) })
    };
    let identities = |svg: &str| -> Vec<String> {
        svg.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
    };
    let [one, other] = ["one", "other"].map(svg);
    assert_eq!(identities(&one), ["one", "one-area", "one-hatch"]);
    assert!(identities(&other).iter().all(|id| !identities(&one).contains(id)), "{other}");
    // What is referred to is there.
    for reference in one.split("url(#").skip(1).map(|rest| rest.split(')').next().unwrap()) {
        assert!(identities(&one).iter().any(|id| id == reference), "{reference}: {one}");
    }
}

#[test]
fn a_file_has_a_ground_and_a_title_and_a_picture_of_a_page_has_neither() {
    let mut plot = Plot::new(Axis::linear("x"), Axis::linear("y"));
    plot.add("a", style::INK, Line::of_place(0, vec![(0.0, 1.0), (1.0, 2.0)]));
    let figure = figure(plot);
    let (file, inline) = (file(&figure), inline(&figure));
    assert!(file.contains("fill=\"#ffffff\"/>") && file.contains(">A &lt; B</text>"), "{file}");
    assert!(
        !inline.contains("fill=\"#ffffff\"")
            && !inline.contains("</text>A")
            && inline.contains("aria-label=\"A &lt; B\""),
        "{inline}"
    );
    // No style sheet: that of one picture would reach into all others of the page.
    assert!(!file.contains("<style") && !inline.contains("<style"));
}

#[test]
fn text_is_as_large_as_there_is_room() {
    let long = "a title that is far too long for a picture of this width ".repeat(3);
    let plot = Plot::new(Axis::names("", names(&[&long, "b", "c"])), Axis::linear(&long));
    let svg = file(&Figure { title: long.clone(), ..figure(plot) });
    let heading = attribute(&svg[svg.find("<text").unwrap()..][..60], "text", "font-size")[0];
    assert!(heading < 15.0 && svg.contains('\u{2026}'), "{svg}");
}

#[test]
fn many_names_of_a_legend_stand_in_columns_inside_of_the_picture() {
    let mut plot = Plot::new(Axis::linear("x"), Axis::linear("y"));
    let all: Vec<_> = (0..19).map(|place| format!("a stack with a name, number {place}")).collect();
    all.iter().for_each(|name| plot.add(name, "#123456", Line::of_place(0, vec![(0.0, 1.0), (1.0, 2.0)])));
    let svg = file(&figure(plot));
    let places = all.iter().map(|name| {
        let begin = svg[..svg.find(&format!(">{name}</text>")).unwrap()].rfind('<').unwrap();
        let element = svg[begin..].split('>').next().unwrap();
        let [x, y] = ["x", "y"].map(|axis| attribute(element, "text", axis)[0]);
        (x, y, x + words::width(name, layout::FONT))
    });
    let places: Vec<_> = places.collect();
    assert!(places.iter().all(|(_, _, end)| *end <= layout::WIDTH), "{places:?}");
    // The second row begins below the first, and its names below those of the first.
    let columns = places.iter().filter(|(_, y, _)| *y == places[0].1).count();
    assert!((2..19).contains(&columns), "{places:?}");
    assert_eq!((places[columns].0, places[columns + 1].0), (places[0].0, places[1].0));
    assert!(places[0].2 < places[1].0, "{places:?}");
}
