//! The pictures of one sender: a new one is a function and a line in [`FIGURES`].

use plotly::{
    Bar, Plot, Scatter,
    common::{DashType, Fill, Line, LineShape, Marker, MarkerSymbol, Mode},
    layout::{AxisType, Shape, ShapeLine, ShapeType},
};
use quiclab_metrics::{BurstCause, DirectionAnalysis, Metrics, SeriesPoint};
use quiclab_units::Duration;

use crate::figures::{Figure, style};

/// `None` where there is nothing to draw. The number makes its name in the page unique.
type Draw = fn(&DirectionAnalysis, usize, Duration) -> Option<Figure>;

/// In the order of the page.
pub(crate) const FIGURES: &[Draw] = &[gaps, trains, causes, sequence, in_flight, rtt];

fn gaps(direction: &DirectionAnalysis, place: usize, threshold: Duration) -> Option<Figure> {
    let (edges, shares) = cumulative(&direction.run.distributions.gaps_ns, 1e3)?;
    let mut plot = Plot::new();
    plot.add_trace(
        Scatter::new(edges, shares)
            .name("gaps")
            .mode(Mode::Lines)
            .line(style::line(0).shape(LineShape::Hv))
            .hover_template("%{y:.3f} of the gaps are at most %{x:.4g} \u{b5}s"),
    );
    let at = threshold.as_nanos() as f64 / 1e3;
    let line = Shape::new().shape_type(ShapeType::Line).x_ref("x").y_ref("paper").x0(at).x1(at).y0(0.0).y1(1.0);
    let line = line.line(ShapeLine::new().color("#777777").width(1.0).dash(DashType::Dot));
    let x = style::axis("gap between packets, \u{b5}s").type_(AxisType::Log);
    let y = style::axis("share of gaps").range(vec![0.0, 1.0]);
    plot.set_layout(style::layout(x, y).shapes(vec![line]));
    Some(Figure {
        id: format!("gaps-{place}"),
        title: "Gaps between packets".to_owned(),
        caption: format!(
            "Share of gaps that are at most this long. The dotted line is {threshold}; packets with smaller gaps form \
             a train."
        ),
        plot,
    })
}

fn trains(direction: &DirectionAnalysis, place: usize, _: Duration) -> Option<Figure> {
    let trains = &direction.run.distributions.trains;
    let packets: u64 = trains.iter().map(|(length, number)| length * number).sum();
    if packets == 0 {
        return None;
    }
    let mut below = 0;
    let (lengths, shares): (Vec<u64>, Vec<f64>) = trains
        .iter()
        .map(|(length, number)| {
            below += length * number;
            (*length, below as f64 / packets as f64)
        })
        .unzip();
    let mut plot = Plot::new();
    plot.add_trace(
        Scatter::new(lengths, shares)
            .name("packets")
            .mode(Mode::LinesMarkers)
            .line(style::line(0).shape(LineShape::Hv))
            .hover_template("%{y:.4f} of the packets are in trains of at most %{x}"),
    );
    let x = style::axis("train length, packets").type_(AxisType::Log);
    plot.set_layout(style::layout(x, style::axis("share of packets").range(vec![0.0, 1.0])));
    Some(Figure {
        id: format!("trains-{place}"),
        title: "Packet trains".to_owned(),
        caption: "Share of packets in trains of at most this length.".to_owned(),
        plot,
    })
}

/// Share of the packets in long trains for a cause.
fn share_of(cause: BurstCause, metrics: &Metrics) -> Option<f64> {
    match cause {
        BurstCause::StartUp => metrics.burst_share_start_up,
        BurstCause::RecoveryEnd => metrics.burst_share_recovery_end,
        BurstCause::LateTimer => metrics.burst_share_late_timer,
        BurstCause::Batch => metrics.burst_share_batch,
        BurstCause::ApplicationPause => metrics.burst_share_application_pause,
        BurstCause::Bucket => metrics.burst_share_bucket,
        BurstCause::Ack => metrics.burst_share_ack,
        BurstCause::Unknown => metrics.burst_share_unknown,
    }
}

fn causes(direction: &DirectionAnalysis, place: usize, _: Duration) -> Option<Figure> {
    let metrics = &direction.run.metrics;
    let bursty = metrics.burst_share_of_packets.filter(|share| *share > 0.0)?;
    let (names, shares): (Vec<&str>, Vec<f64>) =
        BurstCause::ALL.iter().map(|cause| (cause.name(), share_of(*cause, metrics).unwrap_or(0.0))).unzip();
    let mut plot = Plot::new();
    plot.add_trace(Bar::new(names, shares).name("share").marker(Marker::new().color(style::colour(0))));
    plot.set_layout(style::layout(
        style::axis(""),
        style::axis("share of packets in long trains").range(vec![0.0, 1.0]),
    ));
    Some(Figure {
        id: format!("causes-{place}"),
        title: "Why packets left together".to_owned(),
        caption: format!(
            "Most likely causes of the packets in trains of more than 5 packets, which are {:.1} % of all packets. \
             docs/concepts/bursts.md explains what counts as evidence.",
            bursty * 100.0
        ),
        plot,
    })
}

fn sequence(direction: &DirectionAnalysis, place: usize, _: Duration) -> Option<Figure> {
    let pictures = &direction.pictures;
    if pictures.sequence.is_empty() {
        return None;
    }
    let mut plot = Plot::new();
    band(&mut plot, &pictures.sequence, 1e6, "sent");
    for (marks, name, symbol, colour) in [
        (&pictures.lost, "declared lost", MarkerSymbol::X, style::colour(1)),
        (&pictures.retransmitted, "retransmission", MarkerSymbol::TriangleUp, style::colour(2)),
    ] {
        if !marks.is_empty() {
            let (times, values): (Vec<f64>, Vec<f64>) =
                marks.iter().map(|(time, value)| (*time as f64 / 1e6, *value as f64 / 1e6)).unzip();
            let marker = Marker::new().symbol(symbol).size(7).color(colour);
            plot.add_trace(Scatter::new(times, values).name(name).mode(Mode::Markers).marker(marker));
        }
    }
    plot.set_layout(style::layout(style::axis("time, ms"), style::axis("bytes of the stream, MB")));
    let left_out = match pictures.marks_left_out {
        0 => String::new(),
        count => format!(" {count} marks are not shown."),
    };
    Some(Figure {
        id: format!("sequence-{place}"),
        title: "Time and sequence".to_owned(),
        caption: format!(
            "Position in the stream (TCP: sequence number) of the data that was sent, over the time since the flow's \
             first packet. Lost packets are marked where they were sent.{left_out}"
        ),
        plot,
    })
}

fn in_flight(direction: &DirectionAnalysis, place: usize, _: Duration) -> Option<Figure> {
    if direction.run.metrics.bytes_in_flight_max.is_none() || direction.pictures.bytes_in_flight.is_empty() {
        return None;
    }
    let mut plot = Plot::new();
    band(&mut plot, &direction.pictures.bytes_in_flight, 1e3, "bytes in flight");
    plot.set_layout(style::layout(style::axis("time, ms"), style::axis("bytes in flight, kB")));
    Some(Figure {
        id: format!("in-flight-{place}"),
        title: "Bytes in flight".to_owned(),
        caption: "Sent at the tap and neither acknowledged nor declared lost.".to_owned(),
        plot,
    })
}

fn rtt(direction: &DirectionAnalysis, place: usize, _: Duration) -> Option<Figure> {
    if direction.pictures.rtt_ns.is_empty() {
        return None;
    }
    let mut plot = Plot::new();
    band(&mut plot, &direction.pictures.rtt_ns, 1e6, "RTT");
    plot.set_layout(style::layout(style::axis("time, ms"), style::axis("RTT, ms")));
    Some(Figure {
        id: format!("rtt-{place}"),
        title: "Round-trip time".to_owned(),
        caption: "From the tap to the receiver and back, by RFC 9002 section 5.1 (TCP: RFC 6298), including the \
                  receiver's delay."
            .to_owned(),
        plot,
    })
}

/// The last value of each span of time as a line, in a band from the smallest to the largest.
fn band(plot: &mut Plot, points: &[SeriesPoint], divisor: f64, name: &str) {
    let times: Vec<f64> = points.iter().map(|point| point.time_ns as f64 / 1e6).collect();
    let values = |value: fn(&SeriesPoint) -> u64| points.iter().map(|point| value(point) as f64 / divisor).collect();
    if points.iter().any(|point| point.minimum < point.maximum) {
        let edge = || Line::new().width(0.0).color(style::colour(5));
        let low: Vec<f64> = values(|point| point.minimum);
        let high: Vec<f64> = values(|point| point.maximum);
        plot.add_trace(
            Scatter::new(times.clone(), low).name("smallest").mode(Mode::Lines).line(edge()).show_legend(false),
        );
        plot.add_trace(
            Scatter::new(times.clone(), high)
                .name("from smallest to largest")
                .mode(Mode::Lines)
                .line(edge())
                .fill(Fill::ToNextY)
                .fill_color("rgba(86, 180, 233, 0.35)"),
        );
    }
    let last: Vec<f64> = values(|point| point.last);
    plot.add_trace(Scatter::new(times, last).name(name).mode(Mode::Lines).line(style::line(0)));
}

/// Upper edges of bins divided by `divisor`, and the share of all values up to each.
fn cumulative(bins: &[(u64, u64)], divisor: f64) -> Option<(Vec<f64>, Vec<f64>)> {
    let total: u64 = bins.iter().map(|(_, count)| count).sum();
    let mut below = 0;
    (total > 0).then(|| {
        bins.iter()
            .map(|(edge, count)| {
                below += count;
                (*edge as f64 / divisor, below as f64 / total as f64)
            })
            .unzip()
    })
}
