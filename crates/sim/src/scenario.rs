//! Many flows over shared links: what is simulated, and what is measured of it.

mod outcome;

use std::ops::{Add, Range};

use quiclab_path::{
    clock::ZeroRate,
    probability::Probability,
    queue::{
        Limit, QueueDiscipline,
        codel::{CoDel, CoDelSettings},
        drop_head::DropHead,
        drop_tail::DropTail,
        fq_codel::{FqCoDel, FqCoDelSettings},
        lossy::Lossy,
        pie::{Pie, PieSettings},
        red::{Red, RedError, RedSettings},
    },
    random::Random,
};
use quiclab_units::{Duration, Rate, Time};

use crate::{
    fairness::jain,
    segment::Segment,
    simulation::{EndpointId, Simulation, Stopped, Travelling},
    tcp::{
        Tcp,
        congestion::{CongestionControl, bbr::Bbr, bbr3::Bbr3, cubic::Cubic, hystart::SlowStart, reno::Reno},
        receiver::{Receiver, ReceiverSettings},
        sender::{Recovery, Sender, SenderSettings},
    },
    topology::{Chain, Hop},
    workload::{Source, Workload},
};

pub use outcome::{FlowOutcome, HopSample, Outcome, Sample};

/// Flows over routers in a row.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The links between routers, from left to right, and what decides in front of each.
    pub hops: Vec<(Hop, Queue)>,
    /// Each packet that comes to a hop's queue is lost with this probability.
    pub loss: Probability,
    /// Rate of the links at the hosts.
    pub side_rate: Rate,
    /// The flows.
    pub groups: Vec<Group>,
    /// How long it lasts.
    pub duration: Duration,
    /// How often it is looked at; more than 0.
    pub interval: Duration,
    /// What is measured begins with the end of the first interval that is not over before.
    pub warm_up: Duration,
    /// When transfers must have begun to count; `None` counts all that begin after the warm-up.
    pub transfers_begin_by: Option<Duration>,
    /// Everything random follows from it.
    pub seed: u64,
    /// Events after which it is given up.
    pub budget: u64,
}

/// A queue discipline and what it is given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Queue {
    /// What does not fit is dropped.
    DropTail(Limit),
    /// The oldest makes room.
    DropHead(Limit),
    /// Random Early Detection.
    Red(RedSettings, Limit),
    /// Controlled Delay.
    CoDel(CoDelSettings, Limit),
    /// A queue for each flow, under Controlled Delay.
    FqCoDel(FqCoDelSettings),
    /// Proportional Integral Controller Enhanced.
    Pie(PieSettings, Limit),
}

/// Flows that do not differ but in when they begin.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// How many.
    pub flows: u32,
    /// How they send.
    pub sender: SenderSettings,
    /// How many segments they have in flight.
    pub congestion: Congestion,
    /// How they acknowledge.
    pub receiver: ReceiverSettings,
    /// The hops that they cross, counted from 0.
    pub hops: Range<usize>,
    /// One way, from the sender to its router and from the other router to the receiver.
    pub side_delays: [Duration; 2],
    /// What they send.
    pub workload: Workload,
    /// Each begins at a random time in so long.
    pub begin_within: Duration,
}

/// A congestion controller and what it is given.
#[derive(Clone, Debug)]
pub enum Congestion {
    /// Reno, from this window on.
    Reno {
        /// Initial window, in segments.
        initial_window: f64,
        /// How it begins.
        slow_start: SlowStart,
    },
    /// CUBIC, from this window on.
    Cubic {
        /// Initial window, in segments.
        initial_window: f64,
        /// How it begins.
        slow_start: SlowStart,
    },
    /// BBR version 1, from this window on; only with selective acknowledgments.
    Bbr {
        /// Initial window, in segments.
        initial_window: f64,
    },
    /// BBR version 3, likewise.
    Bbr3 {
        /// Initial window, in segments.
        initial_window: f64,
    },
}

/// Why a scenario cannot be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScenarioError {
    /// A link without a rate.
    #[error(transparent)]
    Rate(#[from] ZeroRate),
    /// Parameters of RED that make no sense.
    #[error(transparent)]
    Red(#[from] RedError),
    /// Nobody sends.
    #[error("found no flows, expected at least 1")]
    NoFlows,
    /// There are more flows than memory holds.
    #[error("found {found} flows, expected at most {MOST_FLOWS}")]
    TooManyFlows {
        /// How many.
        found: u64,
    },
    /// A group whose window could never let a segment out.
    #[error("{group}: found an initial window of {found} segments, expected at least 1")]
    Window {
        /// Its name.
        group: String,
        /// Its window.
        found: f64,
    },
    /// A transfer of nothing.
    #[error("{group}: found transfers of 0 segments, expected at least 1")]
    EmptyTransfer {
        /// Its name.
        group: String,
    },
    /// BBR knows nothing of the path without selective acknowledgments.
    #[error("{group}: found BBR without selective acknowledgments, which it needs")]
    NoRateSamples {
        /// Its name.
        group: String,
    },
    /// BBR does not react to marks, and what is marked is not dropped.
    #[error("{group}: found BBR with marks, expected none: it would not react to them")]
    MarksIgnored {
        /// Its name.
        group: String,
    },
    /// A group that crosses what there is not.
    #[error("{group}: found hops {} to {}, expected some of {count}", hops.start, hops.end)]
    NoSuchHops {
        /// Its name.
        group: String,
        /// What it crosses.
        hops: Range<usize>,
        /// How many there are.
        count: usize,
    },
    /// It would be looked at without end.
    #[error("found an interval of 0 ns, expected a positive one")]
    NoInterval,
}

/// Some kilobytes are needed for each.
pub const MOST_FLOWS: u64 = 1_000_000;

/// Some tenths of a second of work.
pub const EVENTS_BETWEEN_QUESTIONS: u64 = 1_000_000;

impl Scenario {
    /// Simulates it.
    ///
    /// # Errors
    /// Where it makes no sense; see [`ScenarioError`].
    pub fn run(&self) -> Result<Outcome, ScenarioError> {
        self.run_while(&mut || true)
    }

    /// Simulates it as long as `goes_on`, which is asked after every [`EVENTS_BETWEEN_QUESTIONS`] events and does not change the outcome
    /// otherwise.
    ///
    /// # Errors
    /// As [`Scenario::run`].
    pub fn run_while(&self, goes_on: &mut dyn FnMut() -> bool) -> Result<Outcome, ScenarioError> {
        self.check()?;
        let mut simulation = Simulation::default();
        let chain = self.build(&mut simulation)?;
        let flows = self.add_flows(&mut simulation, &chain);
        let mut samples = Vec::new();
        let mut before = vec![0; flows.len()];
        let mut in_warm_up = vec![0; flows.len()];
        let mut warm_up_samples = 0;
        let mut question = EVENTS_BETWEEN_QUESTIONS;
        let (mut time, end) = (Time::from_nanos(0), Time::from_nanos(0) + self.duration);
        let stopped = loop {
            time = (time + self.interval).min(end);
            let stopped = self.advance(&mut simulation, time, &mut question, goes_on);
            let since = (time > Time::from_nanos(0) + self.warm_up).then_some(&in_warm_up[..]);
            samples.push(self.sample(&simulation, &chain, &flows, &mut before, since));
            let is_warming_up = since.is_none();
            if is_warming_up {
                in_warm_up.clone_from(&before);
                warm_up_samples = samples.len();
            }
            let is_over =
                matches!(stopped, Stopped::Budget | Stopped::Cancelled) || stopped == Stopped::Quiet && !is_warming_up;
            if time == end || is_over {
                break stopped;
            }
        };
        let accounts = simulation.all_accounts();
        Ok(Outcome {
            stopped,
            events: simulation.handled(),
            packets_at_stages: accounts.map(|(_, account)| account.entered).sum(),
            samples,
            warm_up_samples,
            flows: flows.iter().zip(in_warm_up).map(|(flow, before)| flow.outcome(&simulation, before)).collect(),
        })
    }

    /// Lets everything happen that happens by `to`; `question` is the number of events after which `goes_on` is asked next.
    fn advance(
        &self,
        simulation: &mut Simulation<Tcp>,
        to: Time,
        question: &mut u64,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Stopped {
        loop {
            let stopped = simulation.run_until(to, self.budget.min(*question).saturating_sub(simulation.handled()));
            if stopped != Stopped::Budget || simulation.handled() >= self.budget {
                return stopped;
            }
            if !goes_on() {
                return Stopped::Cancelled;
            }
            *question = simulation.handled() + EVENTS_BETWEEN_QUESTIONS;
        }
    }

    fn check(&self) -> Result<(), ScenarioError> {
        match self.groups.iter().map(|group| u64::from(group.flows)).sum() {
            0 => return Err(ScenarioError::NoFlows),
            found if found > MOST_FLOWS => return Err(ScenarioError::TooManyFlows { found }),
            _ => {}
        }
        if self.interval == Duration::ZERO {
            return Err(ScenarioError::NoInterval);
        }
        for group in &self.groups {
            let found = group.congestion.initial_window();
            if group.congestion.is_bbr() && group.sender.recovery != Recovery::Selective {
                return Err(ScenarioError::NoRateSamples { group: group.name.clone() });
            }
            if group.congestion.is_bbr() && group.sender.ecn {
                return Err(ScenarioError::MarksIgnored { group: group.name.clone() });
            }
            if found.is_nan() || found < 1.0 {
                return Err(ScenarioError::Window { group: group.name.clone(), found });
            }
            let is_there = group.hops.start < group.hops.end && group.hops.end <= self.hops.len();
            if !is_there {
                let (group, hops) = (group.name.clone(), group.hops.clone());
                return Err(ScenarioError::NoSuchHops { group, hops, count: self.hops.len() });
            }
            let is_empty = match &group.workload {
                Workload::Transfers { segments, .. } => *segments == 0,
                Workload::Arrivals { transfers } => transfers.iter().any(|(_, segments)| *segments == 0),
                Workload::Long | Workload::OnOff { .. } => false,
            };
            if is_empty {
                return Err(ScenarioError::EmptyTransfer { group: group.name.clone() });
            }
        }
        Ok(())
    }

    fn build(&self, simulation: &mut Simulation<Tcp>) -> Result<Chain, ScenarioError> {
        let queues = self.hops.iter().enumerate().map(|(number, (hop, queue))| {
            let queue = queue.build(Random::new(self.seed, &format!("queue {number}")))?;
            if self.loss.get() == 0.0 {
                return Ok((*hop, queue));
            }
            let random = Random::new(self.seed, &format!("loss {number}"));
            Ok((*hop, Box::new(Lossy::new(self.loss, random, queue)) as BoxedQueue))
        });
        let hops = queues.collect::<Result<Vec<_>, RedError>>()?;
        Ok(Chain::build(simulation, self.side_rate, hops)?)
    }

    fn add_flows(&self, simulation: &mut Simulation<Tcp>, chain: &Chain) -> Vec<Flow> {
        let mut flows = Vec::new();
        let mut starts = Random::new(self.seed, "starts");
        for (number, group) in self.groups.iter().enumerate() {
            let [left, right] = group.side_delays;
            let between = self.hops[group.hops.clone()].iter().map(|(hop, _)| hop.delay);
            let one_way = between.fold(left + right, Duration::add);
            for _ in 0..group.flows {
                let start = Time::from_nanos(starts.up_to(group.begin_within.as_nanos()));
                let random = Random::new(self.seed, &format!("flow {}", flows.len()));
                let sender = Sender::new(group.sender, group.congestion.build(&random));
                let source = Source::new(sender, group.workload.clone(), start, random);
                let pair = [Tcp::Source(Box::new(source)), Tcp::Receiver(Receiver::new(group.receiver))];
                let ids = chain.add_flow(simulation, pair, group.side_delays, group.hops.clone());
                flows.push(Flow { group: number, ids, rtt: one_way + one_way });
            }
        }
        flows
    }

    /// `before` is what each flow had delivered at the last sample, `since` what it had at the end of the warm-up.
    fn sample(
        &self,
        simulation: &Simulation<Tcp>,
        chain: &Chain,
        flows: &[Flow],
        before: &mut [u64],
        since: Option<&[u64]>,
    ) -> Sample {
        let mut delivered = vec![0; self.groups.len()];
        let mut windows = vec![0.0; self.groups.len()];
        let mut shares = Vec::with_capacity(flows.len());
        for (flow, before) in flows.iter().zip(before.iter_mut()) {
            let arrived = flow.receiver(simulation).arrived();
            delivered[flow.group] += arrived;
            windows[flow.group] += flow.source(simulation).sender().congestion_window();
            shares.push((arrived - *before) as f64);
            *before = arrived;
        }
        let cumulative: Vec<f64> =
            since.into_iter().flatten().zip(before.iter()).map(|(since, arrived)| (arrived - since) as f64).collect();
        let by_rtt = |shares: &[f64]| {
            let weighted = shares.iter().zip(flows).map(|(share, flow)| share * flow.rtt.as_secs_f64());
            jain(weighted)
        };
        let hops = (0..self.hops.len()).map(|number| {
            let (_, link) = simulation.accounts(chain.hop(number)).next().unwrap_or_default();
            HopSample {
                queue_packets: link.waiting.packets,
                dropped: link.all_dropped(),
                marked: link.marked,
                forwarded: link.left,
                usage: simulation.usage(chain.hop(number)),
            }
        });
        Sample {
            time: simulation.now(),
            delivered,
            windows,
            fairness_by_rtt: by_rtt(&shares),
            fairness: jain(shares),
            fairness_by_rtt_cumulative: by_rtt(&cumulative),
            fairness_cumulative: jain(cumulative),
            hops: hops.collect(),
        }
    }
}

type BoxedQueue = Box<dyn QueueDiscipline<Travelling<Segment>>>;

impl Queue {
    fn build(&self, mut random: Random) -> Result<BoxedQueue, RedError> {
        Ok(match *self {
            Self::DropTail(limit) => Box::new(DropTail::new(limit)),
            Self::DropHead(limit) => Box::new(DropHead::new(limit)),
            Self::Red(settings, limit) => Box::new(Red::new(settings, limit, random)?),
            Self::CoDel(settings, limit) => Box::new(CoDel::new(settings, limit)),
            Self::FqCoDel(settings) => Box::new(FqCoDel::new(settings, random.up_to(u64::MAX))),
            Self::Pie(settings, limit) => Box::new(Pie::new(settings, limit, random)),
        })
    }
}

impl Congestion {
    /// Initial window, in segments.
    pub(crate) fn initial_window(&self) -> f64 {
        match self {
            Self::Reno { initial_window, .. }
            | Self::Cubic { initial_window, .. }
            | Self::Bbr { initial_window }
            | Self::Bbr3 { initial_window } => *initial_window,
        }
    }

    fn is_bbr(&self) -> bool {
        matches!(self, Self::Bbr { .. } | Self::Bbr3 { .. })
    }

    fn build(&self, random: &Random) -> Box<dyn CongestionControl> {
        match self {
            Self::Reno { initial_window, slow_start } => {
                Box::new(Reno::new(*initial_window, f64::INFINITY, slow_start.clone()))
            }
            Self::Cubic { initial_window, slow_start } => {
                Box::new(Cubic::new(*initial_window, f64::INFINITY, slow_start.clone()))
            }
            Self::Bbr { initial_window } => Box::new(Bbr::new(*initial_window, random.clone())),
            Self::Bbr3 { initial_window } => Box::new(Bbr3::new(*initial_window, random.clone())),
        }
    }
}

/// One flow in a simulation.
struct Flow {
    group: usize,
    ids: [EndpointId; 2],
    /// Round-trip time without queues and without what packets take on the links.
    rtt: Duration,
}

impl Flow {
    fn source<'a>(&self, simulation: &'a Simulation<Tcp>) -> &'a Source {
        match simulation.endpoint(self.ids[0]) {
            Tcp::Source(source) => source,
            Tcp::Receiver(_) => unreachable!("the first of a pair sends"),
        }
    }

    fn receiver<'a>(&self, simulation: &'a Simulation<Tcp>) -> &'a Receiver {
        match simulation.endpoint(self.ids[1]) {
            Tcp::Receiver(receiver) => receiver,
            Tcp::Source(_) => unreachable!("the second of a pair receives"),
        }
    }

    fn outcome(&self, simulation: &Simulation<Tcp>, delivered_in_warm_up: u64) -> FlowOutcome {
        let source = self.source(simulation);
        FlowOutcome {
            group: self.group,
            delivered: self.receiver(simulation).arrived(),
            delivered_in_warm_up,
            rtt: self.rtt,
            counters: source.sender().counters(),
            first_loss: source.sender().first_loss(),
            completions: source.completions().to_vec(),
            unfinished: source.unfinished(),
        }
    }
}
