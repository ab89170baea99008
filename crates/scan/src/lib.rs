//! Many QUIC handshakes at once from one thread: a client without a stack's sockets and threads, so that ten thousand handshakes
//! are a table in memory.
//!
//! Contains: the handshakes ([`Scanner`]), the HEAD request behind them, and what is found out of each ([`Answer`]).
//! They know no lists of targets, no addresses of names, no rate and no files: who calls decides whom to ask, and when. What helps
//! with that knows no QUIC, and they do not use it: [`targets`] says whom a scan asks and when, [`origin`] who runs an address.
//! A [`survey`] ties all of them together: it asks a whole list and writes files. Nothing else here uses it.
//!
//! 1. [`Scanner::new`] with [`ScanSettings`] opens the sockets;
//! 2. while [`Scanner::has_room`], [`Scanner::ask`] begins a handshake;
//! 3. [`Scanner::turn`] sends, waits and receives, and hands out answers, until [`Scanner::in_flight`] is 0.
//!
//! Inside, `scanner` has the sockets, `engine` all handshakes, `handshake` one of them; the rest is for one purpose each.

mod answer;
mod classify;
mod clock;
mod engine;
mod first_flight;
mod handshake;
mod http3;
mod icmp;
#[doc(hidden)]
pub mod offline;
pub mod origin;
mod scanner;
mod settings;
mod sockets;
pub mod survey;
pub mod targets;
mod tls;
mod wheel;

pub use answer::{Answer, HttpAnswer, KeptPacket, Outcome};
pub use engine::ScanCounters;
pub use scanner::Scanner;
pub use settings::{HelloSettings, HttpSettings, KeyShareGroup, Request, ScanSettings};
pub use wheel::{TimerKey, Wheel};
