//! The cases: what each of them needs, and how it is judged.

mod amplificationlimit;
mod chacha20;
mod handshake;
mod ipv6;
mod keyupdate;
mod longrtt;
mod multiplexing;
mod resumption;
mod retry;
mod transfer;
mod v2;
mod zerortt;

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
    keyupdate::CASE,
    amplificationlimit::CASE,
    ipv6::CASE,
    v2::CASE,
];

/// The case of this name; `None` where there is none.
pub fn case_named(name: &str) -> Option<&'static Case> {
    CASES.iter().find(|case| case.name == name)
}

/// One test case. Names, letters and meanings are those of the QUIC Interop Runner
/// (<https://github.com/quic-interop/quic-interop-runner>); sizes are smaller where they matter to nothing but time.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// Its letters in the matrix.
    pub abbreviation: &'static str,
    /// What has to happen, in a sentence.
    pub description: &'static str,
    /// `TESTCASE` of the client.
    pub client_testcase: &'static str,
    /// `TESTCASE` of the server.
    pub server_testcase: &'static str,
    /// What the client asks for.
    pub files: Files,
    /// What lies between the endpoints.
    pub path: PathNeeds,
    /// IP version of the whole connection.
    pub ip: IpVersion,
    /// Whether the server has a certificate chain of 9 kB or more: longer than what three client datagrams of 1200 bytes
    /// let it send at once (RFC 9000 section 8.1).
    pub large_certificate: bool,
    /// After this a client that has not ended has failed.
    pub time_limit: Duration,
    judge: fn(&Case, &Facts, &mut Reasons),
}

/// Files of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Files {
    /// How many.
    pub count: u32,
    /// Of each.
    pub size: ByteCount,
    /// Length of each name in bytes: a longer name makes a larger request.
    pub name_bytes: u32,
}

/// What a case needs between its endpoints, the same in both directions but for the drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathNeeds {
    /// Each way: half of the round-trip time.
    pub delay: Duration,
    /// Of the bottleneck.
    pub rate: Rate,
    /// Packets that the bottleneck's queue holds.
    pub queue_packets: u32,
    /// Packets to the server that are dropped, counted from 1.
    pub drops_to_server: &'static [u64],
}

/// IP version of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpVersion {
    /// 4
    V4,
    /// 6
    V6,
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
    client_testcase: "transfer",
    server_testcase: "transfer",
    files: files(1, 1),
    path: PathNeeds::DEFAULT,
    ip: IpVersion::V4,
    large_certificate: false,
    time_limit: Duration::from_secs(60),
    judge: |_, _, _| {},
};

const fn files(count: u32, bytes: u64) -> Files {
    Files { count, size: ByteCount::from_bytes(bytes), name_bytes: NAME_BYTES }
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

impl Case {
    /// `TESTCASE` of an endpoint.
    pub fn testcase(&self, role: Role) -> &'static str {
        match role {
            Role::Client => self.client_testcase,
            Role::Server => self.server_testcase,
        }
    }

    /// Name of the server's host in URLs: it resolves to the one address family of the case.
    pub fn host(&self) -> &'static str {
        match self.ip {
            IpVersion::V4 => "server4",
            IpVersion::V6 => "server6",
        }
    }

    /// How many files the client asks for.
    pub fn file_count(&self) -> u64 {
        u64::from(self.files.count)
    }

    pub(crate) fn judge(&self, facts: &Facts, reasons: &mut Reasons) {
        (self.judge)(self, facts, reasons);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

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
            ("keyupdate", "U"),
            ("amplificationlimit", "A"),
            ("ipv6", "6"),
            ("v2", "V2"),
        ];
        assert_eq!(expected.map(|(name, _)| letters(name)), expected.map(|(_, letters)| letters));
        assert_eq!(CASES.len(), expected.len());
    }

    #[test]
    fn endpoints_are_told_only_test_cases_of_the_contract() {
        let known = ["transfer", "handshake", "retry", "chacha20", "keyupdate", "resumption", "zerortt", "v2"];
        for case in CASES {
            assert!(Role::BOTH.iter().all(|role| known.contains(&case.testcase(*role))), "{}", case.name);
        }
        let update = case_named("keyupdate").unwrap();
        assert_eq!(Role::BOTH.map(|role| update.testcase(role)), ["keyupdate", "transfer"]);
    }
}
