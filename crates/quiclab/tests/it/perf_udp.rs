//! `quiclab perf --udp`: datagrams at a rate. Needs namespaces.

use crate::common;
use std::{
    collections::VecDeque,
    fs,
    net::{Shutdown, TcpListener, TcpStream, UdpSocket},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::common::{quiclab, said, wait_until};
use serde_json::Value;

fn udp(more: &[&str]) -> Value {
    let found = said(quiclab().args(["perf", "--udp", "-J"]).args(more));
    assert_eq!(found.status, Some(0), "{found:?}");
    serde_json::from_str(&found.output).unwrap()
}

#[test]
fn as_many_datagrams_leave_as_fit_the_rate_and_the_time() {
    for (more, reverse) in [(&[][..], 0), (&["-R"], 1), (&["-6"], 0)] {
        // 8 Mbit/s of 1000 bytes: one each ms.
        let found = udp(&[&["-t", "1", "-b", "8M", "-l", "1000", "-i", "0.4"], more].concat());
        let end = &found["end"]["quiclab"];
        assert_eq!(
            (&end["sent"], &end["packets"], &end["lost_packets"]),
            (&1000.into(), &1000.into(), &0.into()),
            "{end}"
        );
        assert_eq!((&end["bytes"], &found["start"]["test_start"]["reverse"]), (&1_000_000.into(), &reverse.into()));
        assert_eq!(found["end"]["sum_sent"]["bits_per_second"], 8e6);
        // Other tests share the cores: late ones are sent at once.
        let rate = end["bits_per_second"].as_f64().unwrap();
        assert!((6e6..10e6).contains(&rate), "{end}");
        assert!(end["jitter_ns"].as_f64().unwrap() > 0.0, "{end}");
        let rows = found["intervals"].as_array().unwrap();
        assert!(rows.len() >= 2 && rows[0]["sum"]["packets"].as_u64().unwrap() > 100, "{found}");
    }
}

#[test]
fn a_sender_that_is_too_slow_says_so() {
    let end = &udp(&["-t", "1", "-b", "900 Gbit/s"])["end"]["quiclab"];
    assert!(end["notes"][0].as_str().unwrap().contains("of the rate that was asked for"), "{end}");
}

/// A server, and a port in front of it whose datagrams lose and wait.
struct Path {
    server: Child,
    port: u16,
}

impl Path {
    /// Every tenth datagram is dropped, and every second one of the others arrives 3 ms late.
    fn new() -> Self {
        let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        // Another test may take the port before the server does: then it ends at once.
        let (server, behind) = loop {
            let behind = free();
            let mut command = quiclab();
            command.args(["perf", "-s", "--udp", "-p", &behind.to_string()]).stdout(Stdio::null());
            let mut server = command.spawn().unwrap();
            wait_until("the server", || {
                server.try_wait().unwrap().is_some() || TcpStream::connect(("127.0.0.1", behind)).is_ok()
            });
            thread::sleep(Duration::from_millis(100));
            if server.try_wait().unwrap().is_none() {
                break (server, behind);
            }
        };
        let front = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = front.local_addr().unwrap().port();
        let datagrams = UdpSocket::bind(("127.0.0.1", port)).unwrap();
        thread::spawn(move || {
            for client in front.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(("127.0.0.1", behind)).unwrap());
                for (mut from, mut to) in [(&client, &server), (&server, &client)]
                    .map(|(from, to)| (from.try_clone().unwrap(), to.try_clone().unwrap()))
                {
                    thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        thread::spawn(move || {
            datagrams.set_read_timeout(Some(Duration::from_micros(200))).unwrap();
            let (mut buffer, mut number) = ([0; 2000], 0);
            let mut late: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
            loop {
                while late.front().is_some_and(|(due, _)| *due <= Instant::now()) {
                    datagrams.send_to(&late.pop_front().unwrap().1, ("127.0.0.1", behind)).unwrap();
                }
                let Ok((length, _)) = datagrams.recv_from(&mut buffer) else { continue };
                number += 1;
                match number % 10 {
                    0 => {}
                    place if place % 2 == 1 => {
                        late.push_back((Instant::now() + Duration::from_millis(3), buffer[..length].to_vec()));
                    }
                    _ => drop(datagrams.send_to(&buffer[..length], ("127.0.0.1", behind)).unwrap()),
                }
            }
        });
        Self { server, port }
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn losses_order_and_jitter_are_those_of_the_path() {
    let path = Path::new();
    let port = path.port.to_string();
    let end = &udp(&["-c", "127.0.0.1", "-p", &port, "-t", "2", "-b", "8M", "-l", "1000"])["end"]["quiclab"];
    assert_eq!(
        (&end["sent"], &end["packets"], &end["lost_packets"]),
        (&2000.into(), &1800.into(), &200.into()),
        "{end}"
    );
    assert_eq!((&end["lost_share"], &end["socket_drops"]), (&0.1.into(), &0.into()), "{end}");
    // Those that are late, 1000, have been passed by one at least, if other tests do not hold it up.
    let out_of_order = end["out_of_order"].as_u64().unwrap();
    assert!((500..=1000).contains(&out_of_order), "{end}");
    // From one to the next the delay changes by 3 ms as a rule.
    let jitter = end["jitter_ns"].as_f64().unwrap();
    assert!((0.8e6..9e6).contains(&jitter), "{end}");
}

#[test]
fn a_server_of_udp_and_one_of_a_stack_are_not_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let log = folder.path().join("log");
    let mut server = quiclab();
    server.args(["perf", "-s", "--udp", "-p", &port]).stdout(fs::File::create(&log).unwrap()).stderr(Stdio::null());
    let mut server = server.spawn().unwrap();
    wait_until("the server", || fs::read_to_string(&log).unwrap().contains("quiclab perf --udp -c ADDRESS"));
    let end = &udp(&["-c", "localhost", "-p", &port, "-t", "0.5", "-R"])["end"]["quiclab"];
    assert!(end["packets"].as_u64().unwrap() > 20, "{end}");
    let found =
        said(quiclab().args(["perf", "--stacks", common::TEST_STACKS, "--stack", "tests/stacks/careless"]).args([
            "-c",
            "localhost",
            "-p",
            &port,
            "--insecure",
        ]));
    assert_ne!(found.status, Some(0), "{found:?}");
    let taken = said(quiclab().args(["perf", "-s", "--udp", "-p", &port]));
    assert!(taken.errors.contains("hint: --port, another number"), "{taken:?}");
    said(Command::new("kill").args(["-INT", &server.id().to_string()]));
    assert_eq!(server.wait().unwrap().code(), Some(130));
    let nobody = said(quiclab().args(["perf", "--udp", "-c", "localhost", "-p", &port]));
    assert!(nobody.errors.contains("hint: quiclab perf -s --udp there"), "{nobody:?}");
}
