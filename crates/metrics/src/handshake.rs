//! `handshake_*`, `time_to_first_byte_ns`: how a connection begins. Here: its steps, counted from the client's first packet at
//! the tap. In the modules: what each end saw of it, from a short log of its datagrams.

mod amplification;
mod answers;
mod class;
mod classifier;
pub(crate) mod detail;
mod flights;
mod guess;
mod joined;
mod log;
mod logged;
mod marks;
mod measures;
mod probes;
mod round_trips;
mod stream;
mod timer;
mod times;
mod view;

use quiclab_units::Time;
use quiclab_wire::{Decryption, FlowProtocol, Observed, QuicForm, QuicFrame, Role, Segment, TlsContentType, Transport};

use crate::needs::NOT_QUIC;
use crate::output::RunMetrics;
use crate::warnings::WarningCode;

pub use class::{Close, FirstAnswer, HandshakeClass};
pub use classifier::HandshakeClassifier;
pub use detail::{HandshakeDetail, HandshakeEstimate};
pub(crate) use joined::{Handshakes, MOST_HANDSHAKES};
pub(crate) use log::HandshakeLog;
pub use logged::LoggedRoundTrips;
pub use marks::{HandshakeEvent, HandshakeMark, HandshakeMarkMeter, HandshakeMarks};
pub use stream::{HandshakeStream, SeenHandshake};
pub use view::HandshakeTaps;

/// What is counted from the client's first packet.
const HANDSHAKE_METRICS: [&str; 6] = [
    "handshake_first_reply_ns",
    "handshake_server_hello_ns",
    "handshake_first_one_rtt_ns",
    "handshake_client_finished_ns",
    "handshake_confirmed_ns",
    "time_to_first_byte_ns",
];

/// A step that only the frames of packets show.
#[derive(Clone, Default)]
struct FrameStep {
    time: Option<Time>,
    /// Packets before it that could have been it, and could not be read.
    unread_before: u64,
}

impl FrameStep {
    fn on_packet(&mut self, time: Time, shows_it: bool, is_read: bool) {
        if self.time.is_some() {
            return;
        }
        if shows_it {
            self.time = Some(time);
        } else {
            self.unread_before += u64::from(!is_read);
        }
    }
}

/// When each step was seen first.
#[derive(Default)]
pub(crate) struct HandshakeMeter {
    begin: Option<Time>,
    first_reply: Option<Time>,
    server_hello: FrameStep,
    client_finished: FrameStep,
    confirmed: FrameStep,
    first_byte: FrameStep,
    first_one_rtt: Option<Time>,
    /// Log of a QUIC handshake, from a long header on.
    log: Option<Box<HandshakeLog>>,
}

impl HandshakeMeter {
    /// `is_logged`: whether this handshake is measured in detail.
    pub(crate) fn on_packet(&mut self, segment: &Segment, observed: &Observed, is_logged: bool) {
        if is_logged && !segment.is_tcp() {
            self.log_datagram(segment, observed);
        }
        if self.first_byte.time.is_some() && self.confirmed.time.is_some() {
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

    fn log_datagram(&mut self, segment: &Segment, observed: &Observed) {
        let is_over = self.first_byte.time.is_some() && self.confirmed.time.is_some();
        let is_first = |form| matches!(form, QuicForm::Initial | QuicForm::VersionNegotiation);
        let begins = || observed.packets.iter().any(|packet| is_first(packet.form));
        if self.log.is_none() && (is_over || !begins()) {
            return;
        }
        self.log.get_or_insert_default().on_datagram(segment, observed, is_over);
    }

    /// What was kept of the handshake.
    pub(crate) fn take_log(&mut self) -> Option<Box<HandshakeLog>> {
        self.log.take()
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
                    self.client_finished.time.get_or_insert(time);
                }
            }
            Role::Server => {
                self.first_reply.get_or_insert(time);
                if begins(TlsContentType::Handshake) {
                    self.server_hello.time.get_or_insert(time);
                }
                if self.client_finished.time.is_some() && has_payload {
                    self.first_byte.time.get_or_insert(time);
                }
            }
        }
    }

    fn on_datagram(&mut self, sender: Role, observed: &Observed, time: Time) {
        for packet in observed.packets {
            let frames = &observed.frames[packet.frames.clone()];
            let is_read = packet.decryption == Decryption::Verified && packet.frame_error.is_none();
            let has_crypto = frames.iter().any(|frame| matches!(frame, QuicFrame::Crypto { .. }));
            match (sender, packet.form) {
                (Role::Client, QuicForm::Initial | QuicForm::UnknownVersion) if self.first_reply.is_none() => {
                    self.begin.get_or_insert(time);
                }
                (Role::Client, QuicForm::Handshake) => self.client_finished.on_packet(time, has_crypto, is_read),
                (Role::Client, _) => {}
                (Role::Server, form) => {
                    self.first_reply.get_or_insert(time);
                    if form == QuicForm::Initial {
                        self.server_hello.on_packet(time, has_crypto, is_read);
                    }
                    if form == QuicForm::OneRtt {
                        self.first_one_rtt.get_or_insert(time);
                        let is_done = frames.contains(&QuicFrame::HandshakeDone);
                        self.confirmed.on_packet(time, is_done, is_read);
                        self.first_byte.on_packet(time, frames.iter().any(is_answer), is_read);
                    }
                }
            }
        }
    }

    /// When the client's Finished passed: over TCP, what the server sends from then on is the answer.
    pub(crate) fn client_finished(&self) -> Option<Time> {
        self.client_finished.time
    }

    pub(crate) fn is_seen(&self) -> bool {
        self.begin.is_some()
    }

    pub(crate) fn finish(&self, protocol: FlowProtocol, run: &mut RunMetrics) {
        let Some(begin) = self.begin else {
            let (code, reason) = match protocol {
                FlowProtocol::Udp => (WarningCode::NotQuic, NOT_QUIC),
                _ => (
                    WarningCode::HandshakeUnread,
                    "the client's first packet was not captured, so there is no starting point",
                ),
            };
            if self.first_reply.is_some() {
                run.withhold(code, reason, &HANDSHAKE_METRICS);
            }
            return;
        };
        let since = |time: Option<Time>| Some(time?.checked_since(begin)?.as_nanos());
        let metrics = &mut run.metrics;
        metrics.handshake_first_reply_ns = since(self.first_reply);
        metrics.handshake_first_one_rtt_ns = since(self.first_one_rtt);
        let steps = [
            (&self.server_hello, "handshake_server_hello_ns", "Initial packets of the server"),
            (&self.client_finished, "handshake_client_finished_ns", "Handshake packets of the client"),
            (&self.confirmed, "handshake_confirmed_ns", "1-RTT packets of the server"),
            (&self.first_byte, "time_to_first_byte_ns", "1-RTT packets of the server"),
        ];
        let known = steps.map(|(step, ..)| since(step.time).filter(|_| step.unread_before == 0));
        [
            metrics.handshake_server_hello_ns,
            metrics.handshake_client_finished_ns,
            metrics.handshake_confirmed_ns,
            metrics.time_to_first_byte_ns,
        ] = known;
        for (step, name, packets) in steps.into_iter().filter(|(step, ..)| step.unread_before > 0) {
            let reason = match step.time {
                Some(_) => {
                    format!(
                        "{} earlier {packets} could not be read, and one of them may be the first",
                        step.unread_before
                    )
                }
                None => format!("{} {packets} could not be read", step.unread_before),
            };
            run.withhold(WarningCode::HandshakeUnread, &reason, &[name]);
        }
    }
}

/// RFC 9000 section 2.1: data on a client-initiated, bidirectional stream, where answers are.
fn is_answer(frame: &QuicFrame) -> bool {
    matches!(frame, QuicFrame::Stream { stream, length, .. } if stream % 4 == 0 && *length > 0)
}

#[cfg(test)]
mod tests;
