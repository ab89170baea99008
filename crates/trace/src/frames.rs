//! Rows of `frames.parquet`.

use std::ops::RangeInclusive;

use quiclab_wire::{Ack, ConnectionId, ExtensionFrame, Observed, QuicFrame, QuicPacket};

use crate::packets::{PacketRow, form_name};
use crate::row::row;

row! {
    /// A frame of a QUIC packet. Each field is described in `docs/reference/trace.md`.
    struct FrameRow<'a> {
        frame_number: u64,
        packet_index: u32,
        frame_index: u32,
        time_ns: u64,
        flow: u64,
        sender: &'a str,
        packet_type: &'a str,
        packet_number: Option<u64>,
        frame_type: u64,
        frame_name: &'a str,
        stream_id: Option<u64>,
        offset: Option<u64>,
        length_bytes: Option<u64>,
        fin: Option<bool>,
        final_size_bytes: Option<u64>,
        ack_largest: Option<u64>,
        ack_delay_encoded: Option<u64>,
        ack_ranges: Option<&'a [RangeInclusive<u64>]>,
        ecn_ect0: Option<u64>,
        ecn_ect1: Option<u64>,
        ecn_ce: Option<u64>,
        error_code: Option<u64>,
        maximum: Option<u64>,
        connection_id: Option<ConnectionId>,
        sequence: Option<u64>,
        retire_prior_to: Option<u64>,
        ack_eliciting_threshold: Option<u64>,
        requested_max_ack_delay_us: Option<u64>,
        reordering_threshold: Option<u64>,
        path_id: Option<u64>,
        reliable_size_bytes: Option<u64>,
        time_stamp_encoded: Option<u64>,
    }
}

impl<'a> FrameRow<'a> {
    /// The frame at `frame_index` of a packet. `row`: the packet's own.
    pub(crate) fn new(row: &PacketRow, observed: &Observed<'a>, packet: &QuicPacket, frame_index: u32) -> Self {
        let frame = &observed.frames[packet.frames.start + frame_index as usize];
        let mut row = FrameRow {
            frame_number: row.frame_number,
            packet_index: row.packet_index,
            frame_index,
            time_ns: row.time_ns,
            flow: observed.flow as u64,
            sender: observed.sender.name(),
            packet_type: form_name(packet.form),
            packet_number: packet.packet_number,
            frame_type: frame.frame_type(),
            frame_name: frame.name(),
            stream_id: None,
            offset: None,
            length_bytes: None,
            fin: None,
            final_size_bytes: None,
            ack_largest: None,
            ack_delay_encoded: None,
            ack_ranges: None,
            ecn_ect0: None,
            ecn_ect1: None,
            ecn_ce: None,
            error_code: None,
            maximum: None,
            connection_id: None,
            sequence: None,
            retire_prior_to: None,
            ack_eliciting_threshold: None,
            requested_max_ack_delay_us: None,
            reordering_threshold: None,
            path_id: None,
            reliable_size_bytes: None,
            time_stamp_encoded: None,
        };
        row.set_frame(frame);
        row
    }

    fn set_frame(&mut self, frame: &'a QuicFrame) {
        match *frame {
            QuicFrame::Padding { length } | QuicFrame::NewToken { length } | QuicFrame::Datagram { length } => {
                self.length_bytes = Some(length);
            }
            QuicFrame::Ack(ref ack) => self.set_ack(ack),
            QuicFrame::Extension(ref frame) => self.set_extension(frame),
            QuicFrame::ResetStream { stream, error, final_size } => {
                self.stream_id = Some(stream);
                self.error_code = Some(error);
                self.final_size_bytes = Some(final_size);
            }
            QuicFrame::StopSending { stream, error } => {
                self.stream_id = Some(stream);
                self.error_code = Some(error);
            }
            QuicFrame::Crypto { offset, ref data } => {
                self.offset = Some(offset);
                self.length_bytes = Some(data.len() as u64);
            }
            QuicFrame::Stream { stream, offset, length, fin, .. } => {
                self.stream_id = Some(stream);
                self.offset = Some(offset);
                self.length_bytes = Some(length);
                self.fin = Some(fin);
            }
            QuicFrame::MaxData { maximum }
            | QuicFrame::MaxStreams { maximum, .. }
            | QuicFrame::DataBlocked { limit: maximum }
            | QuicFrame::StreamsBlocked { limit: maximum, .. } => self.maximum = Some(maximum),
            QuicFrame::MaxStreamData { stream, maximum } | QuicFrame::StreamDataBlocked { stream, limit: maximum } => {
                self.stream_id = Some(stream);
                self.maximum = Some(maximum);
            }
            // The token stays out: who has it can end the connection.
            QuicFrame::NewConnectionId { sequence, retire_prior_to, connection_id, reset_token: _ } => {
                self.sequence = Some(sequence);
                self.retire_prior_to = Some(retire_prior_to);
                self.connection_id = Some(connection_id);
            }
            QuicFrame::RetireConnectionId { sequence } => self.sequence = Some(sequence),
            QuicFrame::ConnectionClose { error, .. } => self.error_code = Some(error),
            QuicFrame::AckFrequency {
                sequence,
                ack_eliciting_threshold,
                requested_max_ack_delay_us,
                reordering_threshold,
            } => {
                self.sequence = Some(sequence);
                self.ack_eliciting_threshold = Some(ack_eliciting_threshold);
                self.requested_max_ack_delay_us = Some(requested_max_ack_delay_us);
                self.reordering_threshold = Some(reordering_threshold);
            }
            QuicFrame::Ping
            | QuicFrame::PathChallenge { .. }
            | QuicFrame::PathResponse { .. }
            | QuicFrame::HandshakeDone
            | QuicFrame::ImmediateAck => {}
        }
    }

    fn set_ack(&mut self, ack: &'a Ack) {
        self.ack_largest = Some(ack.largest());
        self.ack_delay_encoded = Some(ack.encoded_delay);
        self.ack_ranges = Some(&ack.ranges);
        if let Some([ect0, ect1, ce]) = ack.ecn {
            self.ecn_ect0 = Some(ect0);
            self.ecn_ect1 = Some(ect1);
            self.ecn_ce = Some(ce);
        }
    }

    fn set_extension(&mut self, frame: &'a ExtensionFrame) {
        match *frame {
            ExtensionFrame::TimeStamp { time_stamp } => self.time_stamp_encoded = Some(time_stamp),
            ExtensionFrame::ResetStreamAt { stream, error, final_size, reliable_size } => {
                self.stream_id = Some(stream);
                self.error_code = Some(error);
                self.final_size_bytes = Some(final_size);
                self.reliable_size_bytes = Some(reliable_size);
            }
            ExtensionFrame::PathAck { path, ref ack } => {
                self.path_id = Some(path);
                self.set_ack(ack);
            }
            ExtensionFrame::PathAbandon { path, error } => {
                self.path_id = Some(path);
                self.error_code = Some(error);
            }
            ExtensionFrame::PathNewConnectionId { path, sequence, retire_prior_to, connection_id, reset_token: _ } => {
                self.path_id = Some(path);
                self.sequence = Some(sequence);
                self.retire_prior_to = Some(retire_prior_to);
                self.connection_id = Some(connection_id);
            }
            ExtensionFrame::PathStatus { path, sequence, is_available: _ }
            | ExtensionFrame::PathRetireConnectionId { path, sequence }
            | ExtensionFrame::PathCidsBlocked { path, sequence } => {
                self.path_id = Some(path);
                self.sequence = Some(sequence);
            }
            ExtensionFrame::MaxPathId { maximum } | ExtensionFrame::PathsBlocked { maximum } => {
                self.maximum = Some(maximum);
            }
            ExtensionFrame::ObservedAddress { sequence, address: _ }
            | ExtensionFrame::AddAddress { sequence, address: _ }
            | ExtensionFrame::ReachOut { round: sequence, address: _ }
            | ExtensionFrame::RemoveAddress { sequence } => self.sequence = Some(sequence),
            ExtensionFrame::DcStatelessResetTokens { count } => self.length_bytes = Some(16 * count),
            ExtensionFrame::MtuProbingComplete { mtu } => self.maximum = Some(u64::from(mtu)),
            ExtensionFrame::EarlierImmediateAck => {}
        }
    }
}
