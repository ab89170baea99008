//! Handshakes a second of one scanner with a server on the loopback interface, each on a core of its own, and which of the two was
//! the limit: `cargo run --release -p quiclab-scan --example rate -- [SECONDS] [IN_FLIGHT] [PROGRAM]`. PROGRAM is another client, such as that of
//! bench/scan: it is started with ADDRESS SECONDS IN_FLIGHT in turns with the scanner, and prints JSON.

#[path = "../tests/it/common/mod.rs"]
mod common;

use std::error::Error;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use common::{Behaviour, Server, thread_time};
use quiclab_scan::{HttpSettings, Outcome, Request, ScanSettings, Scanner};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds: u64 = arguments.next().map_or(Ok(5), |it| it.parse())?;
    let most_in_flight: usize = arguments.next().map_or(Ok(64), |it| it.parse())?;
    println!("{:28} {:>12} {:>10} {:>10} {:>10}", "", "handshakes/s", "client CPU", "server CPU", "limit");
    let plain = ScanSettings { most_in_flight, timeout: Duration::from_secs(10), ..ScanSettings::default() };
    let quick = ScanSettings { waits_for_confirmation: false, ..plain.clone() };
    let http = ScanSettings { http: Some(HttpSettings::default()), ..plain.clone() };
    let mut reused = quick.clone();
    reused.hello.reuses_key_share = true;
    for (name, settings) in [
        ("handshake", quick),
        ("handshake, key share reused", reused),
        ("handshake, confirmed", plain),
        ("handshake and HEAD", http),
    ] {
        measure(name, &settings, Duration::from_secs(seconds))?;
    }
    if let Some(program) = arguments.next() {
        return beside(&program, seconds, most_in_flight);
    }
    measure_silent()
}

/// The scanner and another client in turns, each with a server of its own that is alike.
fn beside(program: &str, seconds: u64, most_in_flight: usize) -> Result<(), Box<dyn Error>> {
    let settings = ScanSettings {
        most_in_flight,
        timeout: Duration::from_secs(10),
        waits_for_confirmation: false,
        ..ScanSettings::default()
    };
    let mut reused = settings.clone();
    reused.hello.reuses_key_share = true;
    for _ in 0..3 {
        measure("handshake", &settings, Duration::from_secs(seconds))?;
        measure("handshake, key share reused", &reused, Duration::from_secs(seconds))?;
        let server = Server::start(Behaviour { speaks_http3: true, ..Behaviour::default() });
        let mut command = std::process::Command::new(program);
        let output =
            command.arg(server.address.to_string()).args([seconds.to_string(), most_in_flight.to_string()]).output()?;
        let result = String::from_utf8(output.stdout)?;
        let cpu = server.stop().as_secs_f64() / seconds as f64;
        println!("{program}: {}; server {:.0} %", result.trim(), cpu * 100.0);
    }
    Ok(())
}

/// Targets that never answer, as fast as the timeout lets them end.
fn measure_silent() -> Result<(), Box<dyn Error>> {
    const COUNT: u64 = 100_000;
    const PARTS: u64 = 10;
    let silent = UdpSocket::bind("0.0.0.0:0")?;
    let port = silent.local_addr()?.port();
    // Long enough for the first probes.
    let settings = ScanSettings { timeout: Duration::from_millis(1_300), ..ScanSettings::default() };
    let mut scanner = Scanner::new(&settings)?;
    let (mut asked, mut ended, mut parts) = (0u64, 0u64, Vec::new());
    let (begin, mut cpu) = (Instant::now(), thread_time());
    while ended < COUNT {
        while asked < COUNT && scanner.has_room() {
            let address = SocketAddr::from(([127, (asked >> 16) as u8, (asked >> 8) as u8, asked as u8], port));
            let server_name = Some("test.example".into());
            scanner.ask(Request { id: asked, address, server_name, keeps_packets: false });
            asked += 1;
            if asked % 32 == 0 {
                break;
            }
        }
        scanner.turn(Duration::from_millis(100), &mut |_| ended += 1)?;
        if ended >= COUNT / PARTS * (parts.len() as u64 + 1) {
            let now = thread_time();
            parts.push((now - cpu).as_micros() as u64 * PARTS / COUNT);
            cpu = now;
        }
    }
    let rate = COUNT as f64 / begin.elapsed().as_secs_f64();
    println!("{COUNT} silent targets: {rate:.0} a second; us of CPU for each, by tenths of the scan: {parts:?}");
    Ok(())
}

fn measure(name: &str, settings: &ScanSettings, duration: Duration) -> Result<(), Box<dyn Error>> {
    let server = Server::start(Behaviour { speaks_http3: settings.http.is_some(), ..Behaviour::default() });
    let mut scanner = Scanner::new(settings)?;
    let (mut completed, mut others, mut id) = (0u64, 0u64, 0);
    let (begin, cpu) = (Instant::now(), thread_time());
    while begin.elapsed() < duration || scanner.in_flight() > 0 {
        while begin.elapsed() < duration && scanner.has_room() {
            id += 1;
            let server_name = Some("test.example".into());
            scanner.ask(Request { id, address: server.address, server_name, keeps_packets: false });
        }
        scanner.turn(Duration::from_millis(100), &mut |answer| match answer.outcome {
            Outcome::Completed => completed += 1,
            _ => others += 1,
        })?;
    }
    let elapsed = begin.elapsed().as_secs_f64();
    let client = (thread_time() - cpu).as_secs_f64() / elapsed;
    let server = server.stop().as_secs_f64() / elapsed;
    let limit = if client > server { "client" } else { "server" };
    let (rate, client_percent, server_percent) = (completed as f64 / elapsed, client * 100.0, server * 100.0);
    println!("{name:28} {rate:12.0} {client_percent:8.0} % {server_percent:8.0} % {limit:>10}");
    println!("{:28} {:12.0} handshakes a second of client CPU; {others} did not complete", "", rate / client);
    Ok(())
}
