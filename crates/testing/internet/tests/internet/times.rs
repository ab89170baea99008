//! Delays are those that are described.

use std::{thread, time::Duration};

use quiclab_internet::{Behaviour, Delay, MOST_PASSED, Passed};
use quiclab_testing::Wakings;

use crate::{
    Case,
    support::{ECHO, Slowness, client, host, internet, median, millis, now_ns, quantile, receive, serve},
};

pub const CASES: &[Case] = &[
    ("every_host_has_its_rtt", every_host_has_its_rtt),
    ("delays_do_not_depend_on_when_a_server_is_read", delays_do_not_depend_on_when_a_server_is_read),
    ("jitter_adds_its_mean_twice_and_keeps_the_order", jitter_adds_its_mean_twice_and_keeps_the_order),
    ("a_trickle_has_its_gaps", a_trickle_has_its_gaps),
    ("a_late_certificate_holds_back_all_but_an_instant_ack", a_late_certificate_holds_back_all_but_an_instant_ack),
];

/// Round trips of one host, in nanoseconds.
fn round_trips(address: &str, count: usize) -> Vec<i64> {
    let socket = client(address);
    let mut buffer = [0; 2000];
    (0..count)
        .map(|_| {
            let sent = now_ns();
            socket.send(&[1; 1200]).unwrap();
            let (_, arrived) = receive(&socket, &mut buffer).unwrap();
            thread::sleep(Duration::from_millis(1));
            arrived as i64 - sent as i64
        })
        .collect()
}

fn every_host_has_its_rtt() {
    let hosts = [("100.64.0.1", 0), ("100.64.0.2", 10), ("203.0.113.7", 43), ("2001:db8:64::9", 20)];
    let internet = internet(hosts.iter().map(|(address, rtt)| host(address, *rtt, serve(ECHO))).collect());
    let slowness = Slowness::watch();
    let seen = hosts.map(|(address, _)| round_trips(address, MOST_PASSED));
    let slowness = slowness.factor();
    let truth = internet.stop().unwrap();
    println!("{:?}", truth.lateness);
    for (flow, round_trips) in truth.flows.iter().zip(seen) {
        let rtt = flow.rtt_ns as i64;
        let passed: Vec<_> = flow.to_host.iter().zip(&flow.to_client).collect();
        let of_server = |(to, from): &(&Passed, &Passed)| from.at_host_ns as i64 - to.at_host_ns as i64;
        // What the client sees without what the server takes: two ways, and the Internet's waking for each.
        let beyond: Vec<_> = round_trips.iter().zip(&passed).map(|(seen, pair)| seen - of_server(pair) - rtt).collect();
        let there: Vec<_> =
            passed.iter().map(|(to, _)| to.at_host_ns as i64 - to.at_client_ns.unwrap() as i64 - rtt / 2).collect();
        let back: Vec<_> = passed
            .iter()
            .map(|(_, from)| from.at_client_ns.unwrap() as i64 - from.at_host_ns as i64 - rtt / 2)
            .collect();
        let middles = [&beyond, &there, &back].map(|errors| median(errors.clone()));
        println!("{}: beyond {rtt} ns: client, there, back: {middles:?} ns", flow.host);
        assert!([&beyond, &there, &back].iter().all(|errors| errors.iter().all(|error| *error >= 0)));
        // The client's kernel and the waking of the thread that reads are in the first.
        let [client, there, back] = middles;
        // An ordinary user's thread waits for others where the machine is busy.
        let idle = if truth.counters.is_real_time { 150_000.0 } else { 400_000.0 };
        let most = (idle * slowness) as i64;
        assert!(client < 3 * most && there < most && back < most, "{middles:?}, {slowness}");
        assert!(quantile(beyond.clone(), 0.75) < 10 * most, "{beyond:?}, {slowness}");
    }
}

fn delays_do_not_depend_on_when_a_server_is_read() {
    // Ten datagrams that leave a server together arrive together, after one RTT.
    let internet = internet(vec![host("100.64.0.2", 10, serve(ECHO))]);
    let socket = client("100.64.0.2");
    let mut buffer = [0; 2000];
    let (mut spreads, slowness) = (Vec::new(), Slowness::watch());
    for _ in 0..20 {
        socket.send(&[10; 1200]).unwrap();
        let times: Vec<_> = (0..10).map(|_| receive(&socket, &mut buffer).unwrap().1 as i64).collect();
        assert!(times.is_sorted());
        spreads.push(times[9] - times[0]);
    }
    let spread = median(spreads);
    println!("ten datagrams within {spread} ns");
    assert!((spread as f64) < 1_000_000.0 * slowness.factor(), "{spread}");
    drop(internet);
}

fn jitter_adds_its_mean_twice_and_keeps_the_order() {
    let mut one = host("100.64.0.3", 4, serve(ECHO));
    one.jitter = Delay::Uniform(millis(4));
    let internet = internet(vec![one]);
    // A client for each of ten times 32 round trips, of which the Internet notes when it took and gave them: what client and
    // server take on a busy machine does not count.
    for _ in 0..10 {
        round_trips("100.64.0.3", MOST_PASSED);
    }
    let socket = client("100.64.0.3");
    let mut buffer = [0; 2000];
    for number in 0..100_u8 {
        socket.send(&[1, number]).unwrap();
    }
    for number in 0..100_u8 {
        receive(&socket, &mut buffer).unwrap();
        assert_eq!(buffer[1], number);
    }
    let truth = internet.stop().unwrap();
    let way = |passed: &Passed| passed.at_host_ns.abs_diff(passed.at_client_ns.unwrap()) as i64;
    let pairs = truth.flows[..10].iter().flat_map(|flow| flow.to_host.iter().zip(&flow.to_client));
    let beyond: Vec<_> = pairs.map(|(to, from)| way(to) + way(from) - 4_000_000).collect();
    let (middle, late) = (median(beyond.clone()), truth.lateness.median_ns as i64);
    println!("{middle} ns of {}, {late} ns late", beyond.len());
    // The sum of two uniform ones is 4 ms at its median, whose standard error for 320 of them is 0.11 ms: half of 1 by the density
    // there, 0.25 per ms, and by the root of 320.
    assert!(middle > 4_000_000 - 600_000 && middle < 4_000_000 + 600_000 + 2 * late, "{middle}, {late}");
    assert!(beyond.iter().max().unwrap() - beyond.iter().min().unwrap() > 3_000_000);
}

fn a_trickle_has_its_gaps() {
    let behaviour = Behaviour::Trickle { server: ECHO.to_owned(), gap: millis(20) };
    let internet = internet(vec![host("100.64.0.4", 2, behaviour)]);
    let socket = client("100.64.0.4");
    let wakings = Wakings::watch();
    socket.send(&[5; 1200]).unwrap();
    let mut buffer = [0; 2000];
    let times: Vec<_> = (0..5).map(|_| receive(&socket, &mut buffer).unwrap().1 as i64).collect();
    let late = wakings.latest().as_nanos() as i64;
    let gaps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    println!("{gaps:?}");
    assert!((median(gaps) - 20_000_000).abs() < 5_000_000 + 2 * late, "woken {late} ns late");
    let truth = internet.stop().unwrap();
    let left: Vec<_> = truth.flows[0].to_client.iter().map(|passed| passed.at_host_ns as i64).collect();
    assert!(left.windows(2).all(|pair| pair[1] - pair[0] >= 20_000_000), "{left:?}");
}

fn a_late_certificate_holds_back_all_but_an_instant_ack() {
    let late = |keeps_first, delay| Behaviour::LateCertificate { server: ECHO.to_owned(), delay, keeps_first };
    let log_normal = Delay::LogNormal { median: millis(60), sigma: 0.4 };
    let internet = internet(vec![
        host("100.64.0.1", 6, late(true, Delay::Constant(millis(30)))),
        host("100.64.0.2", 6, late(false, Delay::Constant(millis(30)))),
        host("100.64.0.3", 6, late(true, log_normal)),
    ]);
    let wakings = Wakings::watch();
    let mut buffer = [0; 2000];
    for (address, flows) in [("100.64.0.1", 1), ("100.64.0.2", 1), ("100.64.0.3", 30)] {
        for _ in 0..flows {
            let socket = client(address);
            socket.send(&[3; 1200]).unwrap();
            let times: Vec<_> = (0..3).map(|_| receive(&socket, &mut buffer).unwrap().1).collect();
            assert!(times.is_sorted());
            // The certificate is there now, so nothing waits.
            socket.send(&[1; 1200]).unwrap();
            receive(&socket, &mut buffer).unwrap();
        }
    }
    let wakings = wakings.delays();
    let truth = internet.stop().unwrap();
    let (mut delays, mut last, mut held, mut instant) = (Vec::new(), Vec::new(), 0, 0);
    for flow in &truth.flows {
        let began = flow.to_host[0].at_host_ns;
        let after: Vec<_> = flow.to_client.iter().map(|passed| passed.at_host_ns - began).collect();
        let delay = flow.certificate_delay_ns.unwrap();
        let is_held = |after: &u64| after.abs_diff(delay) < 1000;
        // The server may be slower than the certificate where this machine is busy, so not all are held.
        assert!(after[1..].iter().all(|after| after + 1000 > delay), "{after:?} {delay}");
        held += after[1..3].iter().filter(|after| is_held(after)).count();
        instant += usize::from(after[0] < delay / 2);
        if flow.host_number == 1 {
            assert!(after[..3].iter().all(is_held), "{after:?} {delay}");
        }
        last.push((after[3] - delay) as i64);
        delays.extend((flow.host_number == 2).then_some(delay as i64));
    }
    let (middle, least, most) = (median(delays.clone()), delays.iter().min().unwrap(), delays.iter().max().unwrap());
    println!("{middle} ns, from {least} to {most}; {instant} instant, {held} held");
    // Of 32, and twice 32. The server has half the delay to answer, which takes it longer where the machine wakes it late.
    let is_late = |delay: &&Duration| **delay > Duration::from_millis(5);
    let late_share = wakings.iter().filter(is_late).count() as f64 / wakings.len() as f64;
    let most_late = 4 + (3.0 * 32.0 * late_share) as usize;
    assert!(instant + most_late >= 32 && held + 2 * most_late >= 2 * 32, "{instant} {held}, {late_share} late");
    // One RTT after the delay, and not another delay after that.
    let late = wakings.last().unwrap().as_nanos() as i64;
    let last = median(last);
    assert!(last >= 6_000_000 && last < 30_000_000 + 2 * late, "{last}, {late}");
    // The standard error of the median is 1.25 * 0.4 * 60 ms by the root of 30.
    assert!((40_000_000..80_000_000).contains(&middle) && most - least > 30_000_000);
}
