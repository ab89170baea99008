//! Frames: RFC 9000 section 19, RFC 9221 (DATAGRAM), draft-ietf-quic-ack-frequency, and [`extension`] frames.

mod extension;

use std::ops::{Range, RangeInclusive};

pub use extension::ExtensionFrame;

use super::connection_id::ConnectionId;
use super::fields::Fields;

/// Bytes of a reason phrase that are kept.
const MAXIMUM_REASON_BYTES: usize = 256;

/// One frame. Lengths are of the data inside, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum QuicFrame {
    /// A run of PADDING frames.
    Padding {
        /// How many.
        length: u64,
    },
    /// PING
    Ping,
    /// ACK
    Ack(Ack),
    /// RESET_STREAM
    ResetStream {
        /// Stream ID.
        stream: u64,
        /// Application error code.
        error: u64,
        /// Final size of the stream.
        final_size: u64,
    },
    /// STOP_SENDING
    StopSending {
        /// Stream ID.
        stream: u64,
        /// Application error code.
        error: u64,
    },
    /// CRYPTO
    Crypto {
        /// Offset of the first byte.
        offset: u64,
        /// Where the data lies in the packet's payload.
        data: Range<usize>,
    },
    /// NEW_TOKEN
    NewToken {
        /// Length of the token.
        length: u64,
    },
    /// STREAM
    Stream {
        /// Stream ID.
        stream: u64,
        /// Offset of the first byte.
        offset: u64,
        /// Length of the data.
        length: u64,
        /// Whether the stream ends with it.
        fin: bool,
        /// The first 8 bytes of the stream as a number in network byte order, which is what a request of
        /// draft-banks-quic-performance begins with. `None` where this frame does not hold all of them.
        head: Option<u64>,
    },
    /// MAX_DATA
    MaxData {
        /// Bytes on the connection.
        maximum: u64,
    },
    /// MAX_STREAM_DATA
    MaxStreamData {
        /// Stream ID.
        stream: u64,
        /// Bytes on the stream.
        maximum: u64,
    },
    /// MAX_STREAMS
    MaxStreams {
        /// Which kind of streams.
        bidirectional: bool,
        /// Number of streams.
        maximum: u64,
    },
    /// DATA_BLOCKED
    DataBlocked {
        /// The limit at which the sender is blocked.
        limit: u64,
    },
    /// STREAM_DATA_BLOCKED
    StreamDataBlocked {
        /// Stream ID.
        stream: u64,
        /// The limit at which the sender is blocked.
        limit: u64,
    },
    /// STREAMS_BLOCKED
    StreamsBlocked {
        /// Which kind of streams.
        bidirectional: bool,
        /// The limit at which the sender is blocked.
        limit: u64,
    },
    /// NEW_CONNECTION_ID
    NewConnectionId {
        /// Sequence number of the ID.
        sequence: u64,
        /// IDs with smaller sequence numbers are to be retired.
        retire_prior_to: u64,
        /// The ID.
        connection_id: ConnectionId,
        /// Token of a stateless reset for it.
        reset_token: [u8; 16],
    },
    /// RETIRE_CONNECTION_ID
    RetireConnectionId {
        /// Sequence number of the ID.
        sequence: u64,
    },
    /// PATH_CHALLENGE
    PathChallenge {
        /// What a response repeats.
        data: [u8; 8],
    },
    /// PATH_RESPONSE
    PathResponse {
        /// The data of the challenge.
        data: [u8; 8],
    },
    /// CONNECTION_CLOSE
    ConnectionClose {
        /// Error code.
        error: u64,
        /// Whether the application closed (type 0x1d), not QUIC.
        by_application: bool,
        /// The reason phrase, at most its first 256 bytes; what is not UTF-8 is replaced.
        reason: Box<str>,
    },
    /// HANDSHAKE_DONE
    HandshakeDone,
    /// DATAGRAM
    Datagram {
        /// Length of the data.
        length: u64,
    },
    /// ACK_FREQUENCY
    AckFrequency {
        /// Sequence number of the request.
        sequence: u64,
        /// Most ack-eliciting packets that may go unacknowledged.
        ack_eliciting_threshold: u64,
        /// The maximum ACK delay that is asked for, in µs.
        requested_max_ack_delay_us: u64,
        /// The reordering threshold, as in the draft.
        reordering_threshold: u64,
    },
    /// IMMEDIATE_ACK
    ImmediateAck,
    /// A frame of an extension that has no variant of its own here.
    Extension(ExtensionFrame),
}

/// An ACK frame.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ack {
    /// `ack_delay` as in the frame; shift by the sender's `ack_delay_exponent` for µs.
    pub encoded_delay: u64,
    /// Ranges of packet numbers, descending, at least one.
    pub ranges: Vec<RangeInclusive<u64>>,
    /// ECT(0), ECT(1), CE, where the frame has them.
    pub ecn: Option<[u64; 3]>,
}

impl Ack {
    /// Largest packet number acknowledged.
    pub fn largest(&self) -> u64 {
        self.ranges.first().map_or(0, |range| *range.end())
    }
}

impl QuicFrame {
    /// Frame type of RFC 9000 table 3 and its extensions. The lowest one where a frame has several.
    pub fn frame_type(&self) -> u64 {
        match self {
            QuicFrame::Padding { .. } => 0x00,
            QuicFrame::Ping => 0x01,
            QuicFrame::Ack(ack) => 0x02 + u64::from(ack.ecn.is_some()),
            QuicFrame::ResetStream { .. } => 0x04,
            QuicFrame::StopSending { .. } => 0x05,
            QuicFrame::Crypto { .. } => 0x06,
            QuicFrame::NewToken { .. } => 0x07,
            QuicFrame::Stream { .. } => 0x08,
            QuicFrame::MaxData { .. } => 0x10,
            QuicFrame::MaxStreamData { .. } => 0x11,
            QuicFrame::MaxStreams { bidirectional, .. } => {
                if *bidirectional {
                    0x12
                } else {
                    0x13
                }
            }
            QuicFrame::DataBlocked { .. } => 0x14,
            QuicFrame::StreamDataBlocked { .. } => 0x15,
            QuicFrame::StreamsBlocked { bidirectional, .. } => {
                if *bidirectional {
                    0x16
                } else {
                    0x17
                }
            }
            QuicFrame::NewConnectionId { .. } => 0x18,
            QuicFrame::RetireConnectionId { .. } => 0x19,
            QuicFrame::PathChallenge { .. } => 0x1a,
            QuicFrame::PathResponse { .. } => 0x1b,
            QuicFrame::ConnectionClose { by_application, .. } => {
                if *by_application {
                    0x1d
                } else {
                    0x1c
                }
            }
            QuicFrame::HandshakeDone => 0x1e,
            QuicFrame::ImmediateAck => 0x1f,
            QuicFrame::Datagram { .. } => 0x30,
            QuicFrame::AckFrequency { .. } => 0xaf,
            QuicFrame::Extension(frame) => frame.frame_type(),
        }
    }

    /// The RFC's name in lower case.
    pub fn name(&self) -> &'static str {
        match self {
            QuicFrame::Padding { .. } => "padding",
            QuicFrame::Ping => "ping",
            QuicFrame::Ack(_) => "ack",
            QuicFrame::ResetStream { .. } => "reset_stream",
            QuicFrame::StopSending { .. } => "stop_sending",
            QuicFrame::Crypto { .. } => "crypto",
            QuicFrame::NewToken { .. } => "new_token",
            QuicFrame::Stream { .. } => "stream",
            QuicFrame::MaxData { .. } => "max_data",
            QuicFrame::MaxStreamData { .. } => "max_stream_data",
            QuicFrame::MaxStreams { .. } => "max_streams",
            QuicFrame::DataBlocked { .. } => "data_blocked",
            QuicFrame::StreamDataBlocked { .. } => "stream_data_blocked",
            QuicFrame::StreamsBlocked { .. } => "streams_blocked",
            QuicFrame::NewConnectionId { .. } => "new_connection_id",
            QuicFrame::RetireConnectionId { .. } => "retire_connection_id",
            QuicFrame::PathChallenge { .. } => "path_challenge",
            QuicFrame::PathResponse { .. } => "path_response",
            QuicFrame::ConnectionClose { .. } => "connection_close",
            QuicFrame::HandshakeDone => "handshake_done",
            QuicFrame::ImmediateAck => "immediate_ack",
            QuicFrame::Datagram { .. } => "datagram",
            QuicFrame::AckFrequency { .. } => "ack_frequency",
            QuicFrame::Extension(frame) => frame.name(),
        }
    }

    /// RFC 9002 section 2: all but ACK, PADDING and CONNECTION_CLOSE; of extensions, what their documents say.
    pub fn is_ack_eliciting(&self) -> bool {
        match self {
            QuicFrame::Ack(_) | QuicFrame::Padding { .. } | QuicFrame::ConnectionClose { .. } => false,
            QuicFrame::Extension(frame) => frame.is_ack_eliciting(),
            _ => true,
        }
    }

    /// What it acknowledges of the peer's packets on the connection's first path, in the packet number space of the packet that
    /// carries it: an ACK, or a PATH_ACK of path 0.
    pub fn acknowledgment(&self) -> Option<&Ack> {
        match self {
            QuicFrame::Ack(ack) | QuicFrame::Extension(ExtensionFrame::PathAck { path: 0, ack }) => Some(ack),
            _ => None,
        }
    }

    /// A connection ID that its sender gives out, with the token of a stateless reset for it.
    pub fn new_connection_id(&self) -> Option<(ConnectionId, [u8; 16])> {
        match self {
            QuicFrame::NewConnectionId { connection_id, reset_token, .. }
            | QuicFrame::Extension(ExtensionFrame::PathNewConnectionId { connection_id, reset_token, .. }) => {
                Some((*connection_id, *reset_token))
            }
            _ => None,
        }
    }
}

/// Where the frames of a packet stop being readable. The rest of the packet is unread, since only the layout of a frame says
/// where the next one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameError {
    /// Offset in the packet's payload of the frame that cannot be read.
    pub offset: usize,
    /// Its type; `None` when even that is cut.
    pub frame_type: Option<u64>,
    /// Whether the layout of this type is known here, so that the frame itself is cut or contradicts itself.
    pub is_known_type: bool,
}

impl std::fmt::Display for FrameError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "unread from offset {}", self.offset)?;
        match self.frame_type {
            Some(frame_type) if self.is_known_type => write!(formatter, ", malformed frame of type {frame_type}"),
            Some(frame_type) => write!(formatter, ", frame type {frame_type}"),
            None => write!(formatter, ", truncated frame type"),
        }
    }
}

/// Appends the frames of a payload to `frames`.
///
/// # Errors
/// At the first frame that is cut, contradicts itself, or has an unknown type (whose length nobody can know). What comes
/// before it has been appended.
pub fn parse_frames(payload: &[u8], frames: &mut Vec<QuicFrame>) -> Result<(), FrameError> {
    let mut fields = Fields::new(payload);
    while !fields.is_empty() {
        let offset = fields.position;
        let Some(frame_type) = fields.take_variable_length_integer() else {
            return Err(FrameError { offset, frame_type: None, is_known_type: false });
        };
        match parse_frame(frame_type, &mut fields) {
            Some(frame) => frames.push(frame),
            None => {
                let is_known_type = is_known_type(frame_type);
                return Err(FrameError { offset, frame_type: Some(frame_type), is_known_type });
            }
        }
    }
    Ok(())
}

fn parse_frame(frame_type: u64, fields: &mut Fields) -> Option<QuicFrame> {
    let integer = |fields: &mut Fields| fields.take_variable_length_integer();
    Some(match frame_type {
        0x00 => {
            let begin = fields.position;
            let rest = &fields.bytes[begin..];
            let more = rest.iter().position(|byte| *byte != 0).unwrap_or(rest.len());
            fields.position += more;
            QuicFrame::Padding { length: 1 + more as u64 }
        }
        0x01 => QuicFrame::Ping,
        0x02 | 0x03 => QuicFrame::Ack(parse_ack(frame_type == 0x03, fields)?),
        0x04 => {
            QuicFrame::ResetStream { stream: integer(fields)?, error: integer(fields)?, final_size: integer(fields)? }
        }
        0x05 => QuicFrame::StopSending { stream: integer(fields)?, error: integer(fields)? },
        0x06 => {
            let offset = integer(fields)?;
            let length = integer(fields)?;
            let begin = fields.position;
            fields.take_u64(length)?;
            QuicFrame::Crypto { offset, data: begin..fields.position }
        }
        0x07 => {
            let length = integer(fields)?;
            fields.take_u64(length)?;
            QuicFrame::NewToken { length }
        }
        0x08..=0x0f => {
            let stream = integer(fields)?;
            let offset = if frame_type & 0x04 != 0 { integer(fields)? } else { 0 };
            let data = if frame_type & 0x02 != 0 {
                let length = integer(fields)?;
                fields.take_u64(length)?
            } else {
                fields.rest()
            };
            let length = data.len() as u64;
            let head = data.first_chunk().filter(|_| offset == 0).map(|head| u64::from_be_bytes(*head));
            // RFC 9000 section 19.8: the largest offset of a stream is 2^62 - 1.
            offset.checked_add(length).filter(|end| *end < 1 << 62)?;
            QuicFrame::Stream { stream, offset, length, fin: frame_type & 0x01 != 0, head }
        }
        0x10 => QuicFrame::MaxData { maximum: integer(fields)? },
        0x11 => QuicFrame::MaxStreamData { stream: integer(fields)?, maximum: integer(fields)? },
        0x12 | 0x13 => QuicFrame::MaxStreams { bidirectional: frame_type == 0x12, maximum: integer(fields)? },
        0x14 => QuicFrame::DataBlocked { limit: integer(fields)? },
        0x15 => QuicFrame::StreamDataBlocked { stream: integer(fields)?, limit: integer(fields)? },
        0x16 | 0x17 => QuicFrame::StreamsBlocked { bidirectional: frame_type == 0x16, limit: integer(fields)? },
        0x18 => QuicFrame::NewConnectionId {
            sequence: integer(fields)?,
            retire_prior_to: integer(fields)?,
            connection_id: ConnectionId::new(fields.take_with_length_byte()?)?,
            reset_token: fields.take(16)?.try_into().ok()?,
        },
        0x19 => QuicFrame::RetireConnectionId { sequence: integer(fields)? },
        0x1a => QuicFrame::PathChallenge { data: fields.take(8)?.try_into().ok()? },
        0x1b => QuicFrame::PathResponse { data: fields.take(8)?.try_into().ok()? },
        0x1c | 0x1d => {
            let error = integer(fields)?;
            if frame_type == 0x1c {
                integer(fields)?;
            }
            let reason_bytes = integer(fields)?;
            let reason = fields.take_u64(reason_bytes)?;
            let reason = String::from_utf8_lossy(&reason[..reason.len().min(MAXIMUM_REASON_BYTES)]).into();
            QuicFrame::ConnectionClose { error, by_application: frame_type == 0x1d, reason }
        }
        0x1e => QuicFrame::HandshakeDone,
        0x1f => QuicFrame::ImmediateAck,
        0x30 => QuicFrame::Datagram { length: fields.rest().len() as u64 },
        0x31 => {
            let length = integer(fields)?;
            fields.take_u64(length)?;
            QuicFrame::Datagram { length }
        }
        0xaf => QuicFrame::AckFrequency {
            sequence: integer(fields)?,
            ack_eliciting_threshold: integer(fields)?,
            requested_max_ack_delay_us: integer(fields)?,
            reordering_threshold: integer(fields)?,
        },
        other => QuicFrame::Extension(ExtensionFrame::parse(other, fields)?),
    })
}

/// Whether [`parse_frame`] has a layout for it.
fn is_known_type(frame_type: u64) -> bool {
    matches!(frame_type, 0x00..=0x1f | 0x30 | 0x31 | 0xaf) || ExtensionFrame::is_known_type(frame_type)
}

/// RFC 9000 section 19.3.
fn parse_ack(has_ecn: bool, fields: &mut Fields) -> Option<Ack> {
    let mut largest = fields.take_variable_length_integer()?;
    let encoded_delay = fields.take_variable_length_integer()?;
    let further_ranges = fields.take_variable_length_integer()?;
    let mut smallest = largest.checked_sub(fields.take_variable_length_integer()?)?;
    // Grows with what is there, not with what the count claims.
    let mut ranges = vec![smallest..=largest];
    for _ in 0..further_ranges {
        let gap = fields.take_variable_length_integer()?;
        largest = smallest.checked_sub(gap.checked_add(2)?)?;
        smallest = largest.checked_sub(fields.take_variable_length_integer()?)?;
        ranges.push(smallest..=largest);
    }
    let ecn = if has_ecn {
        let mut count = || fields.take_variable_length_integer();
        Some([count()?, count()?, count()?])
    } else {
        None
    };
    Some(Ack { encoded_delay, ranges, ecn })
}

#[cfg(test)]
mod tests;
