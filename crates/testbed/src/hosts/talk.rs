//! Requests to several hosts and their answers, whichever comes first.

use std::{
    collections::VecDeque,
    fs::File,
    io::{Read, empty},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::Ordering,
        mpsc::{Receiver, RecvTimeoutError, sync_channel},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail};
use quiclab_agent_protocol::{
    hosts::{Answer, HostFacts, PROTOCOL, Request},
    orders::Orders,
    slot::Manifest,
};

use super::{
    inventory::Inventory,
    messages::What,
    session::{Event, GOT_AGENT, HAS_AGENT, NEEDS_AGENT, Session, Visitor, with_hint},
    spool::Spool,
};
use crate::perform::{Host, Interrupted};

/// How often waiting looks whether it is to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long a host may take until its agent has said its first word.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the hosts may take to end a run.
const ABORT_TIMEOUT: Duration = Duration::from_secs(15);

/// Events of all hosts that nobody has looked at yet.
const MOST_UNHEARD: usize = 16;
/// Answers of one host that are kept while another one is waited for. A host answers each request once.
const MOST_PENDING: usize = 64;

/// What went wrong.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Something went wrong on this side, or the run was interrupted.
    Here(anyhow::Error),
    /// Something went wrong with a host: the run has failed, for this reason.
    There(String),
}

impl From<anyhow::Error> for Trouble {
    fn from(error: anyhow::Error) -> Self {
        Self::Here(error)
    }
}

/// When waiting ends.
#[derive(Clone, Copy)]
pub(super) struct Limit<'a> {
    host: Option<&'a Host>,
    deadline: Instant,
    timeout: Duration,
}

impl<'a> Limit<'a> {
    /// The limit that a run has, counted from now.
    pub fn of_run(host: &'a Host) -> Self {
        Self { host: Some(host), deadline: Instant::now() + host.timeout, timeout: host.timeout }
    }

    /// The limit that ends after this long.
    pub fn after(timeout: Duration) -> Self {
        Self { host: None, deadline: Instant::now() + timeout, timeout }
    }

    fn check(&self) -> Result<(), Interrupted> {
        if self.host.is_some_and(|host| host.stop.load(Ordering::Relaxed)) {
            return Err(Interrupted::ByRequest);
        }
        if Instant::now() > self.deadline { Err(Interrupted::ByDeadline(self.timeout)) } else { Ok(()) }
    }
}

/// What a host said, apart from its first words.
pub(super) enum Reply {
    /// An answer.
    Answer(Answer),
    /// What a run left, and the bytes of its blobs.
    Results(Box<Manifest>, File),
}

/// Sessions with all hosts of an inventory, in its order. Dropping it ends them.
pub(super) struct Sessions {
    sessions: Vec<Session>,
    /// What the hosts are.
    pub facts: Vec<HostFacts>,
    /// Which of them had the agent already.
    pub had_agent: Vec<bool>,
    events: Receiver<Event>,
    pending: Vec<VecDeque<Reply>>,
    spool: Arc<Mutex<Spool>>,
    /// A host whose session has ended, and why.
    pub lost: Option<String>,
    /// Whether the server ended by itself, in the present run.
    pub server_gone: bool,
    /// Whether the forwarder failed.
    pub path_failed: bool,
}

impl Sessions {
    /// Opens them all.
    ///
    /// # Errors
    /// The first host that cannot be used, and why.
    pub fn open(inventory: &Inventory, visitor: &Visitor) -> Result<Self> {
        let all = Self::open_whatever_they_are(inventory, visitor)?;
        all.sessions.iter().zip(&all.facts).try_for_each(|(session, facts)| check(session.label(), facts))?;
        Ok(all)
    }

    /// The same also where an agent answers from a host on which no run can happen.
    ///
    /// # Errors
    /// The first host whose agent does not answer, and why.
    pub fn open_whatever_they_are(inventory: &Inventory, visitor: &Visitor) -> Result<Self> {
        // A host that says much waits until it is heard.
        let (sender, events) = sync_channel(MOST_UNHEARD);
        let spool = Arc::new(Mutex::new(Spool::closed()));
        let start = |(host, entry)| Session::start(host, entry, visitor, sender.clone(), spool.clone());
        let sessions = inventory.hosts.iter().enumerate().map(start).collect::<Result<Vec<_>>>()?;
        let count = sessions.len();
        let mut all = Self {
            sessions,
            facts: Vec::new(),
            had_agent: vec![false; count],
            events,
            pending: (0..count).map(|_| VecDeque::new()).collect(),
            spool,
            lost: None,
            server_gone: false,
            path_failed: false,
        };
        all.greet(visitor)?;
        Ok(all)
    }

    /// Waits until every agent has said what its host is.
    fn greet(&mut self, visitor: &Visitor) -> Result<()> {
        let mut found: Vec<Option<HostFacts>> = self.sessions.iter().map(|_| None).collect();
        let limit = Limit::after(START_TIMEOUT);
        while found.iter().any(Option::is_none) {
            let Event { host, what } = self.event(limit).map_err(|_| {
                let silent = found.iter().position(Option::is_none).unwrap_or(0);
                anyhow!("{}: heard nothing of its agent for {START_TIMEOUT:?}", self.sessions[silent].label())
            })?;
            let label = self.sessions[host].label();
            match what {
                What::Word(word) if word == NEEDS_AGENT => {
                    let mut agent = File::open(visitor.agent).with_context(|| visitor.agent.display().to_string())?;
                    // Where it ends early, the host's own words say why.
                    let _ = self.sessions[host].send(b"", &mut agent);
                }
                What::Word(word) if word == HAS_AGENT => self.had_agent[host] = true,
                What::Word(word) if word == GOT_AGENT => {}
                What::Answer(Answer::Hello(facts)) => found[host] = Some(*facts),
                What::Answer(Answer::Locked { by }) => bail!(Locked {
                    host: label.to_owned(),
                    by: by.unwrap_or_else(|| "somebody who cannot be found out".to_owned()),
                }),
                What::Gone(why) => bail!("{label}: {why}"),
                What::Word(other) => bail!("{label}: found the word {other:?} before the agent's"),
                What::Answer(_) | What::Results(..) => {
                    bail!("{label}: found another answer before the agent's first word")
                }
            }
        }
        self.facts = found.into_iter().flatten().collect();
        Ok(())
    }

    /// A host's name in messages.
    pub fn label(&self, host: usize) -> &str {
        self.sessions[host].label()
    }

    /// Says that a run with these orders is under way from now on, whose results go into `folder`.
    pub fn spool_into(&self, folder: &Path, orders: &Orders) {
        *self.spool.lock().unwrap_or_else(PoisonError::into_inner) = Spool::of(folder.to_path_buf(), orders.clone());
    }

    /// Keeps what another host than the one that is waited for said meanwhile.
    fn keep(&mut self, host: usize, reply: Reply) -> Result<(), Trouble> {
        if self.pending[host].len() >= MOST_PENDING {
            return Err(Trouble::There(format!(
                "{}: found more than {MOST_PENDING} answers that nobody waits for, expected one for each request",
                self.label(host)
            )));
        }
        self.pending[host].push_back(reply);
        Ok(())
    }

    /// Sends a request.
    pub fn tell(&mut self, host: usize, request: &Request) -> Result<(), Trouble> {
        self.tell_with(host, request, &mut empty())
    }

    /// Sends a request with bytes behind it.
    pub fn tell_with(&mut self, host: usize, request: &Request, behind: &mut dyn Read) -> Result<(), Trouble> {
        let mut line = serde_json::to_vec(request).map_err(|error| Trouble::Here(error.into()))?;
        line.push(b'\n');
        // Where the session has ended, its own words say why.
        let sent = self.sessions[host].send(&line, behind);
        sent.or_else(|error| self.explain_loss(host).map_or(Err(Trouble::There(format!("{error:#}"))), Err))
    }

    /// The reason of a session's end that is just being noticed.
    fn explain_loss(&mut self, host: usize) -> Option<Trouble> {
        let limit = Limit::after(Duration::from_secs(2));
        loop {
            match self.next(limit) {
                Err(Trouble::There(why)) => return Some(Trouble::There(why)),
                Err(Trouble::Here(_)) => return None,
                Ok((other, reply)) if other != host => {
                    if let Err(trouble) = self.keep(other, reply) {
                        return Some(trouble);
                    }
                }
                Ok(_) => {}
            }
        }
    }

    /// The answer of one host. What others say meanwhile is kept.
    pub fn answer(&mut self, host: usize, limit: Limit) -> Result<Reply, Trouble> {
        loop {
            if let Some(reply) = self.pending[host].pop_front() {
                return Ok(reply);
            }
            let (other, reply) = self.next(limit)?;
            self.keep(other, reply)?;
        }
    }

    /// The same where it must be [`Answer::Done`].
    pub fn done(&mut self, host: usize, limit: Limit) -> Result<(), Trouble> {
        loop {
            match self.answer(host, limit)? {
                Reply::Answer(Answer::Done) => return Ok(()),
                // Noted already.
                Reply::Answer(Answer::ServerGone) => {}
                other => return Err(self.unexpected(host, &other)),
            }
        }
    }

    /// Sends every host a request, and waits until all have done it.
    pub fn all_do(&mut self, limit: Limit, request: impl Fn(usize) -> Request) -> Result<(), Trouble> {
        for host in 0..self.sessions.len() {
            self.tell(host, &request(host))?;
        }
        (0..self.sessions.len()).try_for_each(|host| self.done(host, limit))
    }

    /// The next answer of whichever host. Events of the present run are noted, and the failure of a host is trouble.
    pub fn next(&mut self, limit: Limit) -> Result<(usize, Reply), Trouble> {
        loop {
            let Event { host, what } = self.event(limit)?;
            let label = self.sessions[host].label();
            match what {
                What::Answer(Answer::Failed { error }) => {
                    return Err(Trouble::There(format!("{label}: {}", with_hint(error))));
                }
                What::Answer(Answer::ServerGone) => self.server_gone = true,
                What::Answer(Answer::PathFailed) => self.path_failed = true,
                What::Answer(answer) => return Ok((host, Reply::Answer(answer))),
                What::Results(manifest, blobs) => return Ok((host, Reply::Results(manifest, blobs))),
                What::Gone(why) => {
                    let why = format!("{label}: the ssh session ended: {why}");
                    self.lost = Some(why.clone());
                    return Err(Trouble::There(why));
                }
                What::Word(word) => return Err(Trouble::There(format!("{label}: found the word {word:?}"))),
            }
            if self.server_gone || self.path_failed {
                return Ok((host, Reply::Answer(Answer::ServerGone)));
            }
        }
    }

    fn event(&self, limit: Limit) -> Result<Event> {
        loop {
            limit.check()?;
            match self.events.recv_timeout(POLL_INTERVAL) {
                Ok(event) => return Ok(event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => bail!("all sessions have ended"),
            }
        }
    }

    /// What is wrong with an answer that nobody asked for.
    pub fn unexpected(&self, host: usize, reply: &Reply) -> Trouble {
        let found = match reply {
            Reply::Answer(answer) => format!("{answer:?}"),
            Reply::Results(..) => "results".to_owned(),
        };
        let found: String = found.chars().take(200).collect();
        Trouble::There(format!("{}: found the answer {found}, expected another one", self.label(host)))
    }

    /// Ends what there is of a run. Where a host does not confirm it, its session counts as lost.
    pub fn abort(&mut self) {
        for host in 0..self.sessions.len() {
            if self.lost.is_none() && self.tell(host, &Request::Abort).is_err() {
                self.lost.get_or_insert_with(|| format!("{}: the ssh session ended", self.sessions[host].label()));
            }
        }
        let mut waiting: Vec<bool> = self.sessions.iter().map(|_| true).collect();
        let limit = Limit::after(ABORT_TIMEOUT);
        while self.lost.is_none() && waiting.contains(&true) {
            match self.event(limit) {
                Ok(Event { host, what: What::Answer(Answer::Aborted) }) => waiting[host] = false,
                Ok(Event { host, what: What::Gone(why) }) => {
                    self.lost = Some(format!("{}: the ssh session ended: {why}", self.sessions[host].label()));
                }
                Ok(_) => {}
                Err(_) => self.lost = Some("a host does not end its run".to_owned()),
            }
        }
        self.pending.iter_mut().for_each(VecDeque::clear);
    }
}

/// Another quiclab uses a host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{host}: in use by {by}, expected nobody\nhint: wait for the end of that quiclab; when it dies, the host is free after half a \
     minute at most"
)]
pub(super) struct Locked {
    host: String,
    /// Who, in words.
    pub by: String,
}

/// Whether a run can happen there at all.
pub(super) fn check(label: &str, facts: &HostFacts) -> Result<()> {
    if facts.protocol != PROTOCOL {
        bail!(
            "{label}: found an agent of version {} (protocol {}), expected protocol {PROTOCOL}\nhint: remove the folder {} there",
            facts.version,
            facts.protocol,
            facts.folder
        );
    }
    if !facts.is_root {
        bail!(
            "{label}: found an ordinary user, expected root\nhint: ssh = \"root@HOST\", or sudo = true where sudo asks for no password"
        );
    }
    match &facts.no_namespaces {
        Some(why) => bail!("{label}: {why}"),
        None => Ok(()),
    }
}
