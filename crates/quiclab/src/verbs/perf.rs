//! `quiclab perf`: how fast stacks are.

mod certificates;
mod ends;
mod load;
mod machine;
mod roofline;
mod serve;
mod setup;
mod show;
mod test;
mod udp;
mod usage;

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use quiclab_experiment::{
    TestbedName,
    stack::{PERF, Role, StackManifest, Transport},
};
use quiclab_perf::roofline::{Protocol, profile::Profiler};
use quiclab_perf::{ExchangeInterval, Interval, Summary, iperf, iperf_of_both, iperf_of_exchanges};
use quiclab_testbed::{
    loopback::{self, Network},
    registry::testbed,
    stack::Source,
    stack_store::StackRequest,
};
use quiclab_trials::{files::Files, output_tail};
use serde_json::Value;

use crate::{
    session::{laboratory::open_on, signals},
    settings::PerfSettings,
    terminal::{output, progress},
};
use load::{Found, Row};
use setup::{Setup, Stack};
use show::print_json;
use test::{Failure, Outcome, Server, Test};

/// The testbed whose stacks run on this machine.
const TESTBED: &str = TestbedName::Netns.as_str();

/// The stack of `--tcp`, which it asks for no TLS.
const TCP: &str = "tcp-tls";

/// CPU time between two samples of what it goes to: not a multiple of the kernel's ticks, with which it would fall in step.
const SAMPLING: Duration = Duration::from_micros(997);

/// What `--tcp` is called.
const PLAIN_TCP: &str = "plain TCP";

/// Measures. Returns 1 where a test failed.
///
/// # Errors
/// A stack that is not there, cannot be built or has no `perf`, a server that cannot be reached, an interruption.
pub fn perf(settings: &PerfSettings) -> Result<u8> {
    let stop = signals::stop_flag()?;
    if settings.udp {
        return if settings.server { udp::serve(settings, &stop) } else { udp::udp(settings, &stop) };
    }
    // Before this process moves into namespaces, from which it cannot be asked for.
    let mut profiler = if settings.roofline { Some(Profiler::open(SAMPLING)) } else { None };
    let setup = prepare(settings, &stop)?;
    if settings.server {
        return serve::serve(settings, &setup);
    }
    let load = settings.load();
    let json = settings.json;
    let mut server = match Server::find(settings, &setup) {
        Ok(server) => server,
        Err(error) if error.is::<Failure>() => return Ok(failed(&setup, &error)),
        Err(error) => return Err(error),
    };
    let mut results = Vec::new();
    let mut found = Vec::new();
    let mut profiles = Vec::new();
    let mut status = 0;
    let ends = [server.title(), setup.client.as_ref().map(Stack::title).unwrap_or_default()];
    if !json {
        output::print(&show::heading(settings, setup.transport, &ends))?;
    }
    for _ in 0..settings.repeat {
        let test = Test { settings, setup: &setup, load, quiet: json };
        let profiler = profiler.as_mut().and_then(|profiler| profiler.as_mut().ok());
        let outcome = match test.run(&mut server, profiler) {
            Ok(outcome) => outcome,
            Err(error) if error.is::<Failure>() => {
                status = failed(&setup, &error);
                break;
            }
            Err(error) => return Err(error),
        };
        if !json {
            output::print(&show::found(&outcome.found, load))?;
        }
        results.push(of_iperf(settings, setup.transport, &ends, &outcome));
        found.push(outcome.found);
        profiles.push(outcome.profiles);
        if outcome.interrupted {
            print_all(&results, &found, json)?;
            return Ok(signals::INTERRUPTED);
        }
    }
    server.end();
    if settings.roofline && status == 0 {
        let protocol = match (setup.transport, settings.tcp) {
            (Transport::Quic, _) => Protocol::Quic,
            (Transport::Tcp, true) => Protocol::Tcp,
            (Transport::Tcp, false) => Protocol::TcpTls,
        };
        // The other loads have none.
        let one_way =
            |found: &Found| if let Found::Bytes(summary) = found { Some(Summary::clone(summary)) } else { None };
        let limits = roofline::Limits {
            roofline: roofline::measure(settings),
            protocol,
            tests: found.iter().filter_map(one_way).zip(profiles).collect(),
            unsampled: profiler.and_then(Result::err).map(|error| error.to_string()),
        };
        match json {
            true => limits.add(&mut results)?,
            false => output::print(&limits.text())?,
        }
        if let Some(path) = &settings.svg {
            std::fs::write(path, limits.svg(&ends)).with_context(|| path.display().to_string())?;
        }
    }
    print_all(&results, &found, json)?;
    Ok(status)
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

/// Says what an endpoint did and what the endpoints printed. Returns the exit status.
fn failed(setup: &Setup, error: &anyhow::Error) -> u8 {
    status!("quiclab: {error:#}\n{}", output_tail::in_words(&output_tail::of_run(&setup.shared.join("logs"))));
    1
}

fn print_all(results: &[Value], found: &[Found], json: bool) -> Result<()> {
    match json {
        false => output::print(&show::together(found)),
        true => print_json(results, json),
    }
}

fn prepare(settings: &PerfSettings, stop: &Arc<AtomicBool>) -> Result<Setup> {
    let asked = if settings.tcp { &TCP.to_owned() } else { &settings.stack };
    let paths = [
        Some(asked).filter(|_| settings.client.is_none() || settings.client_stack.is_none()),
        settings.client_stack.as_ref(),
    ];
    let mut own: Vec<_> = paths.into_iter().flatten().filter(|stack| stack.contains('/')).map(PathBuf::from).collect();
    own.dedup();
    let options = StackRequest { folder: settings.folder.clone(), own, replace: true, rebuild: settings.rebuild };
    let laboratory = open_on(testbed(TESTBED)?, &options, stop.clone())?;
    let stack_store = &laboratory.stack_store;
    // Own ones are listed in the order of their paths.
    let name_of = |stack: &String| {
        let place = options.own.iter().position(|path| path.as_os_str() == stack.as_str());
        place.and_then(|place| stack_store.own.get(place)).unwrap_or(stack).clone()
    };
    let source = |name: &str, role: Role| -> Result<Source> {
        let source = stack_store.source(name)?;
        let cases = match role {
            Role::Server => &source.manifest.test_cases.server,
            Role::Client => &source.manifest.test_cases.client,
        };
        if !cases.iter().any(|case| case == PERF) {
            let can = |one: &&StackManifest| one.test_cases.server.iter().any(|case| case == PERF);
            let names: Vec<_> = stack_store.usual().filter(can).map(|one| one.name.clone()).collect();
            bail!(
                "stack {name}: its stack.toml does not claim the test case perf\nhint: these do: {}",
                names.join(", ")
            );
        }
        Ok(source.clone())
    };
    let server = match settings.client {
        None => Some(source(&name_of(asked), Role::Server)?),
        Some(_) => None,
    };
    let client_name = name_of(settings.client_stack.as_ref().unwrap_or(asked));
    let client = if settings.server { None } else { Some(source(&client_name, Role::Client)?) };
    let transports: Vec<_> = [&server, &client].into_iter().flatten().map(|one| one.manifest.transport).collect();
    let transport = *transports.first().context("found neither a server nor a client")?;
    ensure!(
        transports.iter().all(|other| *other == transport),
        "--client-stack: both ends must be of QUIC, or both of TCP"
    );
    if settings.server {
        ends::counters_port(settings.port, transport)?;
    }
    let build = |source: &Option<Source>| -> Result<Option<Files>> {
        let source = source.as_ref();
        source.map(|source| Files::build(&stack_store.cache, source, settings.rebuild, stop, progress::say)).transpose()
    };
    let (server_files, client_files) = (build(&server)?, build(&client)?);
    let foreign = stack_store.cache.used_from_archives();
    let origins = foreign.iter().map(|(name, origin)| format!("{name} was not built here, it is {origin}")).collect();
    let network = if settings.server || settings.client.is_some() { Network::OfThisMachine } else { Network::Own };
    let scratch = loopback::enter(network)?;
    let shared = scratch.path().join("shared");
    for folder in ["logs/server", "logs/client", "www", "downloads", "home", "certs"] {
        let folder = shared.join(folder);
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    let stack = |source: Option<Source>, files: Option<Files>, name: &str| -> Result<Option<Stack>> {
        let Some((source, files)) = source.zip(files) else { return Ok(None) };
        let root = files.root(&scratch.path().join(name), &shared)?;
        let title = settings.tcp.then_some(PLAIN_TCP);
        Ok(Some(Stack { manifest: source.manifest, root, title }))
    };
    let server = stack(server, server_files, "server")?;
    let client = stack(client, client_files, "client")?;
    Ok(Setup { server, client, transport, origins, shared, stop: stop.clone(), _scratch: scratch })
}
