//! Box plots and intervals: boxes from the first to the third quartile, with the median in them and whiskers.

use std::fmt::Write as _;

use super::{
    bars::interval,
    canvas::Canvas,
    lines,
    model::{Content, Mark, Plot, Quartiles},
};
use crate::number::number;

/// Share of a name's place that its boxes take.
const SHARE: f64 = 0.7;

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

/// Draws means with intervals in rows.
pub(super) fn draw_intervals(text: &mut String, name: &str, rows: &[(usize, [f64; 3])], canvas: &Canvas) {
    for (row, values) in rows {
        let y = canvas.y(*row as f64);
        let [low, mean, high] = values.map(|value| canvas.x(value));
        let what = format!("{}, from {} to {}", canvas.tooltips.value(values[1]), number(values[0]), number(values[2]));
        let title = canvas.tooltips.of_name(name, *row as f64, &what);
        let d = interval(low, high, y);
        let _ = write!(text, "<g>{title}<path d=\"{d}\" stroke=\"currentColor\" stroke-width=\"1.6\" fill=\"none\"/>");
        lines::draw_mark(text, Mark::Dot, (mean, y));
        text.push_str("</g>");
    }
}
