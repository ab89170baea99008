//! The life on a host: each line on standard input is a run's [`Orders`] as JSON, and each is answered on standard output.
//!
//! An answer is a line with a [`Manifest`](quiclab_agent_protocol::slot::Manifest) as JSON, and behind it the bytes of its blobs, whose
//! offsets count from the end of that line.
//!
//! Each run happens in a process of its own that is process 1 of new namespaces: PIDs, mounts, networks, and users where the caller
//! is not root. When that process ends, for whatever reason, the kernel ends every process in them and takes the networks and mounts
//! away. It ends with its run, with this process, and when nobody reads standard output any more. Nothing is changed outside of the
//! namespaces, so orders that concern the whole machine are refused.

pub(crate) mod answer;
pub(crate) mod limits;
mod owned;
pub(crate) mod roots;

use std::{
    io::{self, Read},
    os::fd::{AsFd, BorrowedFd},
};

use anyhow::{Context, Result, bail, ensure};
use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
    },
};
use quiclab_agent_protocol::orders::Orders;

use crate::{
    cpu::Meter,
    jail::{End, Jail, Users},
    run,
};

/// The namespaces that a run has to itself.
const OWN: libc::c_int =
    libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
/// Bytes of the longest orders; longer ones are refused. Certificates and file names are most of them.
const LONGEST_ORDERS: usize = 16 << 20;
/// Signals by which somebody asks this process to end.
const ENDING: [Signal; 3] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP];

/// Serves until standard input ends.
///
/// # Errors
/// Where standard input or output fails, a signal asks to end, or a run's process dies.
pub fn main() -> Result<()> {
    let mut signals = SigSet::empty();
    ENDING.into_iter().for_each(|signal| signals.add(signal));
    signals.thread_block().context("blocking signals")?;
    let asked_to_end = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC).context("signalfd")?;
    limits::set()?;
    let mut input = Input::default();
    while let Some(line) = input.line(asked_to_end.as_fd())? {
        match understood(&line) {
            Ok(orders) => perform(&orders, asked_to_end.as_fd())?,
            Err(error) => answer::write(&answer::failed(&error), &mut io::stdout())?,
        }
    }
    Ok(())
}

/// Performs a run in namespaces of its own, whose process answers.
fn perform(orders: &Orders, asked_to_end: BorrowedFd) -> Result<()> {
    let users = (!nix::unistd::getuid().is_root()).then_some(Users::Me);
    let agent = std::process::id();
    let jail = Jail::start(OWN, users, || match inside(orders, agent) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("quiclab-agent: {error:#}");
            1
        }
    })?;
    let stdout = io::stdout();
    let mut watched = [
        PollFd::new(jail.watch(), PollFlags::POLLIN),
        PollFd::new(asked_to_end, PollFlags::POLLIN),
        // Reported without being asked for: nobody reads any more.
        PollFd::new(stdout.as_fd(), PollFlags::empty()),
    ];
    poll_again(&mut watched)?;
    let [has_ended, is_to_end, _] = watched.map(|one| one.revents().unwrap_or(PollFlags::empty()));
    if !has_ended.is_empty() {
        return match jail.wait()? {
            End::Exit(0) => Ok(()),
            end => bail!("the run's process ended with {end} before it had answered"),
        };
    }
    // Dropping the jail ends everything in it.
    drop(jail);
    ensure!(is_to_end.is_empty(), "ended by a signal");
    bail!("no one reads the answers any more")
}

/// The run itself, as process 1 of the new namespaces.
fn inside(orders: &Orders, agent: u32) -> Result<()> {
    let (topology, roots) = match roots::build(orders, agent) {
        Ok(built) => built,
        Err(error) => return answer::write(&answer::failed(&error), &mut io::stdout()),
    };
    let roots = run::Roots { server: &roots.server, client: &roots.client };
    let finished = run::perform(orders, &topology, &roots, &Guest);
    answer::of_run(finished, orders, &mut io::stdout())
}

/// Orders that can be performed on a host.
fn understood(line: &[u8]) -> Result<Orders> {
    let orders: Orders = serde_json::from_slice(line).context("orders")?;
    ensure!(
        orders.machine.is_none(),
        "orders: found settings of the whole machine; on a host they would affect other programs\nhint: remove \
         machine from the orders"
    );
    Ok(orders)
}

/// The agent on a host, where it is a guest: it counts what its endpoints use, and sets nothing.
struct Guest;

impl run::RunHooks for Guest {
    fn meter(&self) -> Option<Meter> {
        Some(Meter::Endpoints)
    }
}

/// Standard input, in lines.
#[derive(Default)]
struct Input {
    bytes: Vec<u8>,
    has_ended: bool,
}

impl Input {
    /// The next line without its end; `None` at the end of the input.
    fn line(&mut self, asked_to_end: BorrowedFd) -> Result<Option<Vec<u8>>> {
        loop {
            if let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.bytes.drain(..=end).collect();
                line.pop();
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                return Ok(Some(line));
            }
            ensure!(
                self.bytes.len() <= LONGEST_ORDERS,
                "standard input: found a line of more than {LONGEST_ORDERS} bytes"
            );
            if self.has_ended {
                let rest = std::mem::take(&mut self.bytes);
                return Ok(Some(rest).filter(|rest| !rest.iter().all(u8::is_ascii_whitespace)));
            }
            self.read(asked_to_end)?;
        }
    }

    fn read(&mut self, asked_to_end: BorrowedFd) -> Result<()> {
        // Unbuffered: what is not read yet must be visible to poll.
        let stdin = io::stdin();
        let mut file = std::fs::File::from(stdin.as_fd().try_clone_to_owned().context("standard input")?);
        let mut watched = [PollFd::new(file.as_fd(), PollFlags::POLLIN), PollFd::new(asked_to_end, PollFlags::POLLIN)];
        poll_again(&mut watched)?;
        ensure!(watched[1].revents().is_none_or(|events| events.is_empty()), "ended by a signal");
        let mut chunk = [0; 1 << 16];
        let count = file.read(&mut chunk).context("standard input")?;
        self.bytes.extend(&chunk[..count]);
        self.has_ended = count == 0;
        Ok(())
    }
}

/// Polls without a limit, also after a signal that nobody waits for.
fn poll_again(watched: &mut [PollFd]) -> Result<()> {
    loop {
        match poll(watched, PollTimeout::NONE) {
            Err(nix::errno::Errno::EINTR) => {}
            result => return Ok(result.map(drop)?),
        }
    }
}
