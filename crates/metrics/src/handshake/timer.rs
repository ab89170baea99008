//! The probe timer of one end of a handshake: RFC 9002 section 6.2 and appendix A.

use std::collections::BTreeMap;

use quiclab_units::{Duration, Time};
use quiclab_wire::{QuicForm, Role};

use super::log::{Frame, Packet};
use super::view::Event;
use crate::rtt_estimate::RttEstimate;

const SPACES: [&str; 3] = ["Initial", "Handshake", "1-RTT"];
const INITIAL: usize = 0;
const HANDSHAKE: usize = 1;
const ONE_RTT: usize = 2;

/// The timer. It says nothing before the first sample of the round-trip time: what an end waits for without one is its own choice.
pub(super) struct Timer {
    side: Role,
    max_ack_delay: Duration,
    estimate: Option<RttEstimate>,
    spaces: [Space; 3],
    /// `pto_count`.
    doubled: u32,
    /// When the handshake was confirmed: from then on there is a timer for 1-RTT packets.
    confirmed_at: Option<Time>,
    /// Whether a client knows that the server does not wait for more of it, RFC 9002 section 6.2.2.1; true at a server.
    peer_has_validated: bool,
    /// When an acknowledgment last set the timer, for a client with nothing in flight.
    set_at: Option<Time>,
    has_expired: bool,
}

#[derive(Default)]
struct Space {
    /// Ack-eliciting packets that were not acknowledged.
    in_flight: BTreeMap<u64, Time>,
    last_eliciting: Option<Time>,
    is_discarded: bool,
}

/// When the timer expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) time: Time,
    /// Probe timeout with its back-off.
    pub(super) pto: Duration,
    pub(super) space: &'static str,
    pub(super) doubled: u32,
}

impl Timer {
    /// `max_ack_delay`: of the peer.
    pub(super) fn new(side: Role, max_ack_delay: Duration) -> Self {
        Self {
            side,
            max_ack_delay,
            estimate: None,
            spaces: Default::default(),
            doubled: 0,
            confirmed_at: None,
            peer_has_validated: side == Role::Server,
            set_at: None,
            has_expired: false,
        }
    }

    pub(super) fn has_sample(&self) -> bool {
        self.estimate.is_some()
    }

    pub(super) fn on_estimate(&mut self, estimate: RttEstimate) {
        self.estimate = Some(estimate);
    }

    /// It has expired: nothing more is due until something is sent or acknowledged.
    pub(super) fn on_expiry(&mut self) {
        self.has_expired = true;
    }

    /// A probe is sent: the next timeout is twice as long.
    pub(super) fn on_probe(&mut self) {
        self.doubled = (self.doubled + 1).min(16);
    }

    /// RFC 9002 appendix A.8, GetPtoTimeAndSpace.
    pub(super) fn due(&self) -> Option<Due> {
        let estimate = self.estimate.filter(|_| !self.has_expired)?;
        let of_space = |(number, space): (usize, &Space)| {
            let is_armed = !space.is_discarded
                && !space.in_flight.is_empty()
                && (number != ONE_RTT || self.confirmed_at.is_some());
            let start = space.last_eliciting.filter(|_| is_armed)?;
            if number != ONE_RTT {
                return Some(self.at(start, estimate.pto(Duration::ZERO), SPACES[number]));
            }
            // What is due when the timer is set expires at once.
            let due = self.at(start, estimate.pto(self.max_ack_delay), SPACES[number]);
            Some(Due { time: self.confirmed_at.map_or(due.time, |set| set.max(due.time)), ..due })
        };
        let armed = self.spaces.iter().enumerate().filter_map(of_space).min_by_key(|due| due.time);
        // A client probes with nothing in flight, so that the server is not stuck at its amplification limit.
        let alone = || {
            let is_stuck = !self.peer_has_validated && self.spaces.iter().all(|space| space.in_flight.is_empty());
            let space = if self.spaces[INITIAL].is_discarded { HANDSHAKE } else { INITIAL };
            Some(self.at(self.set_at.filter(|_| is_stuck)?, estimate.pto(Duration::ZERO), SPACES[space]))
        };
        armed.or_else(alone)
    }

    fn at(&self, start: Time, pto: Duration, space: &'static str) -> Due {
        let pto = Duration::from_nanos(pto.as_nanos().saturating_mul(1 << self.doubled));
        let time = Time::from_nanos(start.as_nanos().saturating_add(pto.as_nanos()));
        Due { time, pto, space, doubled: self.doubled }
    }

    /// A datagram was sent or received.
    pub(super) fn on_event(&mut self, event: &Event) {
        for packet in event.packets {
            let Some(space) = packet.space().map(usize::from).filter(|space| *space <= ONE_RTT) else { continue };
            if event.is_sent {
                self.on_sent(space, packet, event.time)
            } else {
                self.on_received(space, packet, event.time)
            }
        }
        // RFC 9001 section 4.9.1: a client drops Initial keys when it first sends a Handshake packet, a server when it first receives one.
        let drops_initial = event.has_form(QuicForm::Handshake) && event.is_sent == (self.side == Role::Client);
        if drops_initial {
            self.discard(INITIAL);
        }
    }

    fn on_sent(&mut self, space: usize, packet: &Packet, time: Time) {
        let confirms = packet.frames.iter().any(|frame| matches!(frame, Frame::HandshakeDone));
        if let Some(number) = packet.number.filter(|_| packet.is_ack_eliciting()) {
            let space = &mut self.spaces[space];
            space.in_flight.insert(number, time);
            space.last_eliciting = Some(time);
            self.has_expired = false;
        }
        if confirms && self.side == Role::Server {
            self.confirm(time);
        }
    }

    fn on_received(&mut self, space: usize, packet: &Packet, time: Time) {
        for frame in &packet.frames {
            match frame {
                Frame::Ack { ranges, .. } => {
                    let in_flight = &mut self.spaces[space].in_flight;
                    let before = in_flight.len();
                    in_flight.retain(|number, _| !ranges.iter().any(|(begin, end)| (*begin..=*end).contains(number)));
                    if self.side == Role::Client && space == HANDSHAKE {
                        self.peer_has_validated = true;
                    }
                    if in_flight.len() < before {
                        self.set_at = Some(time);
                        self.has_expired = false;
                        // RFC 9002 section 6.2.1: a client that is not sure of the server keeps its back-off.
                        if self.peer_has_validated {
                            self.doubled = 0;
                        }
                    }
                }
                Frame::HandshakeDone if self.side == Role::Client => self.confirm(time),
                _ => {}
            }
        }
    }

    fn confirm(&mut self, time: Time) {
        self.confirmed_at.get_or_insert(time);
        self.peer_has_validated = true;
        self.discard(INITIAL);
        self.discard(HANDSHAKE);
    }

    /// RFC 9002 appendix A.11, OnPacketNumberSpaceDiscarded.
    fn discard(&mut self, space: usize) {
        if !std::mem::replace(&mut self.spaces[space].is_discarded, true) {
            self.spaces[space].in_flight.clear();
            self.doubled = 0;
            self.has_expired = false;
        }
    }
}
