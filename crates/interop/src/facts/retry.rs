//! Retry packets and what became of their tokens: RFC 9000 section 8.1.2.

use quiclab_wire::{Decryption, Observed, QuicForm, Role, Segment};

/// Tokens remembered of one connection. A client takes the first Retry and no other (RFC 9000 section 17.2.5.2).
const MOST_TOKENS: usize = 4;

/// What a capture shows of the Retry packets of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetryFacts {
    /// Retry packets of the server.
    pub packets: u64,
    /// Retry packets whose integrity tag is wrong (RFC 9001 section 5.8); they are in no other number.
    pub packets_not_authentic: u64,
    /// Whether an Initial of the client carries the token of one of them.
    pub token_came_back: bool,
    /// Whether the first such Initial has a packet number that an Initial before it had reached: a client must not begin
    /// again, RFC 9000 section 17.2.5.3.
    pub packet_number_was_reset: bool,
}

#[derive(Default)]
pub(super) struct RetryMeter {
    facts: RetryFacts,
    tokens: Vec<Vec<u8>>,
    largest_before: Option<u64>,
}

impl RetryMeter {
    pub(super) fn on_datagram(&mut self, segment: &Segment, observed: &Observed) {
        for packet in observed.packets {
            let token = segment.payload.get(packet.token.clone()).unwrap_or_default();
            match (packet.form, observed.sender) {
                (QuicForm::Retry, Role::Server) if packet.decryption == Decryption::Failed => {
                    self.facts.packets_not_authentic += 1;
                }
                (QuicForm::Retry, Role::Server) => {
                    self.facts.packets += 1;
                    if self.tokens.len() < MOST_TOKENS && !token.is_empty() {
                        self.tokens.push(token.to_vec());
                    }
                }
                (QuicForm::Initial, Role::Client) if packet.decryption != Decryption::Failed => {
                    self.on_initial(token, packet.packet_number);
                }
                _ => {}
            }
        }
    }

    fn on_initial(&mut self, token: &[u8], packet_number: Option<u64>) {
        if self.facts.token_came_back {
            return;
        }
        if self.tokens.iter().any(|of_retry| of_retry == token) {
            self.facts.token_came_back = true;
            self.facts.packet_number_was_reset =
                packet_number.zip(self.largest_before).is_some_and(|(number, before)| number <= before);
        } else {
            self.largest_before = self.largest_before.max(packet_number);
        }
    }

    pub(super) fn finish(self) -> RetryFacts {
        self.facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packet numbers of a client's Initials, before the token of the Retry came back and with it.
    fn facts_of(before: &[u64], with_token: u64) -> RetryFacts {
        let mut meter = RetryMeter { tokens: vec![b"token".to_vec()], ..RetryMeter::default() };
        for number in before {
            meter.on_initial(b"", Some(*number));
            meter.on_initial(b"another token", Some(*number));
        }
        assert!(!meter.facts.token_came_back);
        meter.on_initial(b"token", Some(with_token));
        meter.finish()
    }

    #[test]
    fn packet_numbers_must_go_on_behind_a_retry() {
        for (before, with_token, was_reset) in
            [(&[0][..], 1, false), (&[0], 0, true), (&[0, 1], 1, true), (&[], 0, false)]
        {
            let facts = facts_of(before, with_token);
            assert!(facts.token_came_back);
            assert_eq!(facts.packet_number_was_reset, was_reset, "{before:?}, then {with_token}");
        }
    }
}
