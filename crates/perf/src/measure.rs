//! Measures how fast stacks are: starts both ends on this machine, or one of them, reads how far they come, and shows it.

mod certificates;
mod datagrams;
mod ends;
mod hooks;
mod limits;
mod machine;
mod results;
mod serve;
mod settings;
mod setup;
mod show;
mod test;
mod usage;

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use anyhow::{Context, Result};
use quiclab_experiment::stack::Transport;
use quiclab_trials::output_tail;
use serde_json::Value;

use crate::{
    ExchangeInterval, Interval, Summary, iperf, iperf_of_both, iperf_of_exchanges,
    roofline::{Protocol, profile::Profiler},
};
pub use hooks::{Ended, Hooks, PerfHooks};
use results::{Found, Row};
pub use settings::{Cpus, PerfSettings};
use setup::{Setup, Stack};
use show::print_json;
use test::{Failure, Outcome, Server, Test};

/// CPU time between two samples of what it goes to: not a multiple of the kernel's ticks, with which it would fall in step.
const SAMPLING: Duration = Duration::from_micros(997);

/// Measures until all is done, or until `stop` is set.
///
/// # Errors
/// A stack that is not there, cannot be built or has no `perf`, a server that cannot be reached, an interruption.
pub fn measure(settings: &PerfSettings, stop: &Arc<AtomicBool>, hooks: Hooks) -> Result<Ended> {
    if settings.udp {
        return if settings.server {
            datagrams::serve(settings, stop, hooks)
        } else {
            datagrams::udp(settings, stop, hooks)
        };
    }
    // Before this process moves into namespaces, from which it cannot be asked for.
    let mut profiler = if settings.roofline { Some(Profiler::open(SAMPLING)) } else { None };
    let setup = Setup::prepare(settings, stop, hooks)?;
    if settings.server {
        return serve::serve(settings, &setup);
    }
    let load = settings.load();
    let json = settings.json;
    let mut server = match Server::find(settings, &setup) {
        Ok(server) => server,
        Err(error) if error.is::<Failure>() => {
            tell_failure(&setup, &error);
            return Ok(Ended::Failed);
        }
        Err(error) => return Err(error),
    };
    let mut results = Vec::new();
    let mut found = Vec::new();
    let mut profiles = Vec::new();
    let mut ended = Ended::Measured;
    let ends = [server.title(), setup.client.as_ref().map(Stack::title).unwrap_or_default()];
    if !json {
        hooks.print(&show::heading(settings, setup.transport, &ends))?;
    }
    for _ in 0..settings.repeat {
        let test = Test { settings, setup: &setup, load, quiet: json };
        let profiler = profiler.as_mut().and_then(|profiler| profiler.as_mut().ok());
        let outcome = match test.run(&mut server, profiler) {
            Ok(outcome) => outcome,
            Err(error) if error.is::<Failure>() => {
                tell_failure(&setup, &error);
                ended = Ended::Failed;
                break;
            }
            Err(error) => return Err(error),
        };
        if !json {
            hooks.print(&show::found(&outcome.found, load))?;
        }
        results.push(of_iperf(settings, setup.transport, &ends, &outcome));
        found.push(outcome.found);
        profiles.push(outcome.profiles);
        if outcome.interrupted {
            print_all(&results, &found, json, hooks)?;
            return Ok(Ended::Interrupted);
        }
    }
    server.end();
    if settings.roofline && ended == Ended::Measured {
        let protocol = match (setup.transport, settings.tcp) {
            (Transport::Quic, _) => Protocol::Quic,
            (Transport::Tcp, true) => Protocol::Tcp,
            (Transport::Tcp, false) => Protocol::TcpTls,
        };
        // The other loads have none.
        let one_way =
            |found: &Found| if let Found::Bytes(summary) = found { Some(Summary::clone(summary)) } else { None };
        let limits = limits::Limits {
            roofline: limits::measure(settings),
            protocol,
            tests: found.iter().filter_map(one_way).zip(profiles).collect(),
            unsampled: profiler.and_then(Result::err).map(|error| error.to_string()),
        };
        match json {
            true => limits.add(&mut results)?,
            false => hooks.print(&limits.text())?,
        }
        if let Some(path) = &settings.svg {
            std::fs::write(path, limits.svg(&ends)).with_context(|| path.display().to_string())?;
        }
    }
    print_all(&results, &found, json, hooks)?;
    Ok(ended)
}

/// A test in the layout of iperf3.
fn of_iperf(settings: &PerfSettings, transport: Transport, ends: &[String; 2], outcome: &Outcome) -> Value {
    let asked = show::asked(settings, transport, ends);
    let bytes = |way: usize| -> Vec<Interval> {
        let of = |row: &Row| if let Row::Bytes(ways) = row { ways.get(way).cloned() } else { None };
        outcome.rows.iter().filter_map(of).collect()
    };
    match &outcome.found {
        Found::Bytes(summary) => iperf(&asked, &bytes(0), summary),
        Found::Both(both) => iperf_of_both(&asked, [&bytes(0), &bytes(1)], both),
        Found::Exchanges(found) => {
            let of = |row: &Row| if let Row::Exchanges(row) = row { Some(row.clone()) } else { None };
            let rows: Vec<ExchangeInterval> = outcome.rows.iter().filter_map(of).collect();
            iperf_of_exchanges(&asked, &rows, found)
        }
    }
}

/// Tells what an endpoint did and what the endpoints printed.
fn tell_failure(setup: &Setup, error: &anyhow::Error) {
    let printed = output_tail::in_words(&output_tail::of_run(&setup.shared.join("logs")));
    setup.hooks.status(&format!("quiclab: {error:#}\n{printed}"));
}

fn print_all(results: &[Value], found: &[Found], json: bool, hooks: Hooks) -> Result<()> {
    match json {
        false => hooks.print(&show::together(found)),
        true => print_json(results, json, hooks),
    }
}
