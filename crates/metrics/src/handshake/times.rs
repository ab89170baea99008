//! The steps of a handshake at each end.

use quiclab_units::{Duration, Time};
use quiclab_wire::QuicForm;

use super::log::Frame;
use super::view::{Event, View};

/// A step that only frames show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) time: Option<Time>,
    /// Datagrams before it that could have shown it, and could not be read.
    pub(super) hidden_before: u64,
}

/// The steps at one end.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// The first Initial of the client.
    pub(super) begin: Option<Time>,
    /// The client's first CRYPTO data in a Handshake packet: its Finished.
    pub(super) client_finished: Step,
    /// The first HANDSHAKE_DONE.
    pub(super) confirmed: Step,
    /// The server's first data on a bidirectional stream of the client.
    pub(super) first_byte: Step,
}

impl Steps {
    pub(super) fn of(view: &View, is_client: bool) -> Self {
        let mut steps = Steps::default();
        for event in &view.events {
            if event.is_sent == is_client {
                if event.has_form(QuicForm::Initial) {
                    steps.begin.get_or_insert(event.time);
                }
                let is_crypto = |frame: &Frame| matches!(frame, Frame::Crypto { .. });
                steps.client_finished.on_event(event, QuicForm::Handshake, &is_crypto);
            } else {
                let is_done = |frame: &Frame| matches!(frame, Frame::HandshakeDone);
                steps.confirmed.on_event(event, QuicForm::OneRtt, &is_done);
                steps.first_byte.on_event(event, QuicForm::OneRtt, &Frame::is_answer);
            }
        }
        steps
    }

    pub(super) fn since_begin(&self, step: Step) -> Option<Duration> {
        step.time.filter(|_| step.hidden_before == 0)?.checked_since(self.begin?)
    }
}

impl Step {
    fn on_event(&mut self, event: &Event, form: QuicForm, is_it: &dyn Fn(&Frame) -> bool) {
        if self.time.is_some() {
            return;
        }
        if event.frames(form).any(is_it) {
            self.time = Some(event.time);
        } else {
            self.hidden_before += u64::from(event.hides(form));
        }
    }
}
