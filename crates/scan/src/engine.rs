//! All handshakes in flight, without sockets: datagrams, errors and the time go in, datagrams and answers come out.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, EndpointEvent, IdleTimeout, TokenStore,
    TransportConfig, VarInt,
};

use crate::answer::{Answer, Outcome};
use crate::clock::{Clock, Moment};
use crate::handshake::{Handshake, LONG_HEADER, Record, Shared, stack_speaks};
use crate::icmp::{IcmpError, Mark, Proof};
use crate::settings::{LARGEST_DATAGRAM, Request, SMALLEST_DATAGRAM, ScanSettings, VERSION_1};
use crate::sockets::Received;
use crate::tls::{self, SecretLines};
use crate::wheel::Wheel;

/// The idle timeout that the client announces is at least this; its own timeout ends a handshake before.
const SHORTEST_IDLE_MS: u64 = 30_000;
/// Streams that a server may open: control, QPACK's two, and some that are only there to be ignored (RFC 9114 section 6.2.3).
const SERVER_STREAMS: u32 = 16;
const STREAM_WINDOW: u32 = 64 << 10;
const CONNECTION_WINDOW: u32 = 128 << 10;
/// CRYPTO data of a server at most: its certificates.
const CRYPTO_BYTES: usize = 64 << 10;

/// Forgets tokens: a scan must not look like a returning client.
struct NoTokens;

impl TokenStore for NoTokens {
    fn insert(&self, _: &str, _: bytes::Bytes) {}

    fn take(&self, _: &str) -> Option<bytes::Bytes> {
        None
    }
}

/// A datagram to send.
pub struct Outgoing {
    place: u32,
    generation: u32,
    /// Whom to.
    pub address: SocketAddr,
    /// UDP payload.
    pub bytes: Vec<u8>,
}

/// What was counted of all handshakes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanCounters {
    /// Datagrams of a handshake in flight that came from another address than it asked.
    pub foreign_datagrams: u64,
    /// Datagrams that belong to no handshake in flight: late ones, and those of others.
    pub late_datagrams: u64,
    /// Datagrams that were sent.
    pub sent_datagrams: u64,
    /// Datagrams that were received.
    pub received_datagrams: u64,
    /// ICMP errors.
    pub icmp_errors: u64,
    /// How many of them quote no connection ID of a handshake in flight and end nothing: late ones, those whose quote is too short,
    /// and forged ones.
    pub unproven_icmp_errors: u64,
}

/// The handshakes in flight.
pub struct Engine {
    shared: Shared,
    endpoint: Endpoint,
    client: ClientConfig,
    /// Handshakes, by the number that the stack gives to a connection.
    handshakes: Vec<Option<Box<Handshake>>>,
    /// The last handshake of each address, which leads to the ones before.
    by_address: HashMap<SocketAddr, u32>,
    wheel: Wheel,
    in_flight: usize,
    generation: u32,
    dirty: Vec<u32>,
    over: Vec<u32>,
    refused: Vec<Answer>,
    outgoing: Vec<VecDeque<Outgoing>>,
    counters: ScanCounters,
    fired: Vec<u64>,
    unused: Vec<u8>,
}

impl Engine {
    /// An engine with one queue of outgoing datagrams for each socket.
    ///
    /// # Errors
    /// Settings that cannot be.
    pub fn new(settings: &ScanSettings, sockets: usize, clock: Clock) -> io::Result<Self> {
        let size = settings.hello.datagram_bytes;
        if !(SMALLEST_DATAGRAM..=LARGEST_DATAGRAM).contains(&size) {
            let why = format!("found datagrams of {size} bytes, expected {SMALLEST_DATAGRAM} to {LARGEST_DATAGRAM}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let secrets = Arc::new(SecretLines::default());
        let mut client = ClientConfig::new(Arc::new(tls::configuration(settings, secrets.clone())?));
        client
            .version(stack_version(settings))
            .token_store(Arc::new(NoTokens))
            .transport_config(Arc::new(transport(settings)));
        let mut endpoint = EndpointConfig::default();
        endpoint.supported_versions(vec![stack_version(settings)]);
        Ok(Engine {
            shared: Shared { settings: settings.clone(), clock, secrets },
            endpoint: Endpoint::new(Arc::new(endpoint), None, false, None),
            client,
            handshakes: Vec::new(),
            by_address: HashMap::new(),
            wheel: Wheel::new(),
            in_flight: 0,
            generation: 0,
            dirty: Vec::new(),
            over: Vec::new(),
            refused: Vec::new(),
            outgoing: (0..sockets).map(|_| VecDeque::new()).collect(),
            counters: ScanCounters::default(),
            fired: Vec::new(),
            unused: Vec::new(),
        })
    }

    /// Handshakes that have no answer yet.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Whether nothing of any handshake is left.
    pub fn is_empty(&self) -> bool {
        self.in_flight == 0 && self.by_address.is_empty() && self.wheel.len() == 0
    }

    /// Whether another handshake may begin.
    pub fn has_room(&self) -> bool {
        self.in_flight < self.shared.settings.most_in_flight
    }

    /// What was counted until now.
    pub fn counters(&self) -> ScanCounters {
        self.counters
    }

    /// The present moment.
    pub fn now(&self) -> Moment {
        self.shared.clock.now()
    }

    /// Lets time pass on virtual clocks.
    pub fn pass(&mut self, time: Duration) {
        self.shared.clock.pass(time);
    }

    /// Datagrams that wait for a socket.
    pub fn outgoing(&mut self, lane: usize) -> &mut VecDeque<Outgoing> {
        &mut self.outgoing[lane]
    }

    /// How long nothing is to do unless something comes, in nanoseconds. `None`: for ever.
    pub fn idle_ns(&self) -> Option<u64> {
        let now_ns = self.now().monotonic_ns;
        self.wheel.next_ns().map(|next_ns| next_ns.saturating_sub(now_ns))
    }

    /// Begins a handshake over a socket that is bound to this address.
    pub fn ask(&mut self, mut request: Request, lane: usize, socket: SocketAddr) {
        if let SocketAddr::V6(address) = &mut request.address {
            // What comes back has none.
            address.set_flowinfo(0);
        }
        let now = self.now();
        let record = Record::new(&request, socket, now);
        if !self.has_room() {
            let why = format!("{} handshakes are in flight already", self.in_flight);
            return self.refuse(&request, &why);
        }
        let address_text;
        let name = match &request.server_name {
            Some(name) => name.as_str(),
            None => {
                address_text = request.address.ip().to_string();
                &address_text
            }
        };
        let instant = self.shared.clock.instant(now.monotonic_ns);
        let connected = self.endpoint.connect(instant, self.client.clone(), request.address, name);
        let (handle, connection) = match connected {
            Ok(connected) => connected,
            Err(error) => return self.refuse(&request, &error.to_string()),
        };
        let place = handle.0;
        self.generation = self.generation.wrapping_add(1);
        let name = request.server_name.filter(|_| self.shared.settings.http.is_some());
        let mut handshake = Handshake::new(self.generation, lane as u32, connection, name, record);
        handshake.next_of_address = self.by_address.insert(request.address, place as u32);
        if let Some(next) = handshake.next_of_address.and_then(|next| self.handshake(next)) {
            next.previous_of_address = Some(place as u32);
        }
        if self.handshakes.len() <= place {
            self.handshakes.resize_with(place + 1, || None);
        }
        self.handshakes[place] = Some(Box::new(handshake));
        self.in_flight += 1;
        self.drive(place as u32);
    }

    /// Answers without a handshake.
    pub fn refuse(&mut self, request: &Request, why: &str) {
        let answer = Answer::new(request.id, request.address, Outcome::NotSent, self.now().unix_ns);
        self.refused.push(Answer { detail: Some(why.into()), ..answer });
    }

    /// A datagram came, and is read now.
    pub fn on_datagram(&mut self, received: &Received<'_>, now: Moment) {
        self.counters.received_datagrams += 1;
        let time_ns = received.unix_ns.map_or(now.monotonic_ns, |unix_ns| now.monotonic_of(unix_ns));
        let instant = self.shared.clock.instant(now.monotonic_ns);
        let payload = BytesMut::from(received.payload);
        // What the stack would send to those that it does not know is not sent: most are late answers.
        self.unused.clear();
        let event = self.endpoint.handle(instant, received.source, None, None, payload, &mut self.unused);
        let place = match event {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                let Some(Some(handshake)) = self.handshakes.get_mut(handle.0) else { return };
                if handshake.address() != received.source {
                    self.counters.foreign_datagrams += 1;
                    return handshake.on_foreign_datagram(received.source);
                }
                if handshake.is_over() {
                    return;
                }
                handshake.on_datagram(time_ns, received, event, &self.shared);
                handle.0 as u32
            }
            _ => {
                let place = self.by_address.get(&received.source).copied();
                let handshake = place.and_then(|place| self.handshakes.get_mut(place as usize)?.as_deref_mut());
                let (Some(place), Some(handshake)) = (place, handshake) else {
                    self.counters.late_datagrams += 1;
                    return;
                };
                if handshake.is_over() {
                    return;
                }
                handshake.on_stray_datagram(time_ns, received, &self.shared);
                place
            }
        };
        self.mark(place);
    }

    /// An ICMP error came. It holds for the handshake with the address whose connection ID it quotes.
    pub fn on_icmp(&mut self, error: &IcmpError) {
        self.counters.icmp_errors += 1;
        let mut is_proven = false;
        let mut next = self.by_address.get(&error.destination).copied();
        while let Some(place) = next {
            let Some(handshake) = self.handshake(place) else { break };
            next = handshake.next_of_address;
            match handshake.proof(&error.quote) {
                Proof::Seen => {
                    is_proven = true;
                    handshake.on_icmp(error.outcome(), error.describe());
                    self.mark(place);
                }
                Proof::Short => handshake.on_short_icmp(error),
                Proof::Other => {}
            }
        }
        self.counters.unproven_icmp_errors += u64::from(!is_proven);
    }

    /// A datagram has left.
    pub fn on_sent(&mut self, outgoing: Outgoing, moment: Moment) {
        self.counters.sent_datagrams += 1;
        if let Some(handshake) = self.of(&outgoing) {
            handshake.on_sent(moment, outgoing.bytes);
        }
    }

    /// A datagram could not be sent.
    pub fn on_send_failed(&mut self, outgoing: &Outgoing, error: &io::Error) {
        if let Some(handshake) = self.of(outgoing) {
            handshake.on_send_failed(error);
            self.mark(outgoing.place);
        }
    }

    fn of(&mut self, outgoing: &Outgoing) -> Option<&mut Handshake> {
        let generation = outgoing.generation;
        self.handshake(outgoing.place).filter(|handshake| handshake.generation == generation)
    }

    fn handshake(&mut self, place: u32) -> Option<&mut Handshake> {
        self.handshakes.get_mut(place as usize)?.as_deref_mut()
    }

    fn mark(&mut self, place: u32) {
        let Some(handshake) = self.handshake(place) else { return };
        if !std::mem::replace(&mut handshake.is_dirty, true) {
            self.dirty.push(place);
        }
    }

    /// Lets timers fire, and takes what the handshakes that something happened to have to send.
    pub fn advance(&mut self) {
        self.drive_marked();
        let now_ns = self.now().monotonic_ns;
        let mut fired = std::mem::take(&mut self.fired);
        self.wheel.advance(now_ns, &mut fired);
        for value in fired.drain(..) {
            self.on_timer(value as u32, (value >> 32) as u32, now_ns);
        }
        self.fired = fired;
        self.drive_marked();
    }

    fn on_timer(&mut self, place: u32, generation: u32, now_ns: u64) {
        let Some(Some(handshake)) = self.handshakes.get_mut(place as usize) else { return };
        if handshake.generation != generation || handshake.is_over() {
            return;
        }
        handshake.timer = None;
        if handshake.deadline_ns(&self.shared.settings) <= now_ns {
            handshake.on_deadline(&self.shared.settings);
        } else {
            handshake.connection.handle_timeout(self.shared.clock.instant(now_ns));
        }
        self.mark(place);
    }

    /// Drives the handshakes that are marked, after datagrams were read.
    pub fn drive_marked(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for place in dirty.drain(..) {
            self.drive(place);
        }
        self.dirty = dirty;
    }

    fn drive(&mut self, place: u32) {
        let Some(Some(handshake)) = self.handshakes.get_mut(place as usize) else { return };
        handshake.is_dirty = false;
        let now_ns = self.shared.clock.now().monotonic_ns;
        let instant = self.shared.clock.instant(now_ns);
        if handshake.is_settled {
            return;
        }
        while let Some(event) = handshake.connection.poll_endpoint_events() {
            // The endpoint forgets a connection when the handshake has its answer, so that its number is not given again before.
            if event.is_drained() {
                continue;
            }
            if let Some(event) = self.endpoint.handle_event(ConnectionHandle(place as usize), event) {
                handshake.connection.handle_event(event);
            }
        }
        handshake.poll(&self.shared);
        let queue = &mut self.outgoing[handshake.lane as usize];
        transmit(handshake, place, instant, &self.shared.settings, queue);
        if handshake.is_over() {
            handshake.close(instant, &self.shared.settings);
            transmit(handshake, place, instant, &self.shared.settings, queue);
            if let Some((timer, _)) = handshake.timer.take() {
                self.wheel.cancel(timer);
            }
            handshake.is_settled = true;
            self.over.push(place);
            return;
        }
        self.set_timer(place);
    }

    fn set_timer(&mut self, place: u32) {
        let Some(Some(handshake)) = self.handshakes.get_mut(place as usize) else { return };
        let deadline_ns = handshake.deadline_ns(&self.shared.settings);
        let next = handshake.connection.poll_timeout().map(|instant| self.shared.clock.monotonic_ns(instant));
        let next_ns = next.map_or(deadline_ns, |next_ns| next_ns.min(deadline_ns));
        match handshake.timer {
            Some((_, time_ns)) if time_ns == next_ns => return,
            Some((timer, _)) => _ = self.wheel.cancel(timer),
            None => {}
        }
        let value = u64::from(handshake.generation) << 32 | u64::from(place);
        handshake.timer = Some((self.wheel.set(next_ns, value), next_ns));
    }

    /// Hands out the answers of handshakes that are over and have sent everything. True: there were some.
    pub fn hand_out(&mut self, on_answer: &mut dyn FnMut(Answer)) -> bool {
        let mut count = self.refused.len();
        self.refused.drain(..).for_each(&mut *on_answer);
        let now_ns = self.now().monotonic_ns;
        let over = std::mem::take(&mut self.over);
        for place in over {
            let Some(Some(handshake)) = self.handshakes.get(place as usize) else { continue };
            if !handshake.may_leave(now_ns, &self.shared.settings) {
                self.over.push(place);
                continue;
            }
            let Some(handshake) = self.remove(place) else { continue };
            count += 1;
            on_answer(handshake.into_answer(&self.shared));
        }
        count > 0
    }

    fn remove(&mut self, place: u32) -> Option<Box<Handshake>> {
        let handshake = self.handshakes.get_mut(place as usize)?.take()?;
        self.in_flight -= 1;
        self.endpoint.handle_event(ConnectionHandle(place as usize), EndpointEvent::drained());
        self.unlink(&handshake);
        Some(handshake)
    }

    /// Takes a handshake out of the list of its address.
    fn unlink(&mut self, handshake: &Handshake) {
        let (previous, next) = (handshake.previous_of_address, handshake.next_of_address);
        if let Some(next) = next.and_then(|next| self.handshake(next)) {
            next.previous_of_address = previous;
        }
        match (previous.and_then(|previous| self.handshake(previous)), next) {
            (Some(previous), _) => previous.next_of_address = next,
            (None, Some(next)) => _ = self.by_address.insert(handshake.address(), next),
            (None, None) => _ = self.by_address.remove(&handshake.address()),
        }
    }
}

/// Takes all datagrams that a connection has to send.
fn transmit(
    handshake: &mut Handshake,
    place: u32,
    instant: std::time::Instant,
    settings: &ScanSettings,
    queue: &mut VecDeque<Outgoing>,
) {
    loop {
        let mut bytes = Vec::with_capacity(settings.hello.datagram_bytes.into());
        if handshake.connection.poll_transmit(instant, 1, &mut bytes).is_none() {
            return;
        }
        if !stack_speaks(settings.version) {
            set_version(&mut bytes, settings.version);
        }
        handshake.queued += 1;
        handshake.mark = handshake.mark.take().or_else(|| Mark::new(&bytes));
        let (generation, address) = (handshake.generation, handshake.address());
        queue.push_back(Outgoing { place, generation, address, bytes });
    }
}

/// The version by which the stack makes packets.
fn stack_version(settings: &ScanSettings) -> u32 {
    if stack_speaks(settings.version) { settings.version } else { VERSION_1 }
}

/// Gives a long header the version that was asked for: a server that does not know it looks at nothing behind the connection IDs
/// (RFC 8999 section 6).
fn set_version(datagram: &mut [u8], version: u32) {
    if let [first, rest @ ..] = datagram
        && *first & LONG_HEADER != 0
        && let Some(place) = rest.first_chunk_mut::<4>()
    {
        *place = version.to_be_bytes();
    }
}

fn transport(settings: &ScanSettings) -> TransportConfig {
    let size = settings.hello.datagram_bytes;
    let idle_ms = SHORTEST_IDLE_MS.max(2 * settings.timeout.as_millis() as u64);
    let mut transport = TransportConfig::default();
    transport
        .initial_mtu(size)
        .min_mtu(size)
        .mtu_discovery_config(None)
        .enable_segmentation_offload(false)
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .max_concurrent_uni_streams(VarInt::from_u32(SERVER_STREAMS))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(VarInt::from_u32(CONNECTION_WINDOW))
        .crypto_buffer_size(CRYPTO_BYTES)
        .datagram_receive_buffer_size(None)
        .max_idle_timeout(VarInt::from_u64(idle_ms).ok().map(IdleTimeout::from));
    transport
}

#[cfg(test)]
mod tests;
