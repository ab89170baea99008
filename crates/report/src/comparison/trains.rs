//! The train that shows how the sides differ.

use std::fmt::Write as _;

use quiclab_metrics::BurstCause;
use serde::Serialize;

/// Which train is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShownTrain {
    /// The longest train of the side that the verdict calls burstier.
    LongestOfBurstier,
    /// The first long train that the other side has not.
    FirstOnOneSide,
}

/// A train of one of two runs with the same seed, and what the other run did with the same packets.
#[derive(Clone, Debug, Serialize)]
pub struct TrainDifference {
    /// Name of the settings.
    pub label: String,
    /// Seed of both runs.
    pub seed: u64,
    /// Which train this is.
    pub shown: ShownTrain,
    /// `A` or `B`: who has the long train.
    pub has: &'static str,
    /// What each side did with these packets, A first.
    pub sides: [SeenTrain; 2],
    /// The command that shows more.
    pub more: String,
}

/// What one side did, and what it knew before.
#[derive(Clone, Debug, Serialize)]
pub struct SeenTrain {
    /// Packets of the longest train that holds some of them.
    pub packets: u64,
    /// Bytes of their frames.
    pub bytes: u64,
    /// When it begins, since the first packet at the sender's tap, as `quiclab packets` shows it.
    pub time_ns: u64,
    /// Packet number of its first packet; `None` where no number could be read, as with TCP.
    pub packet_number: Option<u64>,
    /// Time without a packet of the sender before it; `None` for its first packet.
    pub gap_before_ns: Option<u64>,
    /// Time from the last acknowledgment to the train's first packet; `None` where none had come, or where not every one could be read.
    pub since_ack_ns: Option<u64>,
    /// Packets (TCP: bytes) that the last acknowledgment newly acknowledged.
    pub newly_acknowledged: Option<u64>,
    /// Payload bytes sent and neither acknowledged nor lost before it, as `bytes_in_flight_max` counts them; `None` where not every ACK was
    /// read.
    pub bytes_in_flight: Option<u64>,
    /// The congestion window by the server's log; `None` where it logs none.
    pub congestion_window_bytes: Option<u64>,
    /// The pacing rate by the server's log.
    pub pacing_rate_bps: Option<u64>,
    /// The cause by the analysis of bursts; `None` for a train that it does not list.
    pub cause: Option<BurstCause>,
    /// What speaks for that cause, in words and numbers.
    pub evidence: Option<String>,
}

/// The longest train of the burstier side, and why it is so long.
#[derive(Clone, Debug)]
pub(super) struct LongestTrain {
    /// `A` or `B`.
    pub(super) has: &'static str,
    pub(super) packets: u64,
    /// The cause as a sentence without its beginning: "acknowledgments release that many at once".
    pub(super) reason: &'static str,
    /// Where the train is, and what speaks for the cause.
    pub(super) evidence: String,
}

impl TrainDifference {
    /// The difference in a few paragraphs.
    pub(super) fn in_words(&self) -> Vec<String> {
        let sides =
            ["A", "B"].into_iter().zip(&self.sides).map(|(letter, side)| format!("  {letter}  {}", side.in_words()));
        let heading = format!("{}, seed {}: {}", self.label, self.seed, self.heading());
        [heading].into_iter().chain(sides).chain([format!("  more: {}", self.more)]).collect()
    }

    /// The train, where it is the longest of the burstier side and the analysis of bursts knows its cause.
    pub(super) fn longest(&self) -> Option<LongestTrain> {
        let side = &self.sides[usize::from(self.has == "B")];
        if self.shown != ShownTrain::LongestOfBurstier {
            return None;
        }
        let reason = reason(side.cause?)?;
        let place = side.packet_number.map_or_else(String::new, |number| format!(" from packet {number}"));
        let (has, packets, time) = (self.has, side.packets, milliseconds(side.time_ns));
        let cause = side.cause_in_words()?;
        let evidence =
            format!("the longest train of {has}, {packets} packets{place} at {time} (seed {}): {cause}", self.seed);
        Some(LongestTrain { has, packets, reason, evidence })
    }

    /// Which train this is, in words.
    pub(super) fn heading(&self) -> String {
        let has = self.has;
        match self.shown {
            ShownTrain::LongestOfBurstier => {
                format!("the longest train of {has}, which is burstier, and the same packets on the other side")
            }
            ShownTrain::FirstOnOneSide => format!("the first long train that {has} has and the other does not"),
        }
    }
}

/// What a cause does, in the words of a sentence; `None` where it is not known.
fn reason(cause: BurstCause) -> Option<&'static str> {
    Some(match cause {
        BurstCause::StartUp => "it begins before the first acknowledgment",
        BurstCause::RecoveryEnd => "the end of a loss recovery releases that many at once",
        BurstCause::LateTimer => "packets planned apart leave late and together",
        BurstCause::Batch => "that many leave as one batch",
        BurstCause::ApplicationPause => "it resumes at once after a pause",
        BurstCause::Bucket => "the bucket of its pacer allows that many",
        BurstCause::Ack => "acknowledgments release that many at once",
        BurstCause::Unknown => return None,
    })
}

fn milliseconds(time: u64) -> String {
    format!("{:.3} ms", time as f64 / 1e6)
}

impl SeenTrain {
    fn cause_in_words(&self) -> Option<String> {
        let cause = self.cause?.name();
        Some(self.evidence.as_ref().map_or_else(|| cause.to_owned(), |evidence| format!("{cause}: {evidence}")))
    }

    /// The train in a line.
    pub(super) fn in_words(&self) -> String {
        let mut text =
            format!("{} packets ({} bytes) in one train at {}", self.packets, self.bytes, milliseconds(self.time_ns));
        if let Some(number) = self.packet_number {
            let _ = write!(text, ", from packet {number} on");
        }
        if let Some(gap) = self.gap_before_ns {
            let _ = write!(text, ", after {} without a packet", milliseconds(gap));
        }
        match (self.since_ack_ns, self.newly_acknowledged) {
            (Some(since), Some(newly)) => {
                let _ = write!(text, "; {} after an ACK for {newly} more", milliseconds(since));
            }
            (Some(since), None) => {
                let _ = write!(text, "; {} after an ACK", milliseconds(since));
            }
            _ => text.push_str("; no ACK was read before it"),
        }
        if let Some(bytes) = self.bytes_in_flight {
            let _ = write!(text, "; {bytes} bytes in flight");
        }
        match self.congestion_window_bytes {
            Some(bytes) => drop(write!(text, "; congestion window {bytes} bytes")),
            None => text.push_str("; no congestion window logged"),
        }
        match self.pacing_rate_bps {
            Some(rate) => drop(write!(text, "; pacing rate {:.3} Mbit/s", rate as f64 / 1e6)),
            None => text.push_str("; no pacing rate logged"),
        }
        if let Some(cause) = self.cause_in_words() {
            let _ = write!(text, "; {cause}");
        }
        text
    }
}
