//! The ladder as a picture.

use std::fmt::Write as _;

use quiclab_wire::Role;

use super::model::{LadderConnection, LadderDatagram, LadderMark, LadderMarkKind, LadderTaps};
use crate::plot::{escaped, shortened, width};

/// Sizes of a picture that depend on how wide the page is.
pub(super) struct Layout {
    /// Class of the picture: a page shows one of the two.
    class: &'static str,
    width: f64,
    /// Where the sides are.
    client_x: f64,
    server_x: f64,
    /// The text of a packet takes so many lines at most.
    most_lines: usize,
}

/// The layout for a page that is as wide as the picture.
pub(super) const WIDE: Layout =
    Layout { class: "is-wide", width: 1100.0, client_x: 110.0, server_x: 990.0, most_lines: 1 };
/// The layout for a telephone: both sides are on it, and texts take more lines.
pub(super) const NARROW: Layout =
    Layout { class: "is-narrow", width: 390.0, client_x: 72.0, server_x: 318.0, most_lines: 5 };

const TOP: f64 = 50.0;
/// Height of a line of text.
const LINE: f64 = 14.0;
/// Size of the font in pixels.
const FONT: f64 = 11.0;
/// Bold text is so much wider.
const BOLD: f64 = 1.12;
/// Space between a side and a text.
const BESIDE: f64 = 14.0;
/// Above and below the text of a datagram.
const PADDING: f64 = 8.0;
/// A millisecond without datagrams is so high.
const PER_MILLISECOND: f64 = 2.0;
/// A pause is at most so high.
const HIGHEST_PAUSE: f64 = 90.0;
const COLORS: [&str; 2] = ["#0072B2", "#B25000"];
const LOST: &str = "#C00000";

/// The picture of one connection, as a whole SVG.
pub(super) fn svg(connection: &LadderConnection, layout: &Layout) -> String {
    let datagrams: Vec<_> =
        connection.datagrams.iter().map(|datagram| Drawn::of(datagram, connection.taps, layout)).collect();
    let marks: Vec<_> = connection.marks.iter().map(|mark| (mark, mark_lines(mark, layout))).collect();
    let heights = Heights::of(&datagrams, &marks, layout);
    let Layout { class, width, client_x, server_x, .. } = *layout;
    let height = heights.bottom + 40.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height:.0}\" class=\"plot {class}\" width=\"{width}\" height=\"{height:.0}\" role=\"img\" \
         aria-label=\"Handshake of {}\" font-family=\"system-ui, sans-serif\" font-size=\"{FONT}\" fill=\"#1a1a1a\">",
        escaped(&connection.name)
    );
    for (x, role) in [(client_x, Role::Client), (server_x, Role::Server)] {
        let _ = write!(
            text,
            "<text x=\"{x}\" y=\"24\" text-anchor=\"middle\" style=\"font-weight: 600; font-size: 14px\">{}</text>\
             <line class=\"side\" x1=\"{x}\" x2=\"{x}\" y1=\"34\" y2=\"{:.1}\" stroke=\"#888888\"/>",
            role.name(),
            height - 10.0
        );
    }
    let places: Vec<_> = datagrams.iter().zip(&heights.places).collect();
    for (datagram, place) in &places {
        arrow(&mut text, datagram, **place, layout);
    }
    // Above the arrows, so that they can be read.
    for (datagram, place) in &places {
        words(&mut text, datagram, **place, layout);
        if datagram.is_lost() {
            lost_words(&mut text, datagram, **place, layout);
        }
    }
    for ((mark, lines), place) in marks.iter().zip(&heights.marks) {
        draw_mark(&mut text, mark, lines, *place, layout);
    }
    text.push_str("</svg>");
    text
}

/// A datagram with its text in lines.
struct Drawn<'a> {
    datagram: &'a LadderDatagram,
    /// What it is in the handshake, then its packets.
    texts: Vec<Text>,
    taps: LadderTaps,
}

/// A text that stands at a side.
struct Text {
    is_bold: bool,
    lines: Vec<String>,
    /// The whole text, which appears when a pointer is over the line.
    whole: String,
}

impl Drawn<'_> {
    fn of<'a>(datagram: &'a LadderDatagram, taps: LadderTaps, layout: &Layout) -> Drawn<'a> {
        let text = |whole: String, is_bold: bool| Text { is_bold, lines: layout.lines(&whole, is_bold), whole };
        let steps = (!datagram.steps.is_empty())
            .then(|| text(format!("{} ({} bytes)", datagram.steps.join(", "), datagram.bytes), true));
        let packets = datagram.packets.iter().map(|packet| text(packet.clone(), false));
        Drawn { datagram, texts: steps.into_iter().chain(packets).collect(), taps }
    }

    /// Whether it passed the first of two taps only.
    fn is_lost(&self) -> bool {
        self.taps == LadderTaps::Two && self.datagram.arrived_ns.is_none()
    }

    /// Height of the text and, of what is lost, of the line in which that stands.
    fn height(&self) -> f64 {
        let lines: usize = self.texts.iter().map(|text| text.lines.len()).sum();
        (lines.max(1) + usize::from(self.is_lost())) as f64 * LINE
    }

    /// Where the arrow of what is lost ends.
    fn lost_at(&self, place: Place, layout: &Layout) -> (f64, f64) {
        (f64::midpoint(layout.client_x, layout.server_x), place.sent + self.height() - LINE / 2.0 + 4.0)
    }
}

fn mark_lines(mark: &LadderMark, layout: &Layout) -> Vec<String> {
    layout.lines(&format!("{} {}", name_of(mark.kind).1, mark.words), true)
}

impl Layout {
    /// Where a side is.
    fn x(&self, role: Role) -> f64 {
        match role {
            Role::Client => self.client_x,
            Role::Server => self.server_x,
        }
    }

    /// Whether a line goes beyond the middle between the sides.
    fn is_long(&self, lines: &[String]) -> bool {
        let half = (self.server_x - self.client_x) / 2.0 - BESIDE - 3.0;
        lines.iter().any(|line| width(line, FONT) * BOLD > half)
    }

    /// The text in lines that fit between the sides, the last one with an ellipsis where it does not all fit.
    fn lines(&self, text: &str, is_bold: bool) -> Vec<String> {
        let room = (self.server_x - self.client_x - 2.0 * BESIDE) / if is_bold { BOLD } else { 1.0 };
        let mut lines: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            match lines.last_mut() {
                Some(line) if width(&format!("{line} {word}"), FONT) <= room => *line = format!("{line} {word}"),
                _ => lines.push(word.to_owned()),
            }
        }
        if lines.len() > self.most_lines {
            let rest = lines.split_off(self.most_lines - 1).join(" ");
            lines.push(rest);
        }
        lines.into_iter().map(|line| shortened(&line, room, FONT)).collect()
    }
}

/// Where a datagram begins and ends on the picture.
#[derive(Clone, Copy, Default)]
struct Place {
    sent: f64,
    /// `None` where its arrival was not seen.
    arrived: Option<f64>,
}

/// What happens at a time, in the order in which things of one time are drawn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Arrival,
    End,
    Before,
    Departure,
    Behind,
}

/// Where times are on the picture: what is further down is later, not to scale.
struct Heights {
    places: Vec<Place>,
    /// Where each mark begins and ends.
    marks: Vec<(f64, f64)>,
    bottom: f64,
}

impl Heights {
    /// Departures and arrivals in the order of time, each with room for its text.
    fn of(datagrams: &[Drawn], marks: &[(&LadderMark, Vec<String>)], layout: &Layout) -> Self {
        let sent = datagrams.iter().enumerate().map(|(number, one)| (one.datagram.sent_ns, What::Departure, number));
        let arrived = datagrams
            .iter()
            .enumerate()
            .filter_map(|(number, one)| Some((one.datagram.arrived_ns?, What::Arrival, number)));
        // A probe is marked above the datagram that it is, a sample below the one that brought it.
        let begun = marks.iter().enumerate().map(|(number, (mark, _))| {
            (
                mark.time_ns,
                if matches!(mark.kind, LadderMarkKind::Probe | LadderMarkKind::Timeout) {
                    What::Before
                } else {
                    What::Behind
                },
                number,
            )
        });
        let ended =
            marks.iter().enumerate().filter_map(|(number, (mark, _))| Some((mark.until_ns?, What::End, number)));
        let mut events: Vec<_> = sent.chain(arrived).chain(begun).chain(ended).collect();
        events.sort_unstable();
        let mut places = vec![Place::default(); datagrams.len()];
        let mut places_of_marks = vec![(0.0, 0.0); marks.len()];
        let mut free = [TOP; 2];
        let mut before: Option<(u64, f64)> = None;
        for (time_ns, what, number) in events {
            let lowest = before.map_or(TOP, |(earlier, y)| {
                let pause = (time_ns - earlier) as f64 / 1e6 * PER_MILLISECOND;
                y + pause.min(HIGHEST_PAUSE)
            });
            let side = match what {
                What::Arrival => datagrams[number].datagram.sender.peer(),
                What::Departure => datagrams[number].datagram.sender,
                What::Before | What::Behind | What::End => marks[number].0.side,
            };
            // Two texts beside each other must both be short.
            let is_long = match what {
                What::Departure => datagrams[number].texts.iter().any(|text| layout.is_long(&text.lines)),
                What::Before | What::Behind => layout.is_long(&marks[number].1),
                What::Arrival | What::End => false,
            };
            let y = lowest.max(free[side as usize]).max(if is_long { free[side.peer() as usize] } else { 0.0 });
            let height = match what {
                What::Arrival => {
                    places[number].arrived = Some(y);
                    LINE
                }
                What::Departure => {
                    places[number].sent = y;
                    datagrams[number].height() + PADDING
                }
                What::Before | What::Behind => {
                    places_of_marks[number] = (y, y);
                    marks[number].1.len().max(1) as f64 * LINE + 2.0
                }
                What::End => {
                    places_of_marks[number].1 = y;
                    0.0
                }
            };
            free[side as usize] = y + height;
            if is_long {
                free = [y + height; 2];
            }
            before = Some((time_ns, y));
        }
        Self { places, marks: places_of_marks, bottom: free[0].max(free[1]) }
    }
}

/// The arrow of a datagram. What is lost ends on its way, below its text.
fn arrow(text: &mut String, drawn: &Drawn, place: Place, layout: &Layout) {
    let sender = drawn.datagram.sender;
    let (from, to, y) = (layout.x(sender), layout.x(sender.peer()), place.sent);
    let (end_x, end_y) = match (drawn.taps, place.arrived) {
        (LadderTaps::One, _) => (to, y),
        (LadderTaps::Two, Some(arrived)) => (to, arrived),
        (LadderTaps::Two, None) => drawn.lost_at(place, layout),
    };
    let ink = if drawn.is_lost() { LOST } else { COLORS[sender as usize] };
    let _ = write!(
        text,
        "<line x1=\"{from}\" y1=\"{y:.1}\" x2=\"{end_x:.1}\" y2=\"{end_y:.1}\" stroke=\"{ink}\" stroke-width=\"1.2\"/>"
    );
    let _ = if drawn.is_lost() {
        let (left, top) = (end_x - 5.0, end_y - 5.0);
        write!(text, "<path d=\"M{left:.1} {top:.1}l10 10m0 -10l-10 10\" stroke=\"{LOST}\" stroke-width=\"2\"/>")
    } else {
        let back = if sender == Role::Client { -8.0 } else { 8.0 };
        write!(text, "<path d=\"M{end_x:.1} {end_y:.1}l{back} -4v8z\" fill=\"{ink}\"/>")
    };
}

/// What dropped a datagram, beside the cross.
fn lost_words(text: &mut String, drawn: &Drawn, place: Place, layout: &Layout) {
    let (end_x, end_y) = drawn.lost_at(place, layout);
    let sender = drawn.datagram.sender;
    let (x, anchor) = if sender == Role::Client { (end_x + 10.0, "start") } else { (end_x - 10.0, "end") };
    let whole = drawn.datagram.dropped_by.as_ref().map_or_else(|| "lost".to_owned(), |by| format!("lost: {by}"));
    let words = shortened(&whole, (layout.x(sender.peer()) - end_x).abs() - BESIDE, FONT);
    paper(text, x, end_y + 4.0, anchor, width(&words, FONT));
    let _ = write!(
        text,
        "<text x=\"{x:.1}\" y=\"{:.1}\" fill=\"{LOST}\" text-anchor=\"{anchor}\">{}<title>{}</title></text>",
        end_y + 4.0,
        escaped(&words),
        escaped(&whole)
    );
}

/// The ground of a text: an arrow passes behind it, not through it.
fn paper(text: &mut String, x: f64, y: f64, anchor: &str, width: f64) {
    let left = if anchor == "start" { x } else { x - width };
    let _ = write!(
        text,
        "<rect class=\"paper\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#ffffff\"/>",
        left - 3.0,
        y - LINE + 3.5,
        width + 6.0,
        LINE - 0.5
    );
}

/// The times of a datagram, and what it holds.
fn words(text: &mut String, drawn: &Drawn, place: Place, layout: &Layout) {
    let datagram = drawn.datagram;
    time(text, datagram.sender, datagram.sent_ns, place.sent, layout);
    if let (Some(time_ns), Some(y)) = (datagram.arrived_ns, place.arrived) {
        time(text, datagram.sender.peer(), time_ns, y, layout);
    }
    let mut line = place.sent;
    for one in &drawn.texts {
        let style = if one.is_bold { "font-weight: 600" } else { "" };
        for words in &one.lines {
            line += LINE - 1.0;
            label(text, datagram.sender, line, style, words, &one.whole, layout);
        }
    }
}

/// A line of text under the beginning of an arrow.
fn label(text: &mut String, role: Role, y: f64, style: &str, words: &str, whole: &str, layout: &Layout) {
    let (x, anchor) = match role {
        Role::Client => (layout.client_x + BESIDE, "start"),
        Role::Server => (layout.server_x - BESIDE, "end"),
    };
    let wide = width(words, FONT) * if style.is_empty() { 1.0 } else { BOLD };
    paper(text, x, y, anchor, wide);
    let _ = write!(
        text,
        "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" style=\"{style}\">{}<title>{}</title></text>",
        escaped(words),
        escaped(whole)
    );
}

fn time(text: &mut String, role: Role, time_ns: u64, y: f64, layout: &Layout) {
    let (x, anchor) = match role {
        Role::Client => (layout.client_x - 8.0, "end"),
        Role::Server => (layout.server_x + 8.0, "start"),
    };
    let _ = write!(
        text,
        "<text class=\"time\" x=\"{x}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{:.3} ms</text>",
        y + 4.0,
        time_ns as f64 / 1e6
    );
}

/// Colour and name of a mark.
fn name_of(kind: LadderMarkKind) -> (&'static str, &'static str) {
    match kind {
        LadderMarkKind::Sample => ("#006B4E", "RTT"),
        LadderMarkKind::Timeout => ("#7A3DB8", "timer"),
        LadderMarkKind::LoggedTimeout => ("#7A3DB8", "timer in qlog"),
        LadderMarkKind::Probe => ("#B8006B", "probe"),
        LadderMarkKind::Blocked => ("#8A5A00", "blocked"),
    }
}

/// A mark at a side: a dot or, of what lasted, a bar, and its words.
fn draw_mark(text: &mut String, mark: &LadderMark, lines: &[String], (begin, end): (f64, f64), layout: &Layout) {
    let (ink, word) = name_of(mark.kind);
    let x = layout.x(mark.side);
    let (words_x, anchor) = if mark.side == Role::Client { (x + BESIDE, "start") } else { (x - BESIDE, "end") };
    let _ = if mark.until_ns.is_some() {
        write!(
            text,
            "<rect x=\"{:.1}\" y=\"{begin:.1}\" width=\"8\" height=\"{:.1}\" fill=\"{ink}\" fill-opacity=\"0.45\"/>",
            x - 4.0,
            (end - begin).max(4.0)
        )
    } else {
        write!(text, "<circle cx=\"{x}\" cy=\"{begin:.1}\" r=\"4\" fill=\"{ink}\"/>")
    };
    for (place, line) in lines.iter().enumerate() {
        let y = begin + 4.0 + place as f64 * (LINE - 1.0);
        paper(text, words_x, y, anchor, width(line, FONT) * BOLD);
        // The name is in bold; it stands at the beginning of the first line.
        let rest = if place == 0 { line.strip_prefix(word) } else { None };
        let words = match rest {
            Some(rest) => format!("<tspan style=\"font-weight: 600\">{word}</tspan>{}", escaped(rest)),
            None => escaped(line),
        };
        let _ = write!(
            text,
            "<text x=\"{words_x}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{ink}\">{words}<title>{}</title></text>",
            escaped(&mark.words)
        );
    }
    time(text, mark.side, mark.time_ns, begin, layout);
}
