//! The ladder of a handshake: both sides, each datagram between them with its frames in words, and what never arrived.

mod draw;
mod model;
mod run;
#[cfg(test)]
mod tests;

use maud::{Markup, PreEscaped, html};

use crate::page::page_with;

pub use model::{Ladder, LadderConnection, LadderDatagram, LadderMark, LadderMarkKind, LadderTaps};
pub use run::LadderRun;

const STYLE: &str = "\
.ladder { overflow-x: auto; } .ladder .plot { max-width: 100%; min-width: 0; } .time { font-variant-numeric: tabular-nums; }
.ladder .is-wide { min-width: 60rem; } .ladder .is-narrow { display: none; }
@media (max-width: 40rem) { .ladder .is-wide { display: none; } .ladder .is-narrow { display: block; } }
";

/// The page. It needs no network and no scripts.
pub fn render_ladder_html(ladder: &Ladder) -> String {
    let body = html! {
        @if let Some(run) = &ladder.run { (run::head(&ladder.title, run)) } @else { h1 { "Handshakes of " (ladder.title) } }
        @if ladder.connections.is_empty() {
            p { "No QUIC connection begins in this capture." }
        }
        @for connection in &ladder.connections {
            h2 { (connection.name) }
            div.ladder {
                (PreEscaped(draw::svg(connection, &draw::WIDE)))
                (PreEscaped(draw::svg(connection, &draw::NARROW)))
            }
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
