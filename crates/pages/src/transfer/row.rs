//! One line of the listing.

use std::fmt;

use serde::Serialize;

/// One datagram or segment at the tap. `None`: not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Number of its frame in the capture, from 1, as Wireshark counts.
    pub frame: u64,
    /// Time since the first packet at the tap.
    pub time_ns: u64,
    /// Time since the packet before it of the same sender and flow.
    pub gap_ns: Option<u64>,
    /// Index of its flow, counted from 0.
    pub flow: usize,
    /// `server` or `client`.
    pub sender: &'static str,
    /// Bytes of the frame on the wire.
    pub bytes: u32,
    /// What its sender has in flight after it.
    pub bytes_in_flight: Option<u64>,
    /// Time from the packet until the last ACK at the tap that acknowledges all of its ack-eliciting QUIC packets.
    pub acknowledged_after_ns: Option<u64>,
    /// Whether a packet sent three or more later was acknowledged before it (RFC 9002 section 6.1.1). `None` where acknowledgments
    /// are not known.
    pub is_lost: Option<bool>,
    /// Whether it never came to the tap behind the bottleneck, though later packets did. `None` without such a tap.
    pub is_dropped: Option<bool>,
    /// Time from this tap to the one behind the bottleneck.
    pub behind_bottleneck_after_ns: Option<u64>,
    /// Names of the QUIC frames in it, each once, in the order of their first places.
    pub frames: Vec<&'static str>,
    /// QUIC packets and frames of the datagram, in words.
    pub content: String,
}

/// The fate of a packet, as far as the capture shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// The packet never came to the tap behind the bottleneck.
    Dropped,
    /// Three later ones were acknowledged, and it never was.
    Lost,
    /// Three later ones were acknowledged before it.
    Late,
    /// All of its ack-eliciting packets were acknowledged in time.
    Acknowledged,
}

/// Headings of the columns before `content`, as wide as these.
pub const HEADING: &str = "    frame       time, s     gap, us sender bytes in flight fate                ";

impl Row {
    /// Returns the fate of the packet; `None` where it is not known.
    pub fn fate(&self) -> Option<Fate> {
        match (self.is_dropped, self.is_lost, self.acknowledged_after_ns) {
            (Some(true), ..) => Some(Fate::Dropped),
            (_, Some(true), None) => Some(Fate::Lost),
            (_, Some(true), Some(_)) => Some(Fate::Late),
            (_, _, Some(_)) => Some(Fate::Acknowledged),
            (_, _, None) => None,
        }
    }

    fn fate_in_words(&self) -> String {
        let after = self.acknowledged_after_ns.unwrap_or_default() as f64 / 1e6;
        match self.fate() {
            Some(Fate::Dropped) => "DROPPED".to_owned(),
            Some(Fate::Lost) => "LOST".to_owned(),
            Some(Fate::Late) => format!("late, acked +{after:.1} ms"),
            Some(Fate::Acknowledged) => format!("acked +{after:.3} ms"),
            None => String::new(),
        }
    }
}

/// The columns before `content`; the two that begin a line are the caller's.
impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanoseconds) = (self.time_ns / 1_000_000_000, self.time_ns % 1_000_000_000);
        let gap = self.gap_ns.map_or_else(|| "-".to_owned(), |gap| format!("{:.3}", gap as f64 / 1e3));
        let in_flight = self.bytes_in_flight.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
        write!(
            formatter,
            "{:>7} {seconds:>3}.{nanoseconds:09} {gap:>11} {:<6} {:>5} {in_flight:>9} {:<20}",
            self.frame,
            self.sender,
            self.bytes,
            self.fate_in_words()
        )
    }
}
