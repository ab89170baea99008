//! `quiclab perf --udp`: datagrams at a rate, without a stack.

mod flow;
mod serve;
mod show;

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use quiclab_testbed::loopback::{self, Network};
use serde_json::json;

use super::{
    certificates,
    hooks::{Ended, Hooks},
    settings::PerfSettings,
    test::{Failure, resolve},
};
use crate::{
    Asked, Direction,
    udp::{
        Arrivals, Connection, Datagram, UdpAnswer, UdpInterval, UdpQuestion, UdpReading, UdpSummary, UdpTest,
        iperf_of_udp,
    },
};
use flow::Counters;
pub use serve::serve;

/// Time between two looks at both ends.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// What a test may do until its first datagram arrives.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long what is on the way may take after the last one was sent.
const REST: Duration = Duration::from_millis(500);
/// Time between two datagrams that show a server where to send.
const CALL: Duration = Duration::from_millis(100);
/// The number of a datagram that is none of a flow.
const NO_SEQUENCE: u64 = u64::MAX;

/// Measures. It has failed where nothing arrives.
///
/// # Errors
/// A server that cannot be reached, or does not do as it should; an interruption.
pub fn udp(settings: &PerfSettings, stop: &Arc<AtomicBool>, hooks: Hooks) -> Result<Ended> {
    let network = if settings.client.is_some() { Network::OfThisMachine } else { Network::Own };
    let _scratch = loopback::enter(network)?;
    let (address, title) = match &settings.client {
        Some(host) => {
            let address = resolve(host, settings)?;
            (address, address.to_string())
        }
        None => {
            let ip = if settings.ipv6 { IpAddr::from(Ipv6Addr::LOCALHOST) } else { Ipv4Addr::LOCALHOST.into() };
            let server = serve::Server::open(SocketAddr::new(ip, settings.port), hooks)?;
            let stop = stop.clone();
            thread::spawn(move || server.run(&stop));
            (SocketAddr::new(ip, settings.port), "this machine".to_owned())
        }
    };
    let mut connection = Connection::open(address).with_context(|| {
        format!(
            "{title}, TCP port {}\nhint: quiclab perf -s --udp there; a server of a stack has no --udp",
            settings.port
        )
    })?;
    let (mut results, mut found) = (Vec::new(), Vec::new());
    for _ in 0..settings.repeat {
        let test = UdpTest {
            number: certificates::random()?,
            server_sends: settings.reverse,
            length: settings.length,
            bits_per_second: settings.rate.as_bits_per_second(),
            nanoseconds: (settings.seconds * 1e9) as u64,
        };
        if !settings.json && found.is_empty() {
            hooks.print(&show::heading(&test, &title))?;
        }
        let (rows, summary, interrupted) = match one_test(settings, test, address, &mut connection, stop, hooks) {
            Ok(outcome) => outcome,
            Err(error) if error.is::<Failure>() => {
                hooks.status(&format!("quiclab: {error:#}"));
                return Ok(Ended::Failed);
            }
            Err(error) => return Err(error),
        };
        if !settings.json {
            hooks.print(&show::summary(&summary))?;
        }
        results.push(iperf_of_udp(&asked(settings, &title), &rows, &summary));
        found.push(summary);
        if interrupted {
            super::show::print_json(&results, settings.json, hooks)?;
            return Ok(Ended::Interrupted);
        }
    }
    if !settings.json {
        hooks.print(&show::together(&found))?;
    }
    super::show::print_json(&results, settings.json, hooks)?;
    Ok(Ended::Measured)
}

fn asked(settings: &PerfSettings, title: &str) -> Asked {
    Asked {
        version: format!("quiclab {}", env!("CARGO_PKG_VERSION")),
        protocol: "UDP",
        streams: 1,
        connections: 1,
        direction: if settings.reverse { Direction::ServerSends } else { Direction::ClientSends },
        seconds: Some(settings.seconds),
        bytes: None,
        more: json!({ "server": title, "client": "this machine", "load": "udp" }),
    }
}

type Outcome = (Vec<UdpInterval>, UdpSummary, bool);

fn one_test(
    settings: &PerfSettings,
    test: UdpTest,
    server: SocketAddr,
    connection: &mut Connection,
    stop: &AtomicBool,
    hooks: Hooks,
) -> Result<Outcome> {
    let any = if server.is_ipv6() { IpAddr::from(Ipv6Addr::UNSPECIFIED) } else { Ipv4Addr::UNSPECIFIED.into() };
    let socket = Arc::new(UdpSocket::bind((any, 0)).context("a UDP socket")?);
    socket.connect(server).with_context(|| format!("UDP, {server}"))?;
    match connection.ask(&UdpQuestion::Begin(test)).context("the server")? {
        UdpAnswer::Ready => {}
        other => anyhow::bail!("the server: found {other:?}, expected that it is ready"),
    }
    let counters = Arc::new(Counters::default());
    let own = flow::start(&socket, server, test, !test.server_sends, &counters);
    let own_port = socket.local_addr().context("a UDP socket")?.port();
    let start = Instant::now();
    let mut shown = (0.0, Arrivals::default(), 0);
    let mut rows: Vec<UdpInterval> = Vec::new();
    let (mut due, mut called) = (settings.interval, None::<Instant>);
    let mut over: Option<Instant> = None;
    let (mut interrupted, mut ends);
    loop {
        thread::sleep(POLL_INTERVAL);
        interrupted = stop.load(Ordering::Relaxed);
        let here = counters.reading(own_port);
        // Asking costs the server time: when a row is due, or the end.
        let seconds = start.elapsed().as_secs_f64();
        let nothing_yet = shown.2 == 0 && here.arrivals.packets == 0;
        if test.server_sends && nothing_yet && called.is_none_or(|called| called.elapsed() > CALL) {
            let call = Datagram { test: test.number, sequence: NO_SEQUENCE, sent_ns: 0 };
            // What is wrong with it shows in what does not come.
            let _ = socket.send(&call.to_bytes());
            called = Some(Instant::now());
        }
        let is_over = seconds > test.nanoseconds as f64 / 1e9;
        if seconds < due && !is_over && !interrupted && !nothing_yet {
            continue;
        }
        let there = connection.reading().context("the server's counters")?;
        let (sender, receiver) = if test.server_sends { (there, here) } else { (here, there) };
        ends = (sender, receiver);
        if receiver.arrivals.packets == 0 && start.elapsed() > TIMEOUT {
            counters.stop();
            return Err(Failure(format!(
                "no datagram has arrived within {} s, of {} that were sent to UDP port {}\nhint: a firewall, or a path with \
                 a smaller MTU than {} bytes of payload need",
                TIMEOUT.as_secs(),
                sender.sent,
                if test.server_sends { own_port } else { server.port() },
                test.length
            ))
            .into());
        }
        if seconds >= due || (sender.is_over && seconds - shown.0 > 0.2 * settings.interval && rows.is_empty()) {
            let row = UdpInterval::of(
                (shown.0, &shown.1),
                (seconds, &receiver.arrivals),
                sender.sent.saturating_sub(shown.2),
            );
            shown = (seconds, receiver.arrivals, sender.sent);
            due += settings.interval;
            if !settings.json {
                hooks.print(&show::row(&row, rows.is_empty()))?;
            }
            rows.push(row);
        }
        if interrupted {
            break;
        }
        if sender.is_over {
            let since = *over.get_or_insert_with(Instant::now);
            if receiver.arrivals.packets >= sender.sent || since.elapsed() > REST {
                break;
            }
        }
    }
    counters.stop();
    own.join().map_err(|_| anyhow::anyhow!("a thread of the test failed"))??;
    let (sender, receiver): (UdpReading, UdpReading) = ends;
    Ok((rows, UdpSummary::of(test, &sender, &receiver), interrupted))
}
