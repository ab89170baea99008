//! What happens to each packet.

use std::{io, net::SocketAddr};

use hdrhistogram::Histogram;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::{
    clock::{self, Clock},
    description::{Behaviour, Description, Host, Unreachable},
    flows::{Flow, FlowId, Flows},
    nat::{FromServer, Nat},
    packet::{self, Datagram},
    reaction::{self, Memory},
    record::Recorder,
    table::{Table, draw, one_way},
    timers::Timers,
    truth::{Counters, FlowTruth, Lateness, MOST_PASSED, Passed, Truth},
    tun::Tun,
};

/// Bytes of a datagram that an amplifier repeats.
const LONG_DATAGRAM: usize = 1000;
/// The mark of what hosts send themselves: RFC 3168 section 5.
const NOT_ECT: u8 = 0;
/// Lateness of more than this counts as this, in nanoseconds.
const MOST_LATENESS: u64 = 60_000_000_000;

/// What happens later.
enum Event {
    /// A client's packet, an IP packet, reaches the host.
    Arrive { flow: FlowId, packet: Box<[u8]>, read: u64 },
    /// A datagram of a server that was held back leaves the host.
    Depart { flow: FlowId, payload: Box<[u8]>, ecn: u8 },
    /// An IP packet reaches the client. With the place of its datagram among those of the flow, if the truth keeps it.
    Deliver { packet: Vec<u8>, of: Option<(FlowId, usize)> },
    /// The next datagram of a flood.
    Flood { flow: FlowId, until: u64 },
    /// A flow may be over.
    Expire { flow: FlowId },
}

impl Event {
    fn bytes(&self) -> usize {
        let of_packet = match self {
            Self::Arrive { packet, .. } => packet.len(),
            Self::Depart { payload, .. } => payload.len(),
            Self::Deliver { packet, .. } => packet.capacity(),
            Self::Flood { .. } | Self::Expire { .. } => 0,
        };
        size_of::<Self>() + of_packet
    }
}

/// Hosts, flows, and what is on its way.
pub(crate) struct Core {
    table: Table,
    flows: Flows,
    timers: Timers<Event>,
    random: ChaCha8Rng,
    clock: Clock,
    mtu: usize,
    flow_lifetime: u64,
    most_held: usize,
    held: usize,
    most_kept: usize,
    counters: Counters,
    datagrams_to_host: Vec<u64>,
    kept: Vec<FlowTruth>,
    lateness: Histogram<u64>,
    recorder: Option<Recorder>,
}

impl Core {
    /// Makes the core for a description that was checked.
    pub(crate) fn new(
        description: &Description,
        recorder: Option<Recorder>,
    ) -> Result<Self, hdrhistogram::CreationError> {
        let settings = &description.settings;
        let table = Table::new(description);
        Ok(Self {
            datagrams_to_host: vec![0; table.len()],
            table,
            flows: Flows::new(settings.most_flows),
            timers: Timers::new(),
            random: ChaCha8Rng::seed_from_u64(description.seed),
            clock: Clock::new(),
            mtu: settings.mtu as usize,
            flow_lifetime: settings.flow_lifetime.as_nanos(),
            most_held: settings.most_held_bytes,
            held: 0,
            most_kept: settings.most_kept_flows,
            counters: Counters::default(),
            kept: Vec::new(),
            lateness: Histogram::new_with_bounds(1, MOST_LATENESS, 2)?,
            recorder,
        })
    }

    /// When something happens next, on the monotonic clock.
    pub(crate) fn next_due(&self) -> Option<u64> {
        self.timers.next_due()
    }

    /// Takes an IP packet of a client, read at `now`.
    pub(crate) fn on_client_packet(&mut self, now: u64, bytes: &[u8]) {
        let Some(datagram) = packet::parse(bytes) else {
            self.counters.not_udp += 1;
            return;
        };
        self.counters.from_clients += 1;
        let Some(number) = self.table.find(datagram.host.ip()) else {
            self.counters.to_nobody += 1;
            return;
        };
        self.datagrams_to_host[number as usize] += 1;
        let host = self.table.host(number);
        if host.behaviour == Behaviour::Silent {
            self.counters.to_silent += 1;
            return;
        }
        let way = one_way(host, true, &mut self.random);
        let Some(flow) = self.flow_of(now, &datagram, number) else {
            self.counters.refused_flows += 1;
            return;
        };
        let Some(state) = self.flows.get_mut(flow) else { return };
        state.last_packet = now;
        state.last_to_host = state.last_to_host.max(now + way);
        let due = state.last_to_host;
        self.schedule(due, Event::Arrive { flow, packet: bytes.into(), read: now });
    }

    /// Takes a datagram of a server.
    pub(crate) fn on_server_datagram(&mut self, datagram: FromServer) {
        let Some(id) = self.flows.id_of(datagram.flow) else {
            self.counters.to_forgotten_flows += 1;
            return;
        };
        let Some(flow) = self.flows.get_mut(id) else { return };
        if self.table.server(flow.host) != Some(datagram.server) {
            self.counters.to_forgotten_flows += 1;
            return;
        }
        let ecn = datagram.ecn;
        let room = self.mtu - packet::header_bytes(flow.host_address.ip());
        let Some(payload) = datagram.payload.filter(|payload| payload.len() <= room) else {
            self.counters.too_long += 1;
            return;
        };
        flow.last_packet = flow.last_packet.max(datagram.time);
        let host = self.table.host(flow.host);
        match &host.behaviour {
            Behaviour::Trickle { gap, .. } => {
                let due = flow.next_departure.max(datagram.time);
                flow.next_departure = due + gap.as_nanos();
                self.schedule(due, Event::Depart { flow: id, payload: payload.into(), ecn });
            }
            Behaviour::LateCertificate { keeps_first, .. } => {
                let is_first = !std::mem::replace(&mut flow.has_answer, true);
                let earliest = if *keeps_first && is_first { 0 } else { flow.next_departure };
                // Always by the queue, so that none overtakes another that waits.
                self.schedule(earliest.max(datagram.time), Event::Depart { flow: id, payload: payload.into(), ecn });
            }
            Behaviour::FromAnotherAddress { address, .. } => {
                let from = SocketAddr::new(*address, flow.host_address.port());
                self.depart(id, datagram.time, from, payload, ecn);
            }
            Behaviour::Amplifier { percent, .. } => {
                let (from, percent) = (flow.host_address, u64::from(*percent));
                self.depart(id, datagram.time, from, payload, ecn);
                self.amplify(id, datagram.time, payload, percent);
            }
            _ => {
                let from = flow.host_address;
                self.depart(id, datagram.time, from, payload, ecn);
            }
        }
    }

    /// Repeats a long datagram of the first flight until the client has got so much, in percent of what came from it.
    fn amplify(&mut self, id: FlowId, time: u64, payload: &[u8], percent: u64) {
        loop {
            let Some(flow) = self.flows.get_mut(id) else { return };
            let is_enough = flow.truth.bytes_to_client * 100 >= flow.truth.bytes_to_host * percent;
            if payload.len() < LONG_DATAGRAM || is_enough {
                return;
            }
            let from = flow.host_address;
            self.depart(id, time, from, payload, NOT_ECT);
        }
    }

    /// Deals with the next event, if it is due. Answers whether there was one.
    pub(crate) fn handle_next(&mut self, now: u64, tun: &Tun, nat: &Nat) -> bool {
        let Some((due, event)) = self.timers.take_due(now) else { return false };
        self.held -= event.bytes();
        match event {
            Event::Arrive { flow, packet, read } => {
                self.note_lateness(due);
                self.arrive(flow, &packet, read, nat);
            }
            Event::Depart { flow, payload, ecn } => {
                if let Some(state) = self.flows.get_mut(flow) {
                    let from = state.host_address;
                    // When it was due, and not now: the way that lies ahead of it makes up for it.
                    self.depart(flow, due, from, &payload, ecn);
                }
            }
            Event::Deliver { packet, of } => self.deliver(due, &packet, of, tun),
            Event::Flood { flow, until } => self.flood(flow, due, until),
            Event::Expire { flow } => self.expire(flow, now),
        }
        true
    }

    fn arrive(&mut self, id: FlowId, bytes: &[u8], read: u64, nat: &Nat) {
        let Some(datagram) = packet::parse(bytes) else { return };
        let time = clock::monotonic();
        let clock = self.clock;
        let Some(flow) = self.flows.get_mut(id) else { return };
        let is_first = flow.truth.datagrams_to_host == 0;
        flow.truth.datagrams_to_host += 1;
        flow.truth.bytes_to_host += datagram.payload.len() as u64;
        if flow.truth.to_host.len() < MOST_PASSED {
            flow.truth.to_host.push(Passed {
                at_client_ns: Some(clock.unix(read).as_nanos()),
                at_host_ns: clock.unix(time).as_nanos(),
                bytes: datagram.payload.len() as u32,
            });
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.on_packet(clock.unix(time), false, packet::frame(bytes, false));
        }
        let host = self.table.host(flow.host);
        if let (true, Behaviour::LateCertificate { delay, .. }) = (is_first, &host.behaviour) {
            let delay = draw(*delay, &mut self.random);
            flow.next_departure = time + delay;
            flow.truth.certificate_delay_ns = Some(delay);
        }
        if datagram.host.port() != host.port {
            return self.refuse(id, time, Unreachable::Port, bytes);
        }
        match &host.behaviour {
            Behaviour::Icmp(why) => {
                let why = *why;
                self.refuse(id, time, why, bytes);
            }
            Behaviour::IcmpAboutOthers { why, others, quoted } => {
                let messages = others.iter().map(|other| packet::unreachable_about(&datagram, *other, *why, *quoted));
                let messages: Vec<_> = messages.flatten().collect();
                messages.into_iter().for_each(|message| self.send_icmp(id, time, message));
            }
            Behaviour::Flood { lasting, .. } => {
                reaction::learn(&mut flow.memory, datagram.payload);
                if is_first {
                    let until = time + lasting.as_nanos();
                    self.flood(id, time, until);
                }
            }
            behaviour => {
                let answer = reaction::react(behaviour, &mut flow.memory, datagram.payload, &mut self.random);
                let from = flow.host_address;
                match (answer, self.table.server(flow.host)) {
                    (Some(answer), _) => self.depart(id, time, from, &answer, NOT_ECT),
                    (None, Some(server)) => {
                        let sent = nat.send(id.number, server, datagram.payload, datagram.ecn);
                        self.counters.not_taken += u64::from(sent.is_err());
                    }
                    (None, None) => {}
                }
            }
        }
    }

    fn flood(&mut self, id: FlowId, due: u64, until: u64) {
        let Some(flow) = self.flows.get_mut(id) else { return };
        let Behaviour::Flood { interval, .. } = self.table.host(flow.host).behaviour else { return };
        if due >= until {
            return;
        }
        let payload = reaction::flood(&flow.memory, &mut self.random);
        let from = flow.host_address;
        self.depart(id, clock::monotonic(), from, &payload, NOT_ECT);
        self.schedule(due + interval.as_nanos(), Event::Flood { flow: id, until });
    }

    /// A datagram leaves the host at `time`, which may be past.
    fn depart(&mut self, id: FlowId, time: u64, from: SocketAddr, payload: &[u8], ecn: u8) {
        let clock = self.clock;
        let Some(flow) = self.flows.get_mut(id) else { return };
        let Some(packet) = packet::udp(from, flow.client, payload, ecn) else {
            self.counters.too_long += 1;
            return;
        };
        flow.truth.datagrams_to_client += 1;
        flow.truth.bytes_to_client += payload.len() as u64;
        let place = flow.truth.to_client.len();
        if place < MOST_PASSED {
            let at_host_ns = clock.unix(time).as_nanos();
            flow.truth.to_client.push(Passed { at_client_ns: None, at_host_ns, bytes: payload.len() as u32 });
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.on_packet(clock.unix(time), true, packet::frame(&packet, true));
        }
        self.send_to_client(id, time, packet, (place < MOST_PASSED).then_some((id, place)));
    }

    /// An ICMP message leaves for the client.
    fn refuse(&mut self, id: FlowId, time: u64, why: Unreachable, bytes: &[u8]) {
        let Some(flow) = self.flows.get_mut(id) else { return };
        let message = packet::unreachable(flow.host_address.ip(), flow.client.ip(), why, bytes);
        if let Some(message) = message {
            self.send_icmp(id, time, message);
        }
    }

    fn send_icmp(&mut self, id: FlowId, time: u64, message: Vec<u8>) {
        if let Some(recorder) = &mut self.recorder {
            recorder.on_packet(self.clock.unix(time), true, packet::frame(&message, true));
        }
        self.send_to_client(id, time, message, None);
    }

    fn send_to_client(&mut self, id: FlowId, time: u64, packet: Vec<u8>, of: Option<(FlowId, usize)>) {
        let Some(flow) = self.flows.get_mut(id) else { return };
        let way = one_way(self.table.host(flow.host), false, &mut self.random);
        flow.last_to_client = flow.last_to_client.max(time + way);
        let due = flow.last_to_client;
        self.schedule(due, Event::Deliver { packet, of });
    }

    fn deliver(&mut self, due: u64, packet: &[u8], of: Option<(FlowId, usize)>, tun: &Tun) {
        self.note_lateness(due);
        let time = clock::monotonic();
        match tun.send(packet) {
            Ok(()) => self.counters.to_clients += 1,
            Err(_) => {
                self.counters.not_taken += 1;
                return;
            }
        }
        let Some((id, place)) = of else { return };
        let at_client_ns = self.clock.unix(time).as_nanos();
        if let Some(passed) = self.flows.get_mut(id).and_then(|flow| flow.truth.to_client.get_mut(place)) {
            passed.at_client_ns = Some(at_client_ns);
        }
    }

    fn flow_of(&mut self, now: u64, datagram: &Datagram, number: u32) -> Option<FlowId> {
        if let Some(id) = self.flows.find(datagram.client, datagram.host) {
            return Some(id);
        }
        let host = self.table.host(number);
        let flow = Flow {
            client: datagram.client,
            host_address: datagram.host,
            host: number,
            last_packet: now,
            last_to_host: 0,
            last_to_client: 0,
            next_departure: 0,
            has_answer: false,
            memory: Memory::new(&mut self.random),
            truth: new_truth(datagram, number, host),
        };
        let id = self.flows.insert(flow)?;
        self.counters.flows += 1;
        self.counters.most_flows = self.counters.most_flows.max(self.flows.len() as u64);
        self.timers_of_flow(id, now + self.flow_lifetime);
        Some(id)
    }

    fn timers_of_flow(&mut self, flow: FlowId, due: u64) {
        let event = Event::Expire { flow };
        self.held += event.bytes();
        self.timers.insert(due, event);
    }

    fn expire(&mut self, id: FlowId, now: u64) {
        let Some(flow) = self.flows.get_mut(id) else { return };
        let end = flow.last_packet.max(flow.last_to_client).max(flow.last_to_host) + self.flow_lifetime;
        if end > now {
            return self.timers_of_flow(id, end);
        }
        if let Some(flow) = self.flows.remove(id) {
            self.keep(flow.truth);
        }
    }

    fn keep(&mut self, truth: FlowTruth) {
        if self.kept.len() < self.most_kept {
            self.kept.push(truth.clone());
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.on_flow(truth);
        }
    }

    fn schedule(&mut self, due: u64, event: Event) {
        let bytes = event.bytes();
        if self.held + bytes > self.most_held {
            self.counters.too_many_held += 1;
            return;
        }
        self.held += bytes;
        self.timers.insert(due, event);
    }

    fn note_lateness(&mut self, due: u64) {
        self.lateness.saturating_record(clock::monotonic().saturating_sub(due).max(1));
    }

    /// Everything that is known at the end. `count` adds what the thread knows.
    ///
    /// # Errors
    /// What the disk answered, of the record.
    pub(crate) fn finish(mut self, count: impl FnOnce(&mut Counters)) -> io::Result<Truth> {
        let flows: Vec<_> = self.flows.drain().collect();
        for flow in flows {
            self.keep(flow.truth);
        }
        count(&mut self.counters);
        if let Some(recorder) = self.recorder.take() {
            let recorded = recorder.finish().map_err(io::Error::other)?;
            self.counters.not_recorded = recorded.not_recorded;
            self.counters.recorded_late = recorded.late;
        }
        let at = |quantile| self.lateness.value_at_quantile(quantile);
        let lateness = match self.lateness.len() {
            0 => Lateness::default(),
            _ => Lateness { median_ns: at(0.5), p99_ns: at(0.99), most_ns: self.lateness.max() },
        };
        Ok(Truth { flows: self.kept, datagrams_to_host: self.datagrams_to_host, counters: self.counters, lateness })
    }
}

fn new_truth(datagram: &Datagram, number: u32, host: &Host) -> FlowTruth {
    FlowTruth {
        client: datagram.client,
        host: datagram.host,
        host_number: number,
        behaviour: host.behaviour.word(),
        server: host.behaviour.server().map(str::to_owned),
        rtt_ns: host.rtt.as_nanos(),
        certificate_delay_ns: None,
        datagrams_to_host: 0,
        bytes_to_host: 0,
        datagrams_to_client: 0,
        bytes_to_client: 0,
        to_host: Vec::new(),
        to_client: Vec::new(),
    }
}
