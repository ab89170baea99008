//! Two real stacks, without sockets, on hosts that are models, and the path between them.
//!
//! The path is two lists of stages, one for each direction. Read first: [`Transfer::run`], then [`stack::Stack`].

use std::rc::Rc;

use quiclab_path::{
    content::{Content, Direction},
    packet::{Ecn, Packet},
    pipeline::{Account, Pipeline},
    random::Random,
    spec::{self, StageSpec, build},
};
use quiclab_units::{ByteCount, Duration, Time};

pub mod contents;
pub mod host;
mod limits;
pub mod stack;

use contents::{Carried, ContentReader, Losses};
use host::{Host, HostSettings, HostUse};
use limits::Counted;
pub use limits::Excess;
use stack::{Buffer, Datagram, Stack};

/// Bytes of a frame around the payload of a UDP datagram over IPv4: Ethernet without frame check sequence, IP, UDP.
pub const FRAME_OVERHEAD: u64 = 14 + 20 + 8;
/// Bytes by which the overhead of a frame is larger over IPv6.
pub const IPV6_MORE: u64 = 20;
/// How long the wire may take to fall silent after the client's end.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(5);
/// How many steps pass until somebody is asked whether to go on.
const EVENTS_PER_STOP_CHECK: u64 = 256;

/// A transfer from a server to a client.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The stages from server to client, the first one first.
    pub to_client: Vec<StageSpec>,
    /// The stages from client to server.
    pub to_server: Vec<StageSpec>,
    /// Whether frames have the header of IPv6.
    pub is_ipv6: bool,
    /// The server's host.
    pub server: HostSettings,
    /// The client's host.
    pub client: HostSettings,
    /// When the client begins.
    pub begin: Time,
    /// How long it may take.
    pub timeout: Duration,
    /// All that is random follows from it.
    pub seed: u64,
    /// Events after which the run ends.
    pub budget: u64,
    /// What each side may send: the payloads of its datagrams, and 128 bytes for each. It bounds the memory that a run takes.
    pub most_sent: ByteCount,
}

/// A side of the transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that sends the files.
    Server,
    /// The one that asks for them.
    Client,
}

/// Where packets are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tap {
    /// The tap at the server's network card.
    Sender,
    /// The tap behind the bottleneck, before the client.
    BehindBottleneck,
}

/// A packet at a tap.
#[derive(Clone, Copy, Debug)]
pub struct TapEvent<'a> {
    /// When it passes the tap.
    pub time: Time,
    /// Which tap it is.
    pub tap: Tap,
    /// Whose packet it is.
    pub from: Side,
    /// What it carries.
    pub datagram: &'a Datagram,
    /// Which bit of the frame was flipped on the way, counted from 0; `None` where it is whole.
    pub flipped_bit: Option<u64>,
}

/// What became of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// Time from the client's begin to its end.
    pub client_lifetime: Duration,
    /// What the server's host did.
    pub server: HostUse,
    /// What the client's host did.
    pub client: HostUse,
    /// What became of the packets towards the client, by stage, the first one first.
    pub to_client: Vec<StageOutcome>,
    /// What became of the packets towards the server.
    pub to_server: Vec<StageOutcome>,
    /// What was lost, where datagrams were read; nothing otherwise.
    pub losses: Losses,
    /// True where nothing was on the wire at the end.
    pub is_silent: bool,
    /// Events that were handled.
    pub events: u64,
}

/// What a stage of the path did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageOutcome {
    /// Its name in the list of stages. A rate and the queue before it are one stage, with the name of the rate.
    pub name: String,
    /// What implements it, such as `token-bucket`.
    pub kind: &'static str,
    /// What became of its packets.
    pub account: Account,
}

/// How a transfer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The client has all it wanted.
    Done,
    /// The client was not done in time.
    Timeout,
    /// Neither host waits for anything, and the client is not done.
    Stuck,
    /// There were more events than the budget has.
    TooManyEvents,
    /// A stack asked more of the simulator than it may.
    Excess(Side, Excess),
    /// Somebody wanted it to end.
    Cancelled,
}

/// A stack that gave up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed<E> {
    /// Which one.
    pub side: Side,
    /// Why.
    pub error: E,
}

impl Transfer {
    /// Runs the transfer. `observe` sees every packet at every tap, in the order of time; as long as `keep_on` says so.
    ///
    /// # Errors
    /// Where a stack fails.
    ///
    /// # Panics
    /// Where a list of stages is one that [`spec::read_list`] refuses.
    pub fn run<S: Stack>(
        &self,
        server: &mut S,
        client: &mut S,
        observe: &mut dyn FnMut(TapEvent),
        keep_on: &mut dyn FnMut() -> bool,
    ) -> Result<Outcome, Failed<S::Error>> {
        self.run_reading(server, client, observe, keep_on, None)
    }

    /// The same with somebody who reads datagrams, which a path needs that has rules by content.
    ///
    /// # Errors
    /// As [`Self::run`].
    ///
    /// # Panics
    /// As [`Self::run`].
    pub fn run_reading<'a, S: Stack>(
        &'a self,
        server: &mut S,
        client: &mut S,
        observe: &'a mut dyn FnMut(TapEvent),
        keep_on: &mut dyn FnMut() -> bool,
        reader: Option<&'a mut dyn ContentReader>,
    ) -> Result<Outcome, Failed<S::Error>> {
        let mut course = Course::new(self, observe, reader);
        course.client.start(self.begin);
        let latest = self.begin + self.timeout;
        let mut end = loop {
            if let Some(end) = course.advance(latest, keep_on) {
                break end;
            }
            course.wake(Side::Server, server)?;
            if course.wake(Side::Client, client)? {
                course.done = Some(course.now);
                break End::Done;
            }
        };
        if end == End::Done {
            // What is on its way arrives, and the server answers, until nothing is.
            let longest = spec::longest_delay(&self.to_client) + spec::longest_delay(&self.to_server);
            let latest = course.now + SILENCE_TIMEOUT.max(longest + longest);
            while course.packet_time().is_some() && course.advance(latest, keep_on).is_none() {
                course.wake(Side::Server, server)?;
            }
            // A server that floods the wire then would leave a capture that is cut off.
            if let Some((side, excess)) = course.excess {
                end = End::Excess(side, excess);
            }
        }
        Ok(course.outcome(end))
    }

    /// Bytes of a frame around the payload of a datagram.
    fn overhead(&self) -> u64 {
        FRAME_OVERHEAD + if self.is_ipv6 { IPV6_MORE } else { 0 }
    }
}

/// A transfer under way.
struct Course<'a> {
    transfer: &'a Transfer,
    observe: &'a mut dyn FnMut(TapEvent),
    reader: Option<&'a mut dyn ContentReader>,
    /// What has arrived since stacks were called last.
    delivered: Vec<Rc<Content>>,
    losses: Losses,
    server: Host,
    client: Host,
    to_client: Pipeline<Carried>,
    to_server: Pipeline<Carried>,
    /// Says which bits flip.
    flips: Random,
    now: Time,
    /// Calls of stacks and packets that were sent.
    events: u64,
    /// Times at which something happened.
    steps: u64,
    /// When the client was done.
    done: Option<Time>,
    /// What is counted of each side's stack.
    counted: [Counted; 2],
    /// The first limit that was passed, and by whom.
    excess: Option<(Side, Excess)>,
}

impl<'a> Course<'a> {
    fn new(
        transfer: &'a Transfer,
        observe: &'a mut dyn FnMut(TapEvent),
        reader: Option<&'a mut dyn ContentReader>,
    ) -> Self {
        let host = |settings: &HostSettings, name: &str| {
            Host::new(settings.clone(), transfer.overhead(), Random::new(transfer.seed, name))
        };
        let pipeline = |stages: &[StageSpec], direction: &str| {
            let mut pipeline = build::pipeline(stages, transfer.seed, direction)
                .expect("lists of stages are checked where they are read");
            if reader.is_some() {
                pipeline.keep_dropped();
            }
            pipeline
        };
        let pipelines = [Direction::ToClient, Direction::ToServer].map(|to| {
            let stages = if to == Direction::ToClient { &transfer.to_client } else { &transfer.to_server };
            pipeline(stages, to.name())
        });
        let [to_client, to_server] = pipelines;
        Self {
            transfer,
            observe,
            reader,
            delivered: Vec::new(),
            losses: Losses::default(),
            server: host(&transfer.server, "server"),
            client: host(&transfer.client, "client"),
            to_client,
            to_server,
            flips: Random::new(transfer.seed, "flipped bits"),
            now: Time::from_nanos(0),
            events: 0,
            steps: 0,
            done: None,
            counted: Default::default(),
            excess: None,
        }
    }

    /// When the next thing happens.
    fn next_time(&self) -> Option<Time> {
        // Nobody wakes a client that is done.
        let client = self.client.wake_time().filter(|_| self.done.is_none());
        [client, self.server.wake_time(), self.packet_time()].into_iter().flatten().min().map(|time| time.max(self.now))
    }

    /// When a packet moves next.
    fn packet_time(&self) -> Option<Time> {
        let hosts = [self.server.send_time(), self.client.send_time()];
        hosts.into_iter().chain([self.to_client.next_time(), self.to_server.next_time()]).flatten().min()
    }

    /// Goes on to the next time at which something happens, and moves packets. `Some`: it does not, and why.
    fn advance(&mut self, latest: Time, keep_on: &mut dyn FnMut() -> bool) -> Option<End> {
        if let Some((side, excess)) = self.excess {
            return Some(End::Excess(side, excess));
        }
        let Some(now) = self.next_time() else { return Some(End::Stuck) };
        if now > latest {
            return Some(End::Timeout);
        }
        if self.events >= self.transfer.budget {
            return Some(End::TooManyEvents);
        }
        if self.steps.is_multiple_of(EVENTS_PER_STOP_CHECK) && !keep_on() {
            return Some(End::Cancelled);
        }
        self.steps += 1;
        self.move_packets(now);
        None
    }

    /// Moves every packet that moves by `now`: those that arrive first, so that a stack that is called at the same time hears of them.
    fn move_packets(&mut self, now: Time) {
        self.now = now;
        while let Some((time, datagram)) = self.server.poll_sent(now) {
            self.see(time, Tap::Sender, Side::Server, &datagram, None);
            let packet = self.packet(time, Direction::ToClient, datagram);
            self.to_client.handle_packet(now, packet);
        }
        while let Some((time, packet)) = self.to_client.poll_packet(now) {
            let flipped = self.flipped_bit(&packet);
            self.see(time, Tap::BehindBottleneck, Side::Server, &packet.payload.datagram, flipped);
            // A flipped bit shows in a checksum.
            if flipped.is_none() {
                self.delivered.extend(packet.payload.content.clone());
                self.client.receive(now, received(packet));
            }
        }
        while let Some((time, datagram)) = self.client.poll_sent(now) {
            self.see(time, Tap::BehindBottleneck, Side::Client, &datagram, None);
            let packet = self.packet(time, Direction::ToServer, datagram);
            self.to_server.handle_packet(now, packet);
        }
        while let Some((time, packet)) = self.to_server.poll_packet(now) {
            let flipped = self.flipped_bit(&packet);
            self.see(time, Tap::Sender, Side::Client, &packet.payload.datagram, flipped);
            if flipped.is_none() {
                self.delivered.extend(packet.payload.content.clone());
                self.server.receive(now, received(packet));
            }
        }
        // Only now: what was sent above was handed over before this arrived.
        if let Some(reader) = &mut self.reader {
            self.delivered.drain(..).for_each(|content| reader.on_delivered(&content));
            self.losses.take(&mut self.to_client, Direction::ToClient);
            self.losses.take(&mut self.to_server, Direction::ToServer);
        }
    }

    /// Calls a stack if it is its time. True where it is done.
    fn wake<S: Stack>(&mut self, side: Side, stack: &mut S) -> Result<bool, Failed<S::Error>> {
        let now = self.now;
        let host = match side {
            Side::Server => &mut self.server,
            Side::Client => &mut self.client,
        };
        if host.wake_time().is_none_or(|time| time > now) {
            return Ok(false);
        }
        self.events += 1;
        let arrived = host.take_arrived(now);
        let answer = stack.handle(now, &arrived).map_err(|error| Failed { side, error })?;
        let is_done = answer.is_done;
        let sent = answer.buffers.iter().flat_map(Buffer::lengths);
        if let Some(excess) = self.counted[side as usize].add(now, arrived.len(), sent, self.transfer.most_sent) {
            self.excess = self.excess.or(Some((side, excess)));
            return Ok(false);
        }
        host.accept(now, arrived.len(), answer);
        Ok(is_done)
    }

    fn packet(&mut self, time: Time, to: Direction, datagram: Datagram) -> Packet<Carried> {
        self.events += 1;
        let content = self.reader.as_mut().and_then(|reader| reader.on_sent(time, to, &datagram)).map(Rc::new);
        let ecn = match datagram.ecn {
            0 => Ecn::NotCapable,
            3 => Ecn::CongestionExperienced,
            _ => Ecn::Capable,
        };
        // A datagram has 65 507 bytes at most.
        let bytes = (datagram.payload.len() as u64 + self.transfer.overhead()) as u32;
        Packet::new(bytes, 0, ecn, Carried { datagram, content })
    }

    /// Which bit of a corrupt packet it is.
    fn flipped_bit(&mut self, packet: &Packet<Carried>) -> Option<u64> {
        packet.is_corrupt.then(|| self.flips.up_to(u64::from(packet.bytes) * 8 - 1))
    }

    fn see(&mut self, time: Time, tap: Tap, from: Side, datagram: &Datagram, flipped_bit: Option<u64>) {
        (self.observe)(TapEvent { time, tap, from, datagram, flipped_bit });
    }

    fn outcome(mut self, end: End) -> Outcome {
        if self.reader.is_some() {
            self.losses.take_rules(&self.to_client, Direction::ToClient);
            self.losses.take_rules(&self.to_server, Direction::ToServer);
        }
        let ended = self.done.unwrap_or(self.now);
        let stages = |pipeline: &Pipeline<Carried>| {
            let outcome = |(name, kind, account): (&str, _, _)| StageOutcome { name: name.to_owned(), kind, account };
            pipeline.stages().map(outcome).collect()
        };
        Outcome {
            end,
            client_lifetime: ended.checked_since(self.transfer.begin).unwrap_or_default(),
            server: self.server.used(),
            client: self.client.used(),
            to_client: stages(&self.to_client),
            to_server: stages(&self.to_server),
            is_silent: self.packet_time().is_none(),
            losses: self.losses,
            events: self.events,
        }
    }
}

/// What arrives of a packet, with the mark that a queue may have set.
fn received(packet: Packet<Carried>) -> Datagram {
    let mut datagram = packet.payload.datagram;
    if packet.ecn == Ecn::CongestionExperienced {
        datagram.ecn = 3;
    }
    datagram
}
