//! qlog: what an endpoint says of its own packets, times and congestion control.
//!
//! Holds: both serialisations (one JSON object with `traces`; JSON text sequences, with RFC 7464's separator or with
//! newlines alone), the schemas draft-00 to draft-02 (events as arrays under `event_fields`), 0.3, 0.4, and the current
//! drafts' names (`file_schema`, `quic:packet_sent`), and what the stacks make of them.
//! Holds not: frames, streams, HTTP/3, decompression. Such events are handed out by name alone.
//!
//! One event is in memory at a time, whatever the length of the file, except where a file puts its events before the
//! fields that say how to read them: then up to [`MAXIMUM_HELD_BYTES`] wait. Nothing is dropped in silence:
//! [`QlogSummary::not_understood`] counts it. Read [`read_qlog`] first, then [`QlogEventKind`].
//!
//! # Dialects
//! | stack | file | units and oddities |
//! | --- | --- | --- |
//! | quic-go | sequence | names the datagram by its CRC32c (`datagram_payload_checksum`) |
//! | quiche | sequence | `send_at_time` is the planned send time; `pacing_rate` is in bytes per second, read as such where the title or the vantage point says quiche, or a `cf_` member is there |
//! | ngtcp2 | sequence | whole milliseconds; `reference_time` is 0 and says nothing |
//! | neqo | sequence | `reference_time` is a number, ms since the epoch |
//! | quinn | sequence | RTTs in seconds, `header.length` is the packet's; recognised by a `vantage_point` of type `unknown` with a `group_id` in each event |
//! | aioquic | JSON | absolute times, not declared; `cwnd`; lost packets have `type`; `vantage_point` after the events |
//! | picoquic | JSON, draft-00 | times and RTTs in µs, names in capitals, `cwnd` |
//! | mvfst | JSON, draft-00 | times (as strings) and RTTs in µs; one `packets_lost` for several packets; members in any order |
//! | s2n-quic | none | its event framework borrows qlog's names, but it writes no qlog |
//!
//! Schema: <https://datatracker.ietf.org/doc/draft-ietf-quic-qlog-main-schema/> and
//! <https://datatracker.ietf.org/doc/draft-ietf-quic-qlog-quic-events/>.

mod clock;
mod data;
mod decimal;
mod document;
mod error;
mod event;
mod parts;
mod summary;
mod text;
mod trace;

use std::io::Read;

pub use error::QlogError;
pub use event::{QlogEvent, QlogEventKind, QlogMetrics, QlogPacket, QlogSpace};
pub use summary::{QlogSummary, QlogTimeFormat, QlogTrace};
pub use text::MAXIMUM_EVENT_BYTES;
pub use trace::MAXIMUM_HELD_BYTES;

/// Reads a qlog file, plain (the caller has decompressed it), and hands out each event in the order of the file.
///
/// A file that ends in the middle is read up to there: [`QlogSummary::cut_at_byte`].
///
/// # Errors
/// [`QlogError`] where the input is empty, is no qlog, breaks JSON outside of an event, has an event longer than
/// [`MAXIMUM_EVENT_BYTES`], or cannot be read. Events before that place have been handed out.
pub fn read_qlog<R: Read>(input: R, on_event: &mut dyn FnMut(QlogEvent)) -> Result<QlogSummary, QlogError> {
    document::Document::new(input, on_event).read()
}
