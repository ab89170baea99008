//! Should a server acknowledge the ClientHello at once, while it waits for its certificate?
//!
//! A model of one handshake with one request: a client and a server that follow RFC 9002 to the letter, a path that only delays, and at most one lost
//! flight. [`handshake`] plays it with either behaviour; [`advice`] weighs what the two cost. ReACKed QUICer (IMC 2024) describes the effects.
//!
//! Left out, so that every number can be followed by hand: processing times (part of the delay), queues, congestion control, and what stacks do other
//! than RFC 9002 says.
//!
//! Read first: [`Question`], then [`handshake`].

mod advice;
mod agreement;
mod client;
mod datagram;
mod play;
mod question;
mod ranges;
mod server;

pub use advice::{Advice, Choice, Losses, Scenario, advice};
pub use agreement::{Agreement, agreeing_share};
pub use play::{Event, EventKind, Handshake, handshake};
pub use question::{FirstAck, Loss, NamedClient, QUIC_CLIENTS, Question, QuestionError};
