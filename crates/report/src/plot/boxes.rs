//! Box plots and intervals: boxes from the first to the third quartile, with the median in them and whiskers.

use std::fmt::Write as _;

use super::{
    canvas::Canvas,
    lines,
    model::{Content, Mark, Plot, Quartiles},
};
use crate::number::number;

/// Share of a name's place that its boxes take.
const SHARE: f64 = 0.7;

/// An end that is so many pixels outside of the axis is on its edge.
const EDGE: f64 = 0.5;

/// Boxes as far as they are drawn.
pub(super) struct Drawn {
    /// How many traces have boxes, and how many of them are drawn.
    traces: usize,
    done: usize,
}

impl Drawn {
    pub(super) fn of(plot: &Plot) -> Self {
        let traces = plot.traces.iter().filter(|trace| matches!(trace.content, Content::Boxes(_))).count();
        Self { traces, done: 0 }
    }

    /// Draws those of the next trace at the places of their names.
    pub(super) fn draw(&mut self, text: &mut String, name: &str, boxes: &[(usize, Quartiles)], canvas: &Canvas) {
        let slot = canvas.x.slot() * canvas.area.width * SHARE;
        let width = slot / self.traces as f64;
        for (place, Quartiles { values }) in boxes {
            let left = canvas.x(*place as f64) - slot / 2.0 + width * self.done as f64;
            let middle = left + width / 2.0;
            let [lower, first, median, third, upper] = values.map(|value| canvas.y(value));
            let (begin, end, quarter) = (left + width * 0.1, left + width * 0.9, width / 4.0);
            let [low, quartile, _, other, high] = values.map(number);
            let what = canvas.tooltips.value(values[2]);
            let more = format!("quartiles {quartile} and {other}, whiskers {low} and {high}");
            let title = canvas.tooltips.of_name(name, *place as f64, &format!("median: {what}\n{more}"));
            let _ = write!(
                text,
                "<rect x=\"{begin:.2}\" y=\"{third:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill-opacity=\"0.4\" \
                 stroke=\"currentColor\">{title}</rect><path d=\"M{begin:.2} {median:.2}H{end:.2}\
                 M{middle:.2} {first:.2}V{lower:.2}M{middle:.2} {third:.2}V{upper:.2}\
                 M{:.2} {lower:.2}h{:.2}M{:.2} {upper:.2}h{:.2}\" stroke=\"currentColor\" fill=\"none\"/>",
                end - begin,
                first - third,
                middle - quarter,
                2.0 * quarter,
                middle - quarter,
                2.0 * quarter,
            );
        }
        self.done += 1;
    }
}

/// Draws means with intervals in rows. What lies outside of the axis is an arrow at its edge, with the value.
pub(super) fn draw_intervals(text: &mut String, name: &str, rows: &[(usize, [f64; 3])], canvas: &Canvas) {
    for (row, values) in rows {
        let y = canvas.y(*row as f64);
        let what = format!("{}, from {} to {}", canvas.tooltips.value(values[1]), number(values[0]), number(values[2]));
        let title = canvas.tooltips.of_name(name, *row as f64, &what);
        let edges = [canvas.area.left, canvas.area.left + canvas.area.width];
        let [low, mean, high] = values.map(|value| canvas.x(value));
        let is_out = |x: f64| x < edges[0] - EDGE || x > edges[1] + EDGE;
        let [from, to] = [low, high].map(|x| x.clamp(edges[0], edges[1]));
        let _ = write!(text, "<g>{title}<path d=\"M{from:.2} {y:.2}H{to:.2}");
        for x in [low, high].into_iter().filter(|x| !is_out(*x)) {
            let _ = write!(text, "M{x:.2} {:.2}v8", y - 4.0);
        }
        text.push_str("\" stroke=\"currentColor\" stroke-width=\"1.6\" fill=\"none\"/>");
        for (edge, back, end, anchor) in [(edges[0], 9.0, 0, "start"), (edges[1], -9.0, 2, "end")] {
            let is_beyond = |x: f64| is_out(x) && (x > edge) == (back < 0.0) && x != edge;
            if !is_beyond([low, mean, high][end]) {
                continue;
            }
            // Where the mean cannot be seen either, it is the value.
            let value = if is_beyond(mean) { values[1] } else { values[end] };
            let _ = write!(
                text,
                "<path class=\"beyond\" d=\"M{edge:.2} {y:.2}l{back} -5v10z\"/>\
                 <text x=\"{:.2}\" y=\"{:.2}\" text-anchor=\"{anchor}\">{}</text>",
                edge + back * 1.3,
                y - 4.0,
                number(value)
            );
        }
        if !is_out(mean) {
            lines::draw_mark(text, Mark::Dot, (mean, y));
        }
        text.push_str("</g>");
    }
}
