//! What a test case is: what it needs, and how it is judged.

use quiclab_experiment::{run::IpVersion, server_test_case};
use quiclab_units::{ByteCount, Duration, Rate};
use quiclab_wire::Role;

use crate::{checks::Reasons, facts::Facts};

/// One test case. Names, letters and meanings are those of the QUIC Interop Runner
/// (<https://github.com/quic-interop/quic-interop-runner>), except for `perf`, which it does not have; sizes are smaller where they
/// matter to nothing but time.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name of the case.
    pub name: &'static str,
    /// Letters of the case in the matrix.
    pub abbreviation: &'static str,
    /// What has to happen, in a sentence.
    pub description: &'static str,
    /// `TESTCASE` of the client; the server's is [`Case::server_test_case`].
    pub client_test_case: &'static str,
    /// What the client asks for; in `perf`, how many streams there are and how long each response is.
    pub files: Files,
    /// Bytes that the client sends on each stream, in `perf`.
    pub request_size: ByteCount,
    /// What lies between the endpoints, where no scenario says so.
    pub path: PathNeeds,
    /// What the runner passes to its network simulator (docs/reference/path.md), where `path` does not express it.
    pub scenario: Option<&'static str>,
    /// IP version of the whole connection.
    pub ip: IpVersion,
    /// Whether the server has a certificate chain of 9 kB or more: longer than what three client datagrams of 1200 bytes
    /// let it send at once (RFC 9000 section 8.1).
    pub large_certificate: bool,
    /// Time after which a client that has not ended has failed.
    pub time_limit: Duration,
    /// Whether the server can go on at another port, so that packets of other ports count as well.
    pub server_can_move: bool,
    /// Whether it measures something, which takes long. It runs only when it is asked for by name.
    pub is_measurement: bool,
    pub(crate) judge: fn(&Case, &Facts, &mut Reasons),
}

/// Files of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Files {
    /// How many.
    pub count: u32,
    /// Size of each file.
    pub size: ByteCount,
    /// Length of each name in bytes: a longer name makes a larger request.
    pub name_bytes: u32,
}

/// What a case needs between its endpoints, the same in both directions but for the drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathNeeds {
    /// Each way: half of the round-trip time.
    pub delay: Duration,
    /// Rate of the bottleneck.
    pub rate: Rate,
    /// Packets that the bottleneck's queue holds.
    pub queue_packets: u32,
    /// Packets to the server that are dropped, counted from 1.
    pub drops_to_server: &'static [u64],
}

impl PathNeeds {
    /// What most cases have: a round-trip time of 30 ms, 10 Mbit/s, a queue of 25 packets.
    pub const DEFAULT: PathNeeds = PathNeeds {
        delay: Duration::from_millis(15),
        rate: Rate::from_bits_per_second(10_000_000),
        queue_packets: 25,
        drops_to_server: &[],
    };
}

/// Length of a file's name where it does not matter.
const NAME_BYTES: u32 = 10;

/// What most cases are like; the empty ones are for each to fill in.
pub(crate) const PLAIN: Case = Case {
    name: "",
    abbreviation: "",
    description: "",
    client_test_case: "transfer",
    files: files(1, 1),
    request_size: ByteCount::from_bytes(8),
    path: PathNeeds::DEFAULT,
    scenario: None,
    ip: IpVersion::V4,
    large_certificate: false,
    time_limit: Duration::from_secs(60),
    server_can_move: false,
    is_measurement: false,
    judge: |_, _, _| {},
};

pub(crate) const fn files(count: u32, bytes: u64) -> Files {
    Files { count, size: ByteCount::from_bytes(bytes), name_bytes: NAME_BYTES }
}

pub(crate) const KIB: u64 = 1 << 10;
pub(crate) const MIB: u64 = 1 << 20;

impl Case {
    /// `TESTCASE` of the server.
    pub fn server_test_case(&self) -> &'static str {
        server_test_case(self.client_test_case)
    }

    /// How many files the client asks for.
    pub fn file_count(&self) -> u64 {
        u64::from(self.files.count)
    }

    /// The goodput in kbit/s of a measurement: the bytes of its files, over the time from the server's first datagram with a 1-RTT packet to
    /// its last one. `None` for other cases, and where there is not one connection with two such datagrams.
    pub fn goodput_kbps(&self, facts: &Facts) -> Option<u64> {
        let mut handshakes = facts.handshakes();
        let (Some(connection), None) = (handshakes.next(), handshakes.next()) else { return None };
        let (first, last) = connection.sent(Role::Server).one_rtt_times.filter(|_| self.is_measurement)?;
        let elapsed_ns = last.as_nanos() - first.as_nanos();
        let bits = u128::from(self.files.size.as_bytes()) * u128::from(self.file_count()) * 8;
        // Bits in a nanosecond are Gbit/s.
        (bits * 1_000_000).checked_div(u128::from(elapsed_ns)).and_then(|kbps| u64::try_from(kbps).ok())
    }

    pub(crate) fn judge(&self, facts: &Facts, reasons: &mut Reasons) {
        (self.judge)(self, facts, reasons);
    }
}
