//! Probe timeouts that the endpoints' own qlogs have.

use std::{io::BufReader, path::Path};

use quiclab_inputs::open_unlinked;
use quiclab_record::{
    MOST_QLOG_BYTES,
    layout::{CLIENT_FOLDER, QLOG_FOLDER, SERVER_FOLDER},
    qlog_files,
};
use quiclab_report::{Ladder, LadderMark, LadderMarkKind};
use quiclab_units::Bounded;
use quiclab_wire::{QlogEvent, QlogEventKind, Role, read_qlog};

/// What a qlog says of its end's probe timer, by the log's own clock.
#[derive(Default)]
struct Timeouts {
    first_sent_ns: Option<i64>,
    expired_ns: Vec<i64>,
}

impl Timeouts {
    fn on_event(&mut self, event: &QlogEvent) {
        match &event.kind {
            _ if event.trace != 0 => {}
            QlogEventKind::PacketSent(_) => {
                self.first_sent_ns.get_or_insert(event.time_ns);
            }
            QlogEventKind::LossTimer { event: what, timer } if what == "expired" && timer == "pto" => {
                self.expired_ns.push(event.time_ns);
            }
            _ => {}
        }
    }

    /// The timeouts of an end whose first datagram left at `first_ns`.
    fn marks(&self, side: Role, first_ns: u64) -> Vec<LadderMark> {
        let Some(start) = self.first_sent_ns else { return Vec::new() };
        let time = |expired: &i64| Some(first_ns + u64::try_from(expired.checked_sub(start)?).ok()?);
        let mark = |time_ns| LadderMark {
            side,
            time_ns,
            until_ns: None,
            kind: LadderMarkKind::LoggedTimeout,
            words: "probe timeout expired".to_owned(),
        };
        self.expired_ns.iter().filter_map(time).map(mark).collect()
    }
}

/// Adds what the qlogs in a record say. Logs and packets are brought together by the first packet that each end sent, so only where there is one
/// connection.
pub(super) fn add(ladder: &mut Ladder, record: &Path) {
    let [connection] = &mut ladder.connections[..] else { return };
    for (folder, side) in [(CLIENT_FOLDER, Role::Client), (SERVER_FOLDER, Role::Server)] {
        let Some(first) = connection.datagrams.iter().find(|datagram| datagram.sender == side) else { continue };
        let Ok(files) = qlog_files(&record.join(folder).join(QLOG_FOLDER)) else { continue };
        for file in files {
            let Ok(log) = open_unlinked(&file) else { continue };
            let mut timeouts = Timeouts::default();
            // A log that is cut or damaged is used up to there; the metrics warn of it.
            let _ =
                read_qlog(BufReader::new(Bounded::new(log, MOST_QLOG_BYTES)), &mut |event| timeouts.on_event(&event));
            connection.marks.extend(timeouts.marks(side, first.sent_ns));
        }
    }
    connection.marks = super::marks::within(std::mem::take(&mut connection.marks), &connection.datagrams);
    connection.marks.sort_by_key(|mark| mark.time_ns);
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = concat!(
        "\u{1e}{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"trace\":{\"vantage_point\":{\"type\":\"client\"}}}\n",
        "\u{1e}{\"time\":5,\"name\":\"transport:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"initial\",\"packet_number\":0}}}\n",
        "\u{1e}{\"time\":6,\"name\":\"recovery:loss_timer_updated\",\"data\":{\"event_type\":\"set\",\"timer_type\":\"pto\",\"delta\":200}}\n",
        "\u{1e}{\"time\":205,\"name\":\"recovery:loss_timer_updated\",\"data\":{\"event_type\":\"expired\",\"timer_type\":\"pto\"}}\n",
        "\u{1e}{\"time\":207,\"name\":\"recovery:loss_timer_updated\",\"data\":{\"event_type\":\"expired\",\"timer_type\":\"ack\"}}\n",
    );

    #[test]
    fn a_timeout_counts_from_the_first_packet_in_log_and_capture() {
        let mut timeouts = Timeouts::default();
        read_qlog(LOG.as_bytes(), &mut |event| timeouts.on_event(&event)).unwrap();
        let marks = timeouts.marks(Role::Client, 1_000_000);
        assert_eq!(marks.iter().map(|mark| mark.time_ns).collect::<Vec<_>>(), [201_000_000]);
        assert_eq!(marks[0].kind, LadderMarkKind::LoggedTimeout);
    }
}
