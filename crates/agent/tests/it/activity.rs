//! What the agent says that the hosts did, against programs that do a known amount of it.

use std::collections::BTreeMap;

use crate::common::{CLIENT, SERVER, orders, perform};
use quiclab_agent_protocol::{
    activity::{ACTIVITY, Activity, Sampling, Series, Subject},
    orders::Orders,
    report::{Outcome, Report},
};
use quiclab_testing::{TICK, Wakings, has_namespaces, skip, stolen};

const STEP_NS: u64 = 100_000_000;

/// Calls that `CLIENT` is made to do before it fetches its file.
fn client_that(does: &str) -> String {
    format!("{does}\n{CLIENT}")
}

fn sampled(mut orders: Orders) -> (Report, Activity) {
    orders.sampling = Some(Sampling { step_ns: STEP_NS, system_calls: true });
    let answer = perform(&orders);
    let said = String::from_utf8_lossy(&answer.blobs["client/stderr"]).into_owned();
    assert_eq!(answer.report.outcome, Outcome::Done, "{said}");
    (answer.report, serde_json::from_slice(&answer.blobs[ACTIVITY]).unwrap())
}

fn of<'a>(activity: &'a Activity, of: &str, is_wanted: impl Fn(&Subject) -> bool) -> Vec<&'a Series> {
    activity.series.iter().filter(|series| series.of == of && is_wanted(&series.subject)).collect()
}

fn sum(series: &Series, counter: &str) -> u64 {
    series.counters[counter].iter().sum()
}

fn endpoint<'a>(activity: &'a Activity, role: &str) -> &'a Series {
    of(activity, role, |subject| *subject == Subject::Endpoint)[0]
}

/// Whether something was counted; where it was not, the reason must be there.
fn is_counted(activity: &Activity, what: &str) -> bool {
    let missing = activity.missing.iter().find(|missing| missing.what == what);
    if let Some(missing) = missing {
        assert!(!missing.reason.is_empty());
        assert!(!nix::unistd::getuid().is_root() || what != "task_clock_ns", "root may count it: {missing:?}");
    }
    missing.is_none()
}

#[test]
fn the_cpu_time_of_threads_and_endpoints_is_what_their_parent_is_told() {
    if !has_namespaces() {
        return;
    }
    let busy = "
import threading, time
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
threads = [threading.Thread(target=burn, args=(seconds,)) for seconds in (0.3, 0.6)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
";
    let wakings = Wakings::watch();
    let (report, activity) = sampled(orders(SERVER, &client_that(busy)));
    // How much later than asked for the machine woke a thread meanwhile.
    let late_ns = wakings.latest().as_nanos() as u64;
    let client = report.client.unwrap();
    let told_ns = client.user_time_ns + client.system_time_ns;
    let seen_ns = sum(endpoint(&activity, "client"), "cpu_ns");
    // The kernel's clock of a process whose threads have ended has hundredths of a second, of user and of system time.
    assert!(told_ns > 900_000_000 && told_ns.abs_diff(seen_ns) < 40_000_000, "{told_ns} ns, {seen_ns} ns");

    let steps: Vec<u64> = activity.times_ns.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let longest = steps.iter().max().copied().unwrap();

    // Two threads burned; the last step of each is not seen, because they end in it. No thread burns more than the step lasts.
    let threads = of(&activity, "client", |subject| matches!(subject, Subject::Thread { .. }));
    let mut burned: Vec<u64> = threads.iter().map(|series| sum(series, "cpu_ns")).collect();
    burned.sort_unstable_by(|a, b| b.cmp(a));
    for (burned, all) in burned.iter().zip([600_000_000, 300_000_000]) {
        let least = all - all.min(longest + 50_000_000);
        assert!(*burned >= least && *burned < all + 40_000_000, "{burned} ns of {all} ns, steps of {steps:?} ns");
    }
    assert!(sum(endpoint(&activity, "server"), "cpu_ns") < seen_ns / 2);

    let lifetime_ns = report.client_lifetime_ns.unwrap();
    let apart = steps.iter().sum::<u64>().abs_diff(lifetime_ns);
    assert!(apart < 2 * STEP_NS + late_ns, "{steps:?} ns, {lifetime_ns} ns, {late_ns} ns late");
    assert!(steps.len() as u64 >= lifetime_ns / (3 * STEP_NS + late_ns), "{steps:?}, {late_ns} ns late");
    for series in &activity.series {
        for values in series.counters.values() {
            assert!(series.first_step as usize + values.len() <= steps.len(), "{series:?}");
        }
    }
    // Each core has as much time as has passed.
    let cores = of(&activity, "machine", |subject| matches!(subject, Subject::Core { .. }));
    assert!(!cores.is_empty());
    let own = of(&activity, "agent", |subject| matches!(subject, Subject::Thread { name, .. } if name == "sampler"));
    let own_ns = sum(own[0], "cpu_ns");
    assert!(own_ns > 0 && own_ns < lifetime_ns / 10, "the sampler used {own_ns} ns of {lifetime_ns} ns");
}

#[test]
fn processes_that_an_endpoint_starts_and_forgets_count_as_its_own() {
    if !has_namespaces() {
        return;
    }
    let children = "
import os, subprocess, time
for _ in range(3):
    subprocess.run(['python3', '-c', 'import time\\nwhile time.process_time() < 0.2: pass'], check=True)
";
    let (report, activity) = sampled(orders(SERVER, &client_that(children)));
    let client = report.client.unwrap();
    let told_ns = client.user_time_ns + client.system_time_ns;
    let seen_ns = sum(endpoint(&activity, "client"), "cpu_ns");
    assert!(told_ns > 600_000_000 && told_ns.abs_diff(seen_ns) < 100_000_000, "{told_ns} ns, {seen_ns} ns");
}

#[test]
fn system_calls_are_counted_by_number() {
    if !has_namespaces() {
        return;
    }
    const CALLS: u64 = 10_000;
    let (_, activity) =
        sampled(orders(SERVER, &client_that(&format!("import os\nfor _ in range({CALLS}): os.getppid()\n"))));
    if !is_counted(&activity, "system_calls") {
        assert!(activity.system_calls.is_empty());
        return skip("system calls cannot be counted here");
    }
    let number = u32::try_from(libc::SYS_getppid).unwrap();
    let calls = |role: &str| activity.system_calls[role].get(&number).copied().unwrap_or(0);
    assert!((CALLS..CALLS + 5).contains(&calls("client")), "{:?}", activity.system_calls);
    assert_eq!(calls("server"), 0);
    let all: u64 = activity.system_calls["client"].values().sum();
    let series = of(&activity, "client", |subject| *subject == Subject::SystemCalls);
    assert_eq!(sum(series[0], "calls"), all);
}

#[test]
fn datagrams_that_find_a_receive_buffer_full_are_counted() {
    if !has_namespaces() {
        return;
    }
    const SENT: u64 = 500;
    let server = "
import socket, threading
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
datagrams.bind(('193.167.100.100', 5000))
datagrams.setblocking(False)
listener = socket.create_server(('193.167.100.100', 443))
while True:
    connection, _ = listener.accept()
    name = connection.makefile().readline().strip()
    if name == 'count':
        count = 0
        try:
            while datagrams.recv(2000): count += 1
        except BlockingIOError:
            pass
        connection.sendall(str(count).encode())
    else:
        connection.sendall(open('/www/' + name, 'rb').read())
    connection.close()
";
    let client = format!(
        "
import socket
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range({SENT}): sender.sendto(b'x' * 1000, ('server4', 5000))
connection = socket.create_connection(('server4', 443))
connection.sendall(b'count\\n')
print('arrived', connection.recv(100).decode())
{CLIENT}"
    );
    let mut orders = orders(server, &client);
    orders.sampling = Some(Sampling { step_ns: STEP_NS, system_calls: true });
    let answer = perform(&orders);
    let said = String::from_utf8_lossy(&answer.blobs["client/stdout"]).into_owned();
    assert_eq!(answer.report.outcome, Outcome::Done);
    let arrived: u64 = said.lines().find_map(|line| line.strip_prefix("arrived ")?.parse().ok()).unwrap();
    let activity: Activity = serde_json::from_slice(&answer.blobs[ACTIVITY]).unwrap();
    let udp = |role| of(&activity, role, |subject| *subject == Subject::Udp)[0];
    assert_eq!(sum(udp("client"), "datagrams_sent"), SENT);
    assert_eq!(sum(udp("server"), "receive_buffer_drops"), SENT - arrived, "{arrived} arrived");
    assert!(arrived < 10 && sum(udp("client"), "receive_buffer_drops") == 0, "{arrived} arrived");
}

#[test]
fn packets_that_are_sent_in_one_call_are_one_batch_although_the_wire_has_each_of_them() {
    if !has_namespaces() {
        return;
    }
    const BATCHES: u64 = 50;
    let client = client_that(&format!(
        "
import socket
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.IPPROTO_UDP, 103, 1000)
for _ in range({BATCHES}): sender.sendto(b'x' * 9500, ('server4', 5000))
"
    ));
    let (_, activity) = sampled(orders(SERVER, &client));
    if !is_counted(&activity, "batches") {
        assert!(activity.batches.is_empty());
        return skip("batches cannot be counted here");
    }
    let batches: BTreeMap<_, _> =
        activity.batches.iter().map(|batches| ((batches.of.as_str(), batches.sent), batches)).collect();
    assert_eq!(batches.len(), 4);
    let sent = batches[&("client", true)];
    assert_eq!(sent.packets.get(&10), Some(&BATCHES), "{sent:?}");
    assert_eq!(sent.largest_bytes, 9500 + 42);
    // Segmentation offload is off at all interfaces, so the server gets single packets.
    let received = batches[&("server", false)];
    assert_eq!(received.packets.keys().collect::<Vec<_>>(), [&1]);
    assert!(received.packets[&1] >= BATCHES * 10, "{received:?}");
}

#[test]
fn a_counter_of_the_processor_is_there_or_missing_with_a_reason() {
    if !has_namespaces() {
        return;
    }
    let stolen_before = stolen();
    let (report, activity) = sampled(orders(SERVER, CLIENT));
    for what in ["cycles", "instructions", "cache_misses", "task_clock_ns", "page_faults", "migrations"] {
        let found = of(&activity, "client", |subject| *subject == Subject::Events);
        let is_there = found.iter().any(|series| series.counters.contains_key(what));
        assert_eq!(is_there, is_counted(&activity, what), "{what}: {:?}", activity.missing);
    }
    if is_counted(&activity, "task_clock_ns") {
        let client = report.client.unwrap();
        let clock: u64 = of(&activity, "client", |subject| *subject == Subject::Events)
            .iter()
            .filter_map(|series| series.counters.get("task_clock_ns"))
            .flatten()
            .sum();
        let told_ns = client.user_time_ns + client.system_time_ns;
        // The clock goes on while the hypervisor runs something else; the account does not.
        let stolen_ns = (stolen() - stolen_before + TICK).as_nanos() as u64;
        // Attached some milliseconds after the program has started.
        assert!(
            clock > 0 && clock <= told_ns + 2_000_000 + stolen_ns,
            "{clock} ns, {told_ns} ns, {stolen_ns} ns stolen"
        );
    }
}
