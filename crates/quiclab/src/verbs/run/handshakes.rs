//! `quiclab run --handshakes`

use std::{path::Path, time::Duration};

use anyhow::{Context, Result, bail};
use comfy_table::CellAlignment;
use nix::sys::resource::{UsageWho, getrusage};
use quiclab_experiment::{AnyRun, Overrides};
use quiclab_metrics::Metrics;
use quiclab_testbed::{
    laboratory::Laboratory,
    registry::testbed,
    sim::{
        testbed::NAME,
        transfers::{HandshakeCosts, HandshakeSeen},
    },
};
use quiclab_trace::{RunColumn, write_runs};
use serde::Serialize;
use serde_json::Value;

use super::overrides;
use crate::{
    session::{experiment_files::read_experiment, laboratory::open_on, signals},
    settings::RunSettings,
    terminal::output,
};

/// Columns of the Parquet file: metrics that begin with this.
const PREFIX: &str = "handshake_";

/// The handshakes of a combination of settings.
#[derive(Debug, Serialize)]
struct Group {
    name: String,
    handshakes: u64,
    failed: u64,
    first_failure: Option<String>,
    /// Percentiles 5, 50, 95 of the time to the first byte at the client, in nanoseconds.
    first_byte_ns: Option<[f64; 3]>,
    /// Means: of the client and of the server.
    probes: [Option<f64>; 2],
    /// CPU time of quiclab and both endpoints.
    cpu_seconds: f64,
    /// What they were used for, except making folders, starting processes and writing the table.
    cpu_seconds_by_part: HandshakeCosts,
    handshakes_per_cpu_second: f64,
    /// Calls of both endpoints.
    orders: u64,
}

/// Performs handshakes in the simulator and prints what came of them. Returns 1 where one failed.
///
/// # Errors
/// A wrong file, a stack that is not there or cannot be built, an endpoint that fails, an interruption.
pub fn handshakes(settings: &RunSettings, count: u64, table: Option<&Path>) -> Result<u8> {
    let [file] = &settings.files[..] else {
        bail!("--handshakes: found {} experiment files, expected a single one", settings.files.len());
    };
    let stop = signals::stop_flag()?;
    let laboratory = open_on(testbed(NAME)?, &settings.stacks, stop)?;
    let overrides = Overrides { own_stacks: laboratory.stack_store.own.clone(), ..overrides(settings) };
    let experiment = read_experiment(file, settings.profile.as_deref())?;
    let plan = experiment.plan(&laboratory.stack_store.manifests(), &overrides)?;
    let runs: Vec<_> = plan.runs.into_iter().filter(|run| run.repetition == 1).map(AnyRun::from).collect();
    let timeout = settings.wall_timeout;
    if let Some((name, why)) = laboratory.prepare(&runs, timeout)?.first_key_value() {
        bail!("{name} could not be built: {why}");
    }
    let mut rows = Rows::default();
    let mut groups = Vec::new();
    for run in &runs {
        groups.push(group(run, count, &laboratory, timeout, table.map(|_| &mut rows))?);
    }
    if let Some(path) = table {
        rows.write(path)?;
    }
    let failed = groups.iter().any(|group| group.failed > 0);
    if settings.json {
        output::print(&(serde_json::to_string_pretty(&groups)? + "\n"))?;
    } else {
        output::print(&text(&groups))?;
    }
    Ok(u8::from(failed))
}

fn group(
    run: &AnyRun,
    count: u64,
    laboratory: &Laboratory,
    timeout: Duration,
    mut rows: Option<&mut Rows>,
) -> Result<Group> {
    let AnyRun::Transfer(transfer) = run else { bail!("found flows of models, expected transfers between stacks") };
    let stack = &transfer.settings.stack;
    let ends = if stack.server == stack.client {
        stack.server.clone()
    } else {
        format!("{} from {}", stack.server, stack.client)
    };
    let name = if transfer.label.is_empty() { ends } else { format!("{ends}, {}", transfer.label) };
    let mut first_bytes = Vec::new();
    let mut probes = [Vec::new(), Vec::new()];
    let (mut failed, mut first_failure) = (0, None);
    let before = cpu_seconds()?;
    let costs = laboratory.handshakes(run, count, timeout, &mut |seen: HandshakeSeen| {
        failed += u64::from(seen.failure.is_some());
        let metrics = &seen.metrics.metrics;
        first_bytes.extend(metrics.handshake_client_first_byte_ns.map(|time| time as f64));
        probes[0].extend(metrics.handshake_client_probes.map(|count| count as f64));
        probes[1].extend(metrics.handshake_server_probes.map(|count| count as f64));
        if let Some(rows) = &mut rows {
            rows.add(&name, &seen);
        }
        first_failure = first_failure.take().or(seen.failure);
        Ok(())
    });
    let costs = costs.with_context(|| name.clone())?;
    let cpu_seconds = cpu_seconds()? - before + costs.client + costs.server;
    first_bytes.sort_by(f64::total_cmp);
    // Nearest rank.
    let percentile = |percent: usize| first_bytes[(percent * first_bytes.len()).div_ceil(100).max(1) - 1];
    let mean = |values: &Vec<f64>| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    Ok(Group {
        name,
        handshakes: count,
        failed,
        first_failure,
        first_byte_ns: (!first_bytes.is_empty()).then(|| [5, 50, 95].map(percentile)),
        probes: [mean(&probes[0]), mean(&probes[1])],
        cpu_seconds,
        cpu_seconds_by_part: costs,
        handshakes_per_cpu_second: count as f64 / cpu_seconds.max(1e-9),
        orders: costs.orders,
    })
}

/// CPU time of this process, user and system.
fn cpu_seconds() -> Result<f64> {
    let used = getrusage(UsageWho::RUSAGE_SELF).context("getrusage")?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(used.user_time()) + seconds(used.system_time()))
}

fn text(groups: &[Group]) -> String {
    let mut table = output::table([
        "",
        "handshakes",
        "failed",
        "first byte, ms: 5 %",
        "50 %",
        "95 %",
        "probes: client",
        "server",
        "per CPU second",
        "CPU ms each: client",
        "server",
        "simulation",
        "measurement",
    ]);
    let number = |value: Option<f64>, scale: f64| value.map_or("-".to_owned(), |value| format!("{:.3}", value / scale));
    for group in groups {
        let costs = &group.cpu_seconds_by_part;
        let cost = |seconds: f64| format!("{:.3}", 1e3 * seconds / group.handshakes as f64);
        let time = |place: usize| number(group.first_byte_ns.map(|times| times[place]), 1e6);
        table.add_row([
            group.name.clone(),
            group.handshakes.to_string(),
            group.failed.to_string(),
            time(0),
            time(1),
            time(2),
            number(group.probes[0], 1.0),
            number(group.probes[1], 1.0),
            format!("{:.0}", group.handshakes_per_cpu_second),
            cost(costs.client),
            cost(costs.server),
            cost(costs.simulation),
            cost(costs.measurement),
        ]);
    }
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let why = groups.iter().find_map(|group| Some(format!("{}: {}\n", group.name, group.first_failure.as_ref()?)));
    format!("{table}\n{}", why.unwrap_or_default())
}

/// What becomes a Parquet file: a row for each handshake.
#[derive(Default)]
struct Rows {
    names: Vec<Option<String>>,
    seeds: Vec<Option<i64>>,
    failures: Vec<Option<String>>,
    metrics: std::collections::BTreeMap<String, Vec<Option<f64>>>,
}

impl Rows {
    fn add(&mut self, name: &str, seen: &HandshakeSeen) {
        self.names.push(Some(name.to_owned()));
        self.seeds.push(i64::try_from(seen.seed).ok());
        self.failures.push(seen.failure.clone());
        let values = metrics_of(&seen.metrics.metrics);
        for (metric, value) in values.as_object().into_iter().flatten() {
            if metric.starts_with(PREFIX) {
                self.metrics.entry(metric.clone()).or_default().push(value.as_f64());
            }
        }
    }

    fn write(self, path: &Path) -> Result<()> {
        let mut columns = vec![
            ("group".to_owned(), RunColumn::Texts(self.names)),
            ("seed".to_owned(), RunColumn::Wholes(self.seeds)),
            ("failure".to_owned(), RunColumn::Texts(self.failures)),
        ];
        columns.extend(self.metrics.into_iter().map(|(name, values)| (name, RunColumn::Numbers(values))));
        write_runs(path, &columns).with_context(|| path.display().to_string())
    }
}

fn metrics_of(metrics: &Metrics) -> Value {
    serde_json::to_value(metrics).unwrap_or_default()
}
