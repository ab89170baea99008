//! One connection.

use std::net::SocketAddr;

use quiclab_units::Time;
use quiclab_wire::{ConnectionId, Decryption, Flow, Observed, QuicForm, QuicFrame, Role, Segment, TlsHandshake};

use super::amplification::{AmplificationFacts, AmplificationMeter};
use super::paths::{PathFacts, PathMeter};
use super::retry::{RetryFacts, RetryMeter};
use super::sender::{SenderFacts, SenderMeter};

/// What shows that a handshake is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// The server's HANDSHAKE_DONE frame, RFC 9000 section 19.20.
    HandshakeDone,
    /// 1-RTT packets of the client, and one of the server behind them: what can be seen without keys.
    OneRttBothWays,
}

/// What a capture shows of one connection. Arrays by [`Role`] hold what that role sent.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionFacts {
    /// Destination connection ID of the client's first Initial; `None` where that was not captured.
    pub original_destination_connection_id: Option<ConnectionId>,
    /// Address of the client; where it moved, the newest.
    pub client: SocketAddr,
    /// Address of the server.
    pub server: SocketAddr,
    /// Time of the connection's first packet.
    pub began: Time,
    /// When the handshake was complete first, and by what; `None` where nothing shows that it ever was.
    pub completed: Option<(Time, Completion)>,
    /// UDP datagrams over IPv4, of both ends.
    pub ipv4_datagrams: u64,
    /// UDP datagrams over IPv6, of both ends.
    pub ipv6_datagrams: u64,
    /// What was seen of the server's Retry packets.
    pub retry: RetryFacts,
    /// What was seen of the limit before the client's address is validated.
    pub amplification: AmplificationFacts,
    /// What the TLS handshake showed; empty where it could not be read.
    pub tls: TlsHandshake,
    /// What each end sent, by sender: see [`ConnectionFacts::sent`].
    pub senders: [SenderFacts; 2],
    /// How often an address changed.
    pub migrations: u64,
    /// Paths of the connection, in the order of their first datagrams; at most 64.
    pub paths: Vec<PathFacts>,
}

impl ConnectionFacts {
    /// What one end sent.
    pub fn sent(&self, sender: Role) -> &SenderFacts {
        &self.senders[sender as usize]
    }

    /// Whether the server sent an Initial packet.
    pub fn is_answered(&self) -> bool {
        self.sent(Role::Server).packets(QuicForm::Initial) > 0
    }
}

/// Collects the facts of one flow.
pub(super) struct ConnectionMeter {
    began: Time,
    completed: Option<(Time, Completion)>,
    datagrams: [u64; 2],
    client_sent_one_rtt: bool,
    retry: RetryMeter,
    amplification: AmplificationMeter,
    paths: PathMeter,
    senders: [SenderMeter; 2],
}

impl ConnectionMeter {
    pub(super) fn new(began: Time) -> Self {
        ConnectionMeter {
            began,
            completed: None,
            datagrams: [0; 2],
            client_sent_one_rtt: false,
            retry: RetryMeter::default(),
            amplification: AmplificationMeter::default(),
            paths: PathMeter::default(),
            senders: Default::default(),
        }
    }

    pub(super) fn on_packet(&mut self, segment: &Segment, observed: &Observed) {
        if segment.is_tcp() {
            return;
        }
        self.datagrams[usize::from(segment.source.is_ipv6())] += 1;
        self.senders[observed.sender as usize].on_datagram(segment, observed);
        self.retry.on_datagram(segment, observed);
        self.amplification.on_datagram(segment, observed);
        self.paths.on_datagram(segment, observed);
        if self.completed.is_none() {
            self.completed = self.completion(observed).map(|by| (segment.time, by));
        }
    }

    fn completion(&mut self, observed: &Observed) -> Option<Completion> {
        let has_one_rtt = observed
            .packets
            .iter()
            .any(|packet| packet.form == QuicForm::OneRtt && packet.decryption != Decryption::Failed);
        match observed.sender {
            Role::Client => {
                self.client_sent_one_rtt |= has_one_rtt;
                None
            }
            Role::Server if observed.frames.contains(&QuicFrame::HandshakeDone) => Some(Completion::HandshakeDone),
            Role::Server => (self.client_sent_one_rtt && has_one_rtt).then_some(Completion::OneRttBothWays),
        }
    }

    pub(super) fn finish(self, flow: &Flow) -> ConnectionFacts {
        let [client, server] = self.senders;
        ConnectionFacts {
            original_destination_connection_id: flow.original_destination_connection_id(),
            client: flow.address(Role::Client),
            server: flow.address(Role::Server),
            began: self.began,
            completed: self.completed,
            ipv4_datagrams: self.datagrams[0],
            ipv6_datagrams: self.datagrams[1],
            retry: self.retry.finish(),
            amplification: self.amplification.finish(),
            tls: flow.tls_handshake().cloned().unwrap_or_default(),
            senders: [client.finish(flow, Role::Client), server.finish(flow, Role::Server)],
            migrations: flow.migrations(),
            paths: self.paths.finish(),
        }
    }
}
