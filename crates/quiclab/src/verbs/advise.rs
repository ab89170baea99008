//! `quiclab advise`

mod check;
mod grid;
mod pto;

use std::path::Path;

use anyhow::{Context, Result, bail};
use comfy_table::CellAlignment;
use quiclab_advise::{Advice, Choice, Handshake, Question, advice};
use quiclab_trace::{RunColumn, RunKind, read_numbers, read_runs};
use quiclab_units::{ByteCount, Duration};
use serde::Serialize;

use crate::{
    settings::{AdviseSettings, InstantAckSettings},
    terminal::output,
};

/// Answers a question.
///
/// # Errors
/// Values that cannot be; a file that cannot be read.
pub fn advise(settings: &AdviseSettings) -> Result<u8> {
    match settings {
        AdviseSettings::InstantAck(settings) => instant_ack(settings),
        AdviseSettings::Check(settings) => check::check(settings),
        AdviseSettings::Pto(settings) => pto::pto(settings),
    }
}

fn instant_ack(settings: &InstantAckSettings) -> Result<u8> {
    if let Some(path) = &settings.samples {
        return of_samples(settings, path);
    }
    let ([rtt], [delay], [size], None) =
        (&settings.rtts[..], &settings.delays[..], &settings.certificates[..], &settings.svg)
    else {
        return grid::grid(settings);
    };
    let question = question(settings, *rtt, *delay, *size);
    let advice = advice(&question, settings.kind, settings.losses)?;
    if settings.json {
        output::print(&(serde_json::to_string_pretty(&advice)? + "\n"))?;
    } else {
        output::print(&text(&question, &advice))?;
    }
    Ok(0)
}

fn question(settings: &InstantAckSettings, rtt: Duration, delay: Duration, size: ByteCount) -> Question {
    let mut question = Question::new(rtt, delay, size);
    question.client_pto = settings.client_pto.unwrap_or(question.client_pto);
    question.server_pto = settings.server_pto;
    question.hello_datagrams = settings.hello_datagrams;
    question.repeats_flight = settings.repeats_flight;
    question.rate = settings.rate;
    question
}

fn text(question: &Question, advice: &Advice) -> String {
    let mut table = output::table(["", "share", "wait", "instant ACK", "gain", "probes", "blocked"]);
    for scenario in &advice.scenarios {
        let (wait, instant) = (&scenario.wait, &scenario.instant);
        let probes = |played: &Handshake| played.client_probes + played.server_probes;
        let blocked = |played: &Handshake| milliseconds(Some(played.blocked_ns as f64));
        table.add_row([
            scenario.loss.words().to_owned(),
            format!("{:.4}", scenario.share),
            milliseconds(wait.first_byte_ns.map(|time| time as f64)),
            milliseconds(instant.first_byte_ns.map(|time| time as f64)),
            signed_milliseconds(scenario.gain_ns.map(|gain| gain as f64)),
            format!("{} / {}", probes(wait), probes(instant)),
            format!("{} / {}", blocked(wait), blocked(instant)),
        ]);
    }
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let fits = if advice.scenarios[0].wait.fits { "fits" } else { "does not fit" };
    format!(
        "{}\n{table}\nTime to the first byte, what an instant ACK gains of it, and how long the amplification limit blocks the server, in \
         ms.\nProbes and blocked: wait / instant ACK. The server's first flight {fits} into three times the ClientHello.\n{}\n",
        verdict(advice),
        terms(question, advice)
    )
}

fn verdict(advice: &Advice) -> String {
    let mean = advice.mean_gain_ns.unwrap_or_default() / 1e6;
    match advice.choice {
        Choice::Instant => format!("instant: the first byte arrives {mean:.3} ms earlier on average"),
        Choice::Wait => {
            format!("wait: with an instant ACK the first byte would arrive {:.3} ms later on average", -mean)
        }
        Choice::Either if advice.mean_gain_ns.is_none() => "no advice: a handshake did not end within 120 s".to_owned(),
        Choice::Either => {
            let plain = &advice.scenarios[0];
            let more = i64::from(plain.instant.client_probes) - i64::from(plain.wait.client_probes);
            match more {
                1.. => {
                    format!("no difference in time; waiting saves {more} needless probe(s) of the client per handshake")
                }
                0 => "no difference in time".to_owned(),
                ..0 => format!(
                    "no difference in time; an instant ACK saves {} needless probe(s) of the client per handshake",
                    -more
                ),
            }
        }
    }
}

/// The numbers behind the verdict.
fn terms(question: &Question, advice: &Advice) -> String {
    let [rtt, delay] = [question.rtt, question.delay].map(|time| time.as_nanos() as f64 / 1e6);
    let plain = &advice.scenarios[0];
    let [wait, instant] =
        [&plain.wait, &plain.instant].map(|played| milliseconds(played.first_pto_ns.map(|time| time as f64)));
    let (compared, consequence) = if delay > 3.0 * rtt {
        ("exceeds", "with an instant ACK the client probes before the ServerHello arrives")
    } else {
        ("does not exceed", "an instant ACK causes no probes")
    };
    format!(
        "The client's first PTO is {wait} ms if the server waits, {instant} ms with an instant ACK: 3 x the delay less.\nThe delay \
         {compared} 3 round trips ({:.3} ms), so {consequence}.",
        3.0 * rtt
    )
}

fn milliseconds(nanoseconds: Option<f64>) -> String {
    nanoseconds.map_or("over 120 s".to_owned(), |value| format!("{:.3}", value / 1e6))
}

fn signed_milliseconds(nanoseconds: Option<f64>) -> String {
    nanoseconds
        .map_or("-".to_owned(), |value| if value == 0.0 { "0.000".to_owned() } else { format!("{:+.3}", value / 1e6) })
}

/// The answer for many clients.
#[derive(Debug, Serialize)]
struct Shares {
    clients: usize,
    /// Shares of clients.
    gain: f64,
    lose: f64,
    same: f64,
    /// Mean over all clients of what an instant acknowledgment saves.
    mean_gain_ns: f64,
    /// Percentiles of the same: 5, 25, 50, 75, 95.
    gain_percentiles_ns: [f64; 5],
}

const COLUMNS: [&str; 2] = ["rtt_ms", "delay_ms"];
/// The same in rows of `quiclab scan`.
const OF_A_SCAN: [(&str, RunKind); 2] = [("first_rtt_ns", RunKind::Whole), ("ack_to_hello_ns", RunKind::Whole)];

/// Milliseconds, of those servers that acknowledged before their ServerHello: of others the two times cannot be told apart.
fn rows_of_scan(path: &Path) -> Result<Vec<Vec<f64>>> {
    let columns = read_runs(path, &OF_A_SCAN)?;
    let [(_, RunColumn::Wholes(rtts)), (_, RunColumn::Wholes(delays))] = &columns[..] else {
        bail!("{}: found no rows of a scan", path.display());
    };
    let milliseconds = |time: i64| time as f64 / 1e6;
    let row = |(rtt, delay): (&Option<i64>, &Option<i64>)| match (*rtt, *delay) {
        (Some(rtt), Some(delay)) if delay > 0 => Some(vec![milliseconds(rtt), milliseconds(delay)]),
        _ => None,
    };
    let rows: Vec<_> = rtts.iter().zip(delays).filter_map(row).collect();
    status!(
        "quiclab: {} of {} rows are of instant ACKs, and say how long the ServerHello takes",
        rows.len(),
        rtts.len()
    );
    Ok(rows)
}

fn of_samples(settings: &InstantAckSettings, path: &Path) -> Result<u8> {
    let [size] = settings.certificates[..] else {
        bail!("--cert-size: found {} sizes, expected one with --samples", settings.certificates.len());
    };
    let rows = match read_numbers(path, &COLUMNS)? {
        Ok(rows) => rows,
        Err(found) if OF_A_SCAN.iter().all(|(name, _)| found.iter().any(|column| column == name)) => {
            rows_of_scan(path)?
        }
        Err(found) => {
            bail!("{}: found the columns {}, expected {}", path.display(), found.join(", "), COLUMNS.join(" and "))
        }
    };
    if rows.is_empty() {
        bail!("{}: found no rows, expected one for each client", path.display());
    }
    let mut gains = Vec::with_capacity(rows.len());
    for (index, row) in rows.iter().enumerate() {
        let place = || format!("{}: row {}", path.display(), index + 1);
        let [rtt, delay] = [row[0], row[1]].map(|ms| Duration::from_nanos((ms.max(0.0) * 1e6).round() as u64));
        if row[0] < 0.0 || row[1] < 0.0 {
            bail!("{}: found rtt_ms = {}, delay_ms = {}, expected no negative times", place(), row[0], row[1]);
        }
        let advice =
            advice(&question(settings, rtt, delay, size), settings.kind, settings.losses).with_context(place)?;
        let Some(gain) = advice.mean_gain_ns else { bail!("{}: a handshake did not end within 120 s", place()) };
        gains.push((advice.choice, gain));
    }
    let share = |choice| gains.iter().filter(|(other, _)| *other == choice).count() as f64 / gains.len() as f64;
    let mut sorted: Vec<_> = gains.iter().map(|(_, gain)| *gain).collect();
    sorted.sort_by(f64::total_cmp);
    // Nearest rank.
    let percentile = |percent: usize| sorted[(percent * sorted.len()).div_ceil(100).max(1) - 1];
    let shares = Shares {
        clients: gains.len(),
        gain: share(Choice::Instant),
        lose: share(Choice::Wait),
        same: share(Choice::Either),
        mean_gain_ns: sorted.iter().sum::<f64>() / sorted.len() as f64,
        gain_percentiles_ns: [5, 25, 50, 75, 95].map(percentile),
    };
    if settings.json {
        output::print(&(serde_json::to_string_pretty(&shares)? + "\n"))?;
    } else {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let [p5, p25, p50, p75, p95] = shares.gain_percentiles_ns.map(|gain| signed_milliseconds(Some(gain)));
        output::print(&format!(
            "Of {} clients {} gain by an instant ACK, {} lose, {} see no difference.\nMean gain {} ms; percentiles 5, 25, 50, 75, 95: \
             {p5}, {p25}, {p50}, {p75}, {p95} ms.\n",
            shares.clients,
            percent(shares.gain),
            percent(shares.lose),
            percent(shares.same),
            signed_milliseconds(Some(shares.mean_gain_ns)),
        ))?;
    }
    Ok(0)
}
