//! `quiclab advise check`

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use comfy_table::CellAlignment;
use quiclab_advise::{Agreement, FirstAck, Loss, QUIC_CLIENTS, Question, agreeing_share, handshake};
use quiclab_experiment::run::{Certificate, FirstAck as Setting, Settings};
use quiclab_path::spec::StageSettings;
use quiclab_report::{RunRow, settings_key};
use quiclab_units::{Duration, Rate, ShowPath};
use serde::Serialize;

use super::{milliseconds, signed_milliseconds};
use quiclab_pages::results::{Results, overview::find_results};

use crate::{
    settings::AdviseCheckSettings,
    terminal::{output, progress},
};

/// Rules of `path.to_client` and `path.to_server` that lose what the model can lose.
const RULES: [(bool, &str, Loss); 3] = [
    (true, "flight 1 after datagram 1", Loss::ServerFlightRest),
    (true, "flight 1 after datagram 1 and crypto", Loss::ServerFlightRest),
    (false, "flight 2", Loss::ClientSecondFlight),
];

/// The same settings with both behaviours of the server. Times in nanoseconds.
#[derive(Debug, Serialize)]
struct Point {
    client: String,
    server: String,
    loss: Loss,
    rtt_ns: u64,
    /// Time between ClientHello and ServerHello as measured, where the server waits.
    delay_ns: u64,
    certificate_bytes: u64,
    hello_datagrams: u32,
    /// Means over the seeds.
    measured_wait_ns: f64,
    measured_instant_ns: f64,
    measured_gain_ns: i64,
    model_wait_ns: Option<u64>,
    model_instant_ns: Option<u64>,
    model_gain_ns: Option<i64>,
    agreement: Agreement,
    /// Records of the first seed, wait and instant.
    records: [String; 2],
}

impl Point {
    /// Where it is in the table.
    fn place(&self) -> (&str, &str, Loss, u64, u64, u64) {
        (&self.server, &self.client, self.loss, self.certificate_bytes, self.rtt_ns, self.delay_ns)
    }
}

/// All points, and how many agree.
#[derive(Debug, Serialize)]
struct Checked {
    margin_ns: u64,
    /// What is added to it, in round trips.
    margin_rtts: f64,
    points: Vec<Point>,
    /// Share of the points outside the margin that agree.
    agreeing_share: Option<f64>,
    /// Runs that are no point, and why.
    skipped: BTreeMap<String, String>,
}

/// Compares the model with the measured handshakes of results. Returns 1 where too few points agree.
///
/// # Errors
/// Where there are no results, or nothing to compare in them.
pub fn check(settings: &AdviseCheckSettings) -> Result<u8> {
    let mut pairs: BTreeMap<String, [Vec<RunRow>; 2]> = BTreeMap::new();
    let mut skipped = BTreeMap::new();
    for folder in &settings.folders {
        for place in find_results(folder)? {
            for row in Results::open(&place, progress::say)?.measured_transfers("advise check")?.runs {
                let mut settings = row.run.settings.clone();
                let side = match settings.stack.first_ack.take() {
                    Some(Setting::Wait) => 0,
                    Some(Setting::Instant | Setting::Padded) => 1,
                    None => {
                        skipped.insert(row.folder, "stack.first_ack is not set".to_owned());
                        continue;
                    }
                };
                pairs.entry(settings_key(&settings)).or_default()[side].push(row);
            }
        }
    }
    let mut points = Vec::new();
    for pair in pairs.values() {
        match point(pair, settings) {
            Ok(point) => points.push(point),
            Err(why) => skipped.extend(pair.iter().flatten().map(|row| (row.folder.clone(), format!("{why:#}")))),
        }
    }
    if points.is_empty() {
        let why =
            skipped.values().next().map_or(String::new(), |why| format!("; the first run is skipped because {why}"));
        bail!(
            "{}: found no two runs that differ only in stack.first_ack{why}\nhint: quiclab run experiments/advise makes such runs",
            settings.folders.iter().map(|folder| folder.shown()).collect::<Vec<_>>().join(", ")
        );
    }
    points.sort_by(|a, b| a.place().cmp(&b.place()));
    let agreeing_share = agreeing_share(&points.iter().map(|point| point.agreement).collect::<Vec<_>>());
    let checked = Checked {
        margin_ns: settings.margin.as_nanos(),
        margin_rtts: settings.margin_rtts,
        points,
        agreeing_share,
        skipped,
    };
    if settings.json {
        output::print(&(serde_json::to_string_pretty(&checked)? + "\n"))?;
    } else {
        output::print(&text(&checked, settings))?;
    }
    Ok(u8::from(agreeing_share.is_some_and(|share| share < settings.at_least)))
}

/// What was measured with both behaviours, and what the model says of it.
fn point([wait, instant]: &[Vec<RunRow>; 2], asked: &AdviseCheckSettings) -> Result<Point> {
    let (Some(first), Some(other)) = (wait.first(), instant.first()) else {
        bail!("there is no run with the other value of stack.first_ack");
    };
    let settings = &first.run.settings;
    let loss = loss_of(settings)?;
    let time = |rows: &[RunRow], metric: &str| {
        let values: Vec<_> = rows.iter().filter_map(|row| row.metrics.metrics.value(metric)??.into()).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let measured = |rows| {
        let metric = "handshake_client_first_byte_ns";
        time(rows, metric).ok_or_else(|| anyhow::anyhow!("{metric} was not measured"))
    };
    let [measured_wait_ns, measured_instant_ns] = [measured(wait)?, measured(instant)?];
    let Certificate::Size(certificate) = settings.workload.certificate else {
        bail!("workload.certificate is not a size");
    };
    let Some(delay) = time(wait, "handshake_server_processing_ns") else {
        bail!("handshake_server_processing_ns was not measured");
    };
    let mut question = Question::new(settings.path.round_trip(), nanoseconds(delay), certificate);
    question.rate = settings.stages_to_client().iter().find_map(|stage| match &stage.settings {
        StageSettings::Rate(stage) => Some(Rate::from_bits_per_second(stage.rate.as_bits_per_second())),
        _ => None,
    });
    if let Some(datagrams) = time(wait, "handshake_client_flight_1_datagrams") {
        question.hello_datagrams = datagrams.round() as u32;
    }
    question.repeats_flight = asked.repeats_flight;
    question.server_pto = settings.stack.default_pto.unwrap_or(question.server_pto);
    let measured_pto = time(wait, "handshake_client_default_pto_ns").map(nanoseconds);
    let named = default_pto(&settings.stack.client);
    question.client_pto = settings.stack.client_default_pto.or(measured_pto).or(named).unwrap_or(question.client_pto);
    let kind = match other.run.settings.stack.first_ack {
        Some(Setting::Padded) => FirstAck::Padded,
        _ => FirstAck::Instant,
    };
    let [model_wait_ns, model_instant_ns] =
        [handshake(&question, FirstAck::Wait, loss)?.first_byte_ns, handshake(&question, kind, loss)?.first_byte_ns];
    let model_gain_ns = model_wait_ns.zip(model_instant_ns).map(|(wait, instant)| wait as i64 - instant as i64);
    let measured_gain_ns = (measured_wait_ns - measured_instant_ns).round() as i64;
    let margin = asked.margin + nanoseconds(question.rtt.as_nanos() as f64 * asked.margin_rtts);
    let agreement = model_gain_ns.map_or(Agreement::Differs, |model| Agreement::of(model, measured_gain_ns, margin));
    Ok(Point {
        client: settings.stack.client.clone(),
        server: settings.stack.server.clone(),
        loss,
        rtt_ns: question.rtt.as_nanos(),
        delay_ns: question.delay.as_nanos(),
        certificate_bytes: certificate.as_bytes(),
        hello_datagrams: question.hello_datagrams,
        measured_wait_ns,
        measured_instant_ns,
        measured_gain_ns,
        model_wait_ns,
        model_instant_ns,
        model_gain_ns,
        agreement,
        records: [first.folder.clone(), other.folder.clone()],
    })
}

fn nanoseconds(value: f64) -> Duration {
    Duration::from_nanos(value.max(0.0).round() as u64)
}

/// What the path loses, in words of the model.
fn loss_of(settings: &Settings) -> Result<Loss> {
    let mut loss = Loss::None;
    for (is_to_client, stages) in [(true, settings.stages_to_client()), (false, settings.stages_to_server())] {
        for stage in stages {
            match stage.settings {
                StageSettings::Rate(_) | StageSettings::Delay(_) | StageSettings::DropTail(_) => {}
                StageSettings::NetemQueue(_) => {}
                StageSettings::ContentLoss(rule) => {
                    let text = rule.drop.to_string();
                    let known = RULES.iter().find(|(side, known, _)| *side == is_to_client && *known == text);
                    match known {
                        Some((_, _, other)) if loss == Loss::None => loss = *other,
                        _ => bail!("the model does not have the rule {text:?}, or not with another one"),
                    }
                }
                _ => bail!("the model does not have the stage {:?}", stage.name),
            }
        }
    }
    Ok(loss)
}

/// Probe timeouts before the first sample of stacks in which it cannot be set. Others have that of RFC 9002.
fn default_pto(client: &str) -> Option<Duration> {
    let name = match client {
        "x-net-quic" => "go-x-net",
        "aioquic" | "quic-go" => client,
        _ => return None,
    };
    QUIC_CLIENTS.iter().find(|known| known.name == name).map(|known| known.default_pto)
}

fn text(checked: &Checked, settings: &AdviseCheckSettings) -> String {
    let mut table = output::table([
        "client",
        "lost",
        "RTT",
        "delay",
        "chain, B",
        "wait",
        "instant",
        "gain",
        "model: wait",
        "instant",
        "gain",
        "",
    ]);
    for point in &checked.points {
        table.add_row([
            point.client.clone(),
            point.loss.words().to_owned(),
            milliseconds(Some(point.rtt_ns as f64)),
            milliseconds(Some(point.delay_ns as f64)),
            point.certificate_bytes.to_string(),
            milliseconds(Some(point.measured_wait_ns)),
            milliseconds(Some(point.measured_instant_ns)),
            signed_milliseconds(Some(point.measured_gain_ns as f64)),
            milliseconds(point.model_wait_ns.map(|time| time as f64)),
            milliseconds(point.model_instant_ns.map(|time| time as f64)),
            signed_milliseconds(point.model_gain_ns.map(|gain| gain as f64)),
            match point.agreement {
                Agreement::Agrees => "agrees",
                Agreement::Differs => "DIFFERS",
                Agreement::WithinMargin => "within margin",
            }
            .to_owned(),
        ]);
    }
    table.column_iter_mut().skip(2).take(9).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let count = |wanted| checked.points.iter().filter(|point| point.agreement == wanted).count();
    let (agree, differ) = (count(Agreement::Agrees), count(Agreement::Differs));
    let share = match checked.agreeing_share {
        Some(share) => format!(
            "The signs agree in {agree} of {} points ({:.1} %), expected at least {:.1} %",
            agree + differ,
            share * 100.0,
            settings.at_least * 100.0
        ),
        None => "No point is outside the margin".to_owned(),
    };
    let skipped = match checked.skipped.len() {
        0 => String::new(),
        count => format!("{count} runs are skipped; --json says why.\n"),
    };
    format!(
        "{table}\nTimes in ms. Delay is the measured time between ClientHello and ServerHello.\n{share}; {} points have gains below the \
         margin of {} ms and {} round trips.\n{skipped}",
        count(Agreement::WithinMargin),
        milliseconds(Some(checked.margin_ns as f64)),
        checked.margin_rtts,
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use quiclab_experiment::run::{Run, Versions};
    use quiclab_metrics::RunMetrics;

    use super::*;
    use crate::{
        cli::{Cli, Verb},
        settings::AdviseSettings,
    };

    /// A run as a record of experiments/advise/server-flight.toml has it: 150 ms, a chain of 9000 B.
    const RUN: &str = include_str!("check_run.toml");

    fn settings(line: &str) -> AdviseCheckSettings {
        let Ok(Cli { verb: Verb::Advise(advise) }) = Cli::try_parse_from(line.split(' ')) else { panic!("{line}") };
        let Ok(AdviseSettings::Check(settings)) = advise.resolve() else { panic!("{line}") };
        settings
    }

    fn row(text: &str, first_byte_ms: u64) -> RunRow {
        let mut metrics = RunMetrics::empty();
        metrics.metrics.handshake_client_first_byte_ns = Some(first_byte_ms * 1_000_000);
        metrics.metrics.handshake_server_processing_ns = Some(6_000_000);
        metrics.metrics.handshake_client_flight_1_datagrams = Some(2);
        RunRow {
            folder: format!("run-{first_byte_ms}"),
            run: Run::from_toml(text).unwrap(),
            versions: Versions::default(),
            started_unix_ms: None,
            metrics,
            packets: None,
            congestion_window: None,
            lost: None,
            path: None,
            packet_summary: None,
        }
    }

    fn pair(text: &str, times: [u64; 2]) -> [Vec<RunRow>; 2] {
        [
            vec![row(text, times[0])],
            vec![row(&text.replace("first_ack = \"wait\"", "first_ack = \"instant\""), times[1])],
        ]
    }

    #[test]
    fn a_pair_of_runs_becomes_a_question_with_what_was_measured() {
        let settings = settings("quiclab advise check results");
        let text = RUN.replace("9 kB", "1212 B").replace("149500 us", "39500 us");
        let found = point(&pair(&text, [278, 388]), &settings).unwrap();
        assert_eq!((found.loss, found.rtt_ns, found.delay_ns), (Loss::ServerFlightRest, 40_000_000, 6_000_000));
        assert_eq!((found.hello_datagrams, found.certificate_bytes), (2, 1212));
        assert_eq!((found.measured_gain_ns, found.agreement), (-110_000_000, Agreement::Agrees));
        let turned = point(&pair(&text, [388, 278]), &settings).unwrap();
        assert_eq!((turned.measured_gain_ns, turned.agreement), (110_000_000, Agreement::Differs));
    }

    #[test]
    fn the_margin_has_a_part_that_grows_with_the_round_trip_time() {
        let none = without_loss();
        let at = |gain: u64, line: &str| point(&pair(&none, [400 + gain, 400]), &settings(line)).unwrap().agreement;
        assert_eq!(at(42, "quiclab advise check x"), Agreement::WithinMargin);
        assert_eq!(at(43, "quiclab advise check x"), Agreement::Differs);
        assert_eq!(at(6, "quiclab advise check x --margin-rtts 0"), Agreement::Differs);
    }

    fn without_loss() -> String {
        let start = RUN.find("[[settings.path.to_client]]").unwrap();
        let end = start + 1 + RUN[start + 1..].find("[[settings.path.to_client]]").unwrap();
        format!("{}{}", &RUN[..start], &RUN[end..])
    }

    #[test]
    fn what_the_model_does_not_have_is_no_point() {
        let settings = settings("quiclab advise check results");
        for (from, to, part) in [
            ("flight 1 after datagram 1 and crypto", "datagram 3", "datagram 3"),
            ("certificate = \"9 kB\"", "certificate = \"small\"", "not a size"),
        ] {
            let error = point(&pair(&RUN.replace(from, to), [1, 2]), &settings).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
        let lonely = [vec![row(RUN, 1)], vec![]];
        assert!(point(&lonely, &settings).unwrap_err().to_string().contains("stack.first_ack"));
    }
}
