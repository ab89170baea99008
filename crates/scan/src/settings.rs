//! Settings of a scan, and what is asked of it.

use std::net::SocketAddr;
use std::time::Duration;

/// RFC 9000 section 15.
pub(crate) const VERSION_1: u32 = 1;
/// Bytes of the smallest datagram that may carry an Initial packet, RFC 9000 section 14.1.
pub(crate) const SMALLEST_DATAGRAM: u16 = 1200;
/// Bytes of UDP payload in an Ethernet frame behind an IPv6 header.
pub(crate) const LARGEST_DATAGRAM: u16 = 1452;

/// One handshake to perform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Comes back in the [`Answer`](crate::Answer). The scanner does not look at it.
    pub id: u64,
    /// The server.
    pub address: SocketAddr,
    /// The name in the ClientHello and in the HTTP request, as ASCII (A-labels). `None`: no name in the ClientHello, and the
    /// address in the HTTP request.
    pub server_name: Option<String>,
    /// Whether the answer has the packets and the key log. Needs as much memory as the handshake has bytes.
    pub keeps_packets: bool,
}

/// A group of a key share in the ClientHello, RFC 8446 section 4.2.7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyShareGroup {
    /// X25519.
    X25519,
    /// NIST's P-256.
    Secp256r1,
    /// NIST's P-384.
    Secp384r1,
    /// X25519 with ML-KEM-768 (draft-ietf-tls-ecdhe-mlkem), which makes the ClientHello longer than one datagram.
    X25519MlKem768,
}

impl KeyShareGroup {
    /// Its name in the registry of TLS, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            KeyShareGroup::X25519 => "x25519",
            KeyShareGroup::Secp256r1 => "secp256r1",
            KeyShareGroup::Secp384r1 => "secp384r1",
            KeyShareGroup::X25519MlKem768 => "x25519mlkem768",
        }
    }
}

/// How the ClientHello looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelloSettings {
    /// UDP payload of datagrams with Initial packets, in bytes: 1200 to 1452.
    pub datagram_bytes: u16,
    /// Groups in the order of preference. The key share is of the first one; one of [`KeyShareGroup::X25519MlKem768`] brings one of
    /// X25519 with it if that is among them.
    pub key_share_groups: Vec<KeyShareGroup>,
    /// Whether all handshakes of this process offer the same key share of X25519, which saves making one for each. Nobody's secrets
    /// are in a scan, but a server can tell that two handshakes are of the same scan. Other groups have a new one each time.
    pub reuses_key_share: bool,
}

impl Default for HelloSettings {
    fn default() -> Self {
        HelloSettings {
            datagram_bytes: SMALLEST_DATAGRAM,
            key_share_groups: vec![KeyShareGroup::X25519, KeyShareGroup::Secp256r1],
            reuses_key_share: false,
        }
    }
}

/// The HTTP/3 HEAD request behind a handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    /// Value of `user-agent`: who asks, and a page that says why and where to complain.
    pub user_agent: String,
    /// Value of `from`, an address for mail (RFC 9110 section 10.1.2).
    pub from: Option<String>,
    /// Names of fields of the response to report, apart from `server` and `alt-svc`. In lower case.
    pub headers: Vec<String>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        HttpSettings {
            user_agent: concat!("quiclab-scan/", env!("CARGO_PKG_VERSION")).into(),
            from: None,
            headers: vec![],
        }
    }
}

/// What holds for all handshakes of a scanner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanSettings {
    /// Time from the first datagram until the handshake, and the HTTP response where one is asked for, must be there.
    pub timeout: Duration,
    /// Handshakes in flight at most.
    pub most_in_flight: usize,
    /// UDP sockets of each address family, over which the handshakes are spread: at least 1.
    pub sockets: usize,
    /// Application protocols that the ClientHello offers, in the order of preference.
    pub application_protocols: Vec<String>,
    /// QUIC version of the first packet: 1, or a draft from 29 to 34. Any other is only an occasion for a Version Negotiation packet: the
    /// packet is one of version 1 apart from its number, so that a server that speaks the version does not answer.
    pub version: u32,
    /// The ClientHello.
    pub hello: HelloSettings,
    /// The request behind the handshake. `None`: none.
    pub http: Option<HttpSettings>,
    /// Whether the certificate must be valid by the roots of this system.
    pub verify: bool,
    /// Whether a handshake without a request waits for the server's HANDSHAKE_DONE (RFC 9001 section 4.1.2), which takes one
    /// round trip more and shows how the server acknowledges the client's Finished. Until the timeout at most.
    pub waits_for_confirmation: bool,
    /// Bytes that a server may send in one handshake with its request. Headers of IP and UDP count, so that small datagrams do.
    pub most_bytes: usize,
}

impl Default for ScanSettings {
    fn default() -> Self {
        ScanSettings {
            timeout: Duration::from_secs(3),
            most_in_flight: 10_000,
            sockets: 1,
            application_protocols: vec!["h3".into()],
            version: VERSION_1,
            hello: HelloSettings::default(),
            http: None,
            verify: false,
            waits_for_confirmation: true,
            most_bytes: 256 << 10,
        }
    }
}
