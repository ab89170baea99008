//! The paths of a connection: pairs of addresses, and what was done to validate each (RFC 9000 section 8.2).

use std::net::SocketAddr;

use quiclab_wire::{ConnectionId, Observed, QuicFrame, Role, Segment};

/// Paths kept of one connection; an honest one has a few.
const MOST_PATHS: usize = 64;
/// Challenges kept of one path.
const MOST_CHALLENGES: usize = 64;

/// One path, as the tap at the server saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathFacts {
    /// Address of the client.
    pub client: SocketAddr,
    /// Address of the server.
    pub server: SocketAddr,
    /// Datagrams of the client.
    pub client_datagrams: u64,
    /// Datagrams of the server.
    pub server_datagrams: u64,
    /// Whether the server's first datagram has a PATH_CHALLENGE frame; `None` where it sent none.
    pub server_begins_with_challenge: Option<bool>,
    /// Data of the server's PATH_CHALLENGE frames that an answer of the client repeated, on whatever path; at most 64.
    pub challenges_answered: u64,
    /// Different data of the server's PATH_CHALLENGE frames; at most 64.
    pub challenges: u64,
    /// Whether the client's first datagram has a destination connection ID that it had used on no other path; `None` where that is not
    /// known.
    pub client_begins_with_new_id: Option<bool>,
}

#[derive(Default)]
pub(super) struct PathMeter {
    paths: Vec<Seen>,
    answers: Vec<[u8; 8]>,
    client_ids: Vec<ConnectionId>,
}

struct Seen {
    facts: PathFacts,
    challenges: Vec<[u8; 8]>,
}

impl PathMeter {
    pub(super) fn on_datagram(&mut self, segment: &Segment, observed: &Observed) {
        let (client, server) = match observed.sender {
            Role::Client => (segment.source, segment.destination),
            Role::Server => (segment.destination, segment.source),
        };
        let place = self.paths.iter().position(|it| it.facts.client == client && it.facts.server == server);
        let Some(place) = place.or_else(|| self.add(client, server)) else { return };
        match observed.sender {
            Role::Client => self.on_client(place, observed),
            Role::Server => self.on_server(place, observed),
        }
    }

    fn add(&mut self, client: SocketAddr, server: SocketAddr) -> Option<usize> {
        if self.paths.len() >= MOST_PATHS {
            return None;
        }
        let facts = PathFacts {
            client,
            server,
            client_datagrams: 0,
            server_datagrams: 0,
            server_begins_with_challenge: None,
            challenges_answered: 0,
            challenges: 0,
            client_begins_with_new_id: None,
        };
        self.paths.push(Seen { facts, challenges: Vec::new() });
        Some(self.paths.len() - 1)
    }

    fn on_client(&mut self, place: usize, observed: &Observed) {
        let id = observed.packets.first().and_then(|packet| packet.destination_connection_id);
        let is_known = id.map(|id| self.client_ids.contains(&id));
        if let (Some(id), Some(false)) = (id, is_known)
            && self.client_ids.len() < MOST_PATHS
        {
            self.client_ids.push(id);
        }
        let facts = &mut self.paths[place].facts;
        facts.client_datagrams += 1;
        if facts.client_datagrams == 1 {
            facts.client_begins_with_new_id = is_known.map(|is_known| !is_known);
        }
        for frame in observed.frames {
            if let QuicFrame::PathResponse { data } = frame
                && self.answers.len() < MOST_CHALLENGES * MOST_PATHS
            {
                self.answers.push(*data);
            }
        }
    }

    fn on_server(&mut self, place: usize, observed: &Observed) {
        let Seen { facts, challenges } = &mut self.paths[place];
        let before = challenges.len();
        let mut has_challenge = false;
        for frame in observed.frames {
            let QuicFrame::PathChallenge { data } = frame else { continue };
            has_challenge = true;
            if before < MOST_CHALLENGES && !challenges.contains(data) {
                challenges.push(*data);
            }
        }
        facts.server_datagrams += 1;
        facts.server_begins_with_challenge.get_or_insert(has_challenge);
    }

    pub(super) fn finish(self) -> Vec<PathFacts> {
        let Self { paths, answers, .. } = self;
        let finish = |Seen { facts, challenges }: Seen| PathFacts {
            challenges: challenges.len() as u64,
            challenges_answered: challenges.iter().filter(|data| answers.contains(data)).count() as u64,
            ..facts
        };
        paths.into_iter().map(finish).collect()
    }
}
