//! Hosts over ssh as a testbed.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result, anyhow};
use quiclab_experiment::{
    TestbedName, foreign_setting,
    run::{Run, Versions},
};

use super::{
    archive,
    inventory::Inventory,
    launch_time,
    run::{lacks, perform, versions},
    session::Visitor,
    talk::{Limit, Locked, Sessions, Trouble},
};
use crate::{
    built_stacks::BuiltStacks,
    guest::agent::agent,
    hash,
    netns::{path, plain::PlainStack},
    perform::Host,
    stack::Source,
    stack_store::StackStore,
    testbed::{Attempt, Built, Place, Task, Testbed},
};

/// Its name.
pub const NAME: &str = TestbedName::Hosts.as_str();

/// Longest time for which an agent may hold its host after its session was lost.
const LOCK_TIMEOUT: Duration = Duration::from_secs(45);

/// Real stacks on hosts of their own, in real time.
#[derive(Debug, Default)]
pub struct Hosts {
    /// The file that names them.
    file: Option<PathBuf>,
    /// The stacks that were built.
    stacks: BuiltStacks<PlainStack>,
    /// One run at a time: the hosts are there once.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: Option<Open>,
    /// Why the hosts cannot be used.
    refused: Option<String>,
    was_open: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("State").field("is_open", &self.open.is_some()).finish_non_exhaustive()
    }
}

struct Open {
    inventory: Inventory,
    agent_digest: String,
    sessions: Sessions,
}

impl Hosts {
    /// The hosts that this file names.
    pub fn of(file: &Path) -> Self {
        Self { file: Some(file.to_path_buf()), ..Self::default() }
    }

    /// Does something with open sessions; opens them first, where they are not.
    fn with<T>(&self, work: impl FnOnce(&mut Open) -> Result<T>) -> Result<T> {
        let mut state: MutexGuard<State> = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.open.as_ref().is_some_and(|open| open.sessions.lost.is_some()) {
            state.open = None;
        }
        if state.open.is_none() {
            if let Some(why) = &state.refused {
                return Err(anyhow!("{why}").context("--testbed hosts"));
            }
            match self.open(state.was_open) {
                Ok(open) => (state.open, state.was_open) = (Some(open), true),
                Err(error) => {
                    state.refused = Some(format!("{error:#}"));
                    return Err(error.context("--testbed hosts"));
                }
            }
        }
        work(state.open.as_mut().context("the sessions were not opened")?)
    }

    fn open(&self, is_again: bool) -> Result<Open> {
        let file = self
            .file
            .as_deref()
            .context("found no hosts file, expected --hosts FILE\nhint: docs/reference/hosts-file.md")?;
        let inventory = Inventory::read(file)?;
        let agent = agent()?;
        let agent_digest = hash::of_file(&agent).with_context(|| agent.display().to_string())?;
        let who = who();
        let visitor =
            Visitor { agent: &agent, digest: &agent_digest, who: &who, ssh_config: inventory.ssh_config.as_deref() };
        let start = Instant::now();
        let sessions = loop {
            match Sessions::open(&inventory, &visitor) {
                // Of a session that was lost it may be our own agent.
                Err(error)
                    if is_again
                        && start.elapsed() < LOCK_TIMEOUT
                        && error.downcast_ref::<Locked>().is_some_and(|locked| locked.by.starts_with(&who)) =>
                {
                    thread::sleep(Duration::from_secs(1));
                }
                opened => break opened?,
            }
        };
        Ok(Open { inventory, agent_digest, sessions })
    }
}

/// This process, for whoever else wants to use the hosts.
pub(super) fn who() -> String {
    let user = std::env::var("USER").unwrap_or_else(|_| nix::unistd::getuid().to_string());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let since = time::OffsetDateTime::from_unix_timestamp(since as i64).ok();
    let since = since.map_or_else(String::new, |at| {
        let (date, time) = (at.date(), at.time());
        format!(" since {date} {:02}:{:02}:{:02} UTC", time.hour(), time.minute(), time.second())
    });
    static FIRST: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    FIRST.get_or_init(|| format!("{user}@{} process {}{since}", host.trim(), std::process::id())).clone()
}

impl Testbed for Hosts {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "Real stacks on two or three hosts over ssh, in real time"
    }

    fn stacks_folder(&self) -> &'static str {
        "stacks"
    }

    fn runs_images(&self) -> bool {
        true
    }

    fn is_exact(&self) -> bool {
        false
    }

    fn runs_here_in_real_time(&self) -> bool {
        false
    }

    fn refuse(&self, run: &Run) -> Option<String> {
        if let Some(why) = foreign_setting(&run.settings, NAME) {
            return Some(why);
        }
        let checked = self.with(|open| {
            let Open { inventory, sessions, .. } = open;
            let of_kernels = || path::refuse_path(run, &lacks(inventory, sessions));
            Ok(launch_time::refuse(run, inventory, sessions).or_else(of_kernels))
        });
        match checked {
            Ok(refused) => refused.map(|why| why.replace("this machine's kernel", "a host's kernel")),
            Err(error) => Some(format!("{error:#}")),
        }
    }

    fn check_machine(&self) -> Result<()> {
        self.with(|_| Ok(()))
    }

    fn is_built(&self, stack_store: &StackStore, source: &Source) -> Result<bool> {
        PlainStack::is_built(&stack_store.cache, source)
    }

    fn build(&self, stack_store: &StackStore, source: &Source, again: bool) -> Result<Built> {
        self.stacks.build(stack_store, source, again, |stack| PlainStack::prepare(&stack_store.cache, stack))
    }

    fn prepare(&self, stack_store: &StackStore, task: Task, host: &Host) -> Result<()> {
        let (run, manifests) = task.transfer()?;
        let pair = self.stacks.of(run)?;
        let sides = pair.sides(manifests);
        self.with(|open| {
            for (index, entry) in open.inventory.hosts.iter().enumerate() {
                let place = open.inventory.place(entry);
                let here = [(place.has_server(), sides.server.stack), (place.has_client(), sides.client.stack)];
                for (_, stack) in here.into_iter().filter(|(is_here, _)| *is_here) {
                    let provided =
                        archive::provide(&mut open.sessions, index, stack, Limit::of_run(host), stack_store.say);
                    provided.map_err(|trouble| match trouble {
                        Trouble::Here(error) => error,
                        Trouble::There(why) => anyhow!("{why}"),
                    })?;
                }
            }
            Ok(())
        })
    }

    fn versions(&self, task: Task) -> Result<Versions> {
        let (run, manifests) = task.transfer()?;
        let pair = self.stacks.of(run)?;
        self.with(|open| versions(run, pair.sides(manifests), &open.inventory, &open.sessions, &open.agent_digest))
    }

    fn perform(&self, task: Task, place: Place, host: &Host) -> Result<Attempt> {
        let (run, manifests) = task.transfer()?;
        let pair = self.stacks.of(run)?;
        self.with(|open| perform(run, pair.sides(manifests), &open.inventory, &mut open.sessions, place, host))
    }
}
