//! Scenarios of the interop runner's network simulator against what it does, transcribed.

use quiclab_path::{
    packet::{Ecn, Packet},
    pipeline::Pipeline,
    random::Random,
    scenario::{CrossTraffic, compile},
    spec::{StageSpec, build::pipeline},
};
use quiclab_units::{ByteCount, Duration, Rate, Time};

const LINK: &str = "--delay=15ms --bandwidth=10Mbps --queue=25";
const MILLISECOND: u64 = 1_000_000;
const SEED: u64 = 7;

fn to_client(scenario: &str) -> Vec<StageSpec> {
    compile(scenario).unwrap().to_client
}

fn built(stages: &[StageSpec]) -> Pipeline<()> {
    pipeline(stages, SEED, "to_client").unwrap()
}

/// Numbers and arrival times of what arrives of `count` packets of 1250 bytes, one each `gap` nanoseconds.
fn arrivals(stages: &[StageSpec], count: u64, gap: u64) -> Vec<(u64, u64)> {
    let mut path = built(stages);
    for number in 0..count {
        path.handle_packet(Time::from_nanos(number * gap), Packet::new(1250, 0, Ecn::NotCapable, ()));
    }
    let end = Time::from_nanos(count * gap + 3_600 * 1_000 * MILLISECOND);
    std::iter::from_fn(|| path.poll_packet(end)).map(|(time, packet)| (packet.number, time.as_nanos())).collect()
}

fn lost(arrived: &[(u64, u64)], count: u64) -> Vec<u64> {
    (1..=count).filter(|number| arrived.binary_search_by_key(number, |(number, _)| *number).is_err()).collect()
}

#[test]
fn a_packet_takes_its_time_on_the_link_and_the_delay() {
    // 10,000 bits at 10 Mbit/s.
    let arrived = arrivals(&to_client(&format!("simple-p2p {LINK}")), 3, 0);
    assert_eq!(arrived, [(1, 16 * MILLISECOND), (2, 17 * MILLISECOND), (3, 18 * MILLISECOND)]);
}

#[test]
fn the_queue_holds_so_many_packets_and_the_device_one_more() {
    let arrived = arrivals(&to_client(&format!("simple-p2p {LINK}")), 100, 0);
    // One is being sent.
    assert_eq!(arrived.len(), 25 + 1 + 1);
}

#[test]
fn both_directions_are_alike_without_errors() {
    let scenario = compile(&format!("simple-p2p {LINK}")).unwrap();
    assert_eq!(scenario.to_client, scenario.to_server);
}

/// The loop of the simulator's drop-rate-error-model.cc.
#[test]
fn drop_rate_loses_what_the_simulator_would_with_the_same_random_numbers() {
    for (options, burst) in [("--rate_to_client=30", None), ("--rate_to_client=30 --burst_to_client=3", Some(3))] {
        let stages = to_client(&format!("drop-rate {LINK} --rate_to_server=0 {options}"));
        let count = 20_000;
        let found = lost(&arrivals(&stages, count, MILLISECOND), count);
        let mut random = Random::new(SEED, "path to_client drop-rate");
        let mut in_a_row = 0;
        let mut expected = Vec::new();
        for number in 1..=count {
            if burst.is_some_and(|burst| in_a_row > burst) {
                in_a_row = 0;
            } else if random.unit() < 0.3 {
                in_a_row += 1;
                expected.push(number);
            } else {
                in_a_row = 0;
            }
        }
        assert_eq!(found, expected, "{options}");
        let share = found.len() as f64 / count as f64;
        assert!((share - 0.3).abs() < 0.01, "{options}: {share}");
    }
}

#[test]
fn a_burst_of_drops_is_one_longer_than_the_option_says_and_no_more() {
    let stages = to_client(&format!("drop-rate {LINK} --rate_to_client=90 --rate_to_server=0 --burst_to_client=3"));
    let found = lost(&arrivals(&stages, 5_000, MILLISECOND), 5_000);
    let longest = found.chunk_by(|one, next| one + 1 == *next).map(<[u64]>::len).max();
    assert_eq!(longest, Some(4));
}

#[test]
fn a_rate_of_nothing_is_no_stage_and_one_of_everything_loses_all() {
    let scenario = compile(&format!("drop-rate {LINK} --rate_to_client=100 --rate_to_server=0")).unwrap();
    assert_eq!(scenario.to_server.len() + 1, scenario.to_client.len());
    assert!(arrivals(&scenario.to_client, 100, MILLISECOND).is_empty());
}

#[test]
fn a_droplist_loses_the_packets_of_these_numbers_in_its_direction() {
    let scenario = compile(&format!("droplist {LINK} --drops_to_client=15,1,3,3 --drops_to_server=5")).unwrap();
    assert_eq!(lost(&arrivals(&scenario.to_client, 20, MILLISECOND), 20), [1, 3, 15]);
    assert_eq!(lost(&arrivals(&scenario.to_server, 20, MILLISECOND), 20), [5]);
}

#[test]
fn a_blackhole_loses_what_arrives_while_it_is_there() {
    let stages = to_client(&format!("blackhole {LINK} --on=50ms --off=20ms --repeat=2"));
    let arrived = arrivals(&stages, 200, MILLISECOND);
    // Packet n arrives at n + 15 ms. Gone from 50 to 70 ms, and from 120 to 140 ms.
    let expected: Vec<u64> = (35..55).chain(105..125).collect();
    assert_eq!(lost(&arrived, 200), expected);
}

#[test]
fn a_blackhole_can_have_a_direction() {
    let [both, one] = ["both", "toserver"]
        .map(|direction| compile(&format!("blackhole {LINK} --on=5s --off=2s --direction={direction}")).unwrap());
    assert_eq!(both.to_client, both.to_server);
    assert_eq!(one.to_server, both.to_server);
    assert_eq!(one.to_client, to_client(&format!("simple-p2p {LINK}")));
}

/// What compile makes is what a file could say.
#[test]
fn every_scenario_can_be_written_and_read_as_stages() {
    for text in [
        format!("simple-p2p {LINK}"),
        "simple-p2p --delay=0ms --bandwidth=1.5Mb/s --queue=1".to_owned(),
        format!("drop-rate {LINK} --rate_to_client=10 --rate_to_server=20 --burst_to_client=3 --burst_to_server=0"),
        format!("droplist {LINK} --drops_to_client=1,3,4"),
        format!("blackhole {LINK} --on=5s --off=2s --repeat=3"),
        format!("corrupt-rate {LINK} --rate_to_client=30 --rate_to_server=2 --burst_to_client=3"),
        format!("rebind {LINK} --first-rebind=1s"),
        format!("rebind {LINK} --first-rebind=1s --rebind-freq=5s --rebind-addr"),
    ] {
        let scenario = compile(&text).unwrap();
        let [to_client, to_server] = scenario.tables().map(|tables| quiclab_path::spec::read_list(&tables).unwrap());
        assert_eq!((to_client, to_server), (scenario.to_client, scenario.to_server), "{text}");
    }
}

#[test]
fn cross_traffic_is_beside_the_stages_of_the_plain_scenario() {
    let plain = compile(&format!("simple-p2p {LINK}")).unwrap();
    let tcp = compile(&format!("tcp-cross-traffic {LINK}")).unwrap();
    let udp = compile(&format!("udp-cross-traffic {LINK} --crossdatarate=8Mbps")).unwrap();
    assert_eq!(plain.cross_traffic, None);
    for scenario in [&tcp, &udp] {
        assert_eq!((&scenario.to_client, &scenario.to_server), (&plain.to_client, &plain.to_server));
    }
    assert_eq!(tcp.cross_traffic, Some(CrossTraffic::Tcp));
    let expected = CrossTraffic::Udp {
        rate: Rate::from_bits_per_second(8_000_000),
        datagram: ByteCount::from_bytes(512),
        start: Duration::from_secs(20),
    };
    assert_eq!(udp.cross_traffic, Some(expected));
}

#[test]
fn what_cannot_be_done_is_refused_with_the_option_and_what_is_expected() {
    let refused = |text: &str| compile(text).unwrap_err();
    let cases = [
        ("", "found no scenario"),
        ("rain --delay=1ms", "found the scenario \"rain\", expected one of simple-p2p"),
        ("simple-p2p", "--delay: missing, expected a time"),
        ("simple-p2p --delay=15 --bandwidth=10Mbps --queue=25", "--delay: found \"15\", expected a time"),
        ("simple-p2p --delay=15ms --bandwidth=10 --queue=25", "--bandwidth: found \"10\", expected a rate"),
        ("simple-p2p --delay=15ms --bandwidth=0Mbps --queue=25", "--bandwidth: found \"0Mbps\""),
        ("simple-p2p --delay=15ms --bandwidth=10Mbps --queue=0", "--queue: found \"0\""),
        ("simple-p2p --delay=15ms --delay=16ms", "--delay: found a second time"),
        ("simple-p2p delay=15ms", "found \"delay=15ms\", expected an option"),
        (
            "simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25 --rate_to_client=1",
            "--rate_to_client: unknown option",
        ),
        (
            "drop-rate --delay=15ms --bandwidth=10Mbps --queue=25 --rate_to_client=101",
            "--rate_to_client: found \"101\"",
        ),
        ("drop-rate --delay=15ms --bandwidth=10Mbps --queue=25 --rate_to_client=1", "--rate_to_server: missing"),
        ("droplist --delay=15ms --bandwidth=10Mbps --queue=25 --drops_to_client=0", "--drops_to_client: found \"0\""),
        ("blackhole --delay=15ms --bandwidth=10Mbps --queue=25 --on=1s", "--off: missing"),
        ("blackhole --delay=15ms --bandwidth=10Mbps --queue=25 --on=1s --off=0s", "--off: found no time"),
        ("blackhole --delay=15ms --bandwidth=10Mbps --queue=25 --on=1s --off=1s --direction=up", "--direction: found"),
        ("corrupt-rate --delay=15ms --bandwidth=10Mbps --queue=25 --rate_to_client=x", "--rate_to_client: found \"x\""),
        ("rebind --delay=15ms --bandwidth=10Mbps --queue=25", "--first-rebind: missing"),
        (
            "rebind --delay=15ms --bandwidth=10Mbps --queue=25 --first-rebind=1s --rebind-addr=no",
            "--rebind-addr: found \"no\"",
        ),
        ("udp-cross-traffic --delay=15ms --bandwidth=10Mbps --queue=25", "--crossdatarate: missing"),
        (
            "tcp-cross-traffic --delay=15ms --bandwidth=10Mbps --queue=25 --crossdatarate=1Mbps",
            "--crossdatarate: unknown option",
        ),
    ];
    for (text, begin) in cases {
        let message = refused(text);
        assert!(message.starts_with(begin), "{text}: {message}");
    }
}
