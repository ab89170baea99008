//! `quiclab advise instant-ack` for several round-trip times, delays and certificates.

use std::path::Path;

use anyhow::{Context, Result, bail};
use comfy_table::CellAlignment;
use quiclab_advise::{Advice, Choice, advice};
use quiclab_report::{Curves, render_curves_svg};
use quiclab_units::{ByteCount, Duration};
use serde::Serialize;

use super::{question, signed_milliseconds};
use crate::{settings::InstantAckSettings, terminal::output};

/// Most combinations that are allowed: more would be a table that nobody reads.
const MOST_POINTS: usize = 10_000;
/// 3 x delay / RTT where the delay is three round trips: above it an instant ACK causes probes.
const NEEDLESS_FROM_RTTS: f64 = 9.0;

/// One combination. Times in nanoseconds.
#[derive(Debug, Serialize)]
struct Point {
    rtt_ns: u64,
    delay_ns: u64,
    certificate_bytes: u64,
    /// Time by which the client's first probe timeout is shorter.
    first_pto_gain_ns: Option<i64>,
    /// The same in round trips.
    first_pto_gain_rtts: Option<f64>,
    /// Probes of the client without loss that it would not send if the server waited.
    needless_probes: i64,
    /// What an instant acknowledgment gains of the time to the first byte, by loss.
    gains_ns: [Option<i64>; 3],
    /// The choice that is advised, by loss.
    choices: [Choice; 3],
    /// All of it.
    advice: Advice,
}

/// Prints a row for each combination, and draws the gain of the first probe timeout.
///
/// # Errors
/// Values that cannot be; a file that cannot be written.
pub fn grid(settings: &InstantAckSettings) -> Result<u8> {
    let (rtts, delays, sizes) = (&settings.rtts, &settings.delays, &settings.certificates);
    let count = rtts.len() * delays.len() * sizes.len();
    if count > MOST_POINTS {
        bail!("--rtt, --delay, --cert-size: found {count} combinations, expected at most {MOST_POINTS}");
    }
    let mut points = Vec::with_capacity(count);
    for &size in sizes {
        for &delay in delays {
            for &rtt in rtts {
                points.push(point(settings, (rtt, delay, size))?);
            }
        }
    }
    if let Some(path) = &settings.svg {
        draw(path, &points)?;
    }
    if settings.json {
        output::print(&(serde_json::to_string_pretty(&points)? + "\n"))?;
    } else {
        output::print(&text(&points))?;
    }
    Ok(0)
}

fn point(settings: &InstantAckSettings, (rtt, delay, size): (Duration, Duration, ByteCount)) -> Result<Point> {
    let place = || format!("--rtt {rtt} --delay {delay} --cert-size {size}");
    let advice = advice(&question(settings, rtt, delay, size), settings.kind, settings.losses).with_context(place)?;
    let [none, server, client] = &advice.scenarios[..] else { unreachable!("a scenario for each loss") };
    Ok(Point {
        rtt_ns: rtt.as_nanos(),
        delay_ns: delay.as_nanos(),
        certificate_bytes: size.as_bytes(),
        first_pto_gain_ns: advice.first_pto_gain_ns,
        first_pto_gain_rtts: advice.first_pto_gain_ns.map(|gain| gain as f64 / rtt.as_nanos() as f64),
        needless_probes: i64::from(none.instant.client_probes) - i64::from(none.wait.client_probes),
        gains_ns: [none, server, client].map(|scenario| scenario.gain_ns),
        choices: [none, server, client].map(|scenario| scenario.choice()),
        advice,
    })
}

fn text(points: &[Point]) -> String {
    let mut table = output::table([
        "chain, B",
        "delay",
        "RTT",
        "first PTO",
        "in RTTs",
        "probes",
        "no loss",
        "server's lost",
        "client's lost",
    ]);
    for point in points {
        let milliseconds = |ns: u64| format!("{:.3}", ns as f64 / 1e6);
        let gain = |place: usize| {
            let choice = match point.choices[place] {
                Choice::Instant => "instant",
                Choice::Wait => "wait",
                Choice::Either => "either",
            };
            format!("{} {choice}", signed_milliseconds(point.gains_ns[place].map(|gain| gain as f64)))
        };
        table.add_row([
            point.certificate_bytes.to_string(),
            milliseconds(point.delay_ns),
            milliseconds(point.rtt_ns),
            signed_milliseconds(point.first_pto_gain_ns.map(|gain| gain as f64)),
            point.first_pto_gain_rtts.map_or("-".to_owned(), |gain| format!("{gain:.2}")),
            format!("{:+}", point.needless_probes),
            gain(0),
            gain(1),
            gain(2),
        ]);
    }
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    format!(
        "{table}\nTimes in ms; what an instant ACK gains of the client's first PTO and of the time to the first byte.\nProbes: more of the \
         client's without loss. Lost: the rest of the server's first flight; the client's second flight.\n"
    )
}

/// A curve for each delay and certificate.
fn draw(path: &Path, points: &[Point]) -> Result<()> {
    let sizes: std::collections::BTreeSet<_> = points.iter().map(|point| point.certificate_bytes).collect();
    let mut curves: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for point in points {
        let delay = Duration::from_nanos(point.delay_ns);
        let name = match sizes.len() {
            1 => format!("delay {delay}"),
            _ => format!("delay {delay}, {} B", point.certificate_bytes),
        };
        let Some(gain) = point.first_pto_gain_rtts else { continue };
        let at = (point.rtt_ns as f64 / 1e6, gain);
        match curves.last_mut() {
            Some((last, points)) if *last == name => points.push(at),
            _ => curves.push((name, vec![at])),
        }
    }
    let rtts = points.iter().map(|point| point.rtt_ns as f64 / 1e6);
    let ends = [rtts.clone().fold(f64::INFINITY, f64::min), rtts.fold(0.0, f64::max)];
    curves.push(("needless probes from here".to_owned(), ends.map(|rtt| (rtt, NEEDLESS_FROM_RTTS)).to_vec()));
    let svg = render_curves_svg(&Curves {
        title: "What an instant ACK gains of the client's first PTO".to_owned(),
        x: "round-trip time, ms".to_owned(),
        y: "gain, round trips".to_owned(),
        is_logarithmic: [true; 2],
        curves,
    });
    std::fs::write(path, svg).with_context(|| path.display().to_string())
}
