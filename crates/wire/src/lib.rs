//! Captures and qlogs: from the bytes of a file to connections, packets, frames and events; and writing captures.
//!
//! Contains: the containers (pcap, pcapng, gzip and zstd around either), the headers from the link layer to UDP and TCP, QUIC
//! with its keys, frames and handshakes, key logs, which packet belongs to which connection, qlog, and a pcapng writer whose
//! output depends on its input alone.
//! Does not contain: metrics, files. A reader or a writer is handed in; nothing here opens one.
//!
//! To read a capture:
//!
//! 1. [`CaptureReader::new`] looks at the first bytes and decides what the file is;
//! 2. [`CaptureReader::for_each_segment`] reads it to its end, segment by segment, and [`Dissector::on_segment`] says what
//!    each one holds ([`Observed`]) and which [`Flow`] it belongs to; [`CaptureReader::dissect`] does both;
//! 3. [`CaptureReader::into_summary`] gives interfaces, secrets, what was skipped, and whether the file was cut off.
//!
//! Threads can share a capture: [`SegmentBatch`] carries segments to them, [`DissectorSettings::address_hash`] says which may
//! be separated, and [`Dissector::are_independent`] whether separating them was right.
//!
//! Where headers are all that is needed, [`CaptureReader::next_packet`] and [`Capture::read`] give rows ([`Packet`]).
//!
//! To write: [`CaptureWriter::new`], [`CaptureWriter::write_packet`] in the order of time, [`CaptureWriter::finish`].

mod capture;
mod decompressed;
mod dissector;
mod error;
mod flow;
mod flow_table;
mod frame;
mod isolation;
mod keylog;
pub mod offload;
mod packet;
mod pcap;
mod pcapng;
mod qlog;
mod quic;
mod reader;
mod role;
mod secrets;
mod segment_batch;
mod skip_reason;
mod source;
mod tls;
mod writer;

pub use capture::{Capture, Interface, Truncation};
pub use decompressed::Decompressed;
pub use dissector::{Dissector, Observed};
pub use error::{CaptureError, WriteError};
pub use flow::{Flow, FlowProtocol};
pub use flow_table::DissectorSettings;
pub use frame::{Frame, Segment, Transport};
pub use keylog::{ClientRandom, KeyLog, SecretLabel};
pub use packet::{Packet, Protocol, TcpFlags, TcpSegment};
pub use qlog::{
    MAXIMUM_EVENT_BYTES, MAXIMUM_HELD_BYTES, QlogError, QlogEvent, QlogEventKind, QlogMetrics, QlogPacket, QlogSpace,
    QlogSummary, QlogTimeFormat, QlogTrace, read_qlog,
};
pub use quic::{
    Ack, CipherSuite, ClientOffer, ConnectionId, DEFAULT_ACK_DELAY_EXPONENT, Decryption, ExtensionFrame, FrameError,
    MAXIMUM_CONNECTION_ID_BYTES, QuicForm, QuicFrame, QuicPacket, ServerChoice, TlsHandshake, VERSION_1, VERSION_2,
    long_header_form, offered_versions, parse_frames,
};
pub use reader::{CaptureReader, MAXIMUM_BLOCK_BYTES};
pub use role::Role;
pub use secrets::Secrets;
pub use segment_batch::SegmentBatch;
pub use skip_reason::SkipReason;
pub use tls::{TlsContentType, TlsRecords};
pub use writer::{CaptureWriter, Direction, PacketToWrite, TapDescription};
