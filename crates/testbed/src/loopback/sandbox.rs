//! What an endpoint over the loopback interface can reach: its root file system, its network, and nothing else of this machine.
//!
//! It is root of a user namespace of its own without any capability. Where quiclab runs as root, its users are nobody outside; where it runs
//! as a user, there is nobody else to be. Its mounts belong to the namespace that quiclab made, so it can neither mount nor unmount.

use std::{ffi::CString, fs, io, os::fd::RawFd, os::unix::ffi::OsStrExt, path::Path, ptr};

use anyhow::{Context, Result};
use nix::errno::Errno;
use quiclab_sandbox::{Filter, Program, end_first, has_all_users, inherit_nothing};

use super::{Network, Root, namespace};

/// The first user of endpoints outside, where quiclab has all users of the machine. Those of the agent begin above.
const FIRST_USER: u32 = 0x6fff_0000;
/// Users of an endpoint, from 0.
const USERS: u32 = 1 << 16;
/// Instances of inotify, and files that they watch. A user has 128 and some thousands.
const MOST_WATCHES: &[u8] = b"16";
/// The capabilities of a user do not follow from being root, and no program can change that: linux/securebits.h, `SECBIT_NOROOT` with its lock.
const ROOT_IS_A_USER: libc::c_ulong = 0b11;

/// Returns the user that an endpoint's root is outside of its namespace; `None` where that is quiclab's own user.
pub(super) fn owner() -> Option<u32> {
    (has_all_users().unwrap_or(false) && nix::unistd::geteuid().is_root()).then_some(FIRST_USER)
}

/// Makes endpoints' root the owner of a file or folder, and of all below it where `with_contents`. Links are not followed.
///
/// # Errors
/// Where the kernel refuses it.
pub(super) fn give(path: &Path, with_contents: bool) -> Result<()> {
    let Some(owner) = owner() else { return Ok(()) };
    let mut paths = vec![path.to_path_buf()];
    while let Some(path) = paths.pop() {
        std::os::unix::fs::lchown(&path, Some(owner), Some(owner)).with_context(|| path.display().to_string())?;
        if with_contents && path.symlink_metadata().is_ok_and(|facts| facts.is_dir()) {
            for entry in fs::read_dir(&path).with_context(|| path.display().to_string())? {
                paths.push(entry?.path());
            }
        }
    }
    Ok(())
}

/// The sandbox of one endpoint, ready for the time between fork and exec.
pub(super) struct Sandbox {
    root: CString,
    folder: CString,
    /// Folders that it may write to: as they are outside, and relative to its root.
    writable: Vec<(CString, CString)>,
    /// A line of `uid_map` and `gid_map`.
    map: Vec<u8>,
    /// False where quiclab's own user may not leave groups.
    leaves_groups: bool,
    filter: Filter,
}

impl Sandbox {
    /// Makes the sandbox of an endpoint that sees `root` and starts in `folder` there. `writable`: absolute paths of folders, which have
    /// the same names in the root.
    ///
    /// # Errors
    /// A path with a zero byte, or one that is not absolute.
    pub(super) fn new<'a>(root: &Root, folder: &Path, writable: impl Iterator<Item = &'a Path>) -> Result<Self> {
        let path = |path: &Path| CString::new(path.as_os_str().as_bytes()).context("a path with a zero byte");
        let owner = owner();
        let map = owner.map_or("0 0 1\n".to_owned(), |first| format!("0 {first} {USERS}\n"));
        // On this machine's network, the sockets of other programs that have no path are within reach.
        let shares_network = namespace::entered() == Some(Network::OfThisMachine);
        let filter = Filter::of(Program::Endpoint { shares_files: false, shares_network })?;
        let both = |folder: &Path| {
            let inside = folder.strip_prefix("/").with_context(|| folder.display().to_string())?;
            Ok((path(folder)?, path(inside)?))
        };
        let writable = writable.map(both).collect::<Result<_>>()?;
        let (root, folder) = (path(root.folder())?, path(folder)?);
        Ok(Self { root, folder, writable, map: map.into_bytes(), leaves_groups: owner.is_some(), filter })
    }

    /// Moves the endpoint's process, which is in its PID namespace, into the sandbox. `asks` and `answers`: pipes to and from the keeper, which
    /// calls [`Sandbox::map_users`] in between. To be called between fork and exec.
    ///
    /// # Errors
    /// Where the kernel refuses it.
    pub(super) fn enter(&self, asks: RawFd, answers: RawFd) -> io::Result<()> {
        end_first()?;
        let (here, none) = (c".".as_ptr(), ptr::null());
        // SAFETY: plain system calls with pointers to live values and to strings that end with a zero.
        unsafe {
            Errno::result(libc::unshare(libc::CLONE_NEWNS))?;
            let root = self.root.as_ptr();
            Errno::result(libc::mount(root, root, none, libc::MS_BIND | libc::MS_REC, none.cast()))?;
            Errno::result(libc::chdir(root))?;
            for (outside, inside) in &self.writable {
                let (outside, inside) = (outside.as_ptr(), inside.as_ptr());
                Errno::result(libc::mount(outside, inside, none, libc::MS_BIND, none.cast()))?;
            }
            // Its own processes. To a user the kernel allows that only while there is such a mount already, and some containers do not at all;
            // then it sees none.
            let (proc, flags) = (c"proc".as_ptr(), libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC);
            libc::mount(proc, proc, proc, flags, none.cast());
            Errno::result(libc::syscall(libc::SYS_pivot_root, here, here))?;
            Errno::result(libc::umount2(here, libc::MNT_DETACH))?;
            Errno::result(libc::chdir(c"/".as_ptr()))?;
            if self.leaves_groups {
                Errno::result(libc::setgroups(0, ptr::null()))?;
            }
            Errno::result(libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS))?;
            let mut byte = 0_u8;
            Errno::result(libc::write(asks, (&raw const byte).cast(), 1))?;
            if libc::read(answers, (&raw mut byte).cast(), 1) != 1 {
                return Err(Errno::EPERM.into());
            }
            Errno::result(libc::setresgid(0, 0, 0))?;
            Errno::result(libc::setresuid(0, 0, 0))?;
            limit_watches();
            Errno::result(libc::prctl(libc::PR_SET_SECUREBITS, ROOT_IS_A_USER))?;
            Errno::result(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
            Errno::result(libc::chdir(self.folder.as_ptr()))?;
        }
        inherit_nothing()?;
        self.filter.enter()
    }

    /// Gives the endpoint, a child of the calling process that waits for it, its users, and lets it go on. It stays where it is if that is not
    /// possible, and fails. To be called between fork and exec.
    pub(super) fn map_users(&self, endpoint: libc::pid_t, asked: RawFd, answer: RawFd) {
        let mut byte = 0_u8;
        // SAFETY: plain system calls with a pointer to a live value.
        unsafe {
            while libc::read(asked, (&raw mut byte).cast(), 1) == -1 && Errno::last() == Errno::EINTR {}
            if self.write_map(endpoint, c"gid_map") && self.write_map(endpoint, c"uid_map") {
                libc::write(answer, (&raw const byte).cast(), 1);
            }
        }
    }

    /// Allocates nothing.
    fn write_map(&self, endpoint: libc::pid_t, name: &std::ffi::CStr) -> bool {
        let mut path = [0_u8; 64];
        let mut rest = &mut path[..63];
        let is_short = io::Write::write_fmt(&mut rest, format_args!("/proc/{endpoint}/")).is_ok()
            && io::Write::write_all(&mut rest, name.to_bytes()).is_ok();
        // SAFETY: plain system calls; the path ends with a zero, and the text is as long as said.
        unsafe {
            let file = libc::open(path.as_ptr().cast(), libc::O_WRONLY | libc::O_CLOEXEC);
            let written = libc::write(file, self.map.as_ptr().cast(), self.map.len());
            libc::close(file);
            is_short && written == self.map.len() as isize
        }
    }
}

/// Bounds how many watches of files the endpoint may have, and with them its share of what its user may have on this machine. Where it does not see
/// its own processes, or may not write there, the bounds of the user alone are left.
fn limit_watches() {
    for path in [c"/proc/sys/user/max_inotify_instances", c"/proc/sys/user/max_inotify_watches"] {
        // SAFETY: plain system calls with pointers to live values, and a length that is theirs.
        unsafe {
            let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            libc::write(file, MOST_WATCHES.as_ptr().cast(), MOST_WATCHES.len());
            libc::close(file);
        }
    }
}
