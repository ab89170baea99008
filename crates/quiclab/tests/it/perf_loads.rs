//! `quiclab perf` under the loads that are not bulk: with endpoints that keep the contract over plain TCP or break it, and with real
//! stacks. Needs namespaces, and erofs-utils.

use crate::common;
use std::{fs, os::unix::fs::PermissionsExt};

use crate::common::{CommandOutput, REAL_STACKS, output_of, quiclab};
use quiclab_testing::{has_namespaces, has_program, processes_with};
use serde_json::Value;

/// 30 µs, 7 ms and 2 s, as hdrhistogram-go writes them.
const THREE: &str = "HISTFAAAADB42pJpmSzMwMDAyQABzFDqBQMDs5vBjgUM9h8gIsVMDz2ZupsZmQABAAD//53YB/A=";

/// Makes three exchanges, whatever the time. `MANNER` stands for what is wrong with it.
const ENDPOINT: &str = r#"#!/usr/bin/perl
use strict;
use warnings;
use IO::Handle;
use IO::Socket::INET;
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC);

my $manner = 'MANNER';
my %known = map { ("QUICLAB_$_" => 1) }
    qw(PORT IP PERF_REQUEST PERF_RESPONSE PERF_DURATION PERF_PROGRESS PERF_INTERVAL PERF_LOAD PERF_LATENCIES);
delete $known{QUICLAB_PERF_LOAD} if $manner eq 'bulk-only';
exit 127 if grep { /^QUICLAB_/ && !$known{$_} } keys %ENV;
$SIG{TERM} = sub { exit 0 };
my ($bytes, $exchanges) = (0, 0);
open my $progress, '>>', $ENV{QUICLAB_PERF_PROGRESS} or die $!;
$progress->autoflush;
sub report {
    printf $progress '{"monotonic_ns":%d,"sent":%d,"received":%d,"exchanges":%d,"connections":%d,"rtt_ns":null,"window":null,"lost":null}' . "\n",
        clock_gettime(CLOCK_MONOTONIC) * 1e9, $bytes, $bytes, $exchanges, $exchanges;
}
report();
if ($ENV{ROLE} eq 'server') {
    my $udp = IO::Socket::INET->new(Proto => 'udp', LocalAddr => '0.0.0.0', LocalPort => $ENV{QUICLAB_PORT}) or die $@;
    my $listener = IO::Socket::INET->new(LocalPort => $ENV{QUICLAB_PORT} + 1, Listen => 5, ReuseAddr => 1) or die $@;
    while (my $connection = $listener->accept) {
        while (sysread $connection, my $request, 100) {
            $bytes += length $request;
            $exchanges++;
            report();
            syswrite $connection, $request;
        }
    }
}
die "asked for $ENV{QUICLAB_PERF_REQUEST}\n" if $ENV{QUICLAB_PERF_LOAD} eq 'requests' && $ENV{QUICLAB_PERF_REQUEST} != 100;
my ($host, $port) = $ENV{REQUESTS} =~ m{^https://([^:]+):(\d+)/1\b} or die $ENV{REQUESTS};
my $connection;
until ($connection = IO::Socket::INET->new(PeerAddr => $host, PeerPort => $port + 1)) { sleep 0.05 }
for (1 .. 3) {
    syswrite $connection, 'x' x 100;
    sysread $connection, my $response, 100;
    $bytes += length $response;
    $exchanges++;
    report();
}
# So that there are enough lines for a rate.
for (1 .. 10) { sleep 0.02; $bytes++; report() }
sleep $ENV{QUICLAB_PERF_DURATION} / 1000;
$exchanges++ if $manner eq 'miscounts';
report();
exit 0 if $manner eq 'writes-none';
open my $latencies, '>', $ENV{QUICLAB_PERF_LATENCIES} or die $!;
print $latencies $manner eq 'writes-nonsense' ? "fast\n" : "THREE\n";
"#;

fn ask(manner: &str, more: &[&str]) -> CommandOutput {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(manner);
    fs::write(&path, ENDPOINT.replace("MANNER", manner).replace("THREE", THREE)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = quiclab();
    command.args(["perf", "--stacks", common::TEST_STACKS, "--stack"]).arg(&path).args(more);
    let output = output_of(&mut command);
    let left = processes_with(folder.path().to_str().unwrap());
    assert!(left.is_empty(), "{left:?}");
    output
}

fn json(output: &CommandOutput) -> Value {
    assert_eq!(output.status, Some(0), "{output:?}");
    serde_json::from_str(&output.output).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn is_near(found: &Value, expected: f64) -> bool {
    found.as_f64().is_some_and(|found| (found / expected - 1.0).abs() < 0.002)
}

#[test]
fn latencies_are_those_that_the_clients_wrote_put_together() {
    if !has_program("perl", "perl") {
        return;
    }
    if !has_namespaces() {
        return;
    }
    let found = json(&ask("keeps", &["--rps", "-t", "0.5", "-i", "0.2", "-J", "--connections", "2"]));
    assert_eq!(found["start"]["quiclab"]["load"], "requests");
    assert_eq!(found["start"]["quiclab"]["response_bytes"], 1000);
    let end = &found["end"]["quiclab"];
    assert_eq!((&end["count"], &end["server"]["count"]), (&Value::from(6), &Value::from(6)));
    let latency = &end["latency"];
    assert_eq!(latency["count"], 6);
    assert!(is_near(&latency["p50_ns"], 7e6) && is_near(&latency["max_ns"], 2e9), "{latency}");
    assert!(is_near(&latency["mean_ns"], 2_007_030_000.0 / 3.0), "{latency}");
    for few in ["p90_ns", "p99_ns", "p99.9_ns", "p99.99_ns"] {
        assert_eq!(latency[few], Value::Null);
    }
    assert!(end["notes"].to_string().contains("p90, p99, p99.9, p99.99: not known from 6 values"), "{end}");
    let rows = found["intervals"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["quiclab"]["count"].as_u64().unwrap()).sum::<u64>(), 6, "{rows:?}");

    let found = ask("keeps", &["--hps", "-t", "0.5", "--repeat", "2"]);
    assert_eq!(found.status, Some(0), "{found:?}");
    for part in [
        "keeps own connects to keeps own: 1 client with 1 handshake at a time, 0.5 s",
        "handshakes/s",
        "p90 -",
        "median p50: 7.",
    ] {
        assert!(found.output.contains(part), "{part}: {}", found.output);
    }
}

#[test]
fn a_client_without_a_load_or_with_wrong_latencies_is_named() {
    if !has_program("perl", "perl") {
        return;
    }
    if !has_namespaces() {
        return;
    }
    for (manner, expected) in [
        ("bulk-only", "the client's stack, bulk-only own, does not have this load (QUICLAB_PERF_LOAD=requests)"),
        ("writes-none", "latencies: No such file"),
        ("writes-nonsense", "/latencies: found less than a head, expected base64 of a compressed HdrHistogram"),
        (
            "miscounts",
            "/latencies: found 3 latencies, expected as many as the last line of progress counts, 4 requests",
        ),
    ] {
        let found = ask(manner, &["--rps", "-t", "0.2"]);
        assert_eq!(found.status, Some(1), "{manner}: {found:?}");
        assert!(found.errors.contains(expected), "{manner}: {}", found.errors);
    }
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    if !has_program("perl", "perl") {
        return;
    }
    if !has_namespaces() {
        return;
    }
    for (more, expected) in [
        (&["--rps", "--hps"][..], "cannot be used with"),
        (&["--bidir", "-R"], "cannot be used with"),
        (&["--rps", "-n", "1MB"], "cannot be used with"),
        (&["--hps", "--roofline"], "cannot be used with"),
        (&["--request", "100B"], "--rps"),
        (&["--rps", "--request", "7B"], "expected at least 8 bytes"),
        (&["-s", "--hps"], "cannot be used with"),
    ] {
        let found = ask("keeps", more);
        assert_eq!(found.status, Some(125), "{more:?}: {found:?}");
        assert!(found.errors.contains(expected), "{more:?}: {}", found.errors);
    }
}

/// A test of real stacks.
fn measure(server: &str, client: &str, more: &[&str]) -> Result<Value, String> {
    let mut command = quiclab();
    command.args(["perf", "--stacks", REAL_STACKS, "--stack", server, "--client-stack", client, "-J"]).args(more);
    let found = output_of(&mut command);
    match found.status {
        Some(0) => serde_json::from_str(&found.output).map_err(|error| error.to_string()),
        status => Err(format!("{client} and {server}, {more:?}: {status:?} {}", found.errors)),
    }
}

/// What is wrong with the numbers of `--rps`.
fn check_requests(server: &str, client: &str) -> Result<(), String> {
    let found = measure(server, client, &["--rps", "-t", "1", "-P", "5", "--request", "300B", "--response", "2kB"])?;
    let end = &found["end"]["quiclab"];
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let (clients, servers) = (number(&end["count"]), number(&end["server"]["count"]));
    eprintln!(
        "{client} and {server}: {:.0} requests/s, p99 {} ns",
        end["per_second"].as_f64().unwrap_or(f64::NAN),
        end["latency"]["p99_ns"]
    );
    let is_right =
        clients > 50 && servers >= clients && servers <= clients + 5 && number(&end["latency"]["count"]) == clients;
    // Five at a time: by Little's law the mean latency is five times the time for each.
    let little = end["latency"]["mean_ns"].as_f64().unwrap_or(0.0) * end["per_second"].as_f64().unwrap_or(0.0) / 5e9;
    if is_right && (0.5..1.2).contains(&little) {
        Ok(())
    } else {
        Err(format!("{client} and {server}: {little} {found}"))
    }
}

/// The same of `--hps`.
fn check_handshakes(server: &str, client: &str) -> Result<(), String> {
    let found = measure(server, client, &["--hps", "-t", "1", "-P", "3"])?;
    let end = &found["end"]["quiclab"];
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let (clients, servers) = (number(&end["count"]), number(&end["server"]["count"]));
    eprintln!(
        "{client} and {server}: {:.0} handshakes/s, p50 {} ns",
        end["per_second"].as_f64().unwrap_or(f64::NAN),
        end["latency"]["p50_ns"]
    );
    let is_right = clients > 10 && servers.abs_diff(clients) <= 3 && number(&end["latency"]["count"]) == clients;
    if is_right { Ok(()) } else { Err(format!("{client} and {server}: {found}")) }
}

/// The same of `--bidir`.
fn check_both(server: &str, client: &str) -> Result<(), String> {
    let found = measure(server, client, &["--bidir", "-n", "30MB", "-P", "2"])?;
    let sums = ["sum_sent", "sum_received", "sum_sent_bidir_reverse", "sum_received_bidir_reverse"];
    let bytes = sums.map(|sum| found["end"][sum]["bytes"].as_u64().unwrap_or(0));
    // Two pairs of streams; a stream that asks for bytes has 8 of its own.
    if bytes == [30_000_016, 30_000_016, 30_000_000, 30_000_000] {
        Ok(())
    } else {
        Err(format!("{client} and {server}: {bytes:?}"))
    }
}

/// A check of a server and a client, by their names.
type Check = fn(&str, &str) -> Result<(), String>;

/// Minutes, and builds of all stacks: `make test-perf`. `QUICLAB_TEST_STACKS` names some of them only.
#[test]
#[ignore = "builds every stack"]
fn loads_of_every_stack_count_the_same_at_both_ends() {
    let chosen = std::env::var("QUICLAB_TEST_STACKS").ok();
    let list = output_of(quiclab().args(["stacks", "list", "--json", "--stacks", REAL_STACKS]));
    let stacks: Value = serde_json::from_str(&list.output).unwrap();
    let claims = |stack: &Value, role: &str| stack["test_cases"][role].to_string().contains("\"perf\"");
    let is_chosen = |name: &str| chosen.as_ref().is_none_or(|chosen| chosen.split(',').any(|one| one == name));
    let mut pairs = Vec::new();
    for stack in stacks.as_array().unwrap().iter().filter(|stack| claims(stack, "client")) {
        let name = stack["name"].as_str().unwrap();
        if !is_chosen(name) {
            continue;
        }
        let serves = claims(stack, "server");
        if serves {
            pairs.push((name, name));
        }
        if stack["transport"] == "quic" && name != "quinn" {
            pairs.push(("quinn", name));
            pairs.extend(serves.then_some((name, "quinn")));
        }
    }
    assert!(!pairs.is_empty());
    let checks: [Check; 3] = [check_both, check_requests, check_handshakes];
    let mut failed = Vec::new();
    for (server, client) in pairs {
        for check in checks {
            match check(server, client) {
                Err(error) if error.contains("does not have this load") => eprintln!("{client}: it lacks a load"),
                Err(error) => failed.push(error),
                Ok(()) => {}
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
