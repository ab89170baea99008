//! The names of what may be wrong with a run. Explained in docs/reference/metrics.md.

/// "Check this before trusting the run."
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningCode {
    /// No packet from the server's port at the sender's tap.
    NoFlow,
    /// More than one flow from the server's port; the one with most packets was measured.
    SeveralFlows,
    /// The capture file stops in the middle of a record.
    CaptureTruncated,
    /// A tap lost packets.
    CaptureLostPackets,
    /// Frames that could belong to the flow were not understood.
    FramesNotUnderstood,
    /// Frames larger than the wire can carry: captured before segmentation.
    SuperPackets,
    /// Packets captured earlier than the one before them.
    TimeBackwards,
    /// The wire goodput runs from first to last packet, because nothing tells where 1-RTT protection begins.
    GoodputFirstToLastPacket,
    /// Packets before the first or behind the last one known to be 1-RTT protected could be as well.
    GoodputEdgesUncertain,
    /// No server packet has 1-RTT protection: the handshake did not complete.
    GoodputNoProtectedPackets,
    /// The interval of a goodput is 0.
    GoodputIntervalEmpty,
    /// Goodput by process and on the wire differ.
    GoodputProcessDiffers,
    /// Queue counters and the second tap disagree about drops.
    DropsDisagree,
    /// No queue counters: drops are the difference between the taps.
    DropsFromTaps,
    /// The machine was so busy that it may be what was measured.
    GuestBusy,
    /// A busy share that is no share.
    BusyShareInvalid,
}

impl WarningCode {
    /// All of them, in the order of declaration.
    pub const ALL: [WarningCode; 16] = [
        WarningCode::NoFlow,
        WarningCode::SeveralFlows,
        WarningCode::CaptureTruncated,
        WarningCode::CaptureLostPackets,
        WarningCode::FramesNotUnderstood,
        WarningCode::SuperPackets,
        WarningCode::TimeBackwards,
        WarningCode::GoodputFirstToLastPacket,
        WarningCode::GoodputEdgesUncertain,
        WarningCode::GoodputNoProtectedPackets,
        WarningCode::GoodputIntervalEmpty,
        WarningCode::GoodputProcessDiffers,
        WarningCode::DropsDisagree,
        WarningCode::DropsFromTaps,
        WarningCode::GuestBusy,
        WarningCode::BusyShareInvalid,
    ];

    /// The name in `metrics.json`. Never changes its meaning.
    pub fn name(self) -> &'static str {
        match self {
            WarningCode::NoFlow => "no_flow",
            WarningCode::SeveralFlows => "several_flows",
            WarningCode::CaptureTruncated => "capture_truncated",
            WarningCode::CaptureLostPackets => "capture_lost_packets",
            WarningCode::FramesNotUnderstood => "frames_not_understood",
            WarningCode::SuperPackets => "super_packets",
            WarningCode::TimeBackwards => "time_backwards",
            WarningCode::GoodputFirstToLastPacket => "goodput_first_to_last_packet",
            WarningCode::GoodputEdgesUncertain => "goodput_edges_uncertain",
            WarningCode::GoodputNoProtectedPackets => "goodput_no_protected_packets",
            WarningCode::GoodputIntervalEmpty => "goodput_interval_empty",
            WarningCode::GoodputProcessDiffers => "goodput_process_differs",
            WarningCode::DropsDisagree => "drops_disagree",
            WarningCode::DropsFromTaps => "drops_from_taps",
            WarningCode::GuestBusy => "guest_busy",
            WarningCode::BusyShareInvalid => "busy_share_invalid",
        }
    }
}
