//! What a client of `perf` does: `QUICLAB_PERF_LOAD`.

use super::Sizes;

/// A load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// A stream for each URL, all at the same time.
    Bulk,
    /// Two streams for each URL, all at the same time: one for each direction.
    Bidirectional,
    /// One exchange per URL at a time, all on one connection. When one is complete, the next begins, until the time is over.
    Requests,
    /// One exchange per URL, all on one connection. Each begins a fixed time after the one before began, whether that is complete or not.
    Periodic,
    /// One connection per URL at a time. When one is closed, the next begins, until the time is over. None resumes a session.
    Handshakes,
}

impl Load {
    /// All there are.
    pub const ALL: [Self; 5] = [Self::Bulk, Self::Bidirectional, Self::Requests, Self::Periodic, Self::Handshakes];

    /// Those without a schedule.
    pub const WITHOUT_PERIODIC: [Self; 4] = [Self::Bulk, Self::Bidirectional, Self::Requests, Self::Handshakes];

    /// True where [`super::LATENCIES`] is to know how long each one took.
    pub fn has_latencies(self) -> bool {
        matches!(self, Self::Requests | Self::Periodic | Self::Handshakes)
    }

    /// True where only [`super::super::Settings::perf_duration`] ends it.
    pub fn needs_duration(self) -> bool {
        matches!(self, Self::Requests | Self::Handshakes)
    }

    /// What each stream of one connection carries, for so many URLs. With [`Load::Requests`] each of them is followed by another one, so there
    /// are at most `most`, which run at the same time.
    pub fn streams(self, sizes: Sizes, urls: usize, most: Option<usize>) -> Vec<Sizes> {
        match self {
            Self::Bulk | Self::Periodic => vec![sizes; urls],
            Self::Bidirectional => sizes.apart().repeat(urls),
            Self::Requests => vec![sizes; urls.min(most.unwrap_or(urls))],
            Self::Handshakes => vec![Sizes::SMALLEST],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::testing::{exit_status, parse, support};

    const CLIENT: [(&str, &str); 3] =
        [("TESTCASE", "perf"), ("QUICLAB_PERF_REQUEST", "100"), ("QUICLAB_PERF_RESPONSE", "1000")];
    const TIME: (&str, &str) = ("QUICLAB_PERF_DURATION", "250");
    const PERIOD: (&str, &str) = ("QUICLAB_PERF_PERIOD", "33333");
    const FILE: (&str, &str) = ("QUICLAB_PERF_LATENCIES", "/l");

    fn load(name: &'static str) -> (&'static str, &'static str) {
        ("QUICLAB_PERF_LOAD", name)
    }

    #[test]
    fn a_load_is_asked_for_by_its_name() {
        let asked = |more: &[(&str, &str)]| parse(&support(), &[&CLIENT, more].concat());
        assert_eq!(asked(&[]).unwrap().perf_load, Load::Bulk);
        let names = ["bulk", "bidirectional", "requests", "periodic", "handshakes"];
        for (name, expected) in names.into_iter().zip(Load::ALL) {
            let period = (name == "periodic").then_some(PERIOD);
            let more: Vec<_> = [load(name), TIME].into_iter().chain(period).collect();
            assert_eq!(asked(&more).unwrap().perf_load, expected);
        }
        let settings = asked(&[load("periodic"), PERIOD, FILE]).unwrap();
        let found = (settings.perf_period, settings.perf_duration, settings.perf_latencies);
        assert_eq!(found, (Some(Duration::from_micros(33_333)), None, Some("/l".into())));
        assert_eq!(asked(&[load("requests"), TIME]).unwrap().perf_period, None);
        let settings = asked(&[load("requests"), TIME, FILE]).unwrap();
        assert_eq!(settings.perf_latencies, Some("/l".into()));
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let status = |more: &[(&str, &str)]| exit_status(&support(), &[&CLIENT, more].concat());
        assert_eq!(status(&[load("floods"), TIME]), 127);
        assert_eq!(status(&[load("requests")]), 1, "without end");
        assert_eq!((status(&[TIME, FILE]), status(&[load("bidirectional"), FILE])), (1, 1));
        assert_eq!(status(&[load("periodic")]), 1, "without a period");
        assert_eq!((status(&[PERIOD]), status(&[load("requests"), TIME, PERIOD])), (1, 1), "a period alone");
        assert_eq!(status(&[load("periodic"), ("QUICLAB_PERF_PERIOD", "0")]), 1);
        assert_eq!(status(&[load("periodic"), ("QUICLAB_PERF_PERIOD", "33.3")]), 1);
        assert_eq!(status(&[load("periodic"), PERIOD, ("QUICLAB_STREAMS", "2")]), 1, "it would wait");
        for one in [load("bulk"), FILE, PERIOD] {
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

    #[test]
    fn a_load_and_the_number_of_urls_make_the_streams() {
        let sizes = Sizes { request: 100, response: 1000 };
        let [up, down] = sizes.apart();
        assert_eq!(Load::Bulk.streams(sizes, 2, Some(1)), [sizes, sizes]);
        assert_eq!(Load::Periodic.streams(sizes, 2, None), [sizes, sizes]);
        assert_eq!(Load::Bidirectional.streams(sizes, 2, Some(1)), [up, down, up, down]);
        assert_eq!(Load::Requests.streams(sizes, 3, Some(2)), [sizes, sizes]);
        assert_eq!(Load::Requests.streams(sizes, 3, None).len(), 3);
        assert_eq!(Load::Handshakes.streams(sizes, 3, None), [Sizes::SMALLEST]);
    }
}
