//! The scenarios of the QUIC Interop Runner's network simulator, as stages: `drop-rate --delay=15ms --bandwidth=10Mbps --queue=25
//! --rate_to_client=10 --rate_to_server=10`. Source: <https://github.com/quic-interop/quic-network-simulator>, `sim/scenarios`.
//!
//! There a direction is a queue, a link with one packet more in its device, a delay, and at the receiver a model of errors. What the options mean is what
//! the simulator does with them, also where its documentation says less. Read first: [`compile`].

mod options;

use quiclab_units::{ByteCount, Duration, Rate};

use self::options::Options;
use crate::{
    corrupt::CorruptSettings,
    delay::DelaySettings,
    loss::{
        independent::IndependentLossSettings, limited::LimitedLossSettings, list::ListedLossSettings,
        rule::RuleLossSettings,
    },
    probability::Probability,
    queue::{Limit, drop_tail::DropTailSettings},
    rebind::RebindSettings,
    spec::{PacketNumbers, StageSettings, StageSpec, write_list},
    token_bucket::RateSettings,
};

/// What a scenario does in each direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The stages from server to client, in order.
    pub to_client: Vec<StageSpec>,
    /// The stages from client to server, in order.
    pub to_server: Vec<StageSpec>,
    /// Other traffic from server to client over the same stages.
    pub cross_traffic: Option<CrossTraffic>,
}

/// Traffic beside the flow of the endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrossTraffic {
    /// A TCP connection that always has something to send, from the beginning.
    Tcp,
    /// Datagrams at a constant rate.
    Udp {
        /// Rate of their payload.
        rate: Rate,
        /// Payload of each.
        datagram: ByteCount,
        /// When they begin.
        start: Duration,
    },
}

impl Scenario {
    /// Both lists as tables: to the client, to the server.
    pub fn tables(&self) -> [Vec<toml::Table>; 2] {
        [write_list(&self.to_client), write_list(&self.to_server)]
    }
}

/// The scenarios there are.
const SCENARIOS: [&str; 8] = [
    "simple-p2p",
    "drop-rate",
    "corrupt-rate",
    "droplist",
    "blackhole",
    "rebind",
    "tcp-cross-traffic",
    "udp-cross-traffic",
];
/// Payload of a datagram of the simulator's constant-rate source (`ns3::OnOffApplication`, PacketSize).
const CROSS_DATAGRAM: ByteCount = ByteCount::from_bytes(512);
/// The simulator's source of datagrams starts after this time.
const CROSS_DATAGRAMS_START: Duration = Duration::from_secs(20);
/// The simulator's device holds so many packets besides the one that it sends and those in the queue.
const DEVICE_PACKETS: u64 = 1;
/// Outages of one blackhole: each is a stage.
const MOST_OUTAGES: u64 = 100;

/// Translates what the runner writes into stages.
///
/// # Errors
/// The option, and what is wrong with it; scenarios that stages cannot express.
pub fn compile(text: &str) -> Result<Scenario, String> {
    let (name, mut options) = Options::read(text)?;
    if !SCENARIOS.contains(&name) {
        return Err(format!("found the scenario {name:?}, expected one of {}", SCENARIOS.join(", ")));
    }
    let link = link(&mut options)?;
    let errors = match name {
        "drop-rate" => ["to_client", "to_server"].map(|direction| drop_rate(&mut options, direction)),
        "corrupt-rate" => ["to_client", "to_server"].map(|direction| corrupt_rate(&mut options, direction)),
        "rebind" => rebind(&mut options)?.map(Ok),
        "droplist" => ["to_client", "to_server"].map(|direction| droplist(&mut options, direction)),
        "blackhole" => blackhole(&mut options)?.map(Ok),
        _ => [Ok(Vec::new()), Ok(Vec::new())],
    };
    let cross_traffic = match name {
        "tcp-cross-traffic" => Some(CrossTraffic::Tcp),
        "udp-cross-traffic" => Some(CrossTraffic::Udp {
            rate: Rate::from_bits_per_second(options.rate("crossdatarate")?.as_bits_per_second()),
            datagram: CROSS_DATAGRAM,
            start: CROSS_DATAGRAMS_START,
        }),
        _ => None,
    };
    options.finish(name)?;
    let [to_client, to_server] = errors;
    let direction = |errors| [link.clone(), errors].concat();
    Ok(Scenario { to_client: direction(to_client?), to_server: direction(to_server?), cross_traffic })
}

/// Queue, link and delay of one direction; both are alike.
fn link(options: &mut Options) -> Result<Vec<StageSpec>, String> {
    let delay = options.time("delay")?;
    let rate = options.rate("bandwidth")?;
    let limit = Limit::Packets(options.number("queue", 1..=1_000_000)? + DEVICE_PACKETS);
    let mut stages = vec![
        stage("queue", StageSettings::DropTail(DropTailSettings { limit })),
        stage("link", StageSettings::Rate(RateSettings { rate, burst: None })),
    ];
    if delay > Duration::ZERO {
        stages.push(stage("delay", StageSettings::Delay(DelaySettings { delay })));
    }
    Ok(stages)
}

/// The simulator counts the packets that it dropped in a row, and lets one pass when they are more than the burst.
fn drop_rate(options: &mut Options, direction: &str) -> Result<Vec<StageSpec>, String> {
    let percent = options.number(&format!("rate_{direction}"), 0..=100)?;
    let burst = options.optional_number(&format!("burst_{direction}"), 0..=1_000_000)?;
    let probability = Probability::try_from(percent as f64 / 100.0).map_err(|error| error.to_string())?;
    let settings = match burst {
        _ if percent == 0 => return Ok(Vec::new()),
        None => StageSettings::IndependentLoss(IndependentLossSettings { probability }),
        Some(burst) => {
            let most_in_a_row = u32::try_from(burst + 1).map_err(|error| error.to_string())?;
            StageSettings::LimitedLoss(LimitedLossSettings { probability, most_in_a_row })
        }
    };
    Ok(vec![stage("drop-rate", settings)])
}

/// Makes the stage that changes a byte among the first ones, with the options of [`drop_rate`]: the simulator draws its place from 0 to 50.
fn corrupt_rate(options: &mut Options, direction: &str) -> Result<Vec<StageSpec>, String> {
    let percent = options.number(&format!("rate_{direction}"), 0..=100)?;
    let burst = options.optional_number(&format!("burst_{direction}"), 0..=1_000_000)?;
    if percent == 0 {
        return Ok(Vec::new());
    }
    let probability = Probability::try_from(percent as f64 / 100.0).map_err(|error| error.to_string())?;
    let most_in_a_row = burst.map(|burst| u32::try_from(burst + 1)).transpose().map_err(|error| error.to_string())?;
    let settings = CorruptSettings { probability, most_in_a_row, first_bytes: 51 };
    Ok(vec![stage("corrupt-rate", StageSettings::Corrupt(settings))])
}

/// The same in both directions: an address translator at the client's side of the server.
fn rebind(options: &mut Options) -> Result<[Vec<StageSpec>; 2], String> {
    let first = options.time("first-rebind")?;
    let every = options.optional_time("rebind-freq")?.filter(|every| *every > Duration::ZERO);
    let address = options.flag("rebind-addr")?;
    let stages = || vec![stage("rebind", StageSettings::Rebind(RebindSettings { first, every, address }))];
    Ok([stages(), stages()])
}

fn droplist(options: &mut Options, direction: &str) -> Result<Vec<StageSpec>, String> {
    let numbers = options.list(&format!("drops_{direction}"))?;
    let settings = || StageSettings::ListedLoss(ListedLossSettings { packets: PacketNumbers(numbers.clone()) });
    Ok(if numbers.is_empty() { Vec::new() } else { vec![stage("droplist", settings())] })
}

/// Makes the stages of each direction: to the client, to the server.
fn blackhole(options: &mut Options) -> Result<[Vec<StageSpec>; 2], String> {
    let (on, off) = (options.time("on")?, options.time("off")?);
    let repeat = options.optional_number("repeat", 1..=MOST_OUTAGES)?.unwrap_or(1);
    let is_in = match options.optional("direction") {
        None | Some("both") => [true, true],
        Some("toclient") => [true, false],
        Some("toserver") => [false, true],
        Some(other) => {
            return Err(format!("--direction: found {other:?}, expected one of both, toclient, toserver"));
        }
    };
    if off == Duration::ZERO {
        return Err("--off: found no time, expected a time such as 2s".to_owned());
    }
    let mut outages = Vec::new();
    let mut begin = on;
    for number in 1..=repeat {
        let end = begin + off;
        let settings = RuleLossSettings { from: Some(begin), until: Some(end), every: None, at_least: None };
        outages.push(stage(&format!("blackhole-{number}"), StageSettings::RuleLoss(settings)));
        begin = end + on;
    }
    Ok(is_in.map(|is_in| if is_in { outages.clone() } else { Vec::new() }))
}

fn stage(name: &str, settings: StageSettings) -> StageSpec {
    StageSpec { name: name.to_owned(), settings }
}
