//! `quiclab perf -s`: a server, and its counters for clients on other machines.

use std::{
    io::{ErrorKind, Read, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream},
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use quiclab_trials::output_tail;

use super::{
    certificates,
    ends::{End, counters_port, port_kind},
    hooks::Ended,
    settings::PerfSettings,
    setup::Setup,
    test::start_server,
    usage,
};
use crate::{
    Sample,
    control::{Answer, Lines, Question, VERSION, line, parse},
};

/// Time between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// A client that says nothing for so long has gone.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long the connection of a client that is refused stays.
const REFUSED: Duration = Duration::from_secs(1);
/// Most connections of refused clients that are kept open at a time.
const MOST_REFUSED: usize = 16;
/// How old CPU times may be: reading them takes a while.
const CPU_AGE: Duration = Duration::from_millis(200);

/// Serves until interrupted.
///
/// # Errors
/// Where the port is taken, or the server ends.
pub fn serve(settings: &PerfSettings, setup: &Setup) -> Result<Ended> {
    let hooks = setup.hooks;
    let tell_logs = || hooks.status(&output_tail::in_words(&output_tail::of_run(&setup.shared.join("logs"))));
    let authority = certificates::make(&setup.shared.join("certs"))?;
    let title = setup.server.as_ref().map(super::setup::Stack::title).unwrap_or_default();
    let port = settings.port;
    let counters = counters_port(port, setup.transport)?;
    let any = if settings.ipv6 { IpAddr::from(Ipv6Addr::UNSPECIFIED) } else { Ipv4Addr::UNSPECIFIED.into() };
    let listener = TcpListener::bind((any, counters)).with_context(|| format!("TCP port {counters}"))?;
    listener.set_nonblocking(true).context("TCP")?;
    let mut end = start_server(settings, setup).inspect_err(|_| tell_logs())?;
    let pin = certificates::pin_of(&authority)?;
    let kind = port_kind(setup.transport);
    let tcp = if settings.tcp { " --tcp" } else { "" };
    hooks.print(&format!(
        "{title} serves at {kind} port {port}; its counters are at TCP port {counters}\non the other machine:\n  \
         quiclab perf -c ADDRESS{tcp} --port {port} --pin {pin}\n"
    ))?;
    let mut client: Option<Client> = None;
    // Closed at once, they could lose what was said.
    let mut refused: Vec<(TcpStream, Instant)> = Vec::new();
    let mut cpu = (Instant::now(), end.usage().map(|usage| usage.cpu));
    while !setup.stop.load(Ordering::Relaxed) {
        end.read()?;
        if let Some(exit) = end.endpoint.poll()? {
            tell_logs();
            anyhow::bail!("the server ended by itself: {exit}");
        }
        // First, so that one that has gone is no hindrance.
        if let Some(one) = &mut client {
            if cpu.0.elapsed() > CPU_AGE {
                cpu = (Instant::now(), end.usage().map(|usage| usage.cpu));
            }
            if !one.talk(&mut end, &title, &authority, setup.udp_port(settings), cpu.1) {
                client = None;
            }
        }
        while let Ok((stream, from)) = listener.accept() {
            if client.is_some() {
                refused.retain(|(_, since)| since.elapsed() < REFUSED);
                let _ = refuse(&stream, "the server tests with another client");
                // More than a few at a time are no clients of perf.
                if refused.len() < MOST_REFUSED {
                    refused.push((stream, Instant::now()));
                }
            } else if stream.set_nonblocking(true).is_ok() {
                hooks.status(&format!("quiclab: counters are read by {from}"));
                client = Some(Client { stream, lines: Lines::default(), last_read: Instant::now() });
            }
        }
        thread::sleep(POLL_INTERVAL);
    }
    end.endpoint.end();
    Ok(Ended::Interrupted)
}

fn refuse(mut stream: &TcpStream, why: &str) -> std::io::Result<()> {
    stream.set_nonblocking(true)?;
    stream.write_all(&line(&Answer::Refused { why: why.to_owned() }))
}

struct Client {
    stream: TcpStream,
    lines: Lines,
    last_read: Instant,
}

impl Client {
    /// Answers what was asked. False: it has gone, or is no client.
    fn talk(
        &mut self,
        end: &mut End,
        title: &str,
        authority: &str,
        udp_port: Option<u16>,
        cpu: Option<usage::CpuTime>,
    ) -> bool {
        let mut buffer = [0; 4096];
        let length = match self.stream.read(&mut buffer) {
            Ok(0) => return false,
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return self.last_read.elapsed() < TIMEOUT,
            Err(_) => return false,
        };
        let mut taken = &buffer[..length];
        loop {
            let question = match self.lines.take(taken) {
                Ok(Some(line)) => {
                    // A client that says a byte now and then holds nothing.
                    self.last_read = Instant::now();
                    parse::<Question>(&line)
                }
                Ok(None) => return self.last_read.elapsed() < TIMEOUT,
                Err(error) => Err(error),
            };
            taken = &[];
            let (answer, goes_on) = match question {
                Ok(Question::Hello { version: VERSION }) => {
                    (Answer::Hello { stack: title.to_owned(), authority: authority.to_owned() }, true)
                }
                Ok(Question::Hello { version }) => {
                    (Answer::Refused { why: format!("found version {version}, expected {VERSION}") }, false)
                }
                Ok(question) => {
                    if question == Question::Start {
                        end.restart();
                    }
                    let sample = Sample {
                        cpu_user_ns: cpu.map(|cpu| cpu.user_ns),
                        cpu_system_ns: cpu.map(|cpu| cpu.system_ns),
                        socket_drops: udp_port.and_then(usage::socket_drops).map(|(at_port, _)| at_port),
                        ..end.sample(false)
                    };
                    (Answer::Sample { sample: Box::new(sample) }, true)
                }
                Err(error) => (Answer::Refused { why: error.to_string() }, false),
            };
            // What does not fit the socket's buffer is a client that does not read.
            if self.stream.write_all(&line(&answer)).is_err() || !goes_on {
                return false;
            }
        }
    }
}
