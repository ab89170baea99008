//! Lines, areas and marks.

use std::fmt::Write as _;

use super::{
    canvas::Canvas,
    model::{Line, Mark},
    style::Dash,
};

/// Opacity of areas, so that what lies behind them is seen.
pub(super) const AREA_OPACITY: f64 = 0.2;
/// A line with more points is drawn by fewer: of those within a pixel, the first, the lowest, the highest and the last.
const MOST_POINTS: usize = 1000;

/// Draws a line, and its marks where it has some.
pub(super) fn draw(text: &mut String, name: &str, line: &Line, canvas: &Canvas) {
    let places = line.points.iter().map(|(x, y)| (canvas.x(*x), y.map_or(f64::NAN, |y| canvas.y(y))));
    let places: Vec<_> = places.collect();
    let mut d = String::new();
    // A value that is missing interrupts the line.
    for points in places.split(|(x, y)| !x.is_finite() || !y.is_finite()) {
        // A single point would not be seen as a line.
        if points.len() == 1 && line.mark.is_none() {
            draw_mark(text, Mark::Dot, points[0]);
        }
        if points.len() > 1 {
            push_path(&mut d, &thinned(points), line.is_stepped);
        }
    }
    if !d.is_empty() {
        let title = canvas.tooltips.name(name);
        let _ = write!(text, "<path {} d=\"{d}\" {}>{title}</path>", canvas.clip(), stroke(line));
    }
    let known = line.points.iter().filter_map(|(x, y)| Some((*x, (*y)?)));
    if let Some(mark) = line.mark {
        draw_marks(text, name, mark, &known.collect::<Vec<_>>(), canvas);
    } else if canvas.tooltips.of_points {
        targets(text, name, known, canvas);
    }
}

/// Invisible discs around the points of a line, each with its tooltip.
fn targets(text: &mut String, name: &str, points: impl Iterator<Item = (f64, f64)>, canvas: &Canvas) {
    text.push_str("<g fill=\"none\" pointer-events=\"all\">");
    for (x, y) in points {
        let place = (canvas.x(x), canvas.y(y));
        if canvas.has(place) {
            let title = canvas.tooltips.point(name, x, y);
            let _ = write!(text, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"5\">{title}</circle>", place.0, place.1);
        }
    }
    text.push_str("</g>");
}

/// Draws a surface by its corners.
pub(super) fn draw_area(text: &mut String, points: &[(f64, f64)], canvas: &Canvas) {
    let places: Vec<_> = points.iter().map(|(x, y)| (canvas.x(*x), canvas.y(*y))).collect();
    let mut d = String::new();
    push_path(&mut d, &thinned(&places), false);
    let _ = write!(text, "<path {} d=\"{d}Z\" fill-opacity=\"{AREA_OPACITY}\"/>", canvas.clip());
}

/// Draws marks: each with its tooltip, or all at once where there are too many.
pub(super) fn draw_marks(text: &mut String, name: &str, mark: Mark, points: &[(f64, f64)], canvas: &Canvas) {
    let all = points.iter().map(|(x, y)| ((*x, *y), (canvas.x(*x), canvas.y(*y))));
    let shown: Vec<_> = all.filter(|(_, place)| canvas.has(*place)).collect();
    if shown.is_empty() {
        return;
    }
    let _ = write!(text, "<g {}>", ink(mark));
    if canvas.tooltips.of_points {
        for ((x, y), place) in shown {
            let title = canvas.tooltips.point(name, x, y);
            let _ = write!(text, "<path d=\"{}\">{title}</path>", outline(mark, place));
        }
    } else {
        let d: String = shown.iter().map(|(_, place)| outline(mark, *place)).collect();
        let _ = write!(text, "<path d=\"{d}\"/>");
    }
    text.push_str("</g>");
}

/// Draws one mark without a tooltip.
pub(super) fn draw_mark(text: &mut String, mark: Mark, place: (f64, f64)) {
    let _ = write!(text, "<path {} d=\"{}\"/>", ink(mark), outline(mark, place));
}

fn outline(mark: Mark, (x, y): (f64, f64)) -> String {
    let diamond = |half: f64| format!("M{:.1} {y:.1}l{half} {half}l{half} -{half}l-{half} -{half}z", x - half);
    match mark {
        // As long as nothing: its round ends are the dot.
        Mark::Dot | Mark::SmallDot => format!("M{x:.1} {y:.1}h.01"),
        Mark::Diamond => diamond(5.0),
        Mark::SmallDiamond => diamond(3.0),
        Mark::Cross => format!("M{:.1} {:.1}l6 6m0 -6l-6 6", x - 3.0, y - 3.0),
        Mark::Triangle => format!("M{:.1} {:.1}h8l-4 -7z", x - 4.0, y + 3.0),
    }
}

fn ink(mark: Mark) -> String {
    let line = |width: f64| format!("fill=\"none\" stroke=\"currentColor\" stroke-width=\"{width}\"");
    match mark {
        Mark::Dot => line(6.0) + " stroke-linecap=\"round\"",
        Mark::SmallDot => line(4.0) + " stroke-linecap=\"round\"",
        Mark::Diamond | Mark::Cross => line(1.6),
        Mark::SmallDiamond => line(1.0),
        Mark::Triangle => "fill=\"currentColor\"".to_owned(),
    }
}

/// Attributes of a line.
pub(super) fn stroke(line: &Line) -> String {
    let dash = match line.dash {
        Dash::Solid => "",
        Dash::Dashes => " stroke-dasharray=\"6 4\"",
        Dash::Dots => " stroke-dasharray=\"2 3\"",
        Dash::Alternating => " stroke-dasharray=\"6 3 2 3\"",
        Dash::LongDashes => " stroke-dasharray=\"11 4\"",
    };
    format!("fill=\"none\" stroke=\"currentColor\" stroke-width=\"{}\"{dash}", line.width)
}

fn push_path(d: &mut String, points: &[(f64, f64)], is_stepped: bool) {
    for (place, (x, y)) in points.iter().enumerate() {
        let [x, y] = [x, y].map(|value| short(*value));
        let _ = match (place, is_stepped) {
            (0, _) => write!(d, "M{x} {y}"),
            (_, true) => write!(d, "H{x}V{y}"),
            (_, false) => write!(d, "L{x} {y}"),
        };
    }
}

/// The value with a decimal where that is not 0: more is not seen, and a page has many of them.
fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// The points of a line, fewer of them where there are more than can be seen.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= MOST_POINTS {
        return points.to_vec();
    }
    let column = |point: &(f64, f64)| point.0.floor();
    let of_column = |own: &[(f64, f64)]| {
        let by_height = |one: &usize, other: &usize| own[*one].1.total_cmp(&own[*other].1);
        let (lowest, highest) = ((0..own.len()).min_by(by_height), (0..own.len()).max_by(by_height));
        let mut kept = [0, lowest.unwrap_or(0), highest.unwrap_or(0), own.len() - 1];
        kept.sort_unstable();
        let mut kept: Vec<_> = kept.into_iter().map(|place| own[place]).collect();
        kept.dedup();
        kept
    };
    points.chunk_by(|one, other| column(one) == column(other)).flat_map(of_column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_fewer_points_has_the_same_ends_and_extremes_in_every_column() {
        let points: Vec<_> = (0..50_000).map(|place| (f64::from(place) / 500.0, f64::from(place % 97))).collect();
        let thin = thinned(&points);
        assert!(thin.len() <= 4 * 100 && thin.len() > 100, "{}", thin.len());
        assert_eq!((thin[0], thin[thin.len() - 1]), (points[0], points[points.len() - 1]));
        let extremes = |points: &[(f64, f64)], column: f64| {
            let own = points.iter().filter(|(x, _)| x.floor() == column).map(|(_, y)| *y);
            own.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| (low.min(y), high.max(y)))
        };
        for column in [0.0, 17.0, 99.0] {
            assert_eq!(extremes(&thin, column), extremes(&points, column));
        }
        assert!(thin.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }
}
