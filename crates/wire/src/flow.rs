//! One connection at one tap.

use std::net::SocketAddr;

use quiclab_units::Duration;

use crate::keylog::ClientRandom;
use crate::quic::{
    CipherSuite, Connection, ConnectionId, DEFAULT_ACK_DELAY_EXPONENT, DEFAULT_MAX_ACK_DELAY_MS, TlsHandshake,
};
use crate::role::Role;

/// What a flow speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlowProtocol {
    /// QUIC, whatever the version.
    Quic,
    /// TCP.
    Tcp,
    /// UDP of which nothing shows that it is QUIC; or no byte of the payload was captured.
    Udp,
}

impl FlowProtocol {
    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            FlowProtocol::Quic => "quic",
            FlowProtocol::Tcp => "tcp",
            FlowProtocol::Udp => "udp",
        }
    }
}

/// Both directions of one connection at one tap.
pub struct Flow {
    pub(crate) protocol: FlowProtocol,
    pub(crate) interface: u32,
    pub(crate) server: SocketAddr,
    pub(crate) client: SocketAddr,
    pub(crate) roles_are_known: bool,
    /// SYN's sequence number of TCP.
    pub(crate) initial_sequence: Option<u32>,
    /// `None` while nothing is known of it as a connection of QUIC: a scan has a flow for each packet.
    pub(crate) quic: Option<Box<QuicFlow>>,
}

/// A capture may hold a million.
const _: () = assert!(size_of::<Flow>() <= 96);

#[derive(Default)]
pub(crate) struct QuicFlow {
    pub(crate) connection: Connection,
    /// Length of the newest connection ID of each owner, once one was seen.
    pub(crate) id_bytes: [Option<u8>; 2],
    /// Whether an owner's connection IDs have different lengths, so that each packet must be looked at.
    pub(crate) id_bytes_differ: [bool; 2],
    /// Bytes of the segments in the last super-packet of each sender.
    pub(crate) segment_bytes: [Option<usize>; 2],
    /// Super-packets of which the segments were looked for and not found.
    pub(crate) segment_searches: u32,
    pub(crate) first_destination: Option<ConnectionId>,
    pub(crate) migrations: u64,
}

impl Flow {
    /// A flow of which nothing was seen yet but its ends: for those who make [`Observed`] by hand.
    pub fn between(server: SocketAddr, client: SocketAddr) -> Self {
        Flow {
            protocol: FlowProtocol::Udp,
            interface: 0,
            server,
            client,
            roles_are_known: false,
            initial_sequence: None,
            quic: None,
        }
    }

    /// What is known of it as a connection of QUIC; `None` for TCP.
    pub(crate) fn quic_mut(&mut self) -> Option<&mut QuicFlow> {
        (self.protocol != FlowProtocol::Tcp).then(|| &mut **self.quic.get_or_insert_default())
    }

    /// What it speaks.
    pub fn protocol(&self) -> FlowProtocol {
        self.protocol
    }

    /// Index into [`Capture::interfaces`](crate::Capture::interfaces) of the first packet.
    pub fn interface(&self) -> u32 {
        self.interface
    }

    /// Address of an end; where it moved, the newest.
    pub fn address(&self, role: Role) -> SocketAddr {
        match role {
            Role::Client => self.client,
            Role::Server => self.server,
        }
    }

    /// Whether packets showed who opened the connection. Otherwise the ports were taken as a hint.
    pub fn roles_are_known(&self) -> bool {
        self.roles_are_known
    }

    /// QUIC version, as far as long headers were seen.
    pub fn quic_version(&self) -> Option<u32> {
        self.quic.as_ref()?.connection.version()
    }

    /// Destination connection ID of the client's first Initial.
    pub fn original_destination_connection_id(&self) -> Option<ConnectionId> {
        self.quic.as_ref()?.first_destination
    }

    /// The ClientHello's random, which names the connection in key logs.
    pub fn client_random(&self) -> Option<&ClientRandom> {
        self.quic.as_ref()?.connection.client_random()
    }

    /// The name the client asked for.
    pub fn server_name(&self) -> Option<&str> {
        self.quic.as_ref()?.connection.server_name()
    }

    /// What the server chose.
    pub fn cipher_suite(&self) -> Option<CipherSuite> {
        self.quic.as_ref()?.connection.suite()
    }

    /// What the TLS handshake showed; `None` where not even a ClientHello was read.
    pub fn tls_handshake(&self) -> Option<&TlsHandshake> {
        self.quic.as_ref()?.connection.tls_handshake()
    }

    /// `initial_max_streams_bidi` of an end, RFC 9000 section 18.2: how many bidirectional streams its peer may open before
    /// it allows more. `None` where the end did not say, or its transport parameters were not read.
    pub fn initial_max_streams_bidi(&self, of: Role) -> Option<u64> {
        self.quic.as_ref()?.connection.initial_max_streams_bidi(of)
    }

    /// Whether an end has sent `disable_active_migration`, RFC 9000 section 18.2. `None` where its transport parameters were not read.
    pub fn disables_active_migration(&self, of: Role) -> Option<bool> {
        self.quic.as_ref()?.connection.disables_active_migration(of)
    }

    /// Key updates seen of a sender.
    pub fn key_updates(&self, sender: Role) -> u64 {
        self.quic.as_ref().map_or(0, |quic| quic.connection.key_updates(sender))
    }

    /// How often an address of the connection changed.
    pub fn migrations(&self) -> u64 {
        self.quic.as_ref().map_or(0, |quic| quic.migrations)
    }

    /// Number of bits by which the ACK delays that a sender reports are shifted to become µs, RFC 9000 section 18.2.
    pub fn ack_delay_exponent(&self, sender: Role) -> u8 {
        self.quic.as_ref().map_or(DEFAULT_ACK_DELAY_EXPONENT, |quic| quic.connection.ack_delay_exponent(sender))
    }

    /// The longest that a sender delays ACKs of 1-RTT packets by (RFC 9000 section 18.2): what it says or, where that could not be read, what
    /// holds where an endpoint does not say.
    pub fn max_ack_delay(&self, sender: Role) -> Duration {
        let default = DEFAULT_MAX_ACK_DELAY_MS;
        Duration::from_millis(self.quic.as_ref().map_or(default, |quic| quic.connection.max_ack_delay_ms(sender)))
    }
}
