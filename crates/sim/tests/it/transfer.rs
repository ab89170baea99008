//! A transfer between stacks of a few lines, whose packets can be foretold.

use quiclab_path::{
    loss::list::ListedLossSettings,
    queue::netem::NetemSettings,
    spec::{PacketNumbers, StageSettings, StageSpec},
    token_bucket::RateSettings,
};
use quiclab_sim::transfer::{
    End, Excess, FRAME_OVERHEAD, Failed, Outcome, Side, Tap, TapEvent, Transfer,
    host::HostSettings,
    stack::{Answer, Buffer, Datagram, Stack},
};
use quiclab_units::{ByteCount, Duration, Rate, Time};

/// Bytes of a datagram whose frame has 1000: at 8 Mbit/s it takes 1 ms.
const PAYLOAD: usize = 1000 - FRAME_OVERHEAD as usize;

/// Asks once, waits for so many datagrams.
struct Client {
    wants: usize,
    has: usize,
    asked: bool,
}

/// Sends so many datagrams when asked.
struct Server {
    sends: usize,
}

enum Toy {
    Client(Client),
    Server(Server),
    /// Sends so many datagrams less one each time, and wants to be called at once again.
    Busy(usize),
    /// Wants to be called again after so many nanoseconds.
    Restless(u64),
    /// Sends nine datagrams when it is called first, and then a thousand every 25 ms.
    Flood(Option<Time>),
    Broken,
}

impl Stack for Toy {
    type Error = &'static str;

    fn handle(&mut self, now: Time, arrived: &[Datagram]) -> Result<Answer, &'static str> {
        let buffer = |count| Buffer { ecn: 1, segment: PAYLOAD, planned: None, payload: vec![0; count * PAYLOAD] };
        match self {
            Self::Client(client) => {
                client.has += arrived.len();
                let asks = !std::mem::replace(&mut client.asked, true);
                let buffers = if asks { vec![buffer(1)] } else { Vec::new() };
                Ok(Answer { is_done: client.has >= client.wants, next: None, buffers })
            }
            Self::Server(server) => Ok(Answer {
                is_done: false,
                next: None,
                buffers: arrived.iter().map(|_| buffer(server.sends)).collect(),
            }),
            Self::Busy(events) => {
                let buffers = (1..*events).map(|_| buffer(1)).collect();
                Ok(Answer { is_done: false, next: Some(now), buffers })
            }
            Self::Restless(nanos) => {
                let next = Some(now + Duration::from_nanos(*nanos));
                Ok(Answer { is_done: false, next, buffers: Vec::new() })
            }
            Self::Flood(first) => {
                let count = if first.replace(now).is_none() { 9 } else { 1000 };
                let next = Some(now + Duration::from_millis(25));
                Ok(Answer { is_done: false, next, buffers: vec![buffer(count)] })
            }
            Self::Broken => Err("broken"),
        }
    }
}

fn stage(name: &str, settings: StageSettings) -> StageSpec {
    StageSpec { name: name.to_owned(), settings }
}

fn line(milliseconds: u64, limit_packets: u32) -> StageSpec {
    stage(
        "line",
        StageSettings::NetemQueue(NetemSettings { delay: Duration::from_millis(milliseconds), limit_packets }),
    )
}

/// 20 ms, then a bucket at 8 Mbit/s.
fn bottleneck(burst_bytes: u64, limit_packets: u32) -> Vec<StageSpec> {
    let rate = Rate::from_bits_per_second(8_000_000).try_into().unwrap();
    let bucket = RateSettings { rate, burst: Some(ByteCount::from_bytes(burst_bytes)) };
    vec![line(20, limit_packets), stage("rate", StageSettings::Rate(bucket))]
}

fn transfer() -> Transfer {
    Transfer {
        to_client: bottleneck(1000, 100),
        to_server: vec![line(10, 100)],
        is_ipv6: false,
        server: HostSettings::default(),
        client: HostSettings::default(),
        begin: Time::from_nanos(5_000_000),
        timeout: Duration::from_secs(10),
        seed: 1,
        budget: 1_000_000,
        most_sent: ByteCount::from_bytes(1 << 40),
    }
}

type Seen = Vec<(u64, Tap, Side)>;

fn run(transfer: &Transfer, server: Toy, client: Toy) -> (Result<Outcome, Failed<&'static str>>, Seen) {
    let mut seen = Vec::new();
    let mut observe =
        |tap_event: TapEvent| seen.push((tap_event.time.as_nanos() / 1000, tap_event.tap, tap_event.from));
    let (mut server, mut client) = (server, client);
    let outcome = transfer.run(&mut server, &mut client, &mut observe, &mut || true);
    (outcome, seen)
}

fn client(wants: usize) -> Toy {
    Toy::Client(Client { wants, has: 0, asked: false })
}

fn server(sends: usize) -> Toy {
    Toy::Server(Server { sends })
}

#[test]
fn packets_are_where_the_path_says_at_the_time_it_says() {
    let (outcome, seen) = run(&transfer(), server(3), client(3));
    let outcome = outcome.unwrap();
    let expected = [
        (5_000, Tap::BehindBottleneck, Side::Client),
        (15_000, Tap::Sender, Side::Client),
        (15_000, Tap::Sender, Side::Server),
        (15_000, Tap::Sender, Side::Server),
        (15_000, Tap::Sender, Side::Server),
        (35_000, Tap::BehindBottleneck, Side::Server),
        (36_000, Tap::BehindBottleneck, Side::Server),
        (37_000, Tap::BehindBottleneck, Side::Server),
    ];
    assert_eq!(seen, expected);
    assert_eq!((outcome.end, outcome.client_lifetime), (End::Done, Duration::from_millis(32)));
    assert!(outcome.is_silent);
}

#[test]
fn what_the_path_drops_is_counted_and_what_is_over_at_the_end_still_arrives() {
    let few = Transfer { to_client: bottleneck(1000, 2), ..transfer() };
    let (outcome, seen) = run(&few, server(5), client(1));
    let outcome = outcome.unwrap();
    let account = outcome.to_client[0].account;
    assert_eq!((outcome.to_client[0].name.as_str(), outcome.to_client[0].kind), ("rate", "token-bucket"));
    assert_eq!((account.entered, account.left, account.all_dropped(), account.waiting.packets), (5, 2, 3, 0));
    assert!(outcome.is_silent);
    assert_eq!(seen.iter().filter(|(_, tap, from)| (*tap, *from) == (Tap::BehindBottleneck, Side::Server)).count(), 2);
}

#[test]
fn frames_of_ipv6_are_longer() {
    let six = Transfer { is_ipv6: true, to_client: bottleneck(1020, 100), ..transfer() };
    let (_, seen) = run(&six, server(2), client(2));
    assert_eq!(seen.last().unwrap().0, 36_020);
}

#[test]
fn a_request_that_is_dropped_by_its_number_leaves_both_waiting_for_ever() {
    let list = stage("drops", StageSettings::ListedLoss(ListedLossSettings { packets: PacketNumbers(vec![1]) }));
    let deaf = Transfer { to_server: vec![list, line(10, 100)], ..transfer() };
    let outcome = run(&deaf, server(1), client(1)).0.unwrap();
    assert_eq!((outcome.end, outcome.to_server[0].account.all_dropped()), (End::Stuck, 1));
}

#[test]
fn a_transfer_that_takes_too_long_or_too_much_is_ended() {
    let short = Transfer { timeout: Duration::from_millis(31), ..transfer() };
    assert_eq!(run(&short, server(3), client(3)).0.unwrap().end, End::Timeout);
    let poor = Transfer { budget: 3, ..transfer() };
    assert_eq!(run(&poor, server(3), client(3)).0.unwrap().end, End::TooManyEvents);
    let cancelled = transfer().run(&mut server(3), &mut client(3), &mut |_| (), &mut || false).unwrap();
    assert_eq!((cancelled.end, cancelled.events), (End::Cancelled, 0));
}

#[test]
fn stacks_that_never_let_time_pass_are_ended_however_many_events_a_step_has() {
    for events in [1, 2, 3] {
        let mut asked = 0;
        let mut keep_on = || {
            asked += 1;
            asked < 3
        };
        let busy = Transfer { budget: u64::MAX, ..transfer() };
        let outcome = busy.run(&mut Toy::Busy(events), &mut Toy::Busy(events), &mut |_| (), &mut keep_on).unwrap();
        assert_eq!(outcome.end, End::Cancelled, "{events}");
    }
}

#[test]
fn a_stack_that_gives_up_is_named() {
    let failed = run(&transfer(), Toy::Broken, client(1)).0.unwrap_err();
    assert_eq!(failed, Failed { side: Side::Server, error: "broken" });
}

#[test]
fn a_stack_that_asks_to_be_called_at_once_for_ever_is_ended_and_named() {
    let outcome = run(&transfer(), server(1), Toy::Restless(0)).0.unwrap();
    assert_eq!(outcome.end, End::Excess(Side::Client, Excess::CallsAtOnce));
    assert!(outcome.events < 100_000, "{}", outcome.events);
}

#[test]
fn a_stack_that_is_called_too_often_for_nothing_is_ended_and_one_that_looks_every_millisecond_is_not() {
    let outcome = run(&transfer(), server(1), Toy::Restless(1)).0.unwrap();
    assert_eq!(outcome.end, End::Excess(Side::Client, Excess::IdleCalls));
    assert_eq!(run(&transfer(), server(1), Toy::Restless(1_000_000)).0.unwrap().end, End::Timeout);
}

#[test]
fn what_a_side_may_send_is_bounded_to_the_byte() {
    // Three datagrams of the server with 128 bytes each beside the payload.
    let three = 3 * (PAYLOAD as u64 + 128);
    for (most, end) in [(three, End::Done), (three - 1, End::Excess(Side::Server, Excess::SentBytes))] {
        let bounded = Transfer { most_sent: ByteCount::from_bytes(most), ..transfer() };
        assert_eq!(run(&bounded, server(3), client(3)).0.unwrap().end, end);
    }
}

#[test]
fn a_server_that_floods_the_wire_after_the_end_of_the_client_fails_the_run() {
    // The client has all it wanted with the first of nine datagrams; the flood begins while the others are on the wire.
    let bounded = Transfer { most_sent: ByteCount::from_bytes(1 << 20), ..transfer() };
    let outcome = run(&bounded, Toy::Flood(Default::default()), client(1)).0.unwrap();
    assert_eq!(outcome.end, End::Excess(Side::Server, Excess::SentBytes));
}
