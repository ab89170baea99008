//! `quiclab perf --udp`: datagrams at a rate. Needs namespaces.

use crate::common;
use std::{
    collections::VecDeque,
    fs,
    net::{Shutdown, TcpListener, TcpStream, UdpSocket},
    os::fd::AsRawFd,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use crate::common::{output_of, quiclab};
use quiclab_testing::{Wakings, has_namespaces, wait_until};
use serde_json::Value;

fn udp(more: &[&str]) -> Value {
    let found = output_of(quiclab().args(["perf", "--udp", "-J"]).args(more));
    assert_eq!(found.status, Some(0), "{found:?}");
    serde_json::from_str(&found.output).unwrap()
}

/// How many of `due` datagrams were sent, one each ms: those that are due while the sender, `late` seconds late, has not woken yet are not
/// sent once the time is over.
fn all_but_those_missed(end: &Value, due: u64, late: f64) -> u64 {
    let sent = end["sent"].as_u64().unwrap();
    let missed = 5 + (1000.0 * late) as u64;
    assert!((due.saturating_sub(missed)..=due).contains(&sent), "{late} s late: {end}");
    sent
}

#[test]
fn as_many_datagrams_leave_as_fit_the_rate_and_the_time() {
    if !has_namespaces() {
        return;
    }
    for (more, reverse) in [(&[][..], 0), (&["-R"], 1), (&["-6"], 0)] {
        // 8 Mbit/s of 1000 bytes: one each ms.
        let wakings = Wakings::watch();
        let found = udp(&[&["-t", "1", "-b", "8M", "-l", "1000", "-i", "0.4"], more].concat());
        let late = 3.0 * wakings.latest().as_secs_f64();
        let end = &found["end"]["quiclab"];
        let sent = all_but_those_missed(end, 1000, late);
        assert_eq!((&end["packets"], &end["lost_packets"]), (&sent.into(), &0.into()), "{end}");
        assert_eq!((&end["bytes"], &found["start"]["test_start"]["reverse"]), (&(1000 * sent).into(), &reverse.into()));
        assert_eq!(found["end"]["sum_sent"]["bits_per_second"], 8000.0 * sent as f64);
        // From the first to the last it is a second, but for how late the machine is at either end: late ones are sent at once.
        let rate = end["bits_per_second"].as_f64().unwrap();
        let bits = 8000.0 * sent as f64;
        let (least, most) = (bits / (1.1 + late), bits / (0.9 - late).max(0.01));
        assert!((least..most).contains(&rate), "{late} s late: {end}");
        assert!(end["jitter_ns"].as_f64().unwrap() > 0.0, "{end}");
        let rows = found["intervals"].as_array().unwrap();
        let first = rows[0]["sum"]["packets"].as_f64().unwrap();
        assert!(rows.len() >= 2 || late > 0.3, "{late} s late: {found}");
        assert!(first > 300.0 - 1000.0 * late, "{late} s late: {found}");
    }
}

#[test]
fn a_sender_that_is_too_slow_says_so() {
    if !has_namespaces() {
        return;
    }
    let end = &udp(&["-t", "1", "-b", "900 Gbit/s"])["end"]["quiclab"];
    assert!(end["notes"][0].as_str().unwrap().contains("of the rate that was asked for"), "{end}");
}

/// A server, and a port in front of it whose datagrams lose and wait.
struct Path {
    server: Child,
    port: u16,
}

impl Path {
    /// Every tenth datagram is dropped, and every second one of the others waits until three more have come: 3 ms, if none is late.
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
        enlarge(&datagrams);
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
            datagrams.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            let (mut buffer, mut number) = ([0; 2000], 0_u64);
            let mut late: VecDeque<(u64, Vec<u8>)> = VecDeque::new();
            loop {
                let received = datagrams.recv_from(&mut buffer);
                if let Ok((length, _)) = received {
                    number += 1;
                    match number % 10 {
                        0 => {}
                        place if place % 2 == 1 => late.push_back((number + 3, buffer[..length].to_vec())),
                        _ => drop(datagrams.send_to(&buffer[..length], ("127.0.0.1", behind)).unwrap()),
                    }
                }
                // Where none comes, those that wait are the last ones.
                while late.front().is_some_and(|(due, _)| *due <= number || received.is_err()) {
                    datagrams.send_to(&late.pop_front().unwrap().1, ("127.0.0.1", behind)).unwrap();
                }
            }
        });
        Self { server, port }
    }
}

/// Room for what comes while this machine does something else. Root gets it all, and others as much as the machine allows.
fn enlarge(socket: &UdpSocket) {
    let value: libc::c_int = 8 << 20;
    for option in [libc::SO_RCVBUF, libc::SO_RCVBUFFORCE] {
        let length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: the value is as long as said.
        _ = unsafe {
            libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const value).cast(), length)
        };
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
    if !has_namespaces() {
        return;
    }
    let path = Path::new();
    let (port, wakings) = (path.port.to_string(), Wakings::watch());
    let end = &udp(&["-c", "127.0.0.1", "-p", &port, "-t", "2", "-b", "8M", "-l", "1000"])["end"]["quiclab"];
    let late_ns = wakings.latest().as_nanos() as f64;
    let sent = all_but_those_missed(end, 2000, 3e-9 * late_ns);
    let lost = sent / 10;
    assert_eq!((&end["packets"], &end["lost_packets"]), (&(sent - lost).into(), &lost.into()), "{end}");
    assert_eq!((&end["lost_share"], &end["socket_drops"]), (&(lost as f64 / sent as f64).into(), &0.into()), "{end}");
    // Those that are late, 1000, have been passed by one at least, but for those that wait when none comes for a while.
    let out_of_order = end["out_of_order"].as_u64().unwrap();
    assert!((500..=1000).contains(&out_of_order), "{end}");
    // From one to the next the delay changes by 3 ms as a rule, and by how late the machine is.
    let jitter = end["jitter_ns"].as_f64().unwrap();
    assert!(jitter > 0.8e6 - late_ns && jitter > 0.0 && jitter < 9e6 + 3.0 * late_ns, "{late_ns} ns late: {end}");
}

#[test]
fn a_server_of_udp_and_one_of_a_stack_are_not_the_same() {
    if !has_namespaces() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let log = folder.path().join("log");
    let mut server = quiclab();
    server.args(["perf", "-s", "--udp", "-p", &port]).stdout(fs::File::create(&log).unwrap()).stderr(Stdio::null());
    let mut server = server.spawn().unwrap();
    wait_until("the server", || fs::read_to_string(&log).unwrap().contains("quiclab perf --udp -c ADDRESS"));
    let end = &udp(&["-c", "localhost", "-p", &port, "-t", "0.5", "-R"])["end"]["quiclab"];
    assert!(end["packets"].as_u64().unwrap() > 20, "{end}");
    let found = output_of(
        quiclab().args(["perf", "--stacks", common::TEST_STACKS, "--stack", "tests/stacks/careless"]).args([
            "-c",
            "localhost",
            "-p",
            &port,
            "--insecure",
        ]),
    );
    assert_ne!(found.status, Some(0), "{found:?}");
    let taken = output_of(quiclab().args(["perf", "-s", "--udp", "-p", &port]));
    assert!(taken.errors.contains("hint: --port, another number"), "{taken:?}");
    output_of(Command::new("kill").args(["-INT", &server.id().to_string()]));
    assert_eq!(server.wait().unwrap().code(), Some(130));
    let nobody = output_of(quiclab().args(["perf", "--udp", "-c", "localhost", "-p", &port]));
    assert!(nobody.errors.contains("hint: quiclab perf -s --udp there"), "{nobody:?}");
}
