//! The cores of this machine: which there are, binding to one, and one guest on each, among all that run quiclab on this machine.
//!
//! A guest keeps one core busy: all threads of a QEMU share one (see `vm::priority`), and of User-Mode Linux one process at a time has work. Two
//! on the same core take twice as long, also where other cores have nothing to do.
//! Workers of one command are spread by their numbers, but commands do not know of each other: workers of a campaign, tests, people. A seat is
//! an address in the abstract namespace of Unix sockets, which has no file, and is free again when its process ends in any way.

use std::{
    io,
    os::linux::net::SocketAddrExt,
    os::unix::net::{SocketAddr, UnixDatagram},
};

use anyhow::{Context, Result};
use nix::{
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    unistd::Pid,
};

/// The beginning of a seat's address; the number of its core follows.
const NAME: &str = "quiclab-vm-core-";

/// The cores this process may use.
///
/// # Errors
/// What the kernel answers.
pub fn cores() -> Result<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(0)).context("sched_getaffinity")?;
    Ok((0..CpuSet::count()).filter(|core| set.is_set(*core) == Ok(true)).collect())
}

/// Binds the calling thread, and those it will start, to a core. Safe between fork and exec.
///
/// # Errors
/// What the kernel answers.
pub fn bind_to(core: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(core)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// A core that is taken until this is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) core: usize,
    /// `None` where every core is taken, and this one is shared.
    _taken: Option<UnixDatagram>,
}

impl Seat {
    /// Takes `preferred`, or another one of `cores` where somebody has that; if all are taken, it shares `preferred`.
    pub(crate) fn take(preferred: usize, cores: &[usize]) -> Self {
        Self::take_of(NAME, preferred, cores)
    }

    fn take_of(name: &str, preferred: usize, cores: &[usize]) -> Self {
        let others = cores.iter().copied().filter(|core| *core != preferred);
        let free = std::iter::once(preferred).chain(others).find_map(|core| {
            // An error other than that it is taken: nothing is known of this core, and it is shared at worst.
            let address = SocketAddr::from_abstract_name(format!("{name}{core}")).ok()?;
            Some(Self { core, _taken: Some(UnixDatagram::bind_addr(&address).ok()?) })
        });
        free.unwrap_or(Self { core: preferred, _taken: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_core_is_taken_once_and_then_the_preferred_one_is_shared() {
        let name = format!("quiclab-test-{}-", std::process::id());
        let take = |preferred| Seat::take_of(&name, preferred, &[0, 2, 3]);
        let seats = [take(2), take(2), take(2), take(2)];
        assert_eq!(seats.each_ref().map(|seat| seat.core), [2, 0, 3, 2]);
        let [first, _second, third, shared] = seats;
        drop(third);
        assert_eq!(take(2).core, 3);
        drop(shared);
        drop(first);
        assert_eq!(take(2).core, 2);
    }

    #[test]
    fn a_thread_is_bound_to_one_core() {
        std::thread::spawn(|| {
            let last = cores().unwrap().pop().unwrap();
            bind_to(last).unwrap();
            assert_eq!(cores().unwrap(), [last]);
        })
        .join()
        .unwrap();
    }
}
