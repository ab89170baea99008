//! What happened at the ends of a handshake, in words.

use quiclab_metrics::{HandshakeEvent, HandshakeMark};
use quiclab_report::{LadderDatagram, LadderMark, LadderMarkKind};
use quiclab_units::{Duration, Time};

/// The marks of a connection that began at `start`.
pub(super) fn in_words(marks: &[HandshakeMark], start: Time) -> Vec<LadderMark> {
    let since = |time: Time| time.checked_since(start).map_or(0, Duration::as_nanos);
    let mark = |mark: &HandshakeMark| {
        let (kind, until, words) = match mark.what {
            HandshakeEvent::FirstSample { rtt, pto } => (
                LadderMarkKind::Sample,
                None,
                format!("first sample {}, so the probe timeout is {}", milliseconds(rtt), milliseconds(pto)),
            ),
            HandshakeEvent::TimeoutDue { pto, space, doubled } => (
                LadderMarkKind::Timeout,
                None,
                format!("probe timeout for {space} packets after {}{}", milliseconds(pto), times_doubled(doubled)),
            ),
            HandshakeEvent::Probe { waited, has_sample } => (LadderMarkKind::Probe, None, probe(waited, has_sample)),
            HandshakeEvent::Blocked { until } => {
                let length = until.checked_since(mark.time).unwrap_or_default();
                let words = format!("by the amplification limit for {}", milliseconds(length));
                (LadderMarkKind::Blocked, Some(until), words)
            }
        };
        LadderMark { side: mark.side, time_ns: since(mark.time), until_ns: until.map(since), kind, words }
    };
    marks.iter().map(mark).collect()
}

/// The marks up to the last datagram that is drawn, and those behind it where none is left out.
pub(super) fn within(marks: Vec<LadderMark>, datagrams: &[LadderDatagram]) -> Vec<LadderMark> {
    let times = datagrams.iter().flat_map(|one| [Some(one.sent_ns), one.arrived_ns]).flatten();
    let last = times.max().unwrap_or(0);
    let is_drawn = |mark: &LadderMark| mark.time_ns <= last;
    let cut = |mark: LadderMark| LadderMark { until_ns: mark.until_ns.map(|until| until.min(last)), ..mark };
    marks.into_iter().filter(is_drawn).map(cut).collect()
}

fn probe(waited: Option<Duration>, has_sample: bool) -> String {
    let waited = match waited {
        Some(waited) => format!("{} after its last packet that asks for an acknowledgment", milliseconds(waited)),
        None => "with nothing sent before".to_owned(),
    };
    if has_sample { waited } else { format!("{waited}, before any RTT sample") }
}

fn times_doubled(doubled: u32) -> String {
    match doubled {
        0 => String::new(),
        1 => ", doubled once".to_owned(),
        more => format!(", doubled {more} times"),
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.3} ms", time.as_nanos() as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use quiclab_wire::Role;

    use super::*;

    fn ms(milliseconds: u64) -> Time {
        Time::from_nanos(milliseconds * 1_000_000)
    }

    #[test]
    fn times_count_from_the_first_datagram_and_have_their_reason() {
        let pto = Duration::from_millis(54);
        let marks = [
            HandshakeMark {
                side: Role::Client,
                time: ms(64),
                what: HandshakeEvent::TimeoutDue { pto, space: "Initial", doubled: 1 },
            },
            HandshakeMark { side: Role::Server, time: ms(70), what: HandshakeEvent::Blocked { until: ms(75) } },
        ];
        let found = in_words(&marks, ms(10));
        assert_eq!(found[0].words, "probe timeout for Initial packets after 54.000 ms, doubled once");
        assert_eq!((found[0].time_ns, found[1].until_ns), (54_000_000, Some(65_000_000)));
        assert_eq!(found[1].words, "by the amplification limit for 5.000 ms");
    }

    #[test]
    fn what_happens_behind_the_last_datagram_is_not_drawn() {
        let marks = [ms(20), ms(90)].map(|time| HandshakeMark {
            side: Role::Client,
            time,
            what: HandshakeEvent::Probe { waited: None, has_sample: true },
        });
        let datagram = LadderDatagram {
            sender: Role::Client,
            sent_ns: 30_000_000,
            arrived_ns: None,
            dropped_by: None,
            bytes: 1,
            packets: Vec::new(),
            steps: Vec::new(),
        };
        assert_eq!(within(in_words(&marks, ms(0)), &[datagram]).len(), 1);
    }
}
