//! A picture of computed curves, for the verbs that compute instead of measure.

use crate::plot::{self, Axis, Figure, Line, Plot, style};

/// Curves over one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// What stands above them.
    pub title: String,
    /// What the axis below is, with its unit.
    pub x: String,
    /// What the axis beside them is, with its unit.
    pub y: String,
    /// Whether the axis below, and the one beside, is logarithmic.
    pub is_logarithmic: [bool; 2],
    /// Names and points.
    pub curves: Vec<(String, Vec<(f64, f64)>)>,
}

/// The picture as a whole SVG file.
pub fn render_curves_svg(curves: &Curves) -> String {
    let [x, y] = [(&curves.x, curves.is_logarithmic[0]), (&curves.y, curves.is_logarithmic[1])]
        .map(|(title, is_log)| if is_log { Axis::logarithmic(title) } else { Axis::linear(title) });
    let mut plot = Plot::new(x, y);
    for (place, (name, points)) in curves.curves.iter().enumerate() {
        plot.add(name, style::colour(place), Line::of_place(place, points.clone()));
    }
    let (id, title) = ("curves".to_owned(), curves.title.clone());
    plot::file(&Figure { id, title, caption: String::new(), plot })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_each_curve_with_its_name() {
        let curves = Curves {
            title: "PTO".to_owned(),
            x: "samples".to_owned(),
            y: "PTO, ms".to_owned(),
            is_logarithmic: [false; 2],
            curves: vec![
                ("a < b".to_owned(), vec![(1.0, 27.0), (2.0, 22.5)]),
                ("c".to_owned(), vec![(1.0, 39.0), (2.0, 36.0)]),
            ],
        };
        let svg = render_curves_svg(&curves);
        assert!(svg.contains("a &lt; b") && svg.contains(">c<") && svg.contains("PTO, ms"), "{svg}");
        let other = Curves { curves: curves.curves[..1].to_vec(), ..curves };
        assert!(!render_curves_svg(&other).contains(">c<"));
    }
}
