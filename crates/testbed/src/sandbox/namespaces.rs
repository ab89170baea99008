//! Namespaces: a process that sees files of the system and of its own folder, no other process, and no network.
//!
//! Everything is prepared before the fork; behind it there are system calls alone. The process that was forked makes the namespaces and waits for the
//! first process in them, which makes the tree of files and waits for the second one, which becomes the program: the first process of a namespace would
//! ignore signals such as SIGABRT.

use std::{
    collections::BTreeSet,
    ffi::{CStr, CString},
    io,
    os::unix::{ffi::OsStrExt, process::CommandExt},
    path::{Path, PathBuf},
    process::Command,
};

use nix::{
    mount::{MntFlags, MsFlags, mount, umount2},
    sched::{CloneFlags, unshare},
    sys::signal::Signal,
    unistd::{chdir, pivot_root},
};

use super::{DEVICES, SYSTEM, VisibleFiles, existing};
use quiclab_sandbox::Program;
use quiclab_supplies::process::end_with_parent;

/// A user who is nobody special: a program with number 0 would keep capabilities.
const INNER_ID: u32 = 1000;
/// Most files and folders that a program can be shown, more than one ever needs.
const MOST_BINDS: usize = 48;

/// What it takes to make the namespaces of one program.
pub(super) struct Namespaces {
    /// Where the tree is put together: a folder that is hidden there.
    base: CString,
    /// Folders of the tree, the outer ones first.
    folders: Vec<CString>,
    /// Empty files of it, over which others are laid.
    files: Vec<CString>,
    /// Symbolic links of it: what they contain, and their names.
    links: Vec<(CString, CString)>,
    /// What is laid over it.
    binds: Vec<Bind>,
    /// Where the program starts.
    own: CString,
    user_map: Vec<u8>,
    group_map: Vec<u8>,
}

/// Something of the host that is there in the tree too.
struct Bind {
    source: CString,
    /// Relative to the tree's root.
    target: CString,
    attributes: u64,
}

impl Namespaces {
    pub(super) fn new(visible: &VisibleFiles) -> io::Result<Self> {
        let read_only = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID;
        let mut tree = Tree::default();
        for path in existing(SYSTEM) {
            tree.add(path, read_only | libc::MOUNT_ATTR_NODEV)?;
        }
        for path in existing(DEVICES) {
            tree.add(path, libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC)?;
        }
        for path in &visible.readable {
            tree.add(path, read_only | libc::MOUNT_ATTR_NODEV)?;
        }
        let mut own = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
        if !visible.executes_own() {
            own |= libc::MOUNT_ATTR_NOEXEC;
        }
        tree.add(&visible.own, own)?;
        let map = |id: u32| format!("{INNER_ID} {id} 1").into_bytes();
        Ok(Self {
            base: text(&visible.own)?,
            folders: tree.folders.iter().map(|path| text(path)).collect::<io::Result<_>>()?,
            files: tree.files,
            links: tree.links,
            binds: tree.binds,
            own: text(&visible.own)?,
            user_map: map(nix::unistd::geteuid().as_raw()),
            group_map: map(nix::unistd::getegid().as_raw()),
        })
    }

    /// See [`super::Sandbox::enter`].
    ///
    /// # Safety
    /// To be called between fork and exec only.
    pub(super) unsafe fn enter(&self, parent: u32) -> io::Result<()> {
        unshare(
            CloneFlags::CLONE_NEWUSER
                | CloneFlags::CLONE_NEWNS
                | CloneFlags::CLONE_NEWPID
                | CloneFlags::CLONE_NEWNET
                | CloneFlags::CLONE_NEWIPC
                | CloneFlags::CLONE_NEWUTS,
        )?;
        // After that, which would have undone it.
        end_with_parent(parent, Signal::SIGKILL)?;
        write(c"/proc/self/setgroups", b"deny")?;
        write(c"/proc/self/uid_map", &self.user_map)?;
        write(c"/proc/self/gid_map", &self.group_map)?;
        let mut pipe = [0; 2];
        // SAFETY: room for two descriptors; system calls alone.
        check(unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) })?;
        let [reads, writes] = pipe;
        // SAFETY: this process has one thread.
        match check(unsafe { libc::fork() })? {
            0 => {}
            _ => wait_outside(reads),
        }
        nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
        close(reads);
        if is_broken(writes) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.make_tree()?;
        // SAFETY: this process has one thread.
        match check(unsafe { libc::fork() })? {
            0 => Ok(()),
            program => wait_inside(program, writes),
        }
    }

    fn make_tree(&self) -> io::Result<()> {
        let none = None::<&CStr>;
        mount(none, c"/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
        // Taken before the tree hides where they are.
        let mut taken = [-1; MOST_BINDS];
        for (bind, taken) in self.binds.iter().zip(&mut taken) {
            *taken = bind.take()?;
        }
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some(c"tmpfs"), &*self.base, Some(c"tmpfs"), flags, Some(c"size=256k,nr_inodes=1k,mode=755"))?;
        chdir(&*self.base)?;
        for folder in &self.folders {
            // SAFETY: a live string.
            check(unsafe { libc::mkdir(folder.as_ptr(), 0o755) })?;
        }
        for file in &self.files {
            close(open(file, libc::O_CREAT | libc::O_WRONLY)?);
        }
        for (contents, name) in &self.links {
            // SAFETY: live strings.
            check(unsafe { libc::symlink(contents.as_ptr(), name.as_ptr()) })?;
        }
        for (bind, taken) in self.binds.iter().zip(taken) {
            bind.lay(taken)?;
        }
        pivot_root(c".", c".")?;
        umount2(c".", MntFlags::MNT_DETACH)?;
        chdir(c"/")?;
        set_attributes(libc::AT_FDCWD, c"/", 0, libc::MOUNT_ATTR_RDONLY)?;
        chdir(&*self.own)?;
        Ok(())
    }
}

impl Bind {
    /// A copy of what is there now, as a descriptor.
    fn take(&self) -> io::Result<i32> {
        let flags = libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC | libc::AT_RECURSIVE as u32;
        // SAFETY: a live string.
        let taken = unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, self.source.as_ptr(), flags) };
        let taken = check(taken as i32)?;
        set_attributes(taken, c"", libc::AT_EMPTY_PATH | libc::AT_RECURSIVE, self.attributes)?;
        Ok(taken)
    }

    /// Puts it where it belongs, below the current folder.
    fn lay(&self, taken: i32) -> io::Result<()> {
        let (here, flags) = (libc::AT_FDCWD, libc::MOVE_MOUNT_F_EMPTY_PATH);
        // SAFETY: live strings.
        let moved =
            unsafe { libc::syscall(libc::SYS_move_mount, taken, c"".as_ptr(), here, self.target.as_ptr(), flags) };
        check(moved as i32)?;
        close(taken);
        Ok(())
    }
}

/// The tree, as it grows.
#[derive(Default)]
struct Tree {
    folders: BTreeSet<PathBuf>,
    files: Vec<CString>,
    links: Vec<(CString, CString)>,
    binds: Vec<Bind>,
    covered: Vec<PathBuf>,
}

impl Tree {
    /// Adds something of the host; a symbolic link as such.
    fn add(&mut self, path: &Path, attributes: u64) -> io::Result<()> {
        let relative = path.strip_prefix("/").map_err(io::Error::other)?.to_owned();
        // What lies in something that is laid over the tree is there with it.
        let is_covered = self.covered.iter().any(|covered| relative.starts_with(covered));
        let kind = path.symlink_metadata()?.file_type();
        if !is_covered {
            let parents = relative.ancestors().skip(1).filter(|parent| *parent != Path::new(""));
            self.folders.extend(parents.map(Path::to_owned));
            match kind.is_symlink() {
                true => self.links.push((text(&path.read_link()?)?, text(&relative)?)),
                false if kind.is_dir() => _ = self.folders.insert(relative.clone()),
                false => self.files.push(text(&relative)?),
            }
        }
        if !kind.is_symlink() {
            self.binds.push(Bind { source: text(path)?, target: text(&relative)?, attributes });
            self.covered.push(relative);
        }
        if self.binds.len() > MOST_BINDS {
            return Err(io::Error::other(format!("found more than {MOST_BINDS} files and folders to show")));
        }
        Ok(())
    }
}

/// Waits, in the process that was forked, and ends as the program does. It holds nothing open, so that who reads what the program writes sees its end.
fn wait_outside(reads: i32) -> ! {
    // SAFETY: system calls alone, on our own descriptors and live values.
    unsafe {
        libc::dup2(reads, 0);
        libc::syscall(libc::SYS_close_range, 1, u32::MAX, 0);
        let mut status = 0i32;
        let size = size_of::<i32>();
        let mut known = false;
        loop {
            match libc::read(0, (&raw mut status).cast(), size) {
                -1 if *libc::__errno_location() == libc::EINTR => {}
                count => {
                    known |= count == size as isize;
                    break;
                }
            }
        }
        // What it used counts as ours only when it was waited for.
        let mut end = 0;
        while libc::wait(&raw mut end) == -1 && *libc::__errno_location() == libc::EINTR {}
        let status = if known { status } else { end };
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            libc::setrlimit(libc::RLIMIT_CORE, &libc::rlimit { rlim_cur: 0, rlim_max: 0 });
            libc::signal(signal, libc::SIG_DFL);
            libc::kill(libc::getpid(), signal);
        }
        libc::_exit(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 1 })
    }
}

/// Waits, in the first process of the namespace, for the end of the program, and says how it ended.
fn wait_inside(program: i32, writes: i32) -> ! {
    // SAFETY: as above.
    unsafe {
        libc::dup2(writes, 0);
        libc::syscall(libc::SYS_close_range, 1, u32::MAX, 0);
        let mut status = 0i32;
        while libc::waitpid(program, &raw mut status, 0) == -1 && *libc::__errno_location() == libc::EINTR {}
        libc::write(0, (&raw const status).cast(), size_of::<i32>());
        // Ends every process in the namespace.
        libc::_exit(0)
    }
}

/// True where nobody reads what is written there.
fn is_broken(writes: i32) -> bool {
    let mut poll = libc::pollfd { fd: writes, events: 0, revents: 0 };
    // SAFETY: one live value.
    unsafe { libc::poll(&raw mut poll, 1, 0) };
    poll.revents & libc::POLLERR != 0
}

fn set_attributes(place: i32, path: &CStr, flags: i32, attributes: u64) -> io::Result<()> {
    let change = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let size = size_of::<libc::mount_attr>();
    // SAFETY: live values of this size.
    let result =
        unsafe { libc::syscall(libc::SYS_mount_setattr, place, path.as_ptr(), flags, &raw const change, size) };
    check(result as i32).map(|_| ())
}

fn open(path: &CStr, flags: i32) -> io::Result<i32> {
    // SAFETY: a live string.
    check(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, 0o644) })
}

fn close(descriptor: i32) {
    // SAFETY: only for our own descriptors.
    unsafe { libc::close(descriptor) };
}

fn write(path: &CStr, bytes: &[u8]) -> io::Result<()> {
    let file = open(path, libc::O_WRONLY)?;
    // SAFETY: a live slice.
    let written = unsafe { libc::write(file, bytes.as_ptr().cast(), bytes.len()) };
    let result = check(written as i32);
    close(file);
    result.map(|_| ())
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn text(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}

/// Whether this kernel lets this user have them: by making them round a process that ends at once.
pub(super) fn probe() -> io::Result<()> {
    // A folder of its own would be left by a kill.
    let visible = VisibleFiles {
        readable: Vec::new(),
        own: std::env::temp_dir().canonicalize()?,
        file_bytes: 0,
        program: Program::WithoutSockets,
    };
    let namespaces = Namespaces::new(&visible)?;
    let parent = std::process::id();
    // It is never executed.
    let mut command = Command::new("/");
    // SAFETY: system calls alone.
    unsafe {
        command.pre_exec(move || {
            namespaces.enter(parent)?;
            libc::_exit(0)
        });
    }
    let end = command.spawn()?.wait()?;
    if end.success() { Ok(()) } else { Err(io::Error::other(format!("a trial ended with {end}"))) }
}
