//! Datagrams of each flight of a handshake, and the QUIC packets in them.

use quiclab_wire::QuicForm;

use super::log::Frame;
use super::view::{Event, View};
use crate::ranges::RangeSet;

/// One flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flight {
    pub(super) datagrams: u64,
    /// QUIC packets in them.
    pub(super) packets: u64,
}

impl Flight {
    fn add(&mut self, event: &Event) {
        self.datagrams += 1;
        self.packets += event.packets.len() as u64;
    }
}

/// Datagrams with bytes of CRYPTO frames of these forms that were not sent before. `None` where there are none, or packets that
/// could be such could not be read.
fn new_crypto(view: &View, forms: &[QuicForm]) -> Option<Flight> {
    let mut sent: Vec<RangeSet> = forms.iter().map(|_| RangeSet::default()).collect();
    let mut flight = Flight::default();
    for event in view.sent() {
        let mut is_new = false;
        for (form, sent) in forms.iter().zip(&mut sent) {
            for frame in event.frames(*form) {
                if let Frame::Crypto { offset, end } = frame {
                    is_new |= sent.insert(*offset, *end) > 0;
                }
            }
            if event.hides(*form) {
                return None;
            }
        }
        if is_new {
            flight.add(event);
        }
    }
    (flight.datagrams > 0).then_some(flight)
}

/// The ClientHello.
pub(super) fn first_of_client(client: &View) -> Option<Flight> {
    new_crypto(client, &[QuicForm::Initial])
}

/// ServerHello to Finished.
pub(super) fn first_of_server(server: &View) -> Option<Flight> {
    new_crypto(server, &[QuicForm::Initial, QuicForm::Handshake])
}

/// The client's second flight: from the first datagram that answers the ServerHello, with an ACK in an Initial packet or a Handshake
/// packet, to the last of Finished and first request. `None` where either is missing or could not be read.
pub(super) fn second_of_client(client: &View) -> Option<Flight> {
    let mut flight = Flight::default();
    let mut pending = Flight::default();
    let (mut has_hello, mut has_begun, mut has_finished, mut has_request) = (false, false, false, false);
    for event in &client.events {
        if !event.is_sent {
            has_hello |= event.frames(QuicForm::Initial).any(|frame| matches!(frame, Frame::Crypto { .. }));
            continue;
        }
        let answers = event.frames(QuicForm::Initial).any(|frame| matches!(frame, Frame::Ack { .. }))
            || event.has_form(QuicForm::Handshake);
        has_begun |= has_hello && answers;
        if !has_begun {
            continue;
        }
        if event.hides(QuicForm::Handshake) || event.hides(QuicForm::OneRtt) {
            return None;
        }
        pending.add(event);
        let is_finished = event.frames(QuicForm::Handshake).any(|frame| matches!(frame, Frame::Crypto { .. }));
        let is_request = event.frames(QuicForm::OneRtt).any(Frame::is_answer);
        if (is_finished && !has_finished) || (is_request && !has_request) {
            flight = pending;
        }
        has_finished |= is_finished;
        has_request |= is_request;
        if has_finished && has_request {
            return Some(flight);
        }
    }
    None
}
