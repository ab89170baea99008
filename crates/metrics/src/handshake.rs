//! `handshake_*`, `time_to_first_byte_ns`: how a connection begins, counted from the client's first packet at the tap.

use quiclab_units::Time;
use quiclab_wire::{Observed, QuicForm, QuicFrame, Role, Segment, TlsContentType, Transport};

use crate::output::RunMetrics;

/// When each step was seen first.
#[derive(Clone, Default)]
pub(crate) struct HandshakeMeter {
    begin: Option<Time>,
    first_reply: Option<Time>,
    server_hello: Option<Time>,
    client_finished: Option<Time>,
    confirmed: Option<Time>,
    first_byte: Option<Time>,
    first_one_rtt: Option<Time>,
}

impl HandshakeMeter {
    pub(crate) fn on_packet(&mut self, segment: &Segment, observed: &Observed) {
        if self.first_byte.is_some() && self.confirmed.is_some() {
            return;
        }
        let time = segment.time;
        match (segment.transport, observed.sender) {
            (Transport::Tcp { flags, .. }, sender) => {
                self.on_segment(sender, flags.syn, segment.payload_length > 0, segment, time);
            }
            (Transport::Udp, sender) => self.on_datagram(sender, observed, time),
        }
    }

    fn on_segment(&mut self, sender: Role, is_syn: bool, has_payload: bool, segment: &Segment, time: Time) {
        let begins = |kind| segment.tls().is_some_and(|records| records.contains(kind));
        match sender {
            Role::Client => {
                if is_syn {
                    self.begin.get_or_insert(time);
                }
                // RFC 8446 section 4.4.4: in TLS 1.3 the client's first encrypted record holds its Finished (early data
                // aside); in TLS 1.2 it is the request, RFC 5246 section 7.3.
                if begins(TlsContentType::ApplicationData) {
                    self.client_finished.get_or_insert(time);
                }
            }
            Role::Server => {
                self.first_reply.get_or_insert(time);
                if begins(TlsContentType::Handshake) {
                    self.server_hello.get_or_insert(time);
                }
                if self.client_finished.is_some() && has_payload {
                    self.first_byte.get_or_insert(time);
                }
            }
        }
    }

    fn on_datagram(&mut self, sender: Role, observed: &Observed, time: Time) {
        for packet in observed.packets {
            let frames = &observed.frames[packet.frames.clone()];
            let has_crypto = frames.iter().any(|frame| matches!(frame, QuicFrame::Crypto { .. }));
            match (sender, packet.form) {
                (Role::Client, QuicForm::Initial | QuicForm::UnknownVersion) => {
                    self.begin.get_or_insert(time);
                }
                (Role::Client, QuicForm::Handshake) if has_crypto => {
                    self.client_finished.get_or_insert(time);
                }
                (Role::Server, form) => {
                    self.first_reply.get_or_insert(time);
                    if form == QuicForm::Initial && has_crypto {
                        self.server_hello.get_or_insert(time);
                    }
                    if form == QuicForm::OneRtt {
                        self.first_one_rtt.get_or_insert(time);
                    }
                }
                _ => {}
            }
            if sender == Role::Server {
                for frame in frames {
                    match frame {
                        QuicFrame::HandshakeDone => {
                            self.confirmed.get_or_insert(time);
                        }
                        // RFC 9000 section 2.1: client-initiated, bidirectional: where answers are.
                        QuicFrame::Stream { stream, length, .. } if stream % 4 == 0 && *length > 0 => {
                            self.first_byte.get_or_insert(time);
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    /// When the client's Finished passed: over TCP, what the server sends from then on is the answer.
    pub(crate) fn client_finished(&self) -> Option<Time> {
        self.client_finished
    }

    pub(crate) fn is_seen(&self) -> bool {
        self.begin.is_some()
    }

    pub(crate) fn finish(&self, run: &mut RunMetrics) {
        let Some(begin) = self.begin else {
            return;
        };
        let since = |time: Option<Time>| Some(time?.checked_since(begin)?.as_nanos());
        let metrics = &mut run.metrics;
        metrics.handshake_first_reply_ns = since(self.first_reply);
        metrics.handshake_server_hello_ns = since(self.server_hello);
        metrics.handshake_first_one_rtt_ns = since(self.first_one_rtt);
        metrics.handshake_client_finished_ns = since(self.client_finished);
        metrics.handshake_confirmed_ns = since(self.confirmed);
        metrics.time_to_first_byte_ns = since(self.first_byte);
    }
}
