//! Capture files: reading them into packet rows, and writing them.
//!
//! Holds: the containers (pcap, pcapng, gzip around either), the headers from the link layer to UDP and TCP, what a QUIC
//! or TLS header shows without keys, and a pcapng writer whose output depends on its input alone.
//! Holds not: decryption, flows, metrics, files. A reader or a writer is handed in; nothing here opens one.
//!
//! Read [`Packet`] first: it is the row that everything else consumes. Then, for a whole capture in memory,
//! [`Capture::read`]; for one packet at a time, [`CaptureReader`]:
//!
//! 1. [`CaptureReader::new`] looks at the first bytes and decides what the file is;
//! 2. [`CaptureReader::next_packet`] until it says `None`;
//! 3. [`CaptureReader::into_summary`] for interfaces, secrets, what was skipped, and whether the file was cut off.
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
mod packet;
mod pcap;
mod pcapng;
mod qlog;
mod quic;
mod reader;
mod role;
mod segment_batch;
mod source;
mod tls;
mod writer;

pub use capture::{Capture, Interface, Secrets, SkipReason, Truncation};
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
    parse_frames,
};
pub use reader::{CaptureReader, MAXIMUM_BLOCK_BYTES};
pub use role::Role;
pub use segment_batch::SegmentBatch;
pub use tls::{TlsContentType, TlsRecords};
pub use writer::{CaptureWriter, Direction, PacketToWrite, TapDescription};
