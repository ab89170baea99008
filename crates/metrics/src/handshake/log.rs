//! What is kept of a handshake's datagrams: what was in them, in few bytes, until the handshake is over.

use quiclab_units::Time;
use quiclab_wire::{Decryption, Observed, QuicForm, QuicFrame, QuicPacket, Role, Segment, offered_versions};

use super::class::Close;
use crate::payload_key::PayloadKey;

/// Datagrams that are kept of a connection.
const MOST_DATAGRAMS: usize = 200;
/// Datagrams that are kept after the end of the handshake: they show what the last ones were answered with.
const AFTER_THE_END: usize = 16;

/// CONNECTION_CLOSE frames that are kept.
const MOST_CLOSES: usize = 4;

/// One datagram at a tap.
#[derive(Debug)]
pub(super) struct Datagram {
    pub(super) time: Time,
    pub(super) sender: Role,
    /// Bytes of the UDP payload.
    pub(super) bytes: u32,
    /// Finds it at the other tap.
    pub(super) key: Option<PayloadKey>,
    /// Whether the capture kept all of it.
    pub(super) is_complete: bool,
    pub(super) packets: Box<[Packet]>,
}

/// One QUIC packet.
#[derive(Debug)]
pub(super) struct Packet {
    pub(super) form: QuicForm,
    pub(super) number: Option<u64>,
    /// Whether its frames are known, all of them.
    pub(super) is_read: bool,
    /// An Initial with a token.
    pub(super) has_token: bool,
    pub(super) frames: Box<[Frame]>,
}

/// What matters of a frame.
#[derive(Debug)]
pub(super) enum Frame {
    Ack {
        /// Inclusive, descending.
        ranges: Box<[(u64, u64)]>,
        /// ACK delay as the sender reports it. `None` where it is beyond every number of nanoseconds.
        delay_ns: Option<u64>,
    },
    Crypto {
        offset: u64,
        end: u64,
    },
    Stream {
        id: u64,
        offset: u64,
        end: u64,
    },
    Ping,
    HandshakeDone,
    Close,
    /// Ack-eliciting.
    Other,
}

impl Packet {
    fn of(packet: &QuicPacket, frames: &[QuicFrame], ack_delay_exponent: u8) -> Self {
        Packet {
            form: packet.form,
            number: packet.packet_number,
            is_read: packet.decryption == Decryption::Verified && packet.frame_error.is_none(),
            has_token: packet.form == QuicForm::Initial && !packet.token.is_empty(),
            frames: frames.iter().filter_map(|frame| Frame::of(frame, ack_delay_exponent)).collect(),
        }
    }

    /// RFC 9000 section 12.3.
    pub(super) fn space(&self) -> Option<u8> {
        self.form.packet_number_space()
    }

    pub(super) fn is_ack_eliciting(&self) -> bool {
        self.frames.iter().any(|frame| !matches!(frame, Frame::Ack { .. } | Frame::Close))
    }

    /// A packet whose frames should be known and are not.
    pub(super) fn is_hidden(&self) -> bool {
        self.space().is_some() && !self.is_read
    }
}

impl Frame {
    fn of(frame: &QuicFrame, ack_delay_exponent: u8) -> Option<Self> {
        if let Some(ack) = frame.acknowledgment() {
            let microseconds = ack.encoded_delay.checked_mul(1 << u32::from(ack_delay_exponent.min(20)));
            return Some(Frame::Ack {
                ranges: ack.ranges.iter().map(|range| (*range.start(), *range.end())).collect(),
                delay_ns: microseconds.and_then(|delay| delay.checked_mul(1_000)),
            });
        }
        Some(match frame {
            QuicFrame::Crypto { offset, data } => {
                Frame::Crypto { offset: *offset, end: offset.saturating_add(data.len() as u64) }
            }
            QuicFrame::Stream { stream, offset, length, .. } => {
                Frame::Stream { id: *stream, offset: *offset, end: offset.saturating_add(*length) }
            }
            QuicFrame::Ping => Frame::Ping,
            QuicFrame::HandshakeDone => Frame::HandshakeDone,
            QuicFrame::ConnectionClose { .. } => Frame::Close,
            other if other.is_ack_eliciting() => Frame::Other,
            _ => return None,
        })
    }

    /// RFC 9000 section 2.1: data on a bidirectional stream of the client, where answers are.
    pub(super) fn is_answer(&self) -> bool {
        matches!(self, Frame::Stream { id, offset, end } if id % 4 == 0 && end > offset)
    }
}

/// The datagrams of one connection at one tap, in the order of the capture.
#[derive(Debug, Default)]
pub(crate) struct HandshakeLog {
    pub(super) datagrams: Vec<Datagram>,
    after_the_end: usize,
    /// Datagrams of the handshake that were not kept because there are too many.
    pub(super) is_cut: bool,
    /// Versions in the first Version Negotiation packet.
    pub(super) offered_versions: Vec<u32>,
    /// Bytes of the server's connection ID in its first long header that is not a Retry.
    pub(super) server_id_bytes: Option<u8>,
    /// Whether a 1-RTT packet was seen, by sender.
    pub(super) has_one_rtt: [bool; 2],
    /// The first ones.
    pub(super) closes: Vec<Close>,
}

impl HandshakeLog {
    /// `is_over`: whether the handshake was before this datagram.
    pub(super) fn on_datagram(&mut self, segment: &Segment, observed: &Observed, is_over: bool) {
        self.note(segment, observed);
        // A server keeps nothing of what it answers with other versions (RFC 9000 section 6.1): the handshake begins behind that.
        let is_negotiation =
            |packet: &QuicPacket| matches!(packet.form, QuicForm::VersionNegotiation | QuicForm::UnknownVersion);
        if !observed.packets.is_empty() && observed.packets.iter().all(is_negotiation) {
            return;
        }
        self.after_the_end += usize::from(is_over);
        if self.after_the_end > AFTER_THE_END {
            return;
        }
        if self.datagrams.len() == MOST_DATAGRAMS {
            self.is_cut |= !is_over;
            return;
        }
        let exponent = observed.connection.ack_delay_exponent(observed.sender);
        let packet = |packet: &QuicPacket| Packet::of(packet, &observed.frames[packet.frames.clone()], exponent);
        self.datagrams.push(Datagram {
            time: segment.time,
            sender: observed.sender,
            bytes: segment.payload_length,
            key: PayloadKey::of(segment),
            is_complete: observed.is_complete,
            packets: observed.packets.iter().map(packet).collect(),
        });
    }

    /// Whether it takes no more datagrams of a handshake that is over.
    pub(super) fn is_full(&self) -> bool {
        self.after_the_end >= AFTER_THE_END
    }

    /// Whether it has the beginning: the client speaks first.
    pub(super) fn begins(&self) -> bool {
        match self.datagrams.first() {
            Some(datagram) => datagram.sender == Role::Client,
            None => !self.offered_versions.is_empty(),
        }
    }

    /// What is kept of a connection as a whole.
    fn note(&mut self, segment: &Segment, observed: &Observed) {
        let by_server = observed.sender == Role::Server;
        self.has_one_rtt[observed.sender as usize] |= observed.has_one_rtt() == Some(true);
        for packet in observed.packets.iter().filter(|_| by_server) {
            match packet.form {
                QuicForm::VersionNegotiation if self.offered_versions.is_empty() => {
                    self.offered_versions = offered_versions(segment.payload);
                }
                QuicForm::Initial | QuicForm::Handshake if self.server_id_bytes.is_none() => {
                    let bytes = packet.source_connection_id.map(|id| id.as_bytes().len());
                    self.server_id_bytes = bytes.and_then(|bytes| u8::try_from(bytes).ok());
                }
                _ => {}
            }
        }
        for frame in observed.frames {
            if let QuicFrame::ConnectionClose { error, by_application, reason } = frame
                && self.closes.len() < MOST_CLOSES
            {
                let (by_application, reason) = (*by_application, reason.to_string());
                self.closes.push(Close { by_server, error: *error, by_application, reason });
            }
        }
    }
}
