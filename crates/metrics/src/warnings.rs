//! The names of what may be wrong with a run. Explained in docs/reference/metrics.md.

/// "Check this before trusting the run."
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningCode {
    /// No packet from the server's port at the sender's tap.
    NoFlow,
    /// The server's port has more than one flow; the one with most packets was measured.
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
    /// There are so many values that medians and distributions are rounded to 0.03 %.
    MedianRounded,
    /// There are so many streams that not all of them were followed.
    StreamsNotFollowed,
    /// The capture does not show who opened the connection; the ports were taken as a hint.
    RolesGuessed,
    /// Packets could not be decrypted for want of keys.
    KeysMissing,
    /// Packets did not open with the keys at hand.
    DecryptionFailed,
    /// Packets were cut by the snap length, so their frames are not known.
    PayloadCut,
    /// Decrypted packets with a malformed frame; the rest of the packet is unread.
    FramesMalformed,
    /// Decrypted packets with a frame of an unknown type; the rest of the packet is unread.
    FramesUnknown,
    /// Packets were acknowledged that the capture does not have.
    CaptureMissedPackets,
    /// Packets of the handshake could not be read, so that its times are not known.
    HandshakeUnread,
    /// The server sent more than the anti-amplification limit allows.
    AmplificationLimitExceeded,
    /// A stack's logged probe timeout is not the one that follows from its packets.
    ProbeTimeoutDiffers,
    /// No acknowledgment of the peer was captured or could be read.
    AcknowledgmentsMissing,
    /// Nothing shows that a flow of UDP is QUIC.
    NotQuic,
    /// The capture begins after the connection did.
    CaptureBeganLate,
    /// The connection may have gone on where the reader could not follow it.
    ConnectionLost,
    /// Datagrams with bytes that are no QUIC packet.
    ForeignBytes,
    /// The tap saw packets twice.
    PacketsDuplicated,
    /// A packet that looks like a stateless reset.
    StatelessReset,
    /// A Retry packet whose integrity tag is wrong.
    RetryNotGenuine,
    /// No byte of the UDP payload was captured: the protocol is not known.
    NoPayloadCaptured,
    /// Goodput counts the bytes of STREAM frames, since the length of the transfer is not known.
    GoodputFromStreamBytes,
    /// There are so many time windows that the rest was left out.
    WindowsTooMany,
    /// There are so many long trains that not all of them were examined for causes.
    TrainsNotExamined,
    /// Planned send times that belong to no captured packet.
    PlannedTimesNotJoined,
    /// An endpoint had ended, and processes of it were still there.
    ProcessesLeft,
    /// An endpoint wrote files outside of the folders it was given.
    StrayFiles,
    /// An endpoint printed more than is kept.
    LogCut,
    /// The sender's qlog could not be read.
    QlogUnread,
    /// A list of planned send times could not be read.
    PlannedTimesUnread,
    /// The stack hands send times over to the kernel, and wrote no list of them.
    PlannedTimesMissing,
    /// The queueing discipline of the sender's own interface dropped packets.
    ServerQueueDrops,
    /// Buffers of several packets whose packets were to be spaced came without a rate.
    SegmentsNotPaced,
    /// A rule that loses datagrams by what they hold never matched.
    RuleNeverMatched,
    /// Such a rule could not be decided for some datagrams.
    RuleUndecided,
    /// The forwarder let packets go later than the path planned.
    ForwarderLate,
    /// The machine did other things when a run in real time began.
    MachineNotQuiet,
    /// Something outside of the machine slowed a run in real time down.
    MachineDisturbed,
    /// The clocks of several hosts drifted apart, or it is not known how far.
    ClocksDrifted,
    /// Datagrams of a run in real time were lost at an endpoint's socket.
    ReceiveBufferDrops,
}

impl WarningCode {
    /// All of them, in the order of declaration.
    pub const ALL: [WarningCode; 56] = [
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
        WarningCode::MedianRounded,
        WarningCode::StreamsNotFollowed,
        WarningCode::RolesGuessed,
        WarningCode::KeysMissing,
        WarningCode::DecryptionFailed,
        WarningCode::PayloadCut,
        WarningCode::FramesMalformed,
        WarningCode::FramesUnknown,
        WarningCode::CaptureMissedPackets,
        WarningCode::HandshakeUnread,
        WarningCode::AmplificationLimitExceeded,
        WarningCode::ProbeTimeoutDiffers,
        WarningCode::AcknowledgmentsMissing,
        WarningCode::NotQuic,
        WarningCode::CaptureBeganLate,
        WarningCode::ConnectionLost,
        WarningCode::ForeignBytes,
        WarningCode::PacketsDuplicated,
        WarningCode::StatelessReset,
        WarningCode::RetryNotGenuine,
        WarningCode::NoPayloadCaptured,
        WarningCode::GoodputFromStreamBytes,
        WarningCode::WindowsTooMany,
        WarningCode::TrainsNotExamined,
        WarningCode::PlannedTimesNotJoined,
        WarningCode::ProcessesLeft,
        WarningCode::StrayFiles,
        WarningCode::LogCut,
        WarningCode::QlogUnread,
        WarningCode::PlannedTimesUnread,
        WarningCode::PlannedTimesMissing,
        WarningCode::ServerQueueDrops,
        WarningCode::SegmentsNotPaced,
        WarningCode::RuleNeverMatched,
        WarningCode::RuleUndecided,
        WarningCode::ForwarderLate,
        WarningCode::MachineNotQuiet,
        WarningCode::MachineDisturbed,
        WarningCode::ClocksDrifted,
        WarningCode::ReceiveBufferDrops,
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
            WarningCode::MedianRounded => "median_rounded",
            WarningCode::StreamsNotFollowed => "streams_not_followed",
            WarningCode::RolesGuessed => "roles_guessed",
            WarningCode::KeysMissing => "keys_missing",
            WarningCode::DecryptionFailed => "decryption_failed",
            WarningCode::PayloadCut => "payload_cut",
            WarningCode::FramesMalformed => "frames_malformed",
            WarningCode::FramesUnknown => "frames_unknown",
            WarningCode::CaptureMissedPackets => "capture_missed_packets",
            WarningCode::HandshakeUnread => "handshake_unread",
            WarningCode::AmplificationLimitExceeded => "amplification_limit_exceeded",
            WarningCode::ProbeTimeoutDiffers => "probe_timeout_differs",
            WarningCode::AcknowledgmentsMissing => "acknowledgments_missing",
            WarningCode::NotQuic => "not_quic",
            WarningCode::CaptureBeganLate => "capture_began_late",
            WarningCode::ConnectionLost => "connection_lost",
            WarningCode::ForeignBytes => "foreign_bytes",
            WarningCode::PacketsDuplicated => "packets_duplicated",
            WarningCode::StatelessReset => "stateless_reset",
            WarningCode::RetryNotGenuine => "retry_not_genuine",
            WarningCode::NoPayloadCaptured => "no_payload_captured",
            WarningCode::GoodputFromStreamBytes => "goodput_from_stream_bytes",
            WarningCode::WindowsTooMany => "windows_too_many",
            WarningCode::TrainsNotExamined => "trains_not_examined",
            WarningCode::PlannedTimesNotJoined => "planned_times_not_joined",
            WarningCode::ProcessesLeft => "processes_left",
            WarningCode::StrayFiles => "stray_files",
            WarningCode::LogCut => "log_cut",
            WarningCode::QlogUnread => "qlog_unread",
            WarningCode::PlannedTimesUnread => "planned_times_unread",
            WarningCode::PlannedTimesMissing => "planned_times_missing",
            WarningCode::ServerQueueDrops => "server_queue_drops",
            WarningCode::SegmentsNotPaced => "segments_not_paced",
            WarningCode::RuleNeverMatched => "rule_never_matched",
            WarningCode::RuleUndecided => "rule_undecided",
            WarningCode::ForwarderLate => "forwarder_late",
            WarningCode::MachineNotQuiet => "machine_not_quiet",
            WarningCode::MachineDisturbed => "machine_disturbed",
            WarningCode::ClocksDrifted => "clocks_drifted",
            WarningCode::ReceiveBufferDrops => "receive_buffer_drops",
        }
    }
}
