//! A server's handshake that waits for its certificate.

#![cfg_attr(not(feature = "boring"), allow(dead_code, reason = "without BoringSSL nothing is held"))]

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::{Duration, Instant},
};

use crate::{handshake::FirstAck, settings::Settings};

/// Holds the handshake at the certificate until it is due, and what the server sends until then.
pub struct Hold {
    /// When the certificate comes.
    due: Instant,
    /// `None` leaves it to quiche, which acknowledges what arrives, in datagrams of 1200 bytes.
    first_ack: Option<FirstAck>,
    /// True once BoringSSL has the whole ClientHello, and asks for the certificate.
    asked: AtomicBool,
    /// True once something was sent.
    acknowledged: AtomicBool,
}

impl Hold {
    /// True where a server's connections need one.
    pub fn is_asked_for(settings: &Settings) -> bool {
        !settings.certificate_delay.is_zero() || settings.handshake.first_ack.is_some()
    }

    /// Of a connection that begins now.
    pub fn new(settings: &Settings) -> Self {
        let due = Instant::now() + settings.certificate_delay;
        let [asked, acknowledged] = [false; 2].map(AtomicBool::new);
        Self { due, first_ack: settings.handshake.first_ack, asked, acknowledged }
    }

    /// What BoringSSL is answered that asks for the certificate: true, it is there.
    pub fn asks(&self) -> bool {
        self.asked.store(true, Relaxed);
        // An instant acknowledgment leaves before the certificate is used, even one that is there at once.
        self.is_due() && (self.first_ack != Some(FirstAck::Padded) || self.acknowledged.load(Relaxed))
    }

    /// True while nothing may be sent. Sending asks for the certificate again, so the ServerHello is in what is sent first.
    pub fn is_silent(&self) -> bool {
        self.first_ack == Some(FirstAck::Wait) && !(self.is_due() && self.asked.load(Relaxed))
    }

    /// Time until the certificate comes; `None`: it is there.
    pub fn remaining(&self) -> Option<Duration> {
        let remaining = self.due.saturating_duration_since(Instant::now());
        (!remaining.is_zero()).then_some(remaining)
    }

    pub fn on_sent(&self) {
        self.acknowledged.store(true, Relaxed);
    }

    fn is_due(&self) -> bool {
        self.remaining().is_none()
    }
}
