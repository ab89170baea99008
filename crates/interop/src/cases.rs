//! The cases: what each of them needs, and how it is judged.

mod amplificationlimit;
mod blackhole;
mod chacha20;
mod connectionmigration;
mod crosstraffic;
mod ecn;
mod goodput;
mod handshake;
mod handshakecorruption;
mod handshakeloss;
mod http3;
mod ipv6;
mod keyupdate;
mod longrtt;
mod multiplexing;
mod perf;
mod rebind_addr;
mod rebind_port;
mod resumption;
mod retry;
mod transfer;
mod transfercorruption;
mod transferloss;
mod v2;
mod zerortt;

use quiclab_experiment::{run::IpVersion, server_test_case};
use quiclab_units::{ByteCount, Duration, Rate};
use quiclab_wire::Role;

use crate::checks::Reasons;
use crate::facts::Facts;

/// All cases, in the order in which they are shown.
pub const CASES: &[Case] = &[
    handshake::CASE,
    transfer::CASE,
    longrtt::CASE,
    chacha20::CASE,
    multiplexing::CASE,
    retry::CASE,
    resumption::CASE,
    zerortt::CASE,
    http3::CASE,
    blackhole::CASE,
    keyupdate::CASE,
    ecn::CASE,
    amplificationlimit::CASE,
    handshakeloss::CASE,
    transferloss::CASE,
    handshakecorruption::CASE,
    transfercorruption::CASE,
    rebind_port::CASE,
    rebind_addr::CASE,
    connectionmigration::CASE,
    ipv6::CASE,
    v2::CASE,
    goodput::CASE,
    crosstraffic::CASE,
    perf::CASE,
];

/// The case of this name; `None` where there is none.
pub fn case_named(name: &str) -> Option<&'static Case> {
    CASES.iter().find(|case| case.name == name)
}

/// One test case. Names, letters and meanings are those of the QUIC Interop Runner
/// (<https://github.com/quic-interop/quic-interop-runner>), except for `perf`, which it does not have; sizes are smaller where they
/// matter to nothing but time.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// Its letters in the matrix.
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
    judge: fn(&Case, &Facts, &mut Reasons),
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
const PLAIN: Case = Case {
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

const fn files(count: u32, bytes: u64) -> Files {
    Files { count, size: ByteCount::from_bytes(bytes), name_bytes: NAME_BYTES }
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quiclab_experiment::stack::TEST_CASES;

    use super::*;

    #[test]
    fn names_and_letters_are_given_once() {
        let names: BTreeSet<_> = CASES.iter().map(|case| case.name).collect();
        let letters: BTreeSet<_> = CASES.iter().map(|case| case.abbreviation).collect();
        assert_eq!((names.len(), letters.len()), (CASES.len(), CASES.len()));
        for case in CASES {
            assert_eq!(case_named(case.name).unwrap().abbreviation, case.abbreviation);
            assert!(case.description.ends_with('.') && case.file_count() > 0, "{}", case.name);
        }
        assert!(case_named("").is_none());
    }

    #[test]
    fn letters_are_those_of_the_interop_runner() {
        let letters = |name| case_named(name).unwrap().abbreviation;
        let expected = [
            ("handshake", "H"),
            ("transfer", "DC"),
            ("longrtt", "LR"),
            ("chacha20", "C20"),
            ("multiplexing", "M"),
            ("retry", "S"),
            ("resumption", "R"),
            ("zerortt", "Z"),
            ("http3", "3"),
            ("blackhole", "B"),
            ("keyupdate", "U"),
            ("ecn", "E"),
            ("amplificationlimit", "A"),
            ("handshakeloss", "L1"),
            ("transferloss", "L2"),
            ("handshakecorruption", "C1"),
            ("transfercorruption", "C2"),
            ("rebind-port", "BP"),
            ("rebind-addr", "BA"),
            ("ipv6", "6"),
            ("v2", "V2"),
            ("goodput", "G"),
            ("connectionmigration", "CM"),
            ("crosstraffic", "C"),
        ];
        assert_eq!(expected.map(|(name, _)| letters(name)), expected.map(|(_, letters)| letters));
        // The runner does not have the other one.
        assert_eq!(CASES.len(), expected.len() + 1);
        assert_eq!(letters("perf"), "P");
    }

    #[test]
    fn endpoints_are_told_only_test_cases_of_the_contract() {
        for case in CASES {
            for test_case in [case.client_test_case, case.server_test_case()] {
                assert!(TEST_CASES.contains(&test_case), "{}", case.name);
            }
        }
        assert_eq!(case_named("keyupdate").unwrap().server_test_case(), "transfer");
    }
}
