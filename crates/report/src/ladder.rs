//! The ladder of a handshake: both sides, each datagram between them with its frames in words, and what never arrived.

mod draw;
#[cfg(test)]
mod tests;

use maud::{PreEscaped, html};
use quiclab_wire::Role;

use crate::html::page_with;

const STYLE: &str = ".ladder svg { max-width: 100%; height: auto; }";

/// Handshakes of one capture.
#[derive(Clone, Debug, Default)]
pub struct Ladder {
    /// Name of the capture or record.
    pub title: String,
    /// In the order of their first datagrams.
    pub connections: Vec<LadderConnection>,
    /// Connections behind the last one that is drawn.
    pub connections_left_out: usize,
}

/// The handshake of one connection.
#[derive(Clone, Debug, Default)]
pub struct LadderConnection {
    /// Its addresses.
    pub name: String,
    /// In the order in which they were sent, as far as that was seen.
    pub datagrams: Vec<LadderDatagram>,
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
    /// At the server and at the client's end of the path: two times, and what was lost between them.
    Two,
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
        h1 { "Handshakes of " (ladder.title) }
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
    };
    page_with(&ladder.title, STYLE, &html! {}, &body)
}
