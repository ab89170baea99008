//! Panels below each other as SVG. Curves are drawn whole, with all their points, so that zooming stretches them.

use std::fmt::Write as _;

use quiclab_metrics::SeriesPoint;

use super::{
    axis::{label, round_step, ticks},
    run_page::RunPage,
};
use crate::{
    host::HostPictures,
    plot::{escaped, style::colour},
};

/// Measures of the whole figure, and of where curves are drawn in it.
pub(super) const WIDTH: f64 = 1_140.0;
pub(super) const LEFT: f64 = 70.0;
pub(super) const PLOT_WIDTH: f64 = 1_050.0;
const TOP: f64 = 8.0;
const AXIS_HEIGHT: f64 = 38.0;
/// Space between panels; a panel's title stands there.
const SPACE: f64 = 24.0;
/// One curve, or the marks of a lane.
pub(super) struct Curve {
    pub name: String,
    pub colour: &'static str,
    /// Whether the area below it is filled.
    pub is_filled: bool,
    /// Time in ns and values in the panel's unit: smallest, largest, last.
    pub points: Vec<(u64, [f64; 3])>,
}

/// A stretch of time that is marked: begin and end in ns, and its height from 0 to 1.
type Stretch = (u64, u64, f64);

/// What is drawn in a panel.
pub(super) enum Content {
    Curves(Vec<Curve>),
    Marks { colour: &'static str, stretches: Vec<Stretch> },
}

/// Curves that share a unit.
pub(super) struct Panel {
    pub title: String,
    pub height: f64,
    pub content: Content,
}

/// The panels of a run; one without anything to show is left out.
pub(super) fn panels(page: &RunPage) -> Vec<Panel> {
    let timeline = &page.timeline;
    let log = page.log.as_ref();
    let in_flight = curve("in flight at the tap", 0, true, &page.bytes_in_flight, 1e3);
    let window =
        log.and_then(|log| curve("congestion window from the sender's log", 1, false, &log.congestion_window, 1e3));
    let rate = curve("sent at the tap, over 5 ms", 0, true, &timeline.sending_rate_bps, 1e6);
    let pacing = log.and_then(|log| curve("pacing rate from the sender's log", 1, false, &log.pacing_rate_bps, 1e6));
    let rtt = curve("RTT at the tap", 0, false, &page.rtt_ns, 1e6);
    let queue = curve("wait in the bottleneck's queue", 2, true, &timeline.queue_delay_ns, 1e6);
    let mut all = Vec::new();
    all.extend(curves("bytes, kB", 150.0, [in_flight, window]));
    all.extend(curves("rate, Mbit/s", 110.0, [rate, pacing]));
    all.extend(curves("ms", 130.0, [rtt, queue]));
    let marks = |times: &[u64]| times.iter().map(|time| (*time, *time, 1.0)).collect::<Vec<_>>();
    if let Some(drops) = timeline.drops.filter(|drops| *drops > 0) {
        let title = format!("dropped between the taps, when they were sent: {drops}");
        all.push(lane(title, 22.0, colour(1), marks(&timeline.drops_ns)));
    }
    if !page.lost_ns.is_empty() {
        let title = format!("declared lost by RFC 9002, when they were sent: {}", page.lost_ns.len());
        all.push(lane(title, 22.0, colour(4), marks(&page.lost_ns)));
    }
    let longest = timeline.bursts.iter().map(|burst| burst.packets).max();
    if let Some(longest) = longest {
        let height = |packets: u64| packets as f64 / longest as f64;
        let bursts = timeline.bursts.iter().map(|burst| (burst.start_ns, burst.end_ns, height(burst.packets)));
        let title = format!("trains of more than 5 packets: height is their length, at most {longest}");
        all.push(lane(title, 50.0, colour(3), bursts.collect()));
    }
    all.extend(page.host.iter().flat_map(host_panels));
    all
}

/// CPU time and what else the hosts did. Each point is the begin of a step, whose value holds until its end.
fn host_panels(host: &HostPictures) -> Vec<Panel> {
    let panels = [
        ("CPU by thread, cores", 130.0, &host.threads),
        ("CPU by core, share", 110.0, &host.cores),
        ("context switches, 1000/s", 80.0, &host.switches),
        ("system calls, 1000/s", 80.0, &host.system_calls),
        ("datagrams dropped at full receive buffers", 60.0, &host.receive_buffer_drops),
    ];
    let shown = panels.into_iter().filter(|(_, _, curves)| !curves.is_empty());
    let panels = shown.map(|(title, height, curves)| {
        let curves = curves.iter().enumerate().map(|(place, curve)| Curve {
            name: escaped(&curve.name),
            colour: colour(place),
            is_filled: false,
            points: curve.points.iter().map(|(time_ns, value)| (*time_ns, [*value; 3])).collect(),
        });
        Panel { title: title.to_owned(), height, content: Content::Curves(curves.collect()) }
    });
    panels.collect()
}

fn curve(name: &str, place: usize, is_filled: bool, points: &[SeriesPoint], divisor: f64) -> Option<Curve> {
    let points: Vec<_> = points
        .iter()
        .map(|point| (point.time_ns, [point.minimum, point.maximum, point.last].map(|value| value as f64 / divisor)))
        .collect();
    (!points.is_empty()).then(|| Curve { name: name.to_owned(), colour: colour(place), is_filled, points })
}

fn curves<const N: usize>(unit: &str, height: f64, all: [Option<Curve>; N]) -> Option<Panel> {
    let curves: Vec<_> = all.into_iter().flatten().collect();
    (!curves.is_empty()).then(|| Panel { title: unit.to_owned(), height, content: Content::Curves(curves) })
}

fn lane(title: String, height: f64, colour: &'static str, stretches: Vec<Stretch>) -> Panel {
    Panel { title, height, content: Content::Marks { colour, stretches } }
}

/// Where a time lies in the figure, not zoomed.
pub(super) fn x(time_ns: u64, duration_ns: u64) -> f64 {
    LEFT + PLOT_WIDTH * time_ns as f64 / duration_ns.max(1) as f64
}

/// The figure of [`render_run_html`](crate::render_run_html) alone, as an SVG file.
pub fn render_run_svg(page: &RunPage) -> String {
    svg(&panels(page), page.timeline.duration_ns)
}

/// A whole file.
pub(super) fn svg(panels: &[Panel], duration_ns: u64) -> String {
    let inner: f64 = panels.iter().map(|panel| panel.height + SPACE).sum();
    let height = TOP + inner + AXIS_HEIGHT;
    let bottom = TOP + inner;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" id=\"timeline\" viewBox=\"0 0 {WIDTH} {height}\" data-left=\"{LEFT}\" \
         data-width=\"{PLOT_WIDTH}\" data-duration=\"{duration_ns}\" data-bottom=\"{bottom}\" role=\"img\" \
         aria-label=\"the run over time\" font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#1a1a1a\">\
         <rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\
         <clipPath id=\"plot\"><rect x=\"{LEFT}\" y=\"0\" width=\"{PLOT_WIDTH}\" height=\"{height}\"/></clipPath>"
    );
    let mut top = TOP + SPACE;
    for panel in panels {
        draw_panel(&mut text, panel, top, duration_ns);
        top += panel.height + SPACE;
    }
    text.push_str("<g class=\"ticks\">");
    let seconds = duration_ns as f64 / 1e9;
    let step = round_step(seconds / 10.0);
    for tick in ticks(seconds, 10) {
        let x = x((tick * 1e9) as u64, duration_ns);
        let (end, below, name) = (bottom + 5.0, bottom + 18.0, label(tick, step));
        let _ = write!(
            text,
            "<path class=\"tick\" d=\"M{x:.2} {bottom}V{end}\" stroke=\"#444444\"/>\
             <text x=\"{x:.2}\" y=\"{below}\" text-anchor=\"middle\">{name}</text>"
        );
    }
    let (middle, below) = (LEFT + PLOT_WIDTH / 2.0, bottom + 32.0);
    let _ = writeln!(
        text,
        "</g><text x=\"{middle}\" y=\"{below}\" text-anchor=\"middle\">time since the first packet at the sender's tap, s</text>\
         </svg>"
    );
    text
}

fn draw_panel(text: &mut String, panel: &Panel, top: f64, duration_ns: u64) {
    let bottom = top + panel.height;
    let mut names = String::new();
    let mut paths = String::new();
    match &panel.content {
        Content::Curves(curves) => {
            let largest = curves.iter().flat_map(|curve| &curve.points).map(|(_, [_, largest, _])| *largest);
            let most = largest.fold(0.0, f64::max) * 1.05;
            let most = if most > 0.0 { most } else { 1.0 };
            let y = |value: f64| bottom - panel.height * value / most;
            let step = round_step(most / 4.0);
            for tick in ticks(most, 4) {
                let (y, name) = (y(tick), label(tick, step));
                let (right, beside) = (LEFT + PLOT_WIDTH, LEFT - 6.0);
                let _ = write!(
                    text,
                    "<path class=\"grid\" d=\"M{LEFT} {y:.2}H{right}\" stroke=\"#e5e5e5\"/>\
                     <text x=\"{beside}\" y=\"{:.2}\" text-anchor=\"end\">{name}</text>",
                    y + 4.0
                );
            }
            for curve in curves {
                paths.push_str(&curve_path(curve, &y, bottom, duration_ns));
                let _ = write!(names, "<tspan dx=\"14\" fill=\"{}\">\u{25a0} {}</tspan>", curve.colour, curve.name);
            }
        }
        Content::Marks { colour, stretches } => {
            let mut d = String::new();
            for (start, end, height) in stretches {
                let [start, end] = [start, end].map(|time| x(*time, duration_ns));
                let y = bottom - panel.height * height;
                let _ = write!(d, "M{start:.4} {bottom:.1}V{y:.1}H{end:.4}V{bottom:.1}");
            }
            let _ = write!(paths, "<path d=\"{d}\" fill=\"{colour}\" stroke=\"{colour}\" stroke-width=\"1\"/>");
        }
    }
    let (above, height) = (top - 6.0, panel.height);
    let _ = write!(
        text,
        "<text x=\"{LEFT}\" y=\"{above}\">{}{names}</text><g clip-path=\"url(#plot)\"><g class=\"z\">{paths}</g></g>\
         <rect class=\"frame\" x=\"{LEFT}\" y=\"{top}\" width=\"{PLOT_WIDTH}\" height=\"{height}\" fill=\"none\" stroke=\"#999999\"/>",
        panel.title
    );
}

/// Values hold until the next one; within a point's span the line goes from the smallest to the largest.
fn curve_path(curve: &Curve, y: &dyn Fn(f64) -> f64, bottom: f64, duration_ns: u64) -> String {
    let mut d = String::new();
    for (place, (time, [smallest, largest, last])) in curve.points.iter().enumerate() {
        let x = x(*time, duration_ns);
        let _ = if place == 0 { write!(d, "M{x:.4} {:.2}", y(*smallest)) } else { write!(d, "H{x:.4}") };
        if largest > smallest {
            let _ = write!(d, "V{:.2}V{:.2}", y(*smallest), y(*largest));
        }
        let _ = write!(d, "V{:.2}", y(*last));
    }
    let colour = curve.colour;
    let mut text = String::new();
    if curve.is_filled
        && let (Some((first, _)), Some((last, _))) = (curve.points.first(), curve.points.last())
    {
        let (first, last) = (x(*first, duration_ns), x(*last, duration_ns));
        let _ = write!(
            text,
            "<path d=\"{d}H{last:.4}V{bottom}H{first:.4}Z\" fill=\"{colour}\" fill-opacity=\"0.15\" stroke=\"none\"/>"
        );
    }
    let _ = write!(text, "<path d=\"{d}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.3\"/>");
    text
}
