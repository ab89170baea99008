//! A whole capture, packet by packet, in memory that does not grow with it.

mod start;
mod unmet;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
};

use quiclab_units::{ByteCount, Duration, Time};
use quiclab_wire::{Capture, Flow, FlowProtocol, Observed, QuicFrame, Role, Segment};

use self::start::Start;
use self::unmet::{late_flows, unmet_of_capture, unmet_of_flow};
use crate::capture::{append, in_order};
use crate::congestion_window::LoggedEnd;
use crate::decryption::DecryptionCounts;
use crate::direction::{DirectionMeter, LARGEST_FRAME_BYTES};
use crate::first_packets::{KeptPacket, MOST_KEPT, PacketView};
use crate::goodput::Protection;
use crate::handshake::{HandshakeClass, HandshakeMeter, Handshakes, MOST_HANDSHAKES};
use crate::needs::{Need, Subject};
use crate::output::RunMetrics;
use crate::pictures::Pictures;
use crate::planned::{Plan, PlannedTimes, plan_of};
use crate::series::MOST_POINTS;
use crate::summed_up::{self, SummedUp};
use crate::warnings::WarningCode;
use crate::windows::Window;

/// Packets closer together than this belong to one train, unless the experiment says otherwise: 0.1 ms, as published.
pub const DEFAULT_TRAIN_THRESHOLD: Duration = Duration::from_nanos(100_000);

/// How to measure.
#[derive(Clone, Debug)]
pub struct AnalysisSettings {
    /// Gaps strictly below it join two packets into a train.
    pub train_threshold: Duration,
    /// Length of the time windows; `None` for none.
    pub window: Option<Duration>,
    /// The end whose transfer is measured: the server of a download, the client of an upload.
    pub sender: Role,
    /// Application bytes that it transferred: of the response, as the client stored them, or of the requests. `None`: bytes of
    /// streams are counted where they are known.
    pub transferred_bytes: Option<ByteCount>,
    /// Whether [`DirectionAnalysis::pictures`] are wanted: some 100 kB for each sender.
    pub pictures: bool,
    /// Points of each curve in them, at most.
    pub picture_points: usize,
    /// Planned send times.
    pub plans: Vec<Plan>,
    /// Number of the first 1-RTT packet that the sender sent after slow start by its own log
    /// ([`SlowStartLog`](crate::SlowStartLog)), and what the log says. Taken for the first flow at each interface.
    pub slow_start_log: Option<(u64, LoggedEnd)>,
    /// Largest Ethernet frame of the path, without VLAN tag and frame check sequence. A longer one is a super-packet.
    pub largest_frame_bytes: u32,
}

impl AnalysisSettings {
    /// Whether what is measured of a flow depends on which other flows the capture has: planned send times and logs belong to
    /// the first flow at an interface, or to the interface nearest to the sender.
    pub fn relates_flows(&self) -> bool {
        !self.plans.is_empty() || self.slow_start_log.is_some()
    }

    /// Application bytes that this end transferred, where they were given.
    pub(crate) fn bytes_of(&self, end: Role) -> Option<ByteCount> {
        self.transferred_bytes.filter(|_| end == self.sender)
    }
}

impl Default for AnalysisSettings {
    fn default() -> Self {
        AnalysisSettings {
            train_threshold: DEFAULT_TRAIN_THRESHOLD,
            window: None,
            sender: Role::Server,
            transferred_bytes: None,
            pictures: false,
            picture_points: MOST_POINTS,
            plans: Vec::new(),
            slow_start_log: None,
            largest_frame_bytes: LARGEST_FRAME_BYTES,
        }
    }
}

/// What was measured of one sender of a flow.
#[derive(Clone, Debug)]
pub struct DirectionAnalysis {
    /// Index of the flow, as [`CaptureAnalysis::flows`](crate::CaptureAnalysis::flows) counts.
    pub flow: usize,
    /// Who sent.
    pub sender: Role,
    /// What the flow speaks.
    pub protocol: FlowProtocol,
    /// Packets that the tap saw of it, even where the number of packets sent is withheld.
    pub packets: u64,
    /// When the flow's first packet was sent, by either end.
    pub flow_begin: Time,
    /// When this sender sent its last packet with 1-RTT protection, or over TCP and TLS the counterpart; its last packet where
    /// nothing shows which packets have it. `None` where none has it.
    pub protected_until: Option<Time>,
    /// Metrics, distributions, warnings.
    pub run: RunMetrics,
    /// How many QUIC packets could be read how far.
    pub decryption: DecryptionCounts,
    /// Rows over time; empty without [`AnalysisSettings::window`].
    pub windows: Vec<Window>,
    /// What pictures are drawn from; empty without [`AnalysisSettings::pictures`].
    pub pictures: Pictures,
}

/// Flows of one address that are looked at for the rest of another.
const MOST_LATE_FLOWS: usize = 1_000;

/// All that was found.
pub(crate) struct Finished {
    pub(crate) directions: Vec<DirectionAnalysis>,
    pub(crate) summed_up: SummedUp,
    /// How the server of each flow answered, by flow; `None` where no beginning of a handshake was kept.
    pub(crate) classes: Vec<Option<Box<HandshakeClass>>>,
}

/// Both senders of a flow.
struct FlowMeter {
    senders: Senders,
    handshake: HandshakeMeter,
    start: Start,
    /// Whether a CONNECTION_CLOSE was seen.
    is_closed: bool,
    protocol: FlowProtocol,
    /// Time of the flow's first packet.
    origin: Time,
    last: Time,
    /// Whether it is the first flow at its interface.
    is_first: bool,
    /// Whether the flow's interface saw the connection's packets before all others did, by sender. It is kept where there are plans.
    is_nearest: [Option<bool>; 2],
}

/// What is known of a flow's senders.
enum Senders {
    /// Their packets, of which there are few.
    Kept(Vec<KeptPacket>),
    /// The meters of both senders, by [`Role`].
    Measured(Box<[DirectionMeter; 2]>),
}

/// A flow without packets to measure costs little: a capture may hold a million.
const _: () = assert!(size_of::<FlowMeter>() <= 256);

/// Feed it every packet in the order of the capture, then ask for the result.
pub struct Analysis {
    settings: AnalysisSettings,
    flows: Vec<FlowMeter>,
    interfaces: BTreeSet<u32>,
    /// The interface at which a connection's sender was seen first: sender, server, client.
    nearest: BTreeMap<(Role, SocketAddr, SocketAddr), u32>,
    frames: u64,
}

impl Analysis {
    /// Nothing seen yet.
    pub fn new(settings: AnalysisSettings) -> Self {
        Analysis { settings, flows: Vec::new(), interfaces: BTreeSet::new(), nearest: BTreeMap::new(), frames: 0 }
    }

    /// The next packet.
    pub fn on_packet(&mut self, segment: &Segment, observed: &Observed) {
        self.frames += 1;
        while self.flows.len() <= observed.flow {
            self.flows.push(FlowMeter {
                senders: Senders::Kept(Vec::new()),
                handshake: HandshakeMeter::default(),
                start: Start::of(segment, observed),
                is_closed: false,
                protocol: observed.connection.protocol(),
                origin: segment.time,
                last: segment.time,
                is_first: self.interfaces.insert(observed.connection.interface()),
                is_nearest: [None; 2],
            });
        }
        let flow = &mut self.flows[observed.flow];
        flow.last = segment.time;
        flow.is_closed |= observed.frames.iter().any(|frame| matches!(frame, QuicFrame::ConnectionClose { .. }));
        flow.handshake.on_packet(segment, observed, observed.flow < MOST_HANDSHAKES);
        let protection = if segment.is_tcp() {
            protection_of_segment(&flow.handshake, segment)
        } else {
            match observed.has_one_rtt() {
                Some(true) => Protection::OneRtt,
                Some(false) => Protection::Other,
                None => Protection::Uncertain,
            }
        };
        let id = observed.connection.original_destination_connection_id();
        let plan = if self.settings.plans.is_empty() {
            None
        } else {
            let (sender, connection) = (observed.sender, observed.connection);
            // Elsewhere the way from the sender would count as imprecision.
            let is_nearest = *flow.is_nearest[sender as usize].get_or_insert_with(|| {
                let ends = (sender, connection.address(Role::Server), connection.address(Role::Client));
                *self.nearest.entry(ends).or_insert(connection.interface()) == connection.interface()
            });
            plan_of(&self.settings.plans, sender, flow.is_first, id).filter(|_| is_nearest)
        };
        let view = PacketView::of(segment, observed);
        // Packets that were kept have lost what is compared with plans.
        if let Senders::Kept(kept) = &mut flow.senders
            && kept.len() < MOST_KEPT
            && self.settings.plans.is_empty()
            && view.is_small()
        {
            kept.reserve_exact(1);
            kept.push(KeptPacket::of(&view, observed.sender, protection));
            return;
        }
        let origin = flow.origin;
        on_packet(flow.measure(&self.settings), &view, observed.sender, protection, origin, plan);
    }

    /// What a sender has in flight, after the packets so far. `None` where its ACKs cannot be read.
    pub fn bytes_in_flight(&self, flow: usize, sender: Role) -> Option<u64> {
        let flow = self.flows.get(flow)?;
        match &flow.senders {
            Senders::Measured(directions) => directions[sender as usize].readable_bytes_in_flight(),
            Senders::Kept(kept) => flow.meters_of(kept, &self.settings)[sender as usize].readable_bytes_in_flight(),
        }
    }

    /// Packets seen.
    pub fn packets(&self) -> u64 {
        self.frames
    }

    /// One analysis of the flows of several, which must have the same settings and no packet in common. `order` has the place
    /// of each flow in a list of all flows of the first, then all of the second, and so on.
    pub(crate) fn merge(parts: Vec<Self>, order: &[usize]) -> Self {
        let mut merged =
            Analysis::new(parts.first().map_or_else(AnalysisSettings::default, |part| part.settings.clone()));
        let mut flows = Vec::new();
        for part in parts {
            merged.frames += part.frames;
            merged.interfaces.extend(part.interfaces);
            merged.nearest.extend(part.nearest);
            append(&mut flows, part.flows);
        }
        merged.flows = in_order(flows, order);
        merged
    }

    /// Every sender that sent anything: flows in the order of their first packets, the server before its client, without
    /// those that are summed up. `flows` are those of the dissector, and get their handshakes' classes in the same order.
    pub(crate) fn finish(mut self, flows: &[Flow], capture: &Capture) -> Finished {
        let logs = self.flows.iter_mut().map(|meter| meter.handshake.take_log()).collect();
        let handshakes = Handshakes::new(logs, flows, capture);
        let settings = self.settings;
        let packets: Vec<u64> = self.flows.iter().map(FlowMeter::packets).collect();
        let (is_measured, summed_up) = summed_up::choose(&packets);
        let of_capture = unmet_of_capture(capture, self.frames);
        let late = late_flows(&self.flows, flows);
        let mut meters = self.flows;
        let mut all = Vec::new();
        for (index, flow) in flows.iter().enumerate().filter(|(index, _)| is_measured[*index]) {
            let directions = meters[index].take_directions(&settings);
            let looks_like_quic = directions.iter().any(DirectionMeter::looks_like_quic);
            let protocol = match flow.protocol() {
                FlowProtocol::Udp if looks_like_quic => FlowProtocol::Quic,
                protocol => protocol,
            };
            let unmet = of_capture.clone();
            let unmet = if protocol == FlowProtocol::Udp { unmet.of_no_quic() } else { unmet };
            let unmet = unmet_of_flow(index, &directions, &meters, flows, &late, unmet);
            let [client, server] = *directions;
            let meter = &meters[index];
            let (handshake, is_first, is_nearest) = (&meter.handshake, meter.is_first, meter.is_nearest);
            let flow_begin = meter.origin;
            let copies = [client.copies(), server.copies()];
            for (sender, meter) in [(Role::Server, server), (Role::Client, client)] {
                if meter.packets() == 0 {
                    continue;
                }
                let mut run = RunMetrics::empty();
                warn_of_flow(flow, protocol, &meter, handshake, &mut run);
                let (packets, decryption) = (meter.packets(), meter.decryption());
                let protected_until = meter.protected_until();
                let id = flow.original_destination_connection_id();
                let plan = plan_of(&settings.plans, sender, is_first, id);
                let planned = plan.filter(|_| is_nearest[sender as usize] == Some(true)).map_or(0, PlannedTimes::len);
                if sender == Role::Server || sender == settings.sender {
                    handshake.finish(protocol, &mut run);
                    handshakes.finish(index, &mut run);
                }
                let subject = Subject { sender, protocol, bytes_are_given: settings.bytes_of(sender).is_some() };
                let mut unmet = unmet.clone();
                let (copied, of) = copies[sender.peer() as usize];
                let reason = || format!("{copied} of the {}'s {of} packets are copies of others", sender.peer().name());
                unmet.add_share(Need::NoPeerCopies, WarningCode::PacketsDuplicated, copied, of, &reason);
                let (pictures, windows) = meter.finish(subject, unmet, &settings, planned, &mut run);
                all.push(DirectionAnalysis {
                    flow: index,
                    sender,
                    protocol,
                    packets,
                    flow_begin,
                    protected_until,
                    run,
                    decryption,
                    windows,
                    pictures,
                });
            }
        }
        Finished { directions: all, summed_up, classes: handshakes.classes(flows) }
    }
}

impl FlowMeter {
    fn packets(&self) -> u64 {
        match &self.senders {
            Senders::Kept(kept) => kept.len() as u64,
            Senders::Measured(directions) => directions.iter().map(DirectionMeter::packets).sum(),
        }
    }

    /// The meters of both senders, from now on for each packet.
    fn measure(&mut self, settings: &AnalysisSettings) -> &mut [DirectionMeter; 2] {
        if let Senders::Kept(kept) = &self.senders {
            self.senders = Senders::Measured(self.meters_of(kept, settings));
        }
        match &mut self.senders {
            Senders::Measured(directions) => directions,
            Senders::Kept(_) => unreachable!("they were made above"),
        }
    }

    /// Leaves the flow without packets.
    fn take_directions(&mut self, settings: &AnalysisSettings) -> Box<[DirectionMeter; 2]> {
        match std::mem::replace(&mut self.senders, Senders::Kept(Vec::new())) {
            Senders::Measured(directions) => directions,
            Senders::Kept(kept) => self.meters_of(&kept, settings),
        }
    }

    /// What the meters show after the packets that were kept.
    fn meters_of(&self, kept: &[KeptPacket], settings: &AnalysisSettings) -> Box<[DirectionMeter; 2]> {
        let direction = || DirectionMeter::new(settings, self.protocol);
        let mut directions = Box::new([direction(), direction()]);
        if self.start == Start::Late {
            directions.iter_mut().for_each(DirectionMeter::begin_late);
        }
        directions[settings.sender as usize].slow_start_log = settings.slow_start_log.filter(|_| self.is_first);
        for packet in kept {
            on_packet(&mut directions, &packet.view(), packet.sender, packet.protection, self.origin, None);
        }
        directions
    }
}

/// A packet, for the meters of both ends.
fn on_packet(
    directions: &mut [DirectionMeter; 2],
    view: &PacketView,
    sender: Role,
    protection: Protection,
    origin: Time,
    plan: Option<&PlannedTimes>,
) {
    let [client, server] = directions;
    let (own, peer) = match sender {
        Role::Client => (client, server),
        Role::Server => (server, client),
    };
    own.on_packet(view, protection, origin, plan);
    peer.on_packet_of_peer(view);
    directions[Role::Server as usize].on_packet_of_exchange(view, sender);
}

/// Over TCP and TLS the counterpart of a 1-RTT packet is a segment with payload behind the client's Finished.
fn protection_of_segment(handshake: &HandshakeMeter, segment: &Segment) -> Protection {
    match (handshake.client_finished(), segment.payload_length) {
        (None, _) => Protection::NotYetKnown,
        (Some(_), 0) => Protection::Other,
        (Some(_), _) => Protection::OneRtt,
    }
}

fn warn_of_flow(
    flow: &Flow,
    protocol: FlowProtocol,
    meter: &DirectionMeter,
    handshake: &HandshakeMeter,
    run: &mut RunMetrics,
) {
    let (foreign, without_payload) = meter.odd_datagrams();
    if without_payload > 0 {
        run.warn(
            WarningCode::NoPayloadCaptured,
            format!(
                "no payload was captured of {without_payload} of {} datagrams, so it is not known whether they are \
                 QUIC",
                meter.packets()
            ),
        );
    }
    if !flow.roles_are_known() && !handshake.is_seen() {
        run.warn(
            WarningCode::RolesGuessed,
            format!(
                "the capture does not show who opened the connection; {} is taken as the server because of its port \
                 (--server-port overrides this)",
                flow.address(Role::Server)
            ),
        );
    }
    if protocol == FlowProtocol::Quic && foreign > 0 {
        run.warn(
            WarningCode::ForeignBytes,
            format!("{foreign} datagrams contain bytes that are neither a QUIC packet nor padding"),
        );
    }
}

/// Warnings about the capture as a whole: what it lost, and what was not understood in it.
pub fn capture_warnings(capture: &Capture, run: &mut RunMetrics) {
    if let Some(cut) = capture.truncation {
        run.warn(
            WarningCode::CaptureTruncated,
            format!(
                "the capture is truncated in the middle of a record at byte {}: packets after it are missing",
                cut.byte_offset
            ),
        );
    }
    let hidden: Vec<String> = capture
        .skipped
        .iter()
        .filter(|(reason, _)| reason.may_hide_packets())
        .map(|(reason, frames)| format!("{frames} ({})", reason.name()))
        .collect();
    if !hidden.is_empty() {
        run.warn(
            WarningCode::FramesNotUnderstood,
            format!("frames that may belong to the flow could not be read: {}", hidden.join(", ")),
        );
    }
}
