//! The clock, and who hands packets to whom.

use quiclab_path::{
    packet::Packet,
    pipeline::{Account, Pipeline},
    wire::Wire,
};
use quiclab_units::Time;

use crate::{
    endpoint::{Endpoint, Outbox},
    events::{EventQueue, Target},
};

/// Hosts, the links between them, and what happens next.
pub struct Simulation<E: Endpoint> {
    now: Time,
    events: EventQueue,
    pipelines: Vec<Link<E::Payload>>,
    routes: Vec<Route>,
    /// The pipelines of one route after the other: with thousands of flows each list of its own would be a cache miss for every packet.
    hops: Vec<u32>,
    endpoints: Vec<Attached<E>>,
    outbox: Outbox<E::Payload>,
    /// Events so far.
    handled: u64,
}

/// A number of a pipeline in a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineId(u32);

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

struct Link<P> {
    way: Way<Travelling<P>>,
    /// When it is going to be called; an event of another time is stale.
    scheduled: Option<Time>,
}

/// What a packet goes through.
enum Way<P> {
    Stages(Pipeline<P>),
    Wire(Wire<P>),
}

impl<P> Way<P> {
    fn handle_packet(&mut self, now: Time, packet: Packet<P>) {
        match self {
            Self::Stages(pipeline) => pipeline.handle_packet(now, packet),
            Self::Wire(wire) => wire.handle_packet(now, packet),
        }
    }

    fn next_time(&self) -> Option<Time> {
        match self {
            Self::Stages(pipeline) => pipeline.next_time(),
            Self::Wire(wire) => wire.next_time(),
        }
    }

    fn poll_packet(&mut self, now: Time) -> Option<(Time, Packet<P>)> {
        match self {
            Self::Stages(pipeline) => pipeline.poll_packet(now),
            Self::Wire(wire) => wire.poll_packet(now),
        }
    }

    fn accounts(&self) -> impl Iterator<Item = (&'static str, Account)> {
        let (stages, wire) = match self {
            Self::Stages(pipeline) => (Some(pipeline.accounts()), None),
            Self::Wire(wire) => (None, Some(wire.account())),
        };
        stages.into_iter().flatten().chain(wire)
    }
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
            events: EventQueue::default(),
            pipelines: Vec::new(),
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
        self.add_way(Way::Stages(pipeline))
    }

    /// Adds a wire in the place of a pipeline.
    pub fn add_wire(&mut self, wire: Wire<Travelling<E::Payload>>) -> PipelineId {
        self.add_way(Way::Wire(wire))
    }

    fn add_way(&mut self, way: Way<Travelling<E::Payload>>) -> PipelineId {
        self.pipelines.push(Link { way, scheduled: None });
        PipelineId(self.pipelines.len() as u32 - 1)
    }

    /// Adds two endpoints and the ways from the first to the second and back.
    pub fn add_pair(&mut self, pair: [E; 2], ways: [&[PipelineId]; 2]) -> [EndpointId; 2] {
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

    /// Events handled so far: pipelines that were called because a packet arrived, and timers of endpoints.
    pub fn handled(&self) -> u64 {
        self.handled
    }

    /// The endpoint of this number.
    pub fn endpoint(&self, id: EndpointId) -> &E {
        &self.endpoints[id.0 as usize].endpoint
    }

    /// The stages of the pipeline of this number, and what became of the packets that entered each.
    pub fn accounts(&self, id: PipelineId) -> impl Iterator<Item = (&'static str, Account)> {
        self.pipelines[id.0 as usize].way.accounts()
    }

    /// The same of every pipeline, in the order in which they were added.
    pub fn all_accounts(&self) -> impl Iterator<Item = (&'static str, Account)> {
        self.pipelines.iter().flat_map(|link| link.way.accounts())
    }

    /// Lets everything happen that happens by `end`, and no more than `budget` events.
    pub fn run_until(&mut self, end: Time, budget: u64) -> Stopped {
        let last = self.handled.saturating_add(budget);
        loop {
            match self.events.next_time() {
                None => {
                    self.now = end;
                    return Stopped::Quiet;
                }
                Some(time) if time > end => {
                    self.now = end;
                    return Stopped::InTime;
                }
                Some(_) if self.handled >= last => return Stopped::Budget,
                Some(_) => self.step(),
            }
        }
    }

    fn step(&mut self) {
        let Some((time, target)) = self.events.pop() else { return };
        match target {
            Target::Pipeline(number) => {
                let link = &mut self.pipelines[number as usize];
                if link.scheduled != Some(time) {
                    return;
                }
                link.scheduled = None;
                self.now = time;
                self.handled += 1;
                while let Some((_, packet)) = self.pipelines[number as usize].way.poll_packet(time) {
                    self.forward(packet);
                }
                self.schedule_pipeline(number);
            }
            Target::Endpoint(number) => {
                let attached = &mut self.endpoints[number as usize];
                if attached.scheduled != Some(time) {
                    return;
                }
                attached.scheduled = None;
                self.now = time;
                self.handled += 1;
                attached.endpoint.handle_timeout(time, &mut self.outbox);
                self.send(number);
            }
        }
    }

    /// Brings a packet to its next hop, or to its endpoint.
    fn forward(&mut self, mut packet: Packet<Travelling<E::Payload>>) {
        let Route { begin, end, to } = self.routes[packet.payload.route as usize];
        let place = begin + packet.payload.hops;
        match (place < end).then(|| self.hops[place as usize]) {
            Some(hop) => {
                packet.payload.hops += 1;
                self.pipelines[hop as usize].way.handle_packet(self.now, packet);
                self.schedule_pipeline(hop);
            }
            None => {
                let endpoint = &mut self.endpoints[to as usize].endpoint;
                endpoint.handle_packet(self.now, packet.payload.payload, &mut self.outbox);
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
        let link = &mut self.pipelines[number as usize];
        if let Some(time) = link.way.next_time()
            && link.scheduled.is_none_or(|scheduled| time < scheduled)
        {
            link.scheduled = Some(time);
            self.events.push(time, Target::Pipeline(number));
        }
    }

    fn schedule_endpoint(&mut self, number: u32) {
        let attached = &mut self.endpoints[number as usize];
        if let Some(time) = attached.endpoint.next_timeout()
            && attached.scheduled.is_none_or(|scheduled| time < scheduled)
        {
            attached.scheduled = Some(time);
            self.events.push(time, Target::Endpoint(number));
        }
    }
}
