//! What one end of a connection sent.

use std::collections::{BTreeMap, BTreeSet};

use quiclab_units::{Duration, Time};
use quiclab_wire::{Decryption, Flow, Observed, QuicForm, QuicFrame, QuicPacket, Role, Segment};

use super::streams::{StreamFacts, StreamMeter};

/// Different CONNECTION_CLOSE frames kept of one sender: an honest one has one or two.
const MOST_CLOSES: usize = 16;

/// A CONNECTION_CLOSE frame, RFC 9000 section 19.19.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CloseFacts {
    /// Error code.
    pub error: u64,
    /// Whether the application closed, not QUIC: then 0 need not be the code of "no error".
    pub by_application: bool,
}

/// What one end of a connection sent. Packets whose keys are there and do not fit are counted as such and nowhere else.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SenderFacts {
    /// UDP datagrams.
    pub datagrams: u64,
    /// UDP payload.
    pub bytes: u64,
    /// UDP payload of the longest datagram.
    pub longest_datagram_bytes: u64,
    /// Packets by form; a form that did not occur is absent. See [`SenderFacts::packets`].
    pub packets_by_form: BTreeMap<QuicForm, u64>,
    /// Packets without a key in the key log, or cut by the capture: what they hold is not known.
    pub packets_unread: u64,
    /// Decrypted packets by form that end in a frame which cannot be read: what follows it in them is not known. A form that did not
    /// occur is absent.
    pub unread_frames_by_form: BTreeMap<QuicForm, u64>,
    /// Packets by form without a key in the key log, or cut by the capture.
    pub closed_by_form: BTreeMap<QuicForm, u64>,
    /// The first such frame, in words. `None` where there is none.
    pub unread_frame: Option<String>,
    /// Packets whose keys are there and do not fit.
    pub packets_not_authentic: u64,
    /// Versions of its Initial packets.
    pub initial_versions: BTreeSet<u32>,
    /// Versions of its Handshake packets.
    pub handshake_versions: BTreeSet<u32>,
    /// Initial packets that hold the first byte of CRYPTO data: as often as a client sent its ClientHello, whole or in part.
    pub initials_with_first_crypto_byte: u64,
    /// Bytes of CRYPTO data in Handshake packets, from the highest offset: with its certificate, of a server.
    pub handshake_crypto_bytes: u64,
    /// Streams with a STREAM frame among those that the client opened and both ends use: one for each request.
    pub request_streams: u64,
    /// How many of them have a STREAM frame in a 0-RTT packet.
    pub request_streams_in_zero_rtt: u64,
    /// What it sent on each stream that the client opened and both ends use, by stream ID; at most 1000.
    pub streams: BTreeMap<u64, StreamFacts>,
    /// STREAM data of those streams in 0-RTT packets, repeated data counted again.
    pub zero_rtt_stream_bytes: u64,
    /// Bytes of its 0-RTT packets that no key opened, headers included: not every library logs the early secret.
    pub zero_rtt_bytes_unread: u64,
    /// STREAM data of those streams in 1-RTT packets, repeated data counted again.
    pub one_rtt_stream_bytes: u64,
    /// 1-RTT packets with the key phase bit 0, and with 1, as far as they were decrypted.
    pub key_phase_packets: [u64; 2],
    /// Key updates, RFC 9001 section 6, as far as packets were decrypted with the new keys.
    pub key_updates: u64,
    /// The sender's transport parameter, RFC 9000 section 18.2. `None` where it did not say, or where that could not be read.
    pub initial_max_streams_bidi: Option<u64>,
    /// The sender's transport parameter, RFC 9000 section 18.2: its peer must not move. `None` where that could not be read.
    pub disables_active_migration: Option<bool>,
    /// Different CONNECTION_CLOSE frames, at most 16.
    pub closes: BTreeSet<CloseFacts>,
    /// Datagrams by the ECN bits of their IP header (RFC 3168 section 5): none, ECT(1), ECT(0), "congestion experienced".
    pub ecn_datagrams: [u64; 4],
    /// ACK frames with ECN counts, RFC 9000 section 19.3.2.
    pub acks_with_ecn_counts: u64,
    /// Unidirectional streams that it opened, as far as there are STREAM frames of them.
    pub unidirectional_streams: u64,
    /// Times of its first and its last datagram with a 1-RTT packet; `None` where it sent none.
    pub one_rtt_times: Option<(Time, Time)>,
    /// The longest time between two of its datagrams.
    pub longest_silence: Duration,
}

impl SenderFacts {
    /// Packets of a form.
    pub fn packets(&self, form: QuicForm) -> u64 {
        self.packets_by_form.get(&form).copied().unwrap_or(0)
    }

    /// Share of the packets of these forms whose frames are not all known, 0 to 1; 0 where there are none.
    pub fn unread_share(&self, forms: &[QuicForm]) -> f64 {
        let sum = |by_form: &BTreeMap<QuicForm, u64>| forms.iter().filter_map(|form| by_form.get(form)).sum::<u64>();
        let unread = sum(&self.unread_frames_by_form) + sum(&self.closed_by_form);
        unread as f64 / sum(&self.packets_by_form).max(1) as f64
    }
}

/// Collects what one end sends.
#[derive(Default)]
pub(super) struct SenderMeter {
    facts: SenderFacts,
    last: Option<Time>,
    unidirectional_streams: BTreeSet<u64>,
    request_streams: BTreeSet<u64>,
    request_streams_in_zero_rtt: BTreeSet<u64>,
    streams: StreamMeter,
}

impl SenderMeter {
    pub(super) fn on_datagram(&mut self, segment: &Segment, observed: &Observed) {
        self.facts.datagrams += 1;
        let bytes = u64::from(segment.payload_length);
        self.facts.bytes += bytes;
        self.facts.longest_datagram_bytes = self.facts.longest_datagram_bytes.max(bytes);
        self.facts.ecn_datagrams[usize::from(segment.ecn & 3)] += 1;
        let silence = self.last.map_or(0, |last| segment.time.as_nanos().saturating_sub(last.as_nanos()));
        self.facts.longest_silence = self.facts.longest_silence.max(Duration::from_nanos(silence));
        self.last = Some(segment.time);
        if observed.packets.iter().any(|packet| packet.form == QuicForm::OneRtt) {
            let (first, _) = self.facts.one_rtt_times.unwrap_or((segment.time, segment.time));
            self.facts.one_rtt_times = Some((first, segment.time.max(first)));
        }
        for packet in observed.packets {
            if packet.decryption == Decryption::Failed {
                self.facts.packets_not_authentic += 1;
                continue;
            }
            self.on_header(packet);
            self.on_frames(packet, &observed.frames[packet.frames.clone()]);
        }
    }

    fn on_header(&mut self, packet: &QuicPacket) {
        let facts = &mut self.facts;
        *facts.packets_by_form.entry(packet.form).or_default() += 1;
        match packet.decryption {
            Decryption::HeaderOnly | Decryption::NoKeys => {
                facts.packets_unread += 1;
                *facts.closed_by_form.entry(packet.form).or_default() += 1;
                if packet.form == QuicForm::ZeroRtt {
                    facts.zero_rtt_bytes_unread += u64::from(packet.length);
                }
            }
            Decryption::Verified => {
                if let Some(error) = &packet.frame_error {
                    *facts.unread_frames_by_form.entry(packet.form).or_default() += 1;
                    facts.unread_frame.get_or_insert_with(|| error.to_string());
                }
                if let Some(phase) = packet.key_phase {
                    facts.key_phase_packets[usize::from(phase)] += 1;
                }
            }
            Decryption::Failed | Decryption::NotProtected => {}
        }
        let versions = match packet.form {
            QuicForm::Initial => &mut facts.initial_versions,
            QuicForm::Handshake => &mut facts.handshake_versions,
            _ => return,
        };
        versions.extend(packet.version);
    }

    fn on_frames(&mut self, packet: &QuicPacket, frames: &[QuicFrame]) {
        let facts = &mut self.facts;
        let mut has_first_crypto_byte = false;
        for frame in frames {
            match (frame, packet.form) {
                (QuicFrame::Crypto { offset, data }, QuicForm::Initial) => {
                    has_first_crypto_byte |= *offset == 0 && !data.is_empty();
                }
                (QuicFrame::Crypto { offset, data }, QuicForm::Handshake) => {
                    let end = offset.saturating_add(data.len() as u64);
                    facts.handshake_crypto_bytes = facts.handshake_crypto_bytes.max(end);
                }
                (QuicFrame::Ack(ack), _) => facts.acks_with_ecn_counts += u64::from(ack.ecn.is_some()),
                // RFC 9000 section 2.1: bit 1 is set in the numbers of unidirectional streams.
                (QuicFrame::Stream { stream, .. }, _) if stream & 2 != 0 => {
                    self.unidirectional_streams.insert(*stream);
                }
                // RFC 9000 section 2.1: the client's bidirectional streams.
                (QuicFrame::Stream { stream, offset, length, fin, head }, form) if stream % 4 == 0 => {
                    self.request_streams.insert(*stream);
                    self.streams.on_frame(*stream, *offset, *length, *fin, *head);
                    match form {
                        QuicForm::ZeroRtt => {
                            self.request_streams_in_zero_rtt.insert(*stream);
                            facts.zero_rtt_stream_bytes += length;
                        }
                        _ => facts.one_rtt_stream_bytes += length,
                    }
                }
                (QuicFrame::ConnectionClose { error, by_application, .. }, _) if facts.closes.len() < MOST_CLOSES => {
                    facts.closes.insert(CloseFacts { error: *error, by_application: *by_application });
                }
                _ => {}
            }
        }
        facts.initials_with_first_crypto_byte += u64::from(has_first_crypto_byte);
    }

    pub(super) fn finish(self, flow: &Flow, sender: Role) -> SenderFacts {
        SenderFacts {
            unidirectional_streams: self.unidirectional_streams.len() as u64,
            request_streams: self.request_streams.len() as u64,
            streams: self.streams.finish(),
            request_streams_in_zero_rtt: self.request_streams_in_zero_rtt.len() as u64,
            key_updates: flow.key_updates(sender),
            initial_max_streams_bidi: flow.initial_max_streams_bidi(sender),
            disables_active_migration: flow.disables_active_migration(sender),
            ..self.facts
        }
    }
}
