//! What a datagram is in the handshake of its connection.

use std::collections::BTreeSet;

use quiclab_wire::{Observed, QuicForm, QuicFrame, Role};

/// What was seen of a handshake so far.
#[derive(Default)]
pub(super) struct Steps {
    /// CRYPTO data by sender, packet type and offset.
    sent: BTreeSet<(Role, QuicForm, u64)>,
    first: BTreeSet<&'static str>,
}

const SERVER_HELLO: &str = "ServerHello";
const CONFIRMED: &str = "HANDSHAKE_DONE";
const FIRST_BYTE: &str = "first byte of the answer";
const CLOSE: &str = "CONNECTION_CLOSE";

impl Steps {
    /// Whether nothing of the handshake is to come.
    pub(super) fn is_over(&self) -> bool {
        self.first.contains(CLOSE) || [CONFIRMED, FIRST_BYTE].iter().all(|step| self.first.contains(step))
    }

    /// The steps that a datagram takes, in the order of its packets. One that repeats CRYPTO data says so.
    pub(super) fn of(&mut self, observed: &Observed) -> Vec<&'static str> {
        let mut steps = Vec::new();
        let sender = observed.sender;
        let has_hello = |frames: &[QuicFrame]| frames.iter().any(|frame| matches!(frame, QuicFrame::Crypto { .. }));
        for packet in observed.packets {
            let frames = &observed.frames[packet.frames.clone()];
            if (sender, packet.form) == (Role::Server, QuicForm::Initial)
                && !has_hello(frames)
                && frames.iter().any(|frame| frame.acknowledgment().is_some())
                && !self.first.contains(SERVER_HELLO)
            {
                steps.push("instant ACK");
            }
            for frame in frames {
                let step = match (frame, sender, packet.form) {
                    (QuicFrame::Crypto { offset, .. }, ..) => {
                        let words = match (sender, packet.form) {
                            (Role::Client, QuicForm::Initial) => "ClientHello",
                            (Role::Server, QuicForm::Initial) => SERVER_HELLO,
                            (Role::Server, QuicForm::Handshake) => "EncryptedExtensions to Finished",
                            (Role::Client, QuicForm::Handshake) => "Finished of the client",
                            _ => "session ticket",
                        };
                        if !self.sent.insert((sender, packet.form, *offset)) {
                            steps.push("again");
                        }
                        words
                    }
                    (QuicFrame::HandshakeDone, ..) => CONFIRMED,
                    (QuicFrame::ConnectionClose { .. }, ..) => CLOSE,
                    (QuicFrame::Stream { stream, .. }, Role::Client, _) if stream % 4 == 0 => "request",
                    (QuicFrame::Stream { stream, length, .. }, Role::Server, _) if stream % 4 == 0 && *length > 0 => {
                        FIRST_BYTE
                    }
                    (QuicFrame::Ping, ..) => "PING",
                    _ => continue,
                };
                let is_news = self.first.insert(step);
                // Streams go on behind their first byte; handshake messages have parts.
                let is_shown = is_news || !["request", FIRST_BYTE, CONFIRMED].contains(&step);
                if is_shown && steps.last() != Some(&step) {
                    steps.push(step);
                }
            }
            match packet.form {
                QuicForm::Retry => steps.push("Retry"),
                QuicForm::VersionNegotiation => steps.push("Version Negotiation"),
                _ => {}
            }
        }
        steps
    }
}
