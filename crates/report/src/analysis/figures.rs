//! The pictures of one sender: a new one is a function and a line in [`FIGURES`].

use quiclab_metrics::{BurstCause, DirectionAnalysis, Metrics, SeriesPoint};
use quiclab_units::Duration;

use crate::plot::{Axis, Bars, Content, Figure, Line, Mark, Plot, style};

/// `None` where there is nothing to draw. The number makes its name in the page unique.
type Draw = fn(&DirectionAnalysis, usize, Duration) -> Option<Figure>;

/// How each figure of a sender is drawn, in the order of the page.
pub(crate) const FIGURES: &[Draw] = &[gaps, trains, causes, sequence, in_flight, rtt];

fn gaps(direction: &DirectionAnalysis, place: usize, threshold: Duration) -> Option<Figure> {
    let points = cumulative(&direction.run.distributions.gaps_ns, 1e3)?;
    let x = Axis::logarithmic("gap between packets, \u{b5}s");
    let mut plot = Plot::new(x, Axis::between("share of gaps", 0.0, 1.0));
    plot.guides = vec![threshold.as_nanos() as f64 / 1e3];
    plot.add("gaps", style::colour(0), Line::of_place(0, points).stepped());
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
    let shares = trains.iter().map(|(length, number)| {
        below += length * number;
        (*length as f64, below as f64 / packets as f64)
    });
    let x = Axis::logarithmic("train length, packets");
    let mut plot = Plot::new(x, Axis::between("share of packets", 0.0, 1.0));
    plot.add("packets", style::colour(0), Line::of_place(0, shares.collect()).stepped().marks(Mark::Dot));
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
    let names = BurstCause::ALL.iter().map(|cause| cause.name().to_owned()).collect();
    let shares = BurstCause::ALL.iter().map(|cause| share_of(*cause, metrics).unwrap_or(0.0));
    let mut plot = Plot::new(Axis::names("", names), Axis::between("share of packets in long trains", 0.0, 1.0));
    plot.add("share", style::colour(0), Bars::of(shares.collect()));
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
    let mut plot = Plot::new(Axis::linear("time, ms"), Axis::linear("bytes of the stream, MB"));
    band(&mut plot, &pictures.sequence, 1e6, "sent");
    for (marks, name, mark, place) in [
        (&pictures.lost, "declared lost", Mark::Cross, 1),
        (&pictures.retransmitted, "retransmission", Mark::Triangle, 2),
    ] {
        let points = marks.iter().map(|(time, value)| (*time as f64 / 1e6, *value as f64 / 1e6));
        plot.add(name, style::colour(place), Content::Marks(mark, points.collect()));
    }
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
    let mut plot = Plot::new(Axis::linear("time, ms"), Axis::linear("bytes in flight, kB"));
    band(&mut plot, &direction.pictures.bytes_in_flight, 1e3, "bytes in flight");
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
    let mut plot = Plot::new(Axis::linear("time, ms"), Axis::fitted("RTT, ms"));
    band(&mut plot, &direction.pictures.rtt_ns, 1e6, "RTT");
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
    let place = |point: &SeriesPoint, value: u64| (point.time_ns as f64 / 1e6, value as f64 / divisor);
    if points.iter().any(|point| point.minimum < point.maximum) {
        let high = points.iter().map(|point| place(point, point.maximum));
        let low = points.iter().rev().map(|point| place(point, point.minimum));
        plot.add("from smallest to largest", style::colour(5), Content::Area(high.chain(low).collect()));
    }
    let last = points.iter().map(|point| place(point, point.last));
    plot.add(name, style::colour(0), Line::of_place(0, last.collect()));
}

/// Upper edges of bins divided by `divisor`, and the share of all values up to each.
fn cumulative(bins: &[(u64, u64)], divisor: f64) -> Option<Vec<(f64, f64)>> {
    let total: u64 = bins.iter().map(|(_, count)| count).sum();
    let mut below = 0;
    (total > 0).then(|| {
        bins.iter()
            .map(|(edge, count)| {
                below += count;
                (*edge as f64 / divisor, below as f64 / total as f64)
            })
            .collect()
    })
}
