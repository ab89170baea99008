//! From what the dissector found in a datagram to plain data.

use std::hash::{DefaultHasher, Hash, Hasher};

use quiclab_path::content::{ContentFrame, ContentPacket, PacketForm};
use quiclab_wire::{Decryption, Observed, QuicForm, QuicFrame, QuicPacket};

/// A datagram before its place in the connection is known.
pub(crate) struct Reading {
    pub(crate) packets: Vec<ContentPacket>,
    pub(crate) is_whole: bool,
    /// Bytes of UDP payload.
    pub(crate) length: u32,
    /// Packet numbers acknowledged: space, first, last.
    pub(crate) acknowledged: Vec<(usize, u64, u64)>,
    /// The frames that are neither CRYPTO nor STREAM and carry something: a digest, or `None` where two of them never say the same.
    pub(crate) control: Vec<Option<u64>>,
}

impl Reading {
    pub(crate) fn of(observed: &Observed, length: u32) -> Self {
        let mut reading = Self {
            packets: Vec::with_capacity(observed.packets.len()),
            is_whole: observed.is_complete && (!observed.has_foreign_bytes || observed.has_zero_padding),
            length,
            acknowledged: Vec::new(),
            control: Vec::new(),
        };
        for packet in observed.packets {
            let frames = observed.frames.get(packet.frames.clone()).unwrap_or_default();
            reading.add(packet, frames);
        }
        reading
    }

    /// Whether each packet of it was read, and every byte of it belongs to one.
    pub(crate) fn is_read(&self) -> bool {
        self.is_whole && self.packets.iter().all(|packet| packet.is_read)
    }

    fn add(&mut self, packet: &QuicPacket, frames: &[QuicFrame]) {
        let form = form(packet.form);
        let is_read = packet.frame_error.is_none()
            && match packet.decryption {
                Decryption::Verified => true,
                Decryption::NotProtected => form != PacketForm::Unknown,
                Decryption::HeaderOnly | Decryption::NoKeys | Decryption::Failed => false,
            };
        // Of what makes no sense in the end, nothing counts.
        let frames = if is_read { frames } else { &[] };
        for frame in frames {
            if let (Some(space), Some(ack)) = (space(form), frame.acknowledgment()) {
                self.acknowledged.extend(ack.ranges.iter().map(|range| (space, *range.start(), *range.end())));
            }
            if is_control(frame) {
                let is_random = matches!(frame, QuicFrame::PathChallenge { .. } | QuicFrame::PathResponse { .. });
                self.control.push((!is_random).then(|| digest(frame)));
            }
        }
        let frames = frames.iter().map(content_frame).collect();
        self.packets.push(ContentPacket { form, number: packet.packet_number, is_read, frames });
    }
}

/// The hasher's keys are constants: the same frame has the same digest in every process.
fn digest(frame: &QuicFrame) -> u64 {
    let mut hasher = DefaultHasher::new();
    frame.hash(&mut hasher);
    hasher.finish()
}

/// The packet number space of a form.
pub(crate) fn space(form: PacketForm) -> Option<usize> {
    match form {
        PacketForm::Initial => Some(0),
        PacketForm::Handshake => Some(1),
        PacketForm::ZeroRtt | PacketForm::OneRtt => Some(2),
        PacketForm::Retry | PacketForm::VersionNegotiation | PacketForm::Unknown => None,
    }
}

fn form(form: QuicForm) -> PacketForm {
    match form {
        QuicForm::Initial => PacketForm::Initial,
        QuicForm::ZeroRtt => PacketForm::ZeroRtt,
        QuicForm::Handshake => PacketForm::Handshake,
        QuicForm::Retry => PacketForm::Retry,
        QuicForm::VersionNegotiation => PacketForm::VersionNegotiation,
        QuicForm::OneRtt => PacketForm::OneRtt,
        QuicForm::UnknownVersion => PacketForm::Unknown,
    }
}

/// Frames that say something once, and are repeated only when they were lost. IMMEDIATE_ACK only asks to be acknowledged, as PING does.
fn is_control(frame: &QuicFrame) -> bool {
    // By its name, since drafts gave it two numbers.
    frame.name() != "immediate_ack"
        && frame.acknowledgment().is_none()
        && !matches!(
            frame,
            QuicFrame::Padding { .. } | QuicFrame::Ping | QuicFrame::Crypto { .. } | QuicFrame::Stream { .. }
        )
}

fn content_frame(frame: &QuicFrame) -> ContentFrame {
    match frame {
        QuicFrame::Padding { .. } => ContentFrame::Padding,
        QuicFrame::Ping => ContentFrame::Ping,
        QuicFrame::Ack(ack) => ContentFrame::Ack { largest: ack.largest() },
        QuicFrame::Crypto { offset, data } => ContentFrame::Crypto { offset: *offset, length: data.len() as u64 },
        QuicFrame::Stream { stream, offset, length, fin, .. } => {
            ContentFrame::Stream { id: *stream, offset: *offset, length: *length, fin: *fin }
        }
        QuicFrame::HandshakeDone => ContentFrame::HandshakeDone,
        QuicFrame::NewConnectionId { .. } => ContentFrame::NewConnectionId,
        QuicFrame::ConnectionClose { .. } => ContentFrame::ConnectionClose,
        other => match other.acknowledgment() {
            Some(ack) => ContentFrame::Ack { largest: ack.largest() },
            None => ContentFrame::Other { name: other.name(), is_ack_eliciting: other.is_ack_eliciting() },
        },
    }
}
