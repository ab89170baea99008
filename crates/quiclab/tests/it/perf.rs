//! `quiclab perf`: endpoints that do as the contract says over plain TCP, and some that do not. Needs namespaces, and erofs-utils.

use crate::common;
use std::{
    fs,
    io::Read,
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use crate::common::{CommandOutput, REAL_STACKS, output_of, quiclab};
use quiclab_testing::{Wakings, has_namespaces, has_program, processes_with, skip, wait_until};
use serde_json::Value;

/// Carries zeros over plain TCP. `MANNER` stands for what is wrong with it.
const ENDPOINT: &str = r#"
use strict;
use warnings;
use IO::Handle;
use IO::Select;
use IO::Socket::INET;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

my $manner = 'MANNER';
my %known = map { ("QUICLAB_$_" => 1) } qw(PORT IP PERF_REQUEST PERF_RESPONSE PERF_DURATION PERF_PROGRESS PERF_INTERVAL);
exit 127 if $manner eq 'refuses' || $ENV{TESTCASE} ne 'perf' || grep { /^QUICLAB_/ && !$known{$_} } keys %ENV;
$SIG{PIPE} = 'IGNORE';
$SIG{TERM} = sub { exit 0 };
my ($sent, $received, $connections, $due, $lines) = (0, 0, 0, 0, 0);
my $zeros = "\0" x 16384;
if ($manner eq 'links-its-progress' && $ENV{ROLE} eq 'client') {
    symlink '/etc/passwd', $ENV{QUICLAB_PERF_PROGRESS} or die $!;
    sleep 60;
}
open my $progress, '>>', $ENV{QUICLAB_PERF_PROGRESS} or die $!;
$progress->autoflush;
sub report {
    my $now = clock_gettime(CLOCK_MONOTONIC);
    return if $now < $due && !$_[0];
    $due = $now + $ENV{QUICLAB_PERF_INTERVAL} / 1000;
    my $shown = $manner eq 'counts-back' ? ($lines++ % 2 ? 10 : $lines > 1 ? 5 : 0) : $received;
    my $line = $manner eq 'writes-nonsense' ? 'fast' : sprintf
        '{"monotonic_ns":%d,"sent":%d,"received":%d,"exchanges":0,"connections":%d,"rtt_ns":1500000,"window":null,"lost":null}',
        $now * 1e9, $sent, $shown, $connections;
    print $progress "$line\n";
}
report();
if ($ENV{ROLE} eq 'server') {
    my $udp = IO::Socket::INET->new(Proto => 'udp', LocalAddr => '0.0.0.0', LocalPort => $ENV{QUICLAB_PORT}) or die $@;
    my $listener = IO::Socket::INET->new(LocalPort => $ENV{QUICLAB_PORT} + 1, Listen => 5, ReuseAddr => 1) or die $@;
    my $select = IO::Select->new($listener);
    my %left;
    while (1) {
        report();
        for my $ready ($select->can_read(%left ? 0 : 0.01)) {
            if ($ready == $listener) {
                my $connection = $listener->accept;
                sysread $connection, my $head, 8;
                $received += 8;
                $connections++;
                my $response = unpack 'Q>', $head;
                $left{$connection} = [$connection, $response] if $response;
                $select->add($connection);
            } elsif (my $length = sysread $ready, my $buffer, 65536) {
                $received += $length;
                die "no more\n" if $manner eq 'server-dies' && $received > 1e6;
            } else {
                $select->remove($ready);
                delete $left{$ready};
                close $ready;
            }
        }
        for my $key (keys %left) {
            my ($connection, $response) = @{$left{$key}};
            my $length = syswrite $connection, $zeros, $response < 16384 ? $response : 16384;
            $sent += $length // 0;
            $left{$key}[1] -= $length // $response;
            next if $left{$key}[1] > 0;
            delete $left{$key};
            shutdown $connection, 1;
        }
    }
}
my ($host, $port) = $ENV{REQUESTS} =~ m{^https://([^:]+):(\d+)/1\b} or die $ENV{REQUESTS};
my $connection;
until ($connection = IO::Socket::INET->new(PeerAddr => $host, PeerPort => $port + 1)) { select undef, undef, undef, 0.05 }
$connections++;
my ($request, $response) = @ENV{qw(QUICLAB_PERF_REQUEST QUICLAB_PERF_RESPONSE)};
syswrite $connection, pack 'Q>', $response;
$sent += 8;
my $end = exists $ENV{QUICLAB_PERF_DURATION} ? clock_gettime(CLOCK_MONOTONIC) + $ENV{QUICLAB_PERF_DURATION} / 1000 : 1e18;
while (clock_gettime(CLOCK_MONOTONIC) < $end && ($sent < $request || $received < $response)) {
    report();
    if ($sent < $request) {
        my $left = $request - $sent;
        $sent += syswrite($connection, $zeros, $left < 16384 ? $left : 16384) // die $!;
    } else {
        my $length = sysread($connection, my $buffer, 65536) // die $!;
        last if !$length;
        $received += $length;
    }
    sleep 60 if $manner eq 'stalls' && $sent > 1e6;
    die "the stack gave up\n" if $manner eq 'client-dies' && $sent > 1e6;
}
report(1);
"#;

/// A program in `folder` with a fault.
fn endpoint(folder: &Path, manner: &str) -> String {
    let path = folder.join(manner);
    fs::write(&path, format!("#!/usr/bin/perl\n{}", ENDPOINT.replace("MANNER", manner))).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn perf(folder: &Path, manner: &str, more: &[&str]) -> Command {
    let mut command = quiclab();
    command.args(["perf", "--stacks", common::TEST_STACKS, "--stack", &endpoint(folder, manner)]).args(more);
    command
}

/// How many sockets a process has open.
fn open_sockets(process: u32) -> usize {
    let open = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let targets = open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
}

fn ask(manner: &str, more: &[&str]) -> CommandOutput {
    let folder = tempfile::tempdir().unwrap();
    let output = output_of(&mut perf(folder.path(), manner, more));
    let left = processes_with(folder.path().to_str().unwrap());
    assert!(left.is_empty(), "{left:?}");
    output
}

fn json(output: &CommandOutput) -> Value {
    assert_eq!(output.status, Some(0), "{output:?}");
    serde_json::from_str(&output.output).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn a_time_is_kept_and_what_arrives_is_counted_in_both_directions() {
    if !has_program("perl", "perl") {
        return;
    }
    if !has_namespaces() {
        return;
    }
    for (direction, number) in [(&[][..], 0), (&["-R"], 1)] {
        let (start, wakings) = (Instant::now(), Wakings::watch());
        let found = json(&ask("plain", &[&["-t", "1", "-i", "0.3", "-J"], direction].concat()));
        let (took, late) = (start.elapsed().as_secs_f64(), wakings.latest().as_secs_f64());
        assert_eq!(found["start"]["test_start"]["reverse"], number);
        let end = &found["end"];
        let (sent, received) = (&end["sum_sent"], &end["sum_received"]);
        let bytes = received["bytes"].as_u64().unwrap();
        assert!(bytes > 1_000_000 && bytes <= sent["bytes"].as_u64().unwrap(), "{end}");
        let (seconds, rate) = (received["seconds"].as_f64().unwrap(), received["bits_per_second"].as_f64().unwrap());
        // The client goes on for a second by its own clock, and the command does other things besides.
        assert!(seconds > 0.9 && seconds < took, "{took} s: {end}");
        assert!((rate * seconds / 8.0 / bytes as f64 - 1.0).abs() < 1e-9, "{end}");
        let rows = found["intervals"].as_array().unwrap();
        let sum: u64 = rows.iter().map(|row| row["sum"]["bytes"].as_u64().unwrap()).sum();
        // Three, and one fewer for each 0.3 s that the machine was late.
        let fewest = (((1.0 - late) / 0.3) as usize).saturating_sub(1).max(1);
        assert!(rows.len() >= fewest && sum <= bytes, "{late} s late: {found}");
        assert!(sum > bytes / 2 || late > 0.1, "{late} s late: {found}");
        assert_eq!(rows[0]["quiclab"]["rtt_ns"], 1_500_000);
        assert_eq!(rows[0]["quiclab"]["window_bytes"], Value::Null);
        for side in ["host_total", "remote_total"] {
            assert!(end["cpu_utilization_percent"][side].as_f64().unwrap() > 0.0, "{end}");
        }
    }
}

/// A number of bytes, as CPU time is what is sampled: it is the same however long a busy machine needs for it.
#[test]
fn the_cpu_time_of_both_ends_is_split_into_parts_that_add_up() {
    if !has_program("perl", "perl") {
        return;
    }
    if !has_namespaces() {
        return;
    }
    for (direction, number) in [(&[][..], 0), (&["-R"], 1)] {
        let found = json(&ask("plain", &[&["-n", "2 GB", "-J", "--roofline"], direction].concat()));
        let end = &found["end"];
        let roofline = &end["quiclab_roofline"];
        assert!(roofline["best_quic_bits_per_second"].as_f64().unwrap() > 0.0, "{end}");
        assert!(roofline["share"].as_f64().unwrap() > 0.0, "{end}");
        for part in ["tcp", "tcp_tls"] {
            assert!(roofline["parts"][part]["send_ns_per_byte"].as_f64().unwrap() > 0.0, "{end}");
        }
        // Of both ends the parts add up to what they used.
        if !roofline["not_sampled"].is_null() {
            skip(format_args!("CPU time cannot be sampled: {}", roofline["not_sampled"]));
        }
        let samples = roofline["not_sampled"].is_null();
        let ends = if number == 0 { ["client", "server"] } else { ["server", "client"] };
        for (side, split) in ["sender", "receiver"].into_iter().zip(ends.map(|end| &roofline["cpu_split"][end])) {
            assert_eq!(split["by"], if samples { "samples" } else { "times" }, "{end}");
            let parts = split.as_object().unwrap().iter().filter(|(name, _)| name.ends_with("_ns_per_byte"));
            let sum: f64 = parts.map(|(_, part)| part.as_f64().unwrap()).sum();
            let whole = end["quiclab"][side]["cpu_ns_per_byte"].as_f64().unwrap();
            assert!((sum - whole).abs() < 1e-6 * whole, "{side}: {end}");
            let memory = end["quiclab"][side]["peak_memory_bytes"].as_u64().unwrap();
            assert!((1 << 20..200 << 20).contains(&memory), "{side}: {end}");
        }
    }
}

#[test]
fn a_number_of_bytes_is_carried_exactly_by_each_connection() {
    if !has_program("perl", "perl") {
        return;
    }
    if !has_namespaces() {
        return;
    }
    let found = json(&ask("plain", &["-n", "60 MB", "--connections", "2", "-J", "--repeat", "2"]));
    let tests = found.as_array().unwrap();
    assert_eq!(tests.len(), 2);
    for test in tests {
        for sum in ["sum_sent", "sum_received"] {
            assert_eq!(test["end"][sum]["bytes"], 120_000_000, "{sum}");
        }
        assert_eq!(test["end"]["quiclab"]["fairness"], 1.0);
    }
}

#[test]
fn people_see_lines_a_summary_and_a_median() {
    if !has_program("perl", "perl") {
        return;
    }
    if !has_namespaces() {
        return;
    }
    let found = ask("plain", &["-t", "1", "-i", "0.4", "--repeat", "2"]);
    assert_eq!(found.status, Some(0), "{found:?}");
    let starts = ["plain own sends to plain own: 1 connection of 1 stream, 1 s\n", "      seconds"];
    for (line, start) in found.output.lines().zip(starts) {
        assert!(line.starts_with(start.trim_end()), "{}", found.output);
    }
    for word in ["  received ", " ns per byte", "    median ", " in 2 tests", "1.500 ms"] {
        assert!(found.output.contains(word), "{word}: {}", found.output);
    }
}

#[test]
fn what_endpoints_do_wrong_is_named_and_nothing_is_left() {
    if !has_program("perl", "perl") {
        return;
    }
    if !has_namespaces() {
        return;
    }
    for (manner, expected) in [
        ("refuses", "the server's stack does not support what is asked of it (exit status 127)"),
        ("writes-nonsense", "line 1 of the progress file: found \"fast\", expected an object"),
        ("counts-back", "found received 5 after 10"),
        ("links-its-progress", "/progress: found a symbolic link, expected a regular file"),
        ("server-dies", "the server ended by itself: exit status 255"),
        ("client-dies", "the client ended with exit status 255"),
        ("stalls", "nothing has arrived for 5 s, after "),
    ] {
        let found = ask(manner, &["-t", "30"]);
        assert_eq!(found.status, Some(1), "{manner}: {found:?}");
        assert!(found.errors.contains(expected), "{manner}: {}", found.errors);
    }
    let found = ask("client-dies", &["-t", "30"]);
    assert!(found.errors.contains("| the stack gave up"), "{}", found.errors);
}

#[test]
fn what_cannot_be_tested_is_an_error_before_anything_starts() {
    if !has_program("perl", "perl") {
        return;
    }
    if !has_namespaces() {
        return;
    }
    let plain = |more: &[&str]| ask("plain", more);
    for (more, expected) in [
        (&["-t", "0"][..], "expected seconds, 0.1 to 86400"),
        (&["--pin", "ab", "-c", "127.0.0.1"], "expected 64 hexadecimal digits"),
        (&["--cpus", "0,1023"], "--cpus: CPU 1023 cannot be used"),
        (&["--client-stack", "nobody"], "stack: found \"nobody\", expected one of"),
        (&["-c", "127.0.0.1", "-p", "9"], "hint: quiclab perf -s there"),
        (&["-n", "1 MB", "-t", "3"], "cannot be used with"),
        (&["--tcp"], "cannot be used with"),
    ] {
        let found = plain(more);
        assert_eq!(found.status, Some(125), "{more:?}: {found:?}");
        assert!(found.errors.contains(expected), "{more:?}: {}", found.errors);
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = std::net::UdpSocket::bind(("0.0.0.0", port.local_addr().unwrap().port())).unwrap();
    drop(port);
    let number = taken.local_addr().unwrap().port().to_string();
    let found = plain(&["-s", "-p", &number]);
    assert!(found.errors.contains("is in use\nhint: --port"), "{found:?}");
}

#[test]
fn a_server_elsewhere_is_trusted_by_its_pin_and_gives_its_counters() {
    if !has_program("perl", "perl") {
        return;
    }
    if !has_namespaces() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let port = {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port().to_string()
    };
    let log = folder.path().join("server.log");
    let mut server = perf(folder.path(), "plain", &["-s", "-p", &port]);
    let mut server = server.stdout(fs::File::create(&log).unwrap()).stderr(Stdio::null()).spawn().unwrap();
    let printed = || fs::read_to_string(&log).unwrap();
    wait_until("the server", || printed().contains("--pin "));
    let pin = printed().split("--pin ").nth(1).unwrap().trim().to_owned();

    let client = |more: &[&str]| ask("plain", &[&["-c", "localhost", "-p", &port, "-t", "1"], more].concat());
    let found = client(&[]);
    assert_eq!(found.status, Some(125));
    assert!(found.errors.contains("nothing says that the server's certificate is the right one"), "{found:?}");
    assert!(found.errors.contains(&pin), "{found:?}");
    let found = client(&["--pin", &"a".repeat(64)]);
    assert!(found.errors.contains(&format!("has SHA-256 {pin}, expected aaaa")), "{found:?}");
    let trusted: [(&[&str], bool); 2] = [(&["--pin", &pin], false), (&["--insecure"], true)];
    for (trust, warns) in trusted {
        let found = client(&[trust, &["-J"]].concat());
        assert_eq!(found.errors.contains("is not verified"), warns, "{found:?}");
        let found = json(&found);
        assert!(found["end"]["sum_received"]["bytes"].as_u64().unwrap() > 100_000, "{found}");
        assert!(found["end"]["cpu_utilization_percent"]["remote_total"].is_number(), "{found}");
    }
    // One that is there already is not disturbed by another, nor by somebody who says nothing.
    let connect = || TcpStream::connect(("127.0.0.1", port.parse::<u16>().unwrap())).unwrap();
    let silent = connect();
    wait_until("a refusal", || client(&["--insecure"]).errors.contains("the server tests with another client"));
    // However many others come: each is told so, and the server keeps the connections of few.
    let others: Vec<_> = (0..60).map(|_| connect()).collect();
    for mut other in &others {
        let expected = "{\"answer\":\"refused\",\"why\":\"the server tests with another client\"}\n";
        let mut answer = vec![0; expected.len()];
        other.read_exact(&mut answer).unwrap();
        assert_eq!(String::from_utf8_lossy(&answer), expected);
    }
    let sockets = open_sockets(server.id());
    assert!((2..30).contains(&sockets), "{sockets} sockets for {} clients that were refused", others.len());
    drop(silent);

    let stop = |signal: &str, process: u32| output_of(Command::new("kill").args([signal, &process.to_string()]));
    stop("-INT", server.id());
    assert_eq!(server.wait().unwrap().code(), Some(130));
    let left = processes_with(folder.path().to_str().unwrap());
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_interrupted_test_shows_what_there_was() {
    if !has_program("perl", "perl") {
        return;
    }
    if !has_namespaces() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut command = perf(folder.path(), "plain", &["-t", "600", "-i", "0.2"]);
    let mut running = command.stdout(fs::File::create(&log).unwrap()).spawn().unwrap();
    let printed = || fs::read_to_string(&log).unwrap();
    wait_until("two lines", || printed().lines().count() >= 4);
    output_of(Command::new("kill").args(["-INT", &running.id().to_string()]));
    assert_eq!(running.wait().unwrap().code(), Some(130));
    assert!(
        printed().contains("  received ") && printed().contains("interrupted: the numbers so far"),
        "{}",
        printed()
    );
    let left = processes_with(folder.path().to_str().unwrap());
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn what_does_not_go_with_tcp_is_an_error_before_anything_is_built() {
    if !has_program("perl", "perl") {
        return;
    }
    if !has_namespaces() {
        return;
    }
    let ask = |more: &[&str]| output_of(quiclab().args(["perf", "--stacks", REAL_STACKS]).args(more));
    for (more, expected) in [
        (&["--tcp", "--stack", "quinn"][..], "cannot be used with"),
        (&["--tcp", "--udp"], "cannot be used with"),
        (&["--svg", "x.svg"], "--roofline"),
        (&["--stack", "quinn", "--client-stack", "tcp-tls"], "both ends must be of QUIC"),
        (&["--stack", "tcp-tls", "-s", "-p", "65535"], "expected at most 65534"),
    ] {
        let found = ask(more);
        assert_eq!(found.status, Some(125), "{more:?}: {found:?}");
        assert!(found.errors.contains(expected), "{more:?}: {}", found.errors);
    }
}

/// The numbers are there with and without TLS, in both directions, over several connections.
#[test]
#[ignore = "builds a stack"]
fn the_kernels_tcp_has_the_numbers_of_a_stack() {
    for (stack, has_tls) in [(&["--tcp"][..], false), (&["--stack", "tcp-tls"], true)] {
        for direction in [&[][..], &["-R"]] {
            let mut command = quiclab();
            command.args(["perf", "--stacks", REAL_STACKS, "-t", "1", "-P", "3", "-J"]).args(stack).args(direction);
            let found = json(&output_of(&mut command));
            let start = &found["start"];
            assert_eq!((&start["test_start"]["protocol"], &start["quiclab"]["tls"]), (&"TCP".into(), &has_tls.into()));
            let end = &found["end"];
            assert!(end["sum_received"]["bits_per_second"].as_f64().unwrap() > 1e8, "{end}");
            let row = &found["intervals"][0]["quiclab"];
            assert!(row["rtt_ns"].as_u64().unwrap() > 0 && row["window_bytes"].as_u64().unwrap() > 1000, "{row}");
            assert!(row["lost_packets"].is_u64() && row["socket_drops"].is_null(), "{row}");
        }
        let mut command = quiclab();
        command.args(["perf", "--stacks", REAL_STACKS, "-n", "60 MB", "-P", "3", "-R", "-6", "-J"]).args(stack);
        assert_eq!(json(&output_of(&mut command))["end"]["sum_received"]["bytes"], 60_000_000);
    }
}

/// What stacks do wrong to each other: docs/results/throughput.md. quiclab says it, and so it is no failure of quiclab.
const FAULTS: [&str; 3] = ["too many gaps in stream buffer", "FLOW_CONTROL", "| ERR_INTERNAL"];

/// Most memory of an endpoint, in bytes, however much it carries.
const MOST_MEMORY: u64 = 200 << 20;

/// Minutes, and builds of all stacks: `make test-perf`.
#[test]
#[ignore = "builds every stack"]
fn every_server_and_every_client_of_perf_work_in_both_directions() {
    let list = output_of(quiclab().args(["stacks", "list", "--json", "--stacks", REAL_STACKS]));
    let stacks: Value = serde_json::from_str(&list.output).unwrap();
    let claims = |role: &str| -> Vec<String> {
        let has = |stack: &&Value| {
            stack["test_cases"][role].as_array().is_some_and(|cases| cases.iter().any(|case| case == "perf"))
        };
        let all = stacks.as_array().unwrap().iter().filter(has);
        all.map(|stack| stack["name"].as_str().unwrap().to_owned()).collect()
    };
    let (servers, clients) = (claims("server"), claims("client"));
    assert!(servers.len() >= 15 && clients.len() >= 16, "{servers:?} {clients:?}");
    let transport = |name: &String| {
        let stack = stacks.as_array().unwrap().iter().find(|stack| stack["name"] == name.as_str());
        stack.unwrap()["transport"].clone()
    };
    let mut failed = Vec::new();
    for server in &servers {
        for client in clients.iter().filter(|client| transport(client) == transport(server)) {
            for direction in [&[][..], &["-R"]] {
                let mut command = quiclab();
                command.args(["perf", "--stacks", REAL_STACKS, "--stack", server, "--client-stack", client]);
                let found = output_of(command.args(["-t", "1", "-P", "3", "-J"]).args(direction));
                let result: Value = serde_json::from_str(&found.output).unwrap_or_default();
                let rate = result["end"]["sum_received"]["bits_per_second"].as_f64();
                let memory = |side: &str| result["end"]["quiclab"][side]["peak_memory_bytes"].as_u64().unwrap_or(0);
                let memory = memory("sender").max(memory("receiver"));
                let shown = [rate.unwrap_or(f64::NAN) / 1e9, memory as f64 / f64::from(1 << 20)];
                eprintln!("{client} and {server} {direction:?}: {:.2} Gbit/s, {:.0} MiB", shown[0], shown[1]);
                let is_known = FAULTS.iter().any(|fault| found.errors.contains(fault));
                if found.status != Some(0) && is_known {
                    eprintln!("a known fault: {}", found.errors);
                } else if found.status != Some(0) || rate.is_none_or(|rate| rate < 1e6) {
                    failed.push(format!("{client} and {server} {direction:?}: {}", found.errors));
                } else if memory > MOST_MEMORY {
                    failed.push(format!("{client} and {server} {direction:?}: {memory} bytes of memory"));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
