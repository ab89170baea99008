//! The clock, and who hands packets to whom.

use quiclab_path::{
    clock::PositiveRate,
    packet::Packet,
    pipeline::{Account, Pipeline},
    stage::Backlog,
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
    /// Of endpoints.
    timers: Timers,
    /// Of sources.
    agenda: Agenda,
    /// What was put on either of them so far.
    asked: u64,
    /// By their numbers on the agenda.
    sources: Vec<Source<E::Payload>>,
    wires: Vec<Wire>,
    routes: Vec<Route>,
    /// The hops of one route after the other: with thousands of flows each list of its own would be a cache miss for every packet.
    hops: Vec<Hop>,
    endpoints: Vec<Attached<E>>,
    outbox: Outbox<E::Payload>,
    /// Events so far.
    handled: u64,
}

/// A pipeline or a wire of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopId(Hop);

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
    /// The pipeline that is the source of this number.
    Pipeline(u32),
    /// The wire of this number.
    Wire(u32),
}

/// What packets come out of.
enum Source<P> {
    Pipeline(Pipeline<Travelling<P>>),
    Lane(Lane<Travelling<P>>),
}

/// A link with room for everything, and the way behind it. Thousands of hosts have two each, which lie side by side in memory.
struct Wire {
    transmitter: Transmitter,
    /// The source where its packets travel.
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
    Told,
}

impl<E: Endpoint> Default for Simulation<E> {
    fn default() -> Self {
        Self {
            now: Time::from_nanos(0),
            timers: Timers::default(),
            agenda: Agenda::default(),
            asked: 0,
            sources: Vec::new(),
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
    pub fn add_pipeline(&mut self, pipeline: Pipeline<Travelling<E::Payload>>) -> HopId {
        HopId(Hop::Pipeline(self.add_source(Source::Pipeline(pipeline))))
    }

    /// Adds a link of this rate with room for everything, and a way of this length behind it.
    pub fn add_wire(&mut self, rate: PositiveRate, delay: Duration) -> HopId {
        let is_alike =
            |source: &Source<_>| matches!(source, Source::Lane(lane) if lane.rate == rate && lane.delay == delay);
        let lane = match self.sources.iter().position(is_alike) {
            Some(number) => number as u32,
            None => self.add_source(Source::Lane(Lane::new(rate, delay))),
        };
        self.wires.push(Wire { transmitter: Transmitter::default(), lane, entered: 0 });
        HopId(Hop::Wire(self.wires.len() as u32 - 1))
    }

    fn add_source(&mut self, source: Source<E::Payload>) -> u32 {
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

    /// The stages of a pipeline, or a wire, and what became of the packets that entered each.
    pub fn accounts(&self, id: HopId) -> Vec<(&'static str, Account)> {
        match id.0 {
            Hop::Pipeline(number) => {
                self.pipeline(number).map(|pipeline| pipeline.accounts().collect()).unwrap_or_default()
            }
            Hop::Wire(number) => vec![("wire", self.wire_accounts()[number as usize])],
        }
    }

    /// The same of all pipelines and wires.
    pub fn all_accounts(&self) -> impl Iterator<Item = (&'static str, Account)> {
        let pipelines = (0..self.sources.len() as u32).filter_map(|number| self.pipeline(number));
        pipelines.flat_map(Pipeline::accounts).chain(self.wire_accounts().into_iter().map(|account| ("wire", account)))
    }

    fn pipeline(&self, number: u32) -> Option<&Pipeline<Travelling<E::Payload>>> {
        match &self.sources[number as usize] {
            Source::Pipeline(pipeline) => Some(pipeline),
            Source::Lane(_) => None,
        }
    }

    fn wire_accounts(&self) -> Vec<Account> {
        let mut waiting = vec![Backlog::default(); self.wires.len()];
        for source in &self.sources {
            let Source::Lane(lane) = source else { continue };
            for packet in lane.packets() {
                if let Hop::Wire(number) = self.hops[self.place(packet) as usize - 1] {
                    waiting[number as usize].add(packet.bytes);
                }
            }
        }
        self.wires.iter().zip(waiting).map(|(wire, waiting)| Account::without_loss(wire.entered, waiting)).collect()
    }

    /// Lets everything happen that happens by `end`, and no more than `budget` events.
    pub fn run_until(&mut self, end: Time, budget: u64) -> Stopped {
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
        match &mut self.sources[number as usize] {
            Source::Pipeline(_) => {
                while let Source::Pipeline(pipeline) = &mut self.sources[number as usize]
                    && let Some((_, packet)) = pipeline.poll_packet(time)
                {
                    self.forward(packet);
                }
                self.schedule_pipeline(number);
            }
            Source::Lane(lane) => {
                let packet = lane.pop();
                self.agenda.set(number, lane.next());
                if let Some(packet) = packet {
                    self.forward(packet);
                }
            }
        }
    }

    /// Where the next hop of a packet stands.
    fn place(&self, packet: &Packet<Travelling<E::Payload>>) -> u32 {
        self.routes[packet.payload.route as usize].begin + packet.payload.hops
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
                let lane_number = wire.lane;
                let Source::Lane(lane) = &mut self.sources[lane_number as usize] else { return };
                let left = wire.transmitter.send(self.now, packet.bytes, lane.rate);
                let before = lane.next();
                self.asked += 1;
                lane.push(left, self.asked, packet);
                let next = lane.next();
                if next != before {
                    self.agenda.set(lane_number, next);
                }
            }
            Some(Hop::Pipeline(number)) => {
                packet.payload.hops += 1;
                if let Source::Pipeline(pipeline) = &mut self.sources[number as usize] {
                    pipeline.handle_packet(self.now, packet);
                }
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
        let scheduled = self.agenda.moment(number);
        match self.pipeline(number).and_then(Pipeline::next_time) {
            None => self.agenda.set(number, Moment::NEVER),
            Some(time) if scheduled == Moment::NEVER || time != scheduled.time() => {
                let moment = self.moment(time);
                self.agenda.set(number, moment);
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
