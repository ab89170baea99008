//! Bars that are made of parts.

use crate::plot::{self, Axis, Figure, Plot, style};

/// Height of a bar and the space around it, in pixels.
const BAR: f64 = 34.0;

/// Bars below each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// What stands above them.
    pub title: String,
    /// What their length is, with its unit.
    pub x: String,
    /// Name of each bar, from the top, with the names and lengths of its parts. Parts of one name have one colour.
    pub bars: Vec<(String, Vec<(String, f64)>)>,
}

/// The picture as a whole SVG file.
pub fn render_bars_svg(bars: &Bars) -> String {
    plot::file(&Figure { id: "bars".to_owned(), title: bars.title.clone(), caption: String::new(), plot: plot(bars) })
}

/// The picture without its title.
pub(crate) fn plot(bars: &Bars) -> Plot {
    let mut parts: Vec<&str> = Vec::new();
    for (name, _) in bars.bars.iter().flat_map(|(_, parts)| parts) {
        if !parts.contains(&name.as_str()) {
            parts.push(name);
        }
    }
    let whole = |parts: &[(String, f64)]| parts.iter().map(|(_, length)| length).sum::<f64>();
    let longest = bars.bars.iter().map(|(_, parts)| whole(parts)).fold(0.0, f64::max);
    let labels: Vec<_> = bars.bars.iter().map(|(label, _)| label.clone()).collect();
    let mut plot = Plot {
        is_stacked: true,
        height: BAR * labels.len() as f64,
        ..Plot::new(
            Axis::between(&bars.x, 0.0, if longest > 0.0 { 1.05 * longest } else { 1.0 }),
            Axis::names("", labels),
        )
    };
    for (place, part) in parts.into_iter().enumerate() {
        let length = |all: &[(String, f64)]| {
            let own: Vec<f64> = all.iter().filter(|(name, _)| name == part).map(|(_, length)| *length).collect();
            (!own.is_empty()).then(|| own.iter().sum())
        };
        let values = bars.bars.iter().map(|(_, all)| length(all)).collect();
        plot.add(part, style::colour(place), plot::Bars { values, ..plot::Bars::default() });
    }
    plot
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Left edges and widths of the bars of a colour.
    fn rectangles(svg: &str, colour: &str) -> Vec<(f64, f64)> {
        // The first part of a colour is the mark in the legend.
        let part = svg.split(&format!("<g color=\"{colour}\"")).nth(2).unwrap().split("</g>").next().unwrap();
        let field = |rectangle: &str, name: &str| -> f64 {
            let after = rectangle.split(&format!(" {name}=\"")).nth(1).unwrap();
            after.split('"').next().unwrap().parse().unwrap()
        };
        let all = part.split("<rect").skip(1).map(|rest| rest.split('>').next().unwrap());
        all.map(|rectangle| (field(rectangle, "x"), field(rectangle, "width"))).collect()
    }

    #[test]
    fn parts_stand_on_each_other_and_are_as_long_as_their_numbers() {
        let part = |name: &str, length| (name.to_owned(), length);
        let bars = Bars {
            title: "a < b".to_owned(),
            x: "ns per byte".to_owned(),
            bars: vec![
                ("best".to_owned(), vec![part("cryptography", 1.0), part("kernel", 2.0)]),
                ("sender".to_owned(), vec![part("cryptography", 2.0), part("kernel", 2.0), part("the stack", 4.0)]),
            ],
        };
        let svg = render_bars_svg(&bars);
        assert!(svg.contains("a &lt; b") && svg.contains(">the stack<") && svg.contains("ns per byte"), "{svg}");
        let [first, second, third] = [0, 1, 2].map(|place| rectangles(&svg, style::colour(place)));
        assert_eq!((first.len(), second.len()), (2, 2), "{svg}");
        let unit = first[0].1;
        let (left, width) = third[0];
        assert!((width - 4.0 * unit).abs() < 0.1 && left + width < 880.0, "it is cut at the edge: {svg}");
        assert!((first[1].1 - 2.0 * unit).abs() < 0.1 && (second[0].1 - 2.0 * unit).abs() < 0.1, "{svg}");
        assert!((second[0].0 - first[0].0 - unit).abs() < 0.1, "{svg}");
    }
}
