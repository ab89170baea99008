//! Why frames and blocks are skipped.

/// Why a frame or block did not become a [`Packet`](crate::Packet).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// Neither IPv4 nor IPv6: ARP, LLDP and the like.
    NotIp,
    /// IP that carries neither UDP nor TCP: ICMP, IGMP, tunnels.
    NotUdpOrTcp,
    /// A fragment of an IP packet: its ports or its length cannot be known from it alone.
    IpFragment,
    /// The capture ends before the transport header does.
    HeadersCut,
    /// Headers that contradict themselves or their own lengths.
    Malformed,
    /// A link type this reader does not know.
    LinkTypeUnknown,
    /// A packet block without a time (pcapng Simple Packet Block).
    NoTime,
    /// The packet block that pcapng had before 2014; `editcap -F pcapng` rewrites it.
    ObsoletePacketBlock,
    /// A pcapng block that holds no frame this reader understands (logs, custom blocks).
    OtherBlock,
}

impl SkipReason {
    /// Whether a packet of the flow under test may hide behind this reason, so that a count of it casts doubt on metrics.
    pub fn may_hide_packets(self) -> bool {
        match self {
            SkipReason::NotIp | SkipReason::NotUdpOrTcp | SkipReason::OtherBlock => false,
            SkipReason::IpFragment
            | SkipReason::HeadersCut
            | SkipReason::Malformed
            | SkipReason::LinkTypeUnknown
            | SkipReason::NoTime
            | SkipReason::ObsoletePacketBlock => true,
        }
    }

    /// Short stable name for messages.
    pub fn name(self) -> &'static str {
        match self {
            SkipReason::NotIp => "not IP",
            SkipReason::NotUdpOrTcp => "neither UDP nor TCP",
            SkipReason::IpFragment => "IP fragment",
            SkipReason::HeadersCut => "headers cut by the snap length",
            SkipReason::Malformed => "malformed headers",
            SkipReason::LinkTypeUnknown => "unknown link type",
            SkipReason::NoTime => "packet block without time",
            SkipReason::ObsoletePacketBlock => "obsolete pcapng packet block",
            SkipReason::OtherBlock => "other pcapng block",
        }
    }
}
