//! All cases.

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

use crate::case::Case;

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
