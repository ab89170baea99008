//! What a ladder is made of.

use quiclab_wire::Role;

use super::run::LadderRun;

/// Handshakes of one capture.
#[derive(Clone, Debug, Default)]
pub struct Ladder {
    /// Name of the capture or record.
    pub title: String,
    /// The connections, in the order of their first datagrams.
    pub connections: Vec<LadderConnection>,
    /// Connections behind the last one that is drawn.
    pub connections_left_out: usize,
    /// What the record of the run says; `None` of a capture alone.
    pub run: Option<LadderRun>,
}

/// The handshake of one connection.
#[derive(Clone, Debug, Default)]
pub struct LadderConnection {
    /// The addresses of the connection.
    pub name: String,
    /// The datagrams, in the order in which they were sent, as far as that was seen.
    pub datagrams: Vec<LadderDatagram>,
    /// What else happened at its ends, in the order of time.
    pub marks: Vec<LadderMark>,
    /// Datagrams behind the last one that is drawn.
    pub left_out: usize,
    /// Where the connection was captured.
    pub taps: LadderTaps,
}

/// Where a connection was captured, and so what times are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LadderTaps {
    /// Somewhere on the path: one time for each datagram.
    #[default]
    One,
    /// The connection was captured at the server and at the client's end of the path: two times, and what was lost between them.
    Two,
}

/// Something that happened at one end: a timer expired, data had to wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LadderMark {
    /// The end at which it happened.
    pub side: Role,
    /// Time of the event, in nanoseconds since the first datagram.
    pub time_ns: u64,
    /// Time until which the event lasted, in nanoseconds since the first datagram; `None` of a moment.
    pub until_ns: Option<u64>,
    /// The kind of event.
    pub kind: LadderMarkKind,
    /// What happened, in words.
    pub words: String,
}

/// What kind of thing happened at an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LadderMarkKind {
    /// A sample of the round-trip time.
    Sample,
    /// A probe timeout by RFC 9002, recomputed from packets.
    Timeout,
    /// A probe timeout that the stack logged.
    LoggedTimeout,
    /// A datagram that was sent on a timeout.
    Probe,
    /// The server waited for its amplification limit.
    Blocked,
}

/// One datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LadderDatagram {
    /// The end that sent the datagram.
    pub sender: Role,
    /// When it passed the tap nearer to its sender or, with one tap, that one: nanoseconds since the first.
    pub sent_ns: u64,
    /// When it passed the other one. `None`: it did not or, with one tap, nobody knows.
    pub arrived_ns: Option<u64>,
    /// What dropped it, in words; `None` where it was not dropped, or the record does not say.
    pub dropped_by: Option<String>,
    /// Bytes of its UDP payload.
    pub bytes: u32,
    /// Each of its QUIC packets, with its frames, in words.
    pub packets: Vec<String>,
    /// What it is in the handshake: `ClientHello`, `instant ACK`.
    pub steps: Vec<&'static str>,
}
