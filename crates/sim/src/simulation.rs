//! The clock, and who hands packets to whom.

use quiclab_path::{
    clock::PositiveRate,
    packet::Packet,
    pipeline::{Account, Pipeline},
    stage::Backlog,
    usage::Usage,
    wire::Transmitter,
};
use quiclab_units::{Duration, Time};

use crate::{
    endpoint::{Endpoint, Outbox},
    events::{Agenda, Moment, Timers},
    lane::Lane,
};

/// Hosts, the links between them, and what happens next.
pub struct Simulation<E: Endpoint> {
    now: Time,
    /// Timers of the endpoints.
    timers: Timers,
    /// Agenda of the sources.
    agenda: Agenda,
    /// What was put on either of them so far.
    asked: u64,
    /// Sources, by their numbers on the agenda.
    sources: Vec<Source>,
    pipelines: Vec<OnAgenda<Pipeline<Travelling<E::Payload>>>>,
    lanes: Vec<OnAgenda<Lane<Travelling<E::Payload>>>>,
    wires: Vec<Wire>,
    routes: Vec<Route>,
    /// The hops of one route after the other: with thousands of flows each list of its own would be a cache miss for every packet.
    hops: Vec<Hop>,
    endpoints: Vec<Attached<E>>,
    outbox: Outbox<E::Payload>,
    /// Events so far.
    handled: u64,
}

/// A number of a pipeline in a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineId(u32);

/// A pipeline or a wire of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopId(Hop);

impl From<PipelineId> for HopId {
    fn from(id: PipelineId) -> Self {
        Self(Hop::Pipeline(id.0))
    }
}

/// A number of an endpoint in a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointId(u32);

/// What a packet carries, and where it is on its route.
#[derive(Clone, Copy, Debug)]
pub struct Travelling<P> {
    route: u32,
    /// The hops that it has behind it, with the one where it is.
    hops: u32,
    payload: P,
}

/// What a packet goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hop {
    /// The pipeline of this number.
    Pipeline(u32),
    /// The wire of this number.
    Wire(u32),
}

/// What packets come out of.
#[derive(Clone, Copy)]
enum Source {
    /// The pipeline of this number.
    Pipeline(u32),
    /// The lane of this number.
    Lane(u32),
}

/// Something and its number on the agenda.
struct OnAgenda<T> {
    place: u32,
    of: T,
}

/// A link with room for everything, and the way behind it. Thousands of hosts have two each, which lie side by side in memory.
struct Wire {
    transmitter: Transmitter,
    /// Where its packets travel.
    lane: u32,
    entered: u64,
}

struct Attached<E> {
    endpoint: E,
    scheduled: Option<Time>,
    /// The number of the route to its peer.
    route: u32,
}

#[derive(Clone, Copy)]
struct Route {
    /// The first of its hops among those of all routes, and the first behind them.
    begin: u32,
    end: u32,
    to: u32,
}

/// Why a simulation stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The time that was asked for has come.
    InTime,
    /// Nothing is going to happen any more.
    Quiet,
    /// It had handled as many events as it may.
    Budget,
    /// It was told to.
    Cancelled,
}

impl<E: Endpoint> Default for Simulation<E> {
    fn default() -> Self {
        Self {
            now: Time::from_nanos(0),
            timers: Timers::default(),
            agenda: Agenda::default(),
            asked: 0,
            sources: Vec::new(),
            pipelines: Vec::new(),
            lanes: Vec::new(),
            wires: Vec::new(),
            routes: Vec::new(),
            hops: Vec::new(),
            endpoints: Vec::new(),
            outbox: Outbox::default(),
            handled: 0,
        }
    }
}

impl<E: Endpoint> Simulation<E> {
    /// Adds a pipeline that packets can be sent through.
    pub fn add_pipeline(&mut self, pipeline: Pipeline<Travelling<E::Payload>>) -> PipelineId {
        let number = self.pipelines.len() as u32;
        let place = self.add_source(Source::Pipeline(number));
        self.pipelines.push(OnAgenda { place, of: pipeline });
        PipelineId(number)
    }

    /// Adds a link of this rate with room for everything, and a way of this length behind it.
    pub fn add_wire(&mut self, rate: PositiveRate, delay: Duration) -> HopId {
        let alike = self.lanes.iter().position(|lane| lane.of.rate == rate && lane.of.delay == delay);
        let lane = alike.unwrap_or(self.lanes.len()) as u32;
        if alike.is_none() {
            let place = self.add_source(Source::Lane(lane));
            self.lanes.push(OnAgenda { place, of: Lane::new(rate, delay) });
        }
        self.wires.push(Wire { transmitter: Transmitter::default(), lane, entered: 0 });
        HopId(Hop::Wire(self.wires.len() as u32 - 1))
    }

    fn add_source(&mut self, source: Source) -> u32 {
        self.sources.push(source);
        self.agenda.add()
    }

    /// Adds two endpoints and the ways from the first to the second and back.
    pub fn add_pair(&mut self, pair: [E; 2], ways: [&[HopId]; 2]) -> [EndpointId; 2] {
        let first = self.endpoints.len() as u32;
        for ((endpoint, way), to) in pair.into_iter().zip(ways).zip([first + 1, first]) {
            let number = self.endpoints.len() as u32;
            self.endpoints.push(Attached { endpoint, scheduled: None, route: self.routes.len() as u32 });
            let begin = self.hops.len() as u32;
            self.hops.extend(way.iter().map(|id| id.0));
            self.routes.push(Route { begin, end: self.hops.len() as u32, to });
            self.schedule_endpoint(number);
        }
        [EndpointId(first), EndpointId(first + 1)]
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Events handled so far: pipelines that were called because a packet arrived, packets at the end of a wire, and timers of endpoints.
    pub fn handled(&self) -> u64 {
        self.handled
    }

    /// The endpoint of this number.
    pub fn endpoint(&self, id: EndpointId) -> &E {
        &self.endpoints[id.0 as usize].endpoint
    }

    /// The stages of the pipeline of this number, and what became of the packets that entered each.
    pub fn accounts(&self, id: PipelineId) -> impl Iterator<Item = (&str, Account)> {
        self.pipelines[id.0 as usize].of.accounts()
    }

    /// How the first link of the pipeline of this number was used until now; all zero if it has none.
    pub fn usage(&self, id: PipelineId) -> Usage {
        self.pipelines[id.0 as usize].of.usage(self.now).unwrap_or_default()
    }

    /// [`Simulation::accounts`] of every pipeline, in the order in which they were added, and then of every wire.
    pub fn all_accounts(&self) -> impl Iterator<Item = (&str, Account)> {
        let wires = self.wire_accounts().into_iter().map(|account| ("wire", account));
        self.pipelines.iter().flat_map(|pipeline| pipeline.of.accounts()).chain(wires)
    }

    fn wire_accounts(&self) -> Vec<Account> {
        let mut waiting = vec![Backlog::default(); self.wires.len()];
        for packet in self.lanes.iter().flat_map(|lane| lane.of.packets()) {
            let Travelling { route, hops, .. } = packet.payload;
            if let Hop::Wire(number) = self.hops[(self.routes[route as usize].begin + hops - 1) as usize] {
                waiting[number as usize].add(packet.bytes);
            }
        }
        self.wires.iter().zip(waiting).map(|(wire, waiting)| Account::without_loss(wire.entered, waiting)).collect()
    }

    /// Lets everything happen that happens by `end`, and no more than `budget` events. Then accounts and usage are those of [`Simulation::now`].
    pub fn run_until(&mut self, end: Time, budget: u64) -> Stopped {
        let stopped = self.handle_until(end, budget);
        for pipeline in &mut self.pipelines {
            pipeline.of.catch_up(self.now);
        }
        stopped
    }

    fn handle_until(&mut self, end: Time, budget: u64) -> Stopped {
        let last = self.handled.saturating_add(budget);
        loop {
            let ((timer, endpoint), (arrival, source)) = (self.timers.next(), self.agenda.next());
            let next = timer.min(arrival);
            let time = next.time();
            if next == Moment::NEVER || time > end {
                self.now = end;
                return if next == Moment::NEVER { Stopped::Quiet } else { Stopped::InTime };
            }
            if self.handled >= last {
                return Stopped::Budget;
            }
            if timer < arrival {
                self.timers.pop();
                self.call_endpoint(time, endpoint);
            } else {
                self.call_source(time, source);
            }
        }
    }

    fn call_endpoint(&mut self, time: Time, number: u32) {
        let attached = &mut self.endpoints[number as usize];
        // An event of another time is stale.
        if attached.scheduled != Some(time) {
            return;
        }
        attached.scheduled = None;
        self.now = time;
        self.handled += 1;
        attached.endpoint.handle_timeout(time, &mut self.outbox);
        self.send(number);
    }

    fn call_source(&mut self, time: Time, number: u32) {
        self.now = time;
        self.handled += 1;
        match self.sources[number as usize] {
            Source::Pipeline(number) => {
                while let Some((_, packet)) = self.pipelines[number as usize].of.poll_packet(time) {
                    self.forward(packet);
                }
                self.schedule_pipeline(number);
            }
            Source::Lane(number) => {
                let OnAgenda { place, of: lane } = &mut self.lanes[number as usize];
                let packet = lane.pop();
                self.agenda.set(*place, lane.next());
                if let Some(packet) = packet {
                    self.forward(packet);
                }
            }
        }
    }

    /// Brings a packet to its next hop, or to its endpoint.
    fn forward(&mut self, mut packet: Packet<Travelling<E::Payload>>) {
        let Route { begin, end, to } = self.routes[packet.payload.route as usize];
        let place = begin + packet.payload.hops;
        match (place < end).then(|| self.hops[place as usize]) {
            Some(Hop::Wire(number)) => {
                packet.payload.hops += 1;
                let wire = &mut self.wires[number as usize];
                wire.entered += 1;
                let OnAgenda { place, of: lane } = &mut self.lanes[wire.lane as usize];
                let left = wire.transmitter.send(self.now, packet.bytes, lane.rate);
                let before = lane.next();
                self.asked += 1;
                lane.push(left, self.asked, packet);
                let next = lane.next();
                if next != before {
                    self.agenda.set(*place, next);
                }
            }
            Some(Hop::Pipeline(number)) => {
                packet.payload.hops += 1;
                self.pipelines[number as usize].of.handle_packet(self.now, packet);
                self.schedule_pipeline(number);
            }
            None => {
                let endpoint = &mut self.endpoints[to as usize].endpoint;
                endpoint.handle_packet(self.now, packet.ecn, packet.payload.payload, &mut self.outbox);
                self.send(to);
            }
        }
    }

    /// Sends what an endpoint has put into the outbox.
    fn send(&mut self, from: u32) {
        let route = self.endpoints[from as usize].route;
        let mut outbox = std::mem::take(&mut self.outbox);
        for (bytes, ecn, payload) in outbox.packets.drain(..) {
            self.forward(Packet::new(bytes, route.into(), ecn, Travelling { route, hops: 0, payload }));
        }
        self.outbox = outbox;
        self.schedule_endpoint(from);
    }

    fn schedule_pipeline(&mut self, number: u32) {
        let OnAgenda { place, of: pipeline } = &self.pipelines[number as usize];
        let (place, next) = (*place, pipeline.next_time());
        let scheduled = self.agenda.moment(place);
        match next {
            None => self.agenda.set(place, Moment::NEVER),
            Some(time) if scheduled == Moment::NEVER || time != scheduled.time() => {
                let moment = self.moment(time);
                self.agenda.set(place, moment);
            }
            Some(_) => {}
        }
    }

    fn schedule_endpoint(&mut self, number: u32) {
        let attached = &mut self.endpoints[number as usize];
        if let Some(time) = attached.endpoint.next_timeout()
            && attached.scheduled.is_none_or(|scheduled| time < scheduled)
        {
            attached.scheduled = Some(time);
            let moment = self.moment(time);
            self.timers.push(moment, number);
        }
    }

    /// This time, behind all that was asked for before.
    fn moment(&mut self, time: Time) -> Moment {
        self.asked += 1;
        Moment::new(time, self.asked)
    }
}
