//! The path between the hosts.

use quiclab_units::{ByteCount, Duration, Rate};

use quiclab_path::{
    loss::list::ListedLossSettings,
    queue::netem::NetemSettings,
    spec::{self, PacketNumbers as Numbers, StageSettings, StageSpec},
    token_bucket::RateSettings,
};

use super::{
    declaration::section,
    stages::{Included, Scenario, StageList, Stages},
    value_parser::{PacketNumbers, ValueParser as _, Word as _, count, rate, size, time, word, words},
    workload::Sender,
};

/// The largest frame without jumbo frames: a bucket below it could never let one through.
pub(crate) const LARGEST_FRAME: ByteCount = ByteCount::from_bytes(1514);
/// IPv6 has no smaller one (RFC 8200, section 5).
const SMALLEST_MTU: u32 = 1280;
/// Jumbo frames as network cards commonly have them.
const LARGEST_MTU: u32 = 9000;
/// Bytes of an Ethernet header.
const ETHERNET_BYTES: u32 = 14;
/// The kernel keeps the depth of a bucket in 32 bits.
const DEEPEST_BUCKET: ByteCount = ByteCount::from_bytes(u32::MAX as u64);
/// The kernel adds delays to its clock in signed 64-bit nanoseconds; this is far from where that wraps around.
pub(crate) const LONGEST_DELAY: Duration = Duration::from_secs(86_400);
/// What a frame without jumbo frames carries behind the headers of IPv6 and UDP.
const LARGEST_DATAGRAM: ByteCount = ByteCount::from_bytes(1452);
/// The kernel looks packets of a list up by their number, in a map of this size.
const LAST_LISTED_PACKET: u32 = 4096;

section! {
    /// The path between the hosts: two lists of stages, or their short form, the published bottleneck: token bucket with a netem child
    /// towards the receiver, netem towards the measured sender. [`Path::stages_to_client`] and [`Path::stages_to_server`] return the stages.
    pub struct Path as path {
        /// IP version
        ip: IpVersion = IpVersion::V4, takes word::<IpVersion>(), sets "QUICLAB_IP" of Both;
        /// the stages from server to client, in order. "bottleneck" uses the keys below
        to_client: StageList = StageList::Bottleneck, takes Stages, neutral StageList::Bottleneck, implied by Path: is_included;
        /// the stages from client to server, in order
        to_server: StageList = StageList::Bottleneck, takes Stages, neutral StageList::Bottleneck, implied by Path: is_included;
        /// a file with both lists, beside the experiment file ([paths](path.md#paths-to-include))
        include: Option<String> = None, takes Included, neutral None;
        /// what moves packets through the stages: the guest's kernel, or quiclab itself in user space, which does every stage
        /// ([forwarder](../concepts/forwarder.md)). "auto" is the kernel where it does each stage of both lists exactly, and else user space
        forwarder: Forwarder = Forwarder::Auto, takes word::<Forwarder>(), neutral Forwarder::Auto, on [Vm, Uml, Netns, Hosts];
        /// largest IP packet in bytes at every interface of the path, without the Ethernet header. Stacks that support it get it as
        /// `QUICLAB_MTU`; others discover it, or send packets as they always do
        mtu: u32 = 1500, takes count().at_least(SMALLEST_MTU).at_most(LARGEST_MTU), neutral 1500, on [Vm, Uml, Netns];
        /// a scenario of the QUIC Interop Runner's network simulator, such as
        /// "simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25" ([scenarios](path.md#scenarios-of-the-interop-runner))
        scenario: Option<String> = None, takes Scenario, neutral None;
        /// other traffic from the server's host to the client's, through the same stages ([cross traffic](path.md#cross-traffic)): one TCP
        /// connection of the hosts' kernels that always has something to send, or UDP datagrams at a constant rate
        cross_traffic: CrossTraffic = CrossTraffic::None, takes word::<CrossTraffic>(), neutral CrossTraffic::None, on [Vm, Uml, Netns];
        /// the TCP connection's congestion control
        cross_congestion_control: CrossControl = CrossControl::Cubic, takes word::<CrossControl>(), on [Vm, Uml, Netns], when has_cross_tcp;
        /// rate of the UDP payload
        cross_rate: Rate = Rate::from_bits_per_second(1_000_000), takes rate().positive(), on [Vm, Uml, Netns], when has_cross_udp;
        /// UDP payload of each datagram
        cross_datagram: ByteCount = ByteCount::from_bytes(1200), takes size().positive().at_most(LARGEST_DATAGRAM)
            .because("a longer one does not fit into a frame with IPv6"), on [Vm, Uml, Netns], when has_cross_udp;
        /// time from the start of the run, before the client starts, to the first packet; a random time is added, at most that between two
        /// datagrams
        cross_start: Duration = Duration::ZERO, takes time().at_most(LONGEST_DELAY), on [Vm, Uml, Netns], when has_cross_traffic;
        /// how long it lasts
        cross_duration: Option<Duration> = None, takes time().positive().at_most(LONGEST_DELAY).or("transfer"), on [Vm, Uml, Netns],
            when has_cross_traffic;
        /// rate of the token bucket towards the client, or towards the server if `workload.sender` is "client"; counts frames with their Ethernet header, without check sequence
        rate: Rate = Rate::from_bits_per_second(40_000_000),
            takes rate().positive().whole(8, "a multiple of 8 bit/s"), when is_short_to_client;
        /// depth of the bucket: at least one whole frame, or no frame ever passes
        burst: ByteCount = ByteCount::from_bytes(1535),
            takes size().at_least(LARGEST_FRAME).at_most(DEEPEST_BUCKET).because("a smaller bucket never lets a full frame pass"),
            when is_short_to_client;
        /// one-way delay from server to client. Without delay the kernel of a TCP server sees the queue and holds
        /// packets back ([limitations](../../LIMITATIONS.md))
        delay_to_client: Duration = Duration::from_millis(20), takes time().at_most(LONGEST_DELAY), when is_short_to_client;
        /// one-way delay from client to server
        delay_to_server: Duration = Duration::from_millis(20), takes time().at_most(LONGEST_DELAY), when is_short_to_server;
        /// limit of packets in the direction of the token bucket, in delay line and queue together. The default is rate x 2 x delay /
        /// 1392 B; it does not follow when you change those
        queue_limit_packets: u32 = 143, takes count(), when is_short_to_client;
        /// limit of packets in the delay line of the other direction
        return_limit_packets: u32 = 1000, takes count(), when is_short_to_server;
        /// packets towards the server to drop, counted from 1
        drops_to_server: Vec<u32> = Vec::new(), takes PacketNumbers { most: LAST_LISTED_PACKET },
            when is_short_to_server;
    }
}

fn is_included(path: &Path) -> bool {
    path.include.is_some() || path.scenario.is_some()
}

fn has_cross_traffic(path: &Path) -> bool {
    path.cross_traffic != CrossTraffic::None
}

fn has_cross_tcp(path: &Path) -> bool {
    path.cross_traffic == CrossTraffic::Tcp
}

fn has_cross_udp(path: &Path) -> bool {
    path.cross_traffic == CrossTraffic::Udp
}

fn is_short_to_client(path: &Path) -> bool {
    path.to_client.is_bottleneck()
}

fn is_short_to_server(path: &Path) -> bool {
    path.to_server.is_bottleneck()
}

impl Path {
    /// The stages from server to client, the first one first. The short form has the bottleneck where the packets of `sender` pass.
    pub fn stages_to_client(&self, sender: Sender) -> Vec<StageSpec> {
        match (&self.to_client, sender) {
            (StageList::Stages(stages), _) => stages.clone(),
            (StageList::Bottleneck, Sender::Server) => self.bottleneck(self.delay_to_client),
            (StageList::Bottleneck, Sender::Client) => vec![self.return_line(self.delay_to_client)],
        }
    }

    /// The stages from client to server, the first one first. The short form has the bottleneck where the packets of `sender` pass.
    pub fn stages_to_server(&self, sender: Sender) -> Vec<StageSpec> {
        if let StageList::Stages(stages) = &self.to_server {
            return stages.clone();
        }
        let drops = ListedLossSettings { packets: Numbers(self.drops_to_server.clone()) };
        let drops = named("drops", StageSettings::ListedLoss(drops));
        let drops = (!self.drops_to_server.is_empty()).then_some(drops);
        let others = match sender {
            Sender::Server => vec![self.return_line(self.delay_to_server)],
            Sender::Client => self.bottleneck(self.delay_to_server),
        };
        drops.into_iter().chain(others).collect()
    }

    /// Delay line and queue, and the rate that empties them.
    fn bottleneck(&self, delay: Duration) -> Vec<StageSpec> {
        let queue = NetemSettings { delay, limit_packets: self.queue_limit_packets };
        let rate = RateSettings {
            rate: self.rate.try_into().expect("path.rate takes rates above 0"),
            burst: Some(self.burst),
        };
        vec![named("delay", StageSettings::NetemQueue(queue)), named("rate", StageSettings::Rate(rate))]
    }

    /// The delay line of the direction without the bottleneck.
    fn return_line(&self, delay: Duration) -> StageSpec {
        let line = NetemSettings { delay, limit_packets: self.return_limit_packets };
        named("delay", StageSettings::NetemQueue(line))
    }

    /// Bytes of the largest frame, with its Ethernet header.
    pub fn largest_frame_bytes(&self) -> u32 {
        self.mtu + ETHERNET_BYTES
    }

    /// Both directions' delays that every packet has, added up: the least round trip of the path.
    pub fn round_trip(&self) -> Duration {
        // The short form has the same delays whoever sends.
        let sender = Sender::Server;
        spec::constant_delay(&self.stages_to_client(sender)) + spec::constant_delay(&self.stages_to_server(sender))
    }

    /// The path in words, where `sender` is measured.
    pub fn described(&self, sender: Sender) -> String {
        if let Some(name) = &self.include {
            return format!("{name}, IPv{}{}", self.ip.word(), self.cross_traffic_described());
        }
        let described = |list: &StageList, delay: Duration, has_bottleneck: bool| match list {
            StageList::Bottleneck if has_bottleneck => format!("{}, {delay}", self.rate),
            StageList::Bottleneck => delay.to_string(),
            StageList::Stages(stages) if stages.is_empty() => "nothing".to_owned(),
            StageList::Stages(stages) => stages.iter().map(|stage| stage.name.as_str()).collect::<Vec<_>>().join(", "),
        };
        let to_client = described(&self.to_client, self.delay_to_client, sender == Sender::Server);
        let to_server = described(&self.to_server, self.delay_to_server, sender == Sender::Client);
        let of_sender = match sender {
            Sender::Server => &self.to_client,
            Sender::Client => &self.to_server,
        };
        let queue = match of_sender {
            StageList::Bottleneck => format!(", queue and delay line of {} packets", self.queue_limit_packets),
            StageList::Stages(_) => String::new(),
        };
        format!(
            "{to_client} to the client, {to_server} to the server{queue}, IPv{}{}",
            self.ip.word(),
            self.cross_traffic_described()
        )
    }

    fn cross_traffic_described(&self) -> String {
        match self.cross_traffic {
            CrossTraffic::None => String::new(),
            CrossTraffic::Tcp => format!(", beside a TCP connection with {}", self.cross_congestion_control.word()),
            CrossTraffic::Udp => format!(", beside UDP datagrams at {}", self.cross_rate),
        }
    }
}

fn named(name: &str, settings: StageSettings) -> StageSpec {
    StageSpec { name: name.to_owned(), settings }
}

words! {
    /// What moves packets through the stages of a path.
    pub enum Forwarder {
        /// The kernel where it does each stage exactly, or else user space.
        Auto = "auto",
        /// The kernel's queueing disciplines; what they do not do exactly is refused.
        Kernel = "kernel",
        /// The agent, in user space.
        User = "user",
    }
}

words! {
    /// Traffic beside the flow of the endpoints.
    pub enum CrossTraffic {
        /// There is none.
        None = "none",
        /// A TCP connection.
        Tcp = "tcp",
        /// UDP datagrams.
        Udp = "udp",
    }
}

words! {
    /// A congestion control that every Linux kernel has.
    pub enum CrossControl {
        /// RFC 9438.
        Cubic = "cubic",
        /// RFC 5681.
        Reno = "reno",
    }
}

words! {
    /// Version of the Internet Protocol.
    pub enum IpVersion {
        /// IPv4.
        V4 = "4",
        /// IPv6.
        V6 = "6",
    }
}
