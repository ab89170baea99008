//! What a rule answers. `None`: a packet that matters could not be read.

use super::{FramePattern, Node, Predicate};
use crate::content::{Content, ContentFrame, ContentPacket, Flight, PacketForm, Probe};

impl Node {
    /// Every part is asked about every datagram, whatever the others answer, so that its counts do not depend on them.
    pub(super) fn ask(&self, content: &Content, states: &mut [u64]) -> Option<bool> {
        match self {
            Self::Or(left, right) => match (left.ask(content, states), right.ask(content, states)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            Self::And(left, right) => match (left.ask(content, states), right.ask(content, states)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Self::Not(of) => of.ask(content, states).map(|answer| !answer),
            Self::First { times, of, slot } => {
                let answer = of.ask(content, states)?;
                states[*slot] = states[*slot].saturating_add(u64::from(answer));
                Some(answer && states[*slot] <= *times)
            }
            Self::From { of, slot } => {
                let answer = of.ask(content, states);
                states[*slot] |= u64::from(answer == Some(true));
                if states[*slot] == 1 { Some(true) } else { answer }
            }
            Self::Is(predicate) => predicate.ask(content),
        }
    }
}

impl Predicate {
    fn ask(&self, content: &Content) -> Option<bool> {
        match self {
            Self::Any => Some(true),
            Self::Datagram(counts) => Some(counts.contains(content.datagram)),
            Self::Connection(counts) => Some(counts.contains(u64::from(content.connection))),
            Self::Flight { number: numbers, datagram: datagrams } => match content.flight {
                Flight::Part { number, datagram } => {
                    Some(numbers.contains(u64::from(number)) && datagrams.contains(datagram))
                }
                Flight::Repeat | Flight::Outside => Some(false),
                Flight::Unknown => None,
            },
            Self::DataOfFlight(numbers) => {
                let is_of = content.data_flight.is_some_and(|number| numbers.contains(u64::from(number)));
                (is_of || content.is_read()).then_some(is_of)
            }
            Self::Probe(numbers) => match content.probe {
                Probe::Number(number) => Some(numbers.contains(number)),
                Probe::No => Some(false),
                Probe::Unknown => None,
            },
            Self::Repeat => match content.flight {
                Flight::Repeat => Some(true),
                Flight::Part { .. } | Flight::Outside => Some(false),
                Flight::Unknown => None,
            },
            Self::Unreadable => Some(!content.is_read()),
            Self::AcknowledgmentOnly => is_acknowledgment_only(content),
            Self::Packet(form) => {
                let is_there = content.packets.iter().any(|packet| packet.form == *form);
                (is_there || content.is_whole).then_some(is_there)
            }
            Self::Frame { form, frame } => has_frame(content, *form, frame),
        }
    }
}

fn is_acknowledgment_only(content: &Content) -> Option<bool> {
    let frames = || content.packets.iter().flat_map(|packet| &packet.frames);
    if frames().any(|frame| !matches!(frame, ContentFrame::Ack { .. } | ContentFrame::Padding)) {
        return Some(false);
    }
    let has_acknowledgment = frames().any(|frame| matches!(frame, ContentFrame::Ack { .. }));
    content.is_read().then_some(has_acknowledgment)
}

fn has_frame(content: &Content, form: Option<PacketForm>, pattern: &FramePattern) -> Option<bool> {
    let is_candidate =
        |packet: &&ContentPacket| form.is_none_or(|form| packet.form == form) && pattern.may_be_in(packet.form);
    let candidates = || content.packets.iter().filter(is_candidate);
    if candidates().any(|packet| packet.frames.iter().any(|frame| pattern.is(frame))) {
        return Some(true);
    }
    (content.is_whole && candidates().all(|packet| packet.is_read)).then_some(false)
}

impl FramePattern {
    fn is(&self, frame: &ContentFrame) -> bool {
        match (self, frame) {
            (Self::Crypto(bytes), ContentFrame::Crypto { offset, length }) => bytes.overlaps(*offset, *length),
            (Self::Stream { id, bytes }, ContentFrame::Stream { id: found, offset, length, .. }) => {
                id.is_none_or(|id| id == *found) && bytes.overlaps(*offset, *length)
            }
            (Self::Named(name), frame) => *name == frame.name(),
            _ => false,
        }
    }

    /// RFC 9000, table 3. A packet of an unknown version may hold anything.
    fn may_be_in(&self, form: PacketForm) -> bool {
        use PacketForm::{Handshake, Initial, OneRtt, Unknown, ZeroRtt};
        match self {
            Self::Crypto(_) | Self::Named("ack") => matches!(form, Initial | Handshake | OneRtt | Unknown),
            Self::Named("ping" | "padding" | "connection_close") => {
                matches!(form, Initial | ZeroRtt | Handshake | OneRtt | Unknown)
            }
            Self::Named("handshake_done" | "new_token" | "path_response" | "retire_connection_id") => {
                matches!(form, OneRtt | Unknown)
            }
            Self::Stream { .. } | Self::Named(_) => matches!(form, ZeroRtt | OneRtt | Unknown),
        }
    }
}
