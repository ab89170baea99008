//! A server's handshake that waits for its certificate.

use std::cell::Cell;

use crate::{
    glue::now,
    handshake::FirstAck,
    settings::Settings,
    transport::{IDLE_TIMEOUT, nanoseconds},
};

/// Holds the handshake at the certificate until it is due, and what the server sends until then.
pub struct Hold {
    /// When the certificate comes.
    due: u64,
    /// When the idle timeout ends the connection, where nothing more arrives.
    ends: Cell<u64>,
    first_ack: FirstAck,
    /// True while AWS-LC waits for the certificate.
    waits: Cell<bool>,
    /// True once something was sent.
    acknowledged: Cell<bool>,
    /// True once there is a ServerHello.
    answered: Cell<bool>,
}

impl Hold {
    /// Of a server's connection that begins now; `None` where nothing was asked for.
    pub fn new(settings: &Settings) -> Option<Self> {
        let delay = nanoseconds(settings.certificate_delay);
        let first_ack = match settings.handshake.first_ack {
            None if delay == 0 => return None,
            first_ack => first_ack.unwrap_or(FirstAck::Wait),
        };
        let (due, ends) = (now() + delay, Cell::new(now() + IDLE_TIMEOUT));
        let [waits, acknowledged, answered] = [false; 3].map(Cell::new);
        Some(Self { due, ends, first_ack, waits, acknowledged, answered })
    }

    /// What AWS-LC is answered that asks for the certificate: true, it is there.
    pub fn asks(&self) -> bool {
        let is_there = self.is_there();
        self.waits.set(!is_there);
        is_there
    }

    /// True where AWS-LC is to ask again.
    pub fn resumes(&self) -> bool {
        self.waits.get() && self.is_there()
    }

    /// True while nothing may be sent: for good, where the ClientHello never gets complete.
    pub fn is_silent(&self) -> bool {
        self.first_ack == FirstAck::Wait && !self.answered.get()
    }

    /// When to look again, in nanoseconds of CLOCK_MONOTONIC; ngtcp2 itself wants to at `other`.
    pub fn expiry(&self, other: u64) -> u64 {
        match (self.is_silent(), self.waits.get()) {
            // Not `other`, which can be when to acknowledge.
            (true, true) => self.ends.get().min(self.due),
            (true, false) => self.ends.get(),
            (false, true) => other.min(self.due),
            (false, false) => other,
        }
    }

    /// ngtcp2 has read a datagram.
    pub fn on_received(&self) {
        self.ends.set(now() + IDLE_TIMEOUT);
    }

    pub fn on_sent(&self) {
        self.acknowledged.set(true);
    }

    pub fn on_answered(&self) {
        self.answered.set(true);
    }

    /// An instant acknowledgment leaves before the certificate is used, even one that is there at once.
    fn is_there(&self) -> bool {
        now() >= self.due && (self.first_ack != FirstAck::Instant || self.acknowledged.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_server_wakes_for_its_certificate_or_to_give_up() {
        let [waits, acknowledged, answered] = [false; 3].map(Cell::new);
        let hold = Hold { due: 40, ends: Cell::new(50), first_ack: FirstAck::Wait, waits, acknowledged, answered };
        assert_eq!(hold.expiry(10), 50, "the ClientHello is not complete");
        hold.waits.set(true);
        assert_eq!(hold.expiry(10), 40);
        hold.ends.set(30);
        assert_eq!(hold.expiry(10), 30);
        hold.on_answered();
        hold.waits.set(false);
        assert_eq!(hold.expiry(10), 10);
    }
}
