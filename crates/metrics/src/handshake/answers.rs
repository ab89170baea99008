//! The server's first acknowledgment and its ServerHello, and how long each end waits before it acknowledges.

use quiclab_units::{Duration, Time};
use quiclab_wire::QuicForm;

use super::log::Frame;
use super::view::{Event, View};

/// The server's first answers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FirstAnswers {
    /// First ACK in an Initial packet, and bytes of UDP payload of its datagram.
    pub(super) first_ack: Option<(Time, u32)>,
    /// First CRYPTO data in an Initial packet.
    pub(super) hello: Option<Time>,
    /// Datagrams with an ACK in an Initial packet before the ServerHello.
    pub(super) instant_acks: u64,
    /// Initial packets of the server before the first ACK, and before the ServerHello, that could not be read.
    pub(super) hidden_before: [u64; 2],
}

/// Finds the server's first answers, from the server's view or that of any tap.
pub(super) fn first_answers<'a>(server_sent: impl Iterator<Item = &'a Event<'a>>) -> FirstAnswers {
    let mut answers = FirstAnswers::default();
    for event in server_sent {
        let has_ack = event.frames(QuicForm::Initial).any(|frame| matches!(frame, Frame::Ack { .. }));
        let has_hello = event.frames(QuicForm::Initial).any(|frame| matches!(frame, Frame::Crypto { .. }));
        let is_hidden = u64::from(event.hides(QuicForm::Initial));
        if answers.first_ack.is_none() {
            answers.hidden_before[0] += is_hidden * u64::from(!has_ack);
            answers.first_ack = has_ack.then_some((event.time, event.bytes));
        }
        if has_hello {
            answers.hello = Some(event.time);
            break;
        }
        answers.hidden_before[1] += is_hidden;
        answers.instant_acks += u64::from(has_ack);
    }
    answers
}

/// The first acknowledgment of one end in one packet number space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AckDelay {
    /// Delay as the frame reports it.
    pub(super) reported: Option<Duration>,
    /// Time from the arrival of the largest packet that the acknowledgment acknowledges to the acknowledgment's departure.
    pub(super) actual: Option<Duration>,
    /// Packets of the space before it that could not be read.
    pub(super) hidden_before: u64,
}

/// The delay of the first ACK frame that this end sent in packets of this form.
pub(super) fn first_ack_delay(view: &View, form: QuicForm) -> AckDelay {
    let mut delay = AckDelay::default();
    let mut received: Vec<(u64, Time)> = Vec::new();
    for event in &view.events {
        for packet in event.packets.iter().filter(|packet| packet.form == form) {
            if !event.is_sent {
                received.extend(packet.number.map(|number| (number, event.time)));
                continue;
            }
            delay.hidden_before += u64::from(packet.is_hidden());
            for frame in &packet.frames {
                let Frame::Ack { ranges, delay_ns } = frame else { continue };
                let largest = ranges.first().map_or(0, |(_, end)| *end);
                delay.reported = delay_ns.map(Duration::from_nanos);
                // The first copy is what it acknowledges.
                let arrival = received.iter().find(|(number, _)| *number == largest);
                delay.actual = arrival.and_then(|(_, arrival)| event.time.checked_since(*arrival));
                return delay;
            }
        }
    }
    delay
}

/// Time from the arrival of the last datagram of the ClientHello to the departure of the ServerHello.
pub(super) fn processing(server: &View) -> Option<Duration> {
    let hello = first_answers(server.sent()).hello?;
    let mut crypto = crate::ranges::RangeSet::default();
    let mut last = None;
    for event in server.received().take_while(|event| event.time <= hello) {
        for frame in event.frames(QuicForm::Initial) {
            if let Frame::Crypto { offset, end } = frame
                && crypto.insert(*offset, *end) > 0
            {
                last = Some(event.time);
            }
        }
    }
    hello.checked_since(last?)
}
