//! What a client of `perf` does: `QUICLAB_PERF_LOAD`.

/// A load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// A stream for each URL, all at the same time.
    Bulk,
    /// Two streams for each URL, all at the same time: one for each direction.
    Bidirectional,
    /// As many exchanges at a time as there are URLs, one after the other on one connection, until the time is over.
    Requests,
    /// As many connections at a time as there are URLs, one after the other, until the time is over. None resumes a session.
    Handshakes,
}

impl Load {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::Bulk, Self::Bidirectional, Self::Requests, Self::Handshakes];

    /// True where [`super::LATENCIES`] is to know how long each one took.
    pub fn has_latencies(self) -> bool {
        matches!(self, Self::Requests | Self::Handshakes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        perf::Sizes,
        testing::{exit_status, parse, support},
    };

    const CLIENT: [(&str, &str); 3] =
        [("TESTCASE", "perf"), ("QUICLAB_PERF_REQUEST", "100"), ("QUICLAB_PERF_RESPONSE", "1000")];
    const TIME: (&str, &str) = ("QUICLAB_PERF_DURATION", "250");
    const FILE: (&str, &str) = ("QUICLAB_PERF_LATENCIES", "/l");

    fn load(name: &'static str) -> (&'static str, &'static str) {
        ("QUICLAB_PERF_LOAD", name)
    }

    #[test]
    fn a_load_is_asked_for_by_its_name() {
        let asked = |more: &[(&str, &str)]| parse(&support(), &[&CLIENT, more].concat());
        assert_eq!(asked(&[]).unwrap().perf_load, Load::Bulk);
        let names = ["bulk", "bidirectional", "requests", "handshakes"];
        for (name, expected) in names.into_iter().zip(Load::ALL) {
            assert_eq!(asked(&[load(name), TIME]).unwrap().perf_load, expected);
        }
        let settings = asked(&[load("requests"), TIME, FILE]).unwrap();
        assert_eq!(settings.perf_latencies, Some("/l".into()));
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let status = |more: &[(&str, &str)]| exit_status(&support(), &[&CLIENT, more].concat());
        assert_eq!(status(&[load("floods"), TIME]), 127);
        assert_eq!(status(&[load("requests")]), 1, "without end");
        assert_eq!((status(&[TIME, FILE]), status(&[load("bidirectional"), FILE])), (1, 1));
        for one in [load("bulk"), FILE] {
            assert_eq!(exit_status(&support(), &[one]), 127, "{one:?} without perf");
            let server = [("TESTCASE", "perf"), ("ROLE", "server"), one];
            assert_eq!(exit_status(&support(), &server), 127, "{one:?} of a server");
        }
        let mut few = support();
        few.extras.perf_loads = &[Load::Bulk];
        assert_eq!(exit_status(&few, &[&CLIENT[..], &[load("requests"), TIME]].concat()), 127);
        assert_eq!(exit_status(&few, &[&CLIENT[..], &[load("bulk"), TIME]].concat()), 0);
    }

    #[test]
    fn two_streams_carry_what_one_does() {
        let [up, down] = Sizes { request: 100, response: 1000 }.apart();
        assert_eq!((up, down), (Sizes { request: 100, response: 0 }, Sizes { request: 8, response: 1000 }));
    }
}
