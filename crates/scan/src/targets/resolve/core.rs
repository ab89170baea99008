//! Queries in flight, without sockets and clocks.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    fmt,
};

use quiclab_units::Time;

use super::{
    Answer, Failure, Kind, Settings,
    message::{self, Read, Records},
};
use crate::targets::name::Name;

/// Most queries in flight. More would make it likely that the number of a query is guessed.
const MOST_IN_FLIGHT: usize = 4096;

/// Asks one resolver for many names.
///
/// A message answers a query if it has its number, which is random, and repeats its question. Everything else is
/// counted by [`strays`](Self::strays). All tries of a query have the same number, so a late answer counts.
pub struct Resolver {
    settings: Settings,
    ids: Box<dyn FnMut() -> u16 + Send>,
    waiting: VecDeque<(u64, Kind)>,
    queries: HashMap<u16, Query>,
    lookups: BTreeMap<u64, Lookup>,
    next_lookup: u64,
    next_try: u64,
    timers: BTreeSet<(Time, u16)>,
    transmits: VecDeque<Transmit>,
    answers: VecDeque<Answer>,
    strays: u64,
}

struct Query {
    lookup: u64,
    kind: Kind,
    tries: u32,
    deadline: Time,
    /// Over TCP: the number of the try.
    stream: Option<u64>,
}

struct Lookup {
    answer: Answer,
    outstanding: usize,
}

/// What to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transmit {
    /// A datagram.
    Datagram(Vec<u8>),
    /// A message over a new TCP connection, without its length. What becomes of it goes to [`Resolver::handle_stream`].
    Stream {
        /// Which one it is.
        token: u64,
        /// The message.
        message: Vec<u8>,
    },
}

impl fmt::Debug for Resolver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_flight = self.queries.len();
        formatter.debug_struct("Resolver").field("lookups", &self.lookups.len()).field("in_flight", &in_flight).finish()
    }
}

impl Resolver {
    /// A resolver that was asked nothing. `ids`: random numbers that nobody can guess.
    pub fn new(mut settings: Settings, ids: impl FnMut() -> u16 + Send + 'static) -> Self {
        settings.most_in_flight = settings.most_in_flight.clamp(1, MOST_IN_FLIGHT);
        settings.tries = settings.tries.max(1);
        let (waiting, queries, lookups, timers, transmits, answers) = Default::default();
        let (next_lookup, next_try, strays) = Default::default();
        let ids = Box::new(ids);
        Self { settings, ids, waiting, queries, lookups, next_lookup, next_try, timers, transmits, answers, strays }
    }

    /// Asks for a name. Gives the number that its [`Answer`] has.
    pub fn ask(&mut self, name: Name) -> u64 {
        let lookup = self.next_lookup;
        self.next_lookup += 1;
        let kinds = [(Kind::A, self.settings.v4), (Kind::Aaaa, self.settings.v6), (Kind::Https, self.settings.https)];
        let wanted: Vec<Kind> = kinds.into_iter().filter(|(_, is_wanted)| *is_wanted).map(|(kind, _)| kind).collect();
        let (addresses, https, failures) = Default::default();
        let answer = Answer { lookup, name, addresses, https, failures };
        if wanted.is_empty() {
            self.answers.push_back(answer);
            return lookup;
        }
        self.lookups.insert(lookup, Lookup { answer, outstanding: wanted.len() });
        self.waiting.extend(wanted.into_iter().map(|kind| (lookup, kind)));
        lookup
    }

    /// Names without an answer. They are kept in memory, so the caller bounds them.
    pub fn pending(&self) -> usize {
        self.lookups.len()
    }

    /// Messages that answered nothing.
    pub fn strays(&self) -> u64 {
        self.strays
    }

    /// What to send next.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        if let Some(transmit) = self.transmits.pop_front() {
            return Some(transmit);
        }
        if self.queries.len() >= self.settings.most_in_flight {
            return None;
        }
        let (lookup, kind) = self.waiting.pop_front()?;
        let mut id = (self.ids)();
        while self.queries.contains_key(&id) {
            // Not the next random one: a generator that is broken must not hang.
            id = id.wrapping_add(1);
        }
        let deadline = now;
        self.queries.insert(id, Query { lookup, kind, tries: 0, deadline, stream: None });
        self.send(id, now);
        self.transmits.pop_front()
    }

    /// A datagram that the resolver's address sent.
    pub fn handle_datagram(&mut self, bytes: &[u8], now: Time) {
        let id = bytes.first_chunk().map(|id| u16::from_be_bytes(*id));
        let Some((id, query)) = id.and_then(|id| Some((id, self.queries.get(&id)?))) else {
            self.strays += 1;
            return;
        };
        match self.read(bytes, id, query) {
            Read::Stray => self.strays += 1,
            // Once it is asked over TCP, that is where the answer comes from.
            Read::Truncated if query.stream.is_some() => {}
            Read::Truncated => {
                if let Some(query) = self.queries.get_mut(&id) {
                    query.stream = Some(0);
                    query.tries = 0;
                }
                self.send(id, now);
            }
            Read::Answer(result) => self.finish(id, result),
        }
    }

    /// What a TCP connection gave: a message without its length. `None`: it failed.
    pub fn handle_stream(&mut self, token: u64, message: Option<&[u8]>, now: Time) {
        let Some((id, query)) = self.of_stream(token) else { return };
        match message.map(|message| self.read(message, id, query)) {
            Some(Read::Answer(result)) => self.finish(id, result),
            Some(Read::Stray | Read::Truncated) => self.finish(id, Err(Failure::Malformed)),
            None => self.again(id, now),
        }
    }

    /// Whether anybody waits for what a TCP connection gives. If not, it can be closed.
    pub fn is_wanted(&self, token: u64) -> bool {
        self.of_stream(token).is_some()
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Sends again what has waited too long, or gives it up.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(&(at, id)) = self.timers.first()
            && at <= now
        {
            self.again(id, now);
        }
    }

    /// The next name that is done.
    pub fn poll_answer(&mut self) -> Option<Answer> {
        self.answers.pop_front()
    }

    fn of_stream(&self, token: u64) -> Option<(u16, &Query)> {
        let id = token as u16;
        self.queries.get(&id).filter(|query| query.stream == Some(token >> 16)).map(|query| (id, query))
    }

    fn read(&self, bytes: &[u8], id: u16, query: &Query) -> Read {
        match self.lookups.get(&query.lookup) {
            Some(lookup) => message::read(bytes, id, &lookup.answer.name, query.kind),
            None => Read::Stray,
        }
    }

    /// Another try.
    fn send(&mut self, id: u16, now: Time) {
        let Some(query) = self.queries.get_mut(&id) else { return };
        let Some(lookup) = self.lookups.get(&query.lookup) else { return };
        self.timers.remove(&(query.deadline, id));
        let timeout = self.settings.timeout.as_nanos().max(1);
        query.deadline = Time::from_nanos(now.as_nanos().saturating_add(timeout));
        query.tries += 1;
        self.timers.insert((query.deadline, id));
        let message = message::query(id, &lookup.answer.name, query.kind);
        self.transmits.push_back(match &mut query.stream {
            None => Transmit::Datagram(message),
            Some(number) => {
                self.next_try += 1;
                *number = self.next_try;
                Transmit::Stream { token: self.next_try << 16 | u64::from(id), message }
            }
        });
    }

    /// Another try, if there is one left.
    fn again(&mut self, id: u16, now: Time) {
        let Some(query) = self.queries.get(&id) else { return };
        if query.tries < self.settings.tries {
            self.send(id, now);
        } else {
            let failure = if query.stream.is_some() { Failure::Truncated } else { Failure::TimedOut };
            self.finish(id, Err(failure));
        }
    }

    fn finish(&mut self, id: u16, result: Result<Records, Failure>) {
        let Some(query) = self.queries.remove(&id) else { return };
        self.timers.remove(&(query.deadline, id));
        let Some(lookup) = self.lookups.get_mut(&query.lookup) else { return };
        let answer = &mut lookup.answer;
        match result {
            Ok(records) => {
                let new = records.addresses.into_iter().filter(|address| !answer.addresses.contains(address));
                answer.addresses.extend(new.collect::<Vec<_>>());
                answer.https.extend(records.https);
            }
            Err(failure) => answer.failures.push((query.kind, failure)),
        }
        lookup.outstanding -= 1;
        if lookup.outstanding > 0 {
            return;
        }
        if let Some(mut lookup) = self.lookups.remove(&query.lookup) {
            // The same whichever query was answered first.
            lookup.answer.addresses.sort_by_key(std::net::IpAddr::is_ipv6);
            lookup.answer.failures.sort();
            self.answers.push_back(lookup.answer);
        }
    }
}
