//! The ladder as a picture.

use std::fmt::Write as _;

use quiclab_wire::Role;

use super::model::{LadderConnection, LadderDatagram, LadderMark, LadderMarkKind, LadderTaps};
use crate::plot::escaped;

const WIDTH: f64 = 1100.0;
const CLIENT_X: f64 = 110.0;
const SERVER_X: f64 = 990.0;
const TOP: f64 = 50.0;
/// Height of a line of text.
const LINE: f64 = 14.0;
/// Above and below the text of a datagram.
const PADDING: f64 = 8.0;
/// A millisecond without datagrams is so high.
const PER_MILLISECOND: f64 = 2.0;
/// A pause is at most so high.
const HIGHEST_PAUSE: f64 = 90.0;
/// A packet's text is cut behind so many characters, about what fits between the sides.
const LONGEST_TEXT: usize = 118;
const COLORS: [&str; 2] = ["#0072B2", "#B25000"];
const LOST: &str = "#C00000";

/// The picture of one connection, as a whole SVG.
pub(super) fn svg(connection: &LadderConnection) -> String {
    let datagrams = &connection.datagrams;
    let heights = Heights::of(datagrams, &connection.marks);
    let height = heights.bottom + 40.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" class=\"plot\" width=\"{WIDTH}\" height=\"{height:.0}\" role=\"img\" \
         aria-label=\"Handshake of {}\" font-family=\"system-ui, sans-serif\" font-size=\"11\" fill=\"#1a1a1a\">",
        escaped(&connection.name)
    );
    for (x, role) in [(CLIENT_X, Role::Client), (SERVER_X, Role::Server)] {
        let _ = write!(
            text,
            "<text x=\"{x}\" y=\"24\" text-anchor=\"middle\" style=\"font-weight: 600; font-size: 14px\">{}</text>\
             <line x1=\"{x}\" x2=\"{x}\" y1=\"34\" y2=\"{:.1}\" stroke=\"#888888\"/>",
            role.name(),
            height - 10.0
        );
    }
    let places: Vec<_> = datagrams.iter().zip(&heights.places).collect();
    for (datagram, place) in &places {
        arrow(&mut text, datagram, **place, connection.taps);
    }
    // Above the arrows, so that they can be read.
    for (datagram, place) in &places {
        words(&mut text, datagram, **place);
    }
    for (mark, place) in connection.marks.iter().zip(&heights.marks) {
        draw_mark(&mut text, mark, *place);
    }
    text.push_str("</svg>");
    text
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
    fn of(datagrams: &[LadderDatagram], marks: &[LadderMark]) -> Self {
        let sent = datagrams.iter().enumerate().map(|(number, one)| (one.sent_ns, What::Departure, number));
        let arrived =
            datagrams.iter().enumerate().filter_map(|(number, one)| Some((one.arrived_ns?, What::Arrival, number)));
        // A probe is marked above the datagram that it is, a sample below the one that brought it.
        let begun = marks.iter().enumerate().map(|(number, mark)| {
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
        let ended = marks.iter().enumerate().filter_map(|(number, mark)| Some((mark.until_ns?, What::End, number)));
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
                What::Arrival => datagrams[number].sender.peer(),
                What::Departure => datagrams[number].sender,
                What::Before | What::Behind | What::End => marks[number].side,
            };
            let y = lowest.max(free[side as usize]);
            let height = match what {
                What::Arrival => {
                    places[number].arrived = Some(y);
                    LINE
                }
                What::Departure => {
                    places[number].sent = y;
                    let datagram = &datagrams[number];
                    let lines = datagram.packets.len() + usize::from(!datagram.steps.is_empty());
                    lines.max(1) as f64 * LINE + PADDING
                }
                What::Before | What::Behind => {
                    places_of_marks[number] = (y, y);
                    LINE + 2.0
                }
                What::End => {
                    places_of_marks[number].1 = y;
                    0.0
                }
            };
            free[side as usize] = y + height;
            before = Some((time_ns, y));
        }
        Self { places, marks: places_of_marks, bottom: free[0].max(free[1]) }
    }
}

/// The arrow of a datagram.
fn arrow(text: &mut String, datagram: &LadderDatagram, place: Place, taps: LadderTaps) {
    let is_client = datagram.sender == Role::Client;
    let (from, to) = if is_client { (CLIENT_X, SERVER_X) } else { (SERVER_X, CLIENT_X) };
    let y = place.sent;
    let (end_x, end_y) = match (taps, place.arrived) {
        (LadderTaps::One, _) => (to, y),
        (LadderTaps::Two, Some(arrived)) => (to, arrived),
        // What is lost ends on its way.
        (LadderTaps::Two, None) => (f64::midpoint(from, to), y + 20.0),
    };
    let is_lost = taps == LadderTaps::Two && place.arrived.is_none();
    let ink = if is_lost { LOST } else { COLORS[datagram.sender as usize] };
    let _ = write!(
        text,
        "<line x1=\"{from}\" y1=\"{y:.1}\" x2=\"{end_x:.1}\" y2=\"{end_y:.1}\" stroke=\"{ink}\" stroke-width=\"1.2\"/>"
    );
    if is_lost {
        let _ = write!(
            text,
            "<path d=\"M{:.1} {:.1}l10 10m0 -10l-10 10\" stroke=\"{LOST}\" stroke-width=\"2\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" class=\"halo\" fill=\"{LOST}\" text-anchor=\"{}\" paint-order=\"stroke\" stroke=\"#ffffff\" stroke-width=\"3\">lost{}</text>",
            end_x - 5.0,
            end_y - 5.0,
            if is_client { end_x + 10.0 } else { end_x - 10.0 },
            end_y + 4.0,
            if is_client { "start" } else { "end" },
            datagram.dropped_by.as_ref().map_or_else(String::new, |by| format!(": {}", escaped(by)))
        );
    } else {
        let back = if is_client { -8.0 } else { 8.0 };
        let _ = write!(text, "<path d=\"M{end_x:.1} {end_y:.1}l{back} -4v8z\" fill=\"{ink}\"/>");
    }
}

/// The times of a datagram, and what it holds.
fn words(text: &mut String, datagram: &LadderDatagram, place: Place) {
    time(text, datagram.sender, datagram.sent_ns, place.sent);
    if let (Some(time_ns), Some(y)) = (datagram.arrived_ns, place.arrived) {
        time(text, datagram.sender.peer(), time_ns, y);
    }
    let is_client = datagram.sender == Role::Client;
    let mut line = place.sent;
    if !datagram.steps.is_empty() {
        line += LINE - 1.0;
        let words = format!("{} ({} bytes)", datagram.steps.join(", "), datagram.bytes);
        label(text, is_client, line, "font-weight: 600", &words);
    }
    for packet in &datagram.packets {
        line += LINE - 1.0;
        label(text, is_client, line, "", packet);
    }
}

/// Text under the beginning of an arrow.
fn label(text: &mut String, is_client: bool, y: f64, style: &str, words: &str) {
    let cut: String = words.chars().take(LONGEST_TEXT).collect();
    let more = if cut.len() < words.len() { "\u{2026}" } else { "" };
    let (x, anchor) = if is_client { (CLIENT_X + 14.0, "start") } else { (SERVER_X - 14.0, "end") };
    let _ = write!(
        text,
        "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"halo\" style=\"{style}\" paint-order=\"stroke\" stroke=\"#ffffff\" stroke-width=\"3\">{}{more}\
         <title>{}</title></text>",
        escaped(&cut),
        escaped(words)
    );
}

fn time(text: &mut String, role: Role, time_ns: u64, y: f64) {
    let (x, anchor) = match role {
        Role::Client => (CLIENT_X - 8.0, "end"),
        Role::Server => (SERVER_X + 8.0, "start"),
    };
    let _ = write!(
        text,
        "<text class=\"time\" x=\"{x}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{:.3} ms</text>",
        y + 4.0,
        time_ns as f64 / 1e6
    );
}

/// A mark at a side: a dot or, of what lasted, a bar, and its words.
fn draw_mark(text: &mut String, mark: &LadderMark, (begin, end): (f64, f64)) {
    let (ink, word) = match mark.kind {
        LadderMarkKind::Sample => ("#006B4E", "RTT"),
        LadderMarkKind::Timeout => ("#7A3DB8", "timer"),
        LadderMarkKind::LoggedTimeout => ("#7A3DB8", "timer in qlog"),
        LadderMarkKind::Probe => ("#B8006B", "probe"),
        LadderMarkKind::Blocked => ("#8A5A00", "blocked"),
    };
    let is_client = mark.side == Role::Client;
    let (x, words_x, anchor) =
        if is_client { (CLIENT_X, CLIENT_X + 14.0, "start") } else { (SERVER_X, SERVER_X - 14.0, "end") };
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
    let y = begin + 4.0;
    let _ = write!(
        text,
        "<text x=\"{words_x}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"halo\" fill=\"{ink}\" paint-order=\"stroke\" stroke=\"#ffffff\" \
         stroke-width=\"3\"><tspan style=\"font-weight: 600\">{word}</tspan> {}</text>",
        escaped(&mark.words)
    );
    time(text, mark.side, mark.time_ns, begin);
}
