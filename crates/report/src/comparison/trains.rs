//! The first long train that one side has and the other has not.

use std::fmt::Write as _;

use serde::Serialize;

/// The place where two runs with the same seed begin to send in other trains.
#[derive(Clone, Debug, Serialize)]
pub struct TrainDifference {
    /// Name of the settings.
    pub label: String,
    /// Seed of both runs.
    pub seed: u64,
    /// `A` or `B`: who has the long train.
    pub has: &'static str,
    /// The packets of the train on each side, counted from 1 among those of the sender.
    pub first_packet: u64,
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
    /// When it begins, since the sender's first packet.
    pub start_ns: u64,
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
    /// Cause and evidence by the analysis of bursts; `None` for a train that it does not list.
    pub cause: Option<String>,
}

impl TrainDifference {
    /// The difference in a few lines.
    pub(super) fn in_words(&self) -> String {
        let mut text = format!(
            "{}, seed {}: the first long train that {} has and the other does not begins with packet {}\n",
            self.label, self.seed, self.has, self.first_packet
        );
        for (letter, side) in ["A", "B"].into_iter().zip(&self.sides) {
            let _ = writeln!(text, "  {letter}  {}", side.in_words());
        }
        let _ = writeln!(text, "  more: {}", self.more);
        text
    }
}

impl SeenTrain {
    /// The train in a line.
    pub(super) fn in_words(&self) -> String {
        let milliseconds = |time: u64| format!("{:.3} ms", time as f64 / 1e6);
        let mut text =
            format!("{} packets ({} bytes) in one train at {}", self.packets, self.bytes, milliseconds(self.start_ns));
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
        if let Some(cause) = &self.cause {
            let _ = write!(text, "; {cause}");
        }
        text
    }
}
