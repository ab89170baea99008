//! The ladder of a handshake: both sides, each datagram between them with its frames in words, and what never arrived.

mod draw;
mod run;
#[cfg(test)]
mod tests;

use maud::{Markup, PreEscaped, html};
use quiclab_wire::Role;

use crate::page::page_with;

pub use run::LadderRun;

const STYLE: &str = ".ladder { overflow-x: auto; } .ladder .plot { max-width: 100%; min-width: 60rem; } .time { font-variant-numeric: tabular-nums; }";

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
    /// Its addresses.
    pub name: String,
    /// The datagrams, in the order in which they were sent, as far as that was seen.
    pub datagrams: Vec<LadderDatagram>,
    /// What else happened at its ends, in the order of time.
    pub marks: Vec<LadderMark>,
    /// Datagrams behind the last one that is drawn.
    pub left_out: usize,
    /// Where it was captured.
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
    /// When: nanoseconds since the first datagram.
    pub time_ns: u64,
    /// Time until which it lasted, in nanoseconds since the first datagram; `None` of a moment.
    pub until_ns: Option<u64>,
    /// What it is.
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
    /// It waited for its amplification limit.
    Blocked,
}

/// One datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LadderDatagram {
    /// Who sent it.
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

/// The page. It needs no network and no scripts.
pub fn render_ladder_html(ladder: &Ladder) -> String {
    let body = html! {
        @if let Some(run) = &ladder.run { (run::head(&ladder.title, run)) } @else { h1 { "Handshakes of " (ladder.title) } }
        @if ladder.connections.is_empty() {
            p { "No QUIC connection begins in this capture." }
        }
        @for connection in &ladder.connections {
            h2 { (connection.name) }
            div.ladder { (PreEscaped(draw::svg(connection))) }
            p.note {
                @match connection.taps {
                    LadderTaps::One => {
                        "Captured in one place, so arrows are level: when a datagram was sent or arrived elsewhere is not known, and neither is \
                         whether it was lost behind that place."
                    }
                    LadderTaps::Two => {
                        "Left: the tap at the client's end of the path. Right: the tap at the server. A cross: it passed the first tap and never \
                         the second."
                    }
                }
                @if connection.left_out > 0 { " " (connection.left_out) " later datagrams are not drawn." }
            }
        }
        @if ladder.connections_left_out > 0 {
            p.note { (ladder.connections_left_out) " later connections are not drawn." }
        }
        @if ladder.connections.iter().any(|connection| !connection.marks.is_empty()) { (legend()) }
        @if let Some(run) = &ladder.run { (run::numbers(run)) }
    };
    page_with(&ladder.title, STYLE, &body)
}

/// What the marks at the sides mean.
fn legend() -> Markup {
    html! {
        p.note {
            "Marks at the sides: " b { "RTT" } ", the first sample of the round-trip time. " b { "timer" } ", a probe timeout as RFC 9002 \
             computes it from the packets (with max_ack_delay for 1-RTT packets); a stack whose timer differs probes at another time. "
            b { "probe" } ", a datagram that only repeats data or asks for an acknowledgment while nothing showed a loss. "
            b { "blocked" } ", time in which the server had data left and less than a datagram of its amplification limit."
        }
    }
}
