//! The paths of a connection: pairs of addresses, and what was done to validate each (RFC 9000 section 8.2).

use std::net::SocketAddr;

use quiclab_units::{Duration, Time};
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
    /// How many of them came before the client's first CONNECTION_CLOSE frame on any path.
    pub client_datagrams_before_close: u64,
    /// Datagrams of the server.
    pub server_datagrams: u64,
    /// Whether the server's first datagram has a PATH_CHALLENGE frame; `None` where it sent none.
    pub server_begins_with_challenge: Option<bool>,
    /// Data of the server's PATH_CHALLENGE frames that an answer of the client repeated, on whatever path; at most 64.
    pub challenges_answered: u64,
    /// Different data of the server's PATH_CHALLENGE frames; at most 64.
    pub challenges: u64,
    /// Time from the server's first PATH_CHALLENGE frame on this path to the client's first CONNECTION_CLOSE frame on any; 0 where that
    /// came before. `None` where there is no challenge, or the client did not close.
    pub challenge_to_close: Option<Duration>,
    /// Data of the client's PATH_CHALLENGE frames on this path that an answer of the server repeated, on whatever path; at most 64.
    pub client_challenges_answered: u64,
    /// Different data of the client's PATH_CHALLENGE frames on this path; at most 64.
    pub client_challenges: u64,
    /// Whether the client's first datagram has a destination connection ID that it had used on no other path; `None` where that is not
    /// known.
    pub client_begins_with_new_id: Option<bool>,
}

#[derive(Default)]
pub(super) struct PathMeter {
    paths: Vec<Seen>,
    /// Data of PATH_RESPONSE frames, by sender.
    answers: [Vec<[u8; 8]>; 2],
    client_ids: Vec<ConnectionId>,
    client_closed: Option<Time>,
}

struct Seen {
    facts: PathFacts,
    /// Data of PATH_CHALLENGE frames, by sender.
    challenges: [Vec<[u8; 8]>; 2],
    /// Time of the server's first PATH_CHALLENGE frame.
    first_challenge: Option<Time>,
}

impl PathMeter {
    pub(super) fn on_datagram(&mut self, segment: &Segment, observed: &Observed) {
        let (client, server) = match observed.sender {
            Role::Client => (segment.source, segment.destination),
            Role::Server => (segment.destination, segment.source),
        };
        let place = self.paths.iter().position(|it| it.facts.client == client && it.facts.server == server);
        let Some(place) = place.or_else(|| self.add(client, server)) else { return };
        let has_challenge = self.on_frames(place, observed);
        let closes = |frame: &QuicFrame| matches!(frame, QuicFrame::ConnectionClose { .. });
        if observed.sender == Role::Client && observed.frames.iter().any(closes) {
            self.client_closed.get_or_insert(segment.time);
        }
        if observed.sender == Role::Server && has_challenge {
            self.paths[place].first_challenge.get_or_insert(segment.time);
        }
        match observed.sender {
            Role::Client => self.on_client(place, observed),
            Role::Server => {
                let facts = &mut self.paths[place].facts;
                facts.server_datagrams += 1;
                facts.server_begins_with_challenge.get_or_insert(has_challenge);
            }
        }
    }

    /// Takes in challenges and answers. Answers whether there is a challenge.
    fn on_frames(&mut self, place: usize, observed: &Observed) -> bool {
        let sender = observed.sender as usize;
        let challenges = &mut self.paths[place].challenges[sender];
        let answers = &mut self.answers[sender];
        let mut has_challenge = false;
        for frame in observed.frames {
            match frame {
                QuicFrame::PathChallenge { data } => {
                    has_challenge = true;
                    if challenges.len() < MOST_CHALLENGES && !challenges.contains(data) {
                        challenges.push(*data);
                    }
                }
                QuicFrame::PathResponse { data } if answers.len() < MOST_CHALLENGES * MOST_PATHS => answers.push(*data),
                _ => {}
            }
        }
        has_challenge
    }

    fn add(&mut self, client: SocketAddr, server: SocketAddr) -> Option<usize> {
        if self.paths.len() >= MOST_PATHS {
            return None;
        }
        let facts = PathFacts {
            client,
            server,
            client_datagrams: 0,
            client_datagrams_before_close: 0,
            server_datagrams: 0,
            server_begins_with_challenge: None,
            challenges_answered: 0,
            challenges: 0,
            challenge_to_close: None,
            client_challenges_answered: 0,
            client_challenges: 0,
            client_begins_with_new_id: None,
        };
        self.paths.push(Seen { facts, challenges: Default::default(), first_challenge: None });
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
        facts.client_datagrams_before_close += u64::from(self.client_closed.is_none());
        if facts.client_datagrams == 1 {
            facts.client_begins_with_new_id = is_known.map(|is_known| !is_known);
        }
    }

    pub(super) fn finish(self) -> Vec<PathFacts> {
        let Self { paths, answers, client_closed, .. } = self;
        let answered = |challenges: &[[u8; 8]], by: Role| {
            challenges.iter().filter(|data| answers[by as usize].contains(data)).count() as u64
        };
        let until_close = |challenge: Option<Time>| Some(client_closed?.checked_since(challenge?).unwrap_or_default());
        let finish = |Seen { facts, challenges: [of_client, of_server], first_challenge }: Seen| PathFacts {
            challenge_to_close: until_close(first_challenge),
            challenges: of_server.len() as u64,
            challenges_answered: answered(&of_server, Role::Client),
            client_challenges: of_client.len() as u64,
            client_challenges_answered: answered(&of_client, Role::Server),
            ..facts
        };
        paths.into_iter().map(finish).collect()
    }
}
