//! What each end saw of a handshake, from the logs of one tap or two.

use std::collections::BTreeMap;

use quiclab_units::{Duration, Time};
use quiclab_wire::{QuicForm, Role};
use serde::{Deserialize, Serialize};

use super::log::{Datagram, Frame, HandshakeLog, Packet};
use super::round_trips::samples;
use crate::payload_key::PayloadKey;

/// A tap is at an end where that end's answers take at most this share of the sum of both ends' answers: one divided by it.
const NEAR_ONE_PART_OF: u64 = 5;

/// Where the datagrams of a connection were seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandshakeTaps {
    /// They were seen at both ends.
    Both,
    /// They were seen at the server: by the name of the interface, or since the server answers much faster there than the client does.
    Server,
    /// They were seen at the client.
    Client,
    /// Somewhere between.
    Between,
    /// They were seen in one place; the packets do not show where.
    Unknown,
}

/// One datagram as one end saw it.
pub(super) struct Event<'a> {
    pub(super) time: Time,
    /// Whether this end sent it; otherwise it arrived here.
    pub(super) is_sent: bool,
    /// Bytes of the UDP payload.
    pub(super) bytes: u32,
    pub(super) packets: &'a [Packet],
    /// Whether every packet of it is in `packets`.
    pub(super) is_complete: bool,
}

impl Event<'_> {
    /// Frames of packets of this form.
    pub(super) fn frames(&self, form: QuicForm) -> impl Iterator<Item = &Frame> {
        self.packets.iter().filter(move |packet| packet.form == form).flat_map(|packet| &packet.frames)
    }

    /// Whether it has packets of this form that could not be read.
    pub(super) fn hides(&self, form: QuicForm) -> bool {
        !self.is_complete || self.packets.iter().any(|packet| packet.form == form && packet.is_hidden())
    }

    pub(super) fn has_form(&self, form: QuicForm) -> bool {
        self.packets.iter().any(|packet| packet.form == form)
    }
}

/// What one end sent and received, in the order of time.
pub(super) struct View<'a> {
    pub(super) events: Vec<Event<'a>>,
    /// Whether the tap is at this end, so that times are those of this end.
    pub(super) is_exact: bool,
    /// Time from the tap to this end and back: what is missing in the time from a datagram that this end sent to the answer, where the tap
    /// is not at this end. `None` where that is not known.
    pub(super) way_and_back: Option<Duration>,
}

impl<'a> View<'a> {
    /// `own`: of the tap that is at this end or stands in for it. `other`: of the other tap, which may know what this one did
    /// not keep.
    pub(super) fn of(side: Role, own: &'a HandshakeLog, other: Option<&'a HandshakeLog>) -> Self {
        let mut elsewhere: BTreeMap<(Role, PayloadKey), &Datagram> = BTreeMap::new();
        for datagram in other.iter().flat_map(|log| &log.datagrams) {
            if let Some(key) = datagram.key {
                elsewhere.entry((datagram.sender, key)).or_insert(datagram);
            }
        }
        let event = |datagram: &'a Datagram| {
            let twin = || elsewhere.get(&(datagram.sender, datagram.key?)).copied();
            let content = if datagram.is_complete { datagram } else { twin().unwrap_or(datagram) };
            Event {
                time: datagram.time,
                is_sent: datagram.sender == side,
                bytes: datagram.bytes,
                packets: &content.packets,
                is_complete: content.is_complete,
            }
        };
        let events = own.datagrams.iter().map(event).collect();
        View { events, is_exact: true, way_and_back: Some(Duration::ZERO) }
    }

    /// What the peer answered and this end received.
    pub(super) fn received(&self) -> impl Iterator<Item = &Event<'a>> {
        self.events.iter().filter(|event| !event.is_sent)
    }

    /// What this end sent.
    pub(super) fn sent(&self) -> impl Iterator<Item = &Event<'a>> {
        self.events.iter().filter(|event| event.is_sent)
    }
}

/// Both ends' views.
pub(super) struct Views<'a> {
    pub(super) client: View<'a>,
    pub(super) server: View<'a>,
    pub(super) taps: HandshakeTaps,
}

impl<'a> Views<'a> {
    /// Views of a connection that was captured at both ends.
    pub(super) fn of_two_taps(client: &'a HandshakeLog, server: &'a HandshakeLog) -> Self {
        Views {
            client: View::of(Role::Client, client, Some(server)),
            server: View::of(Role::Server, server, Some(client)),
            taps: HandshakeTaps::Both,
        }
    }

    /// Views of a connection that was captured in one place. Where that is follows from how long each end takes to answer there, if it is
    /// not known.
    pub(super) fn of_one_tap(log: &'a HandshakeLog, place: Option<Role>) -> Self {
        let [mut client, mut server] = Role::BOTH.map(|side| View::of(side, log, None));
        // What the client waits for at the tap is what the server takes to answer, way included.
        let fastest = |view: &View| samples(view).list.iter().map(|sample| sample.rtt).min();
        let [of_server, of_client] = [fastest(&client), fastest(&server)];
        let is_near = |own: Duration, other: Duration| {
            own.as_nanos().saturating_mul(NEAR_ONE_PART_OF) <= own.as_nanos().saturating_add(other.as_nanos())
        };
        let taps = match (place, of_client, of_server) {
            (Some(Role::Server), ..) => HandshakeTaps::Server,
            (Some(Role::Client), ..) => HandshakeTaps::Client,
            (None, Some(client), Some(server)) if is_near(client, server) => HandshakeTaps::Client,
            (None, Some(client), Some(server)) if is_near(server, client) => HandshakeTaps::Server,
            (None, Some(_), Some(_)) => HandshakeTaps::Between,
            (None, ..) => HandshakeTaps::Unknown,
        };
        client.is_exact = taps == HandshakeTaps::Client;
        server.is_exact = taps == HandshakeTaps::Server;
        client.way_and_back = if client.is_exact { Some(Duration::ZERO) } else { of_client };
        server.way_and_back = if server.is_exact { Some(Duration::ZERO) } else { of_server };
        Views { client, server, taps }
    }

    pub(super) fn of(&self, side: Role) -> &View<'a> {
        match side {
            Role::Client => &self.client,
            Role::Server => &self.server,
        }
    }
}
