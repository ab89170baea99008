//! How a sender behaves.

use crate::tcp::rtt::RtoSettings;

/// How losses are found and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Losses are found by duplicate acknowledgments; fast recovery ends with the first new one (RFC 5681, section 3.2).
    Reno,
    /// Losses are found by duplicate acknowledgments; fast recovery ends when all that was sent before it has arrived (RFC 6582).
    NewReno,
    /// Losses are found by selective acknowledgments (RFC 6675).
    Selective,
}

/// How a sender behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderSettings {
    /// Length of a packet with a full segment, in bytes as the path counts them.
    pub packet_bytes: u32,
    /// The largest window that the receiver offers, in segments.
    pub largest_window: f64,
    /// How losses are repaired.
    pub recovery: Recovery,
    /// Whether packets are spaced.
    pub pacing: Option<PacingSettings>,
    /// Settings of the retransmission timer.
    pub rto: RtoSettings,
    /// Whether queues may mark its packets (RFC 3168).
    pub ecn: bool,
    /// Whether segments carry the time at which they were sent and acknowledgments repeat it (RFC 7323); `None` only with selective acknowledgments.
    pub timestamps: Option<bool>,
}

impl SenderSettings {
    pub(crate) fn has_timestamps(&self) -> bool {
        self.timestamps.unwrap_or(self.recovery == Recovery::Selective)
    }
}

/// How packets are spaced: one for each `rtt / (gain x congestion_window)`.
///
/// With timestamps, `rtt` is an exponentially weighted average (1/8 for the newest) of the round-trip times that all acknowledgments tell, duplicates
/// included, kept apart from `SRTT` (Aggarwal, Savage and Anderson, section IV-A). Without timestamps it is `SRTT`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacingSettings {
    /// 1 is the window in a round-trip time.
    pub gain: f64,
    /// Packets that may leave at once after a pause; 1 never sends two together.
    pub burst: u32,
}

impl Default for SenderSettings {
    fn default() -> Self {
        Self {
            packet_bytes: 1500,
            largest_window: 1e9,
            recovery: Recovery::Selective,
            pacing: None,
            rto: RtoSettings::default(),
            ecn: false,
            timestamps: None,
        }
    }
}
