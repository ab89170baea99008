//! Runs a program on a disk that fails on command: system calls on files below a folder fail, or write less than they were told, at the n-th
//! of them.
//!
//! quiclab is a static program, so no library can be put in front of it, and a file system of its own would not see which call failed. This
//! is a tracer instead: a seccomp filter stops the program, its threads and its children at the calls of interest, and nowhere else.

use std::{
    fs::{self, File},
    io,
    mem::{MaybeUninit, size_of},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    ptr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// A program that takes longer is stuck.
const LONGEST: Duration = Duration::from_secs(300);

/// What fails, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Calls that need room fail from the n-th one on: the disk is full.
    NoSpace,
    /// The n-th call that changes something fails with EIO.
    InputOutput,
    /// The n-th write takes half of its bytes.
    ShortWrite,
    /// The n-th sync fails with EIO.
    Sync,
}

impl Fault {
    pub const ALL: [Self; 4] = [Self::NoSpace, Self::InputOutput, Self::ShortWrite, Self::Sync];

    fn concerns(self, kind: Kind) -> bool {
        match self {
            Self::NoSpace => matches!(kind, Kind::Write | Kind::Create),
            Self::InputOutput => true,
            Self::ShortWrite => kind == Kind::Write,
            Self::Sync => kind == Kind::Sync,
        }
    }
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Writes bytes; the third argument is their number, or that of their pieces.
    Write,
    /// Makes a name, or moves one.
    Create,
    Remove,
    Sync,
}

/// Where a call says which file it is about, as positions of arguments.
#[derive(Clone, Copy)]
enum Place {
    Descriptor(usize),
    Path(usize),
    PathAt(usize, usize),
}

/// The calls of interest.
const CALLS: &[(i64, Kind, Place)] = &[
    (libc::SYS_write, Kind::Write, Place::Descriptor(0)),
    (libc::SYS_pwrite64, Kind::Write, Place::Descriptor(0)),
    (libc::SYS_writev, Kind::Write, Place::Descriptor(0)),
    (libc::SYS_copy_file_range, Kind::Create, Place::Descriptor(2)),
    (libc::SYS_sendfile, Kind::Create, Place::Descriptor(0)),
    (libc::SYS_ftruncate, Kind::Create, Place::Descriptor(0)),
    (libc::SYS_fallocate, Kind::Create, Place::Descriptor(0)),
    (libc::SYS_open, Kind::Create, Place::Path(0)),
    (libc::SYS_openat, Kind::Create, Place::PathAt(0, 1)),
    (libc::SYS_mkdir, Kind::Create, Place::Path(0)),
    (libc::SYS_mkdirat, Kind::Create, Place::PathAt(0, 1)),
    (libc::SYS_rename, Kind::Create, Place::Path(1)),
    (libc::SYS_renameat, Kind::Create, Place::PathAt(2, 3)),
    (libc::SYS_renameat2, Kind::Create, Place::PathAt(2, 3)),
    (libc::SYS_link, Kind::Create, Place::Path(1)),
    (libc::SYS_linkat, Kind::Create, Place::PathAt(2, 3)),
    (libc::SYS_symlink, Kind::Create, Place::Path(1)),
    (libc::SYS_symlinkat, Kind::Create, Place::PathAt(1, 2)),
    (libc::SYS_chmod, Kind::Remove, Place::Path(0)),
    (libc::SYS_unlink, Kind::Remove, Place::Path(0)),
    (libc::SYS_unlinkat, Kind::Remove, Place::PathAt(0, 1)),
    (libc::SYS_rmdir, Kind::Remove, Place::Path(0)),
    (libc::SYS_fsync, Kind::Sync, Place::Descriptor(0)),
    (libc::SYS_fdatasync, Kind::Sync, Place::Descriptor(0)),
    (libc::SYS_syncfs, Kind::Sync, Place::Descriptor(0)),
];

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    /// Calls that the fault concerns.
    pub calls: u64,
    /// The call that failed first: whose it was, and what it was in words.
    pub failed: Option<(PathBuf, String)>,
    pub errors: String,
}

/// Runs `command`. Calls on files below `root` fail as `fault` says, from the `number`-th one that it concerns, counted from 1; 0 lets all
/// succeed, and counts them. What the program says goes through a file in `talk`, which is not below `root`.
pub fn run(mut command: Command, root: &Path, talk: &Path, fault: Fault, number: u64) -> Ended {
    let errors = talk.join("stderr");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&errors).unwrap());
    let filter = filter();
    // SAFETY: only system calls between fork and exec.
    unsafe { command.pre_exec(move || be_traced(&filter)) };
    // Its status is read by `wait` below: whoever traces a process gets it all.
    let main = command.spawn().expect("the program can be started").id() as i32;
    let is_over = watch(main);
    let mut tracer = Tracer { root: root.to_path_buf(), fault, number, calls: 0, failed: None };
    let status = tracer.follow(main);
    is_over.store(true, Ordering::Relaxed);
    let errors = String::from_utf8_lossy(&fs::read(&errors).unwrap()).into_owned();
    let Tracer { calls, failed, .. } = tracer;
    Ended { status, calls, failed, errors }
}

/// Kills a program that is stuck.
fn watch(main: i32) -> Arc<AtomicBool> {
    let is_over = Arc::new(AtomicBool::new(false));
    let seen = is_over.clone();
    thread::spawn(move || {
        let start = Instant::now();
        while !seen.load(Ordering::Relaxed) {
            if start.elapsed() > LONGEST {
                // SAFETY: plain system call on our own child.
                unsafe { libc::kill(main, libc::SIGKILL) };
            }
            thread::sleep(Duration::from_millis(100));
        }
    });
    is_over
}

/// A program for the kernel: stop at [`CALLS`], let everything else pass.
fn filter() -> Vec<libc::sock_filter> {
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    // The number of the call.
    let mut program = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0)];
    for (left, (call, ..)) in CALLS.iter().enumerate().map(|(index, call)| (CALLS.len() - index, call)) {
        program.push(step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, left as u8, 0, *call as u32));
    }
    program.push(step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW));
    program.push(step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_TRACE));
    program
}

fn be_traced(filter: &[libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: plain system calls; the filter outlives them.
    let done = unsafe {
        libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) == 0
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

struct Tracer {
    root: PathBuf,
    fault: Fault,
    number: u64,
    calls: u64,
    failed: Option<(PathBuf, String)>,
}

impl Tracer {
    /// Follows the program and all that it has started until they have ended.
    fn follow(&mut self, main: i32) -> ExitStatus {
        let mut ended = None;
        let mut has_options = false;
        loop {
            let mut status = 0;
            // SAFETY: plain system call. Of this thread's children only: other tests have some of their own.
            let process = unsafe { libc::waitpid(-1, &mut status, libc::__WALL | libc::__WNOTHREAD) };
            if process < 0 {
                return ended.expect("the program was this thread's child");
            }
            if !libc::WIFSTOPPED(status) {
                if process == main {
                    ended = Some(ExitStatus::from_raw(status));
                }
                continue;
            }
            if !has_options {
                has_options = true;
                let options = libc::PTRACE_O_TRACESECCOMP
                    | libc::PTRACE_O_TRACECLONE
                    | libc::PTRACE_O_TRACEFORK
                    | libc::PTRACE_O_TRACEVFORK
                    | libc::PTRACE_O_TRACEEXEC
                    | libc::PTRACE_O_EXITKILL;
                // SAFETY: the process is ours and is stopped.
                unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, process, 0, options) };
            }
            let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
            if event == libc::PTRACE_EVENT_SECCOMP {
                self.on_call(process);
            }
            // What a debugger sees is no signal of the program's; a new thread begins with a stop.
            let is_ours = event != 0 || signal == libc::SIGTRAP || signal == libc::SIGSTOP;
            let signal = if is_ours { 0 } else { signal };
            // SAFETY: as above; one that was killed meanwhile is an error that does not matter.
            unsafe { libc::ptrace(libc::PTRACE_CONT, process, 0, signal) };
        }
    }

    fn on_call(&mut self, process: i32) {
        let mut registers = MaybeUninit::<libc::user_regs_struct>::uninit();
        // SAFETY: the process is stopped, and the kernel fills the whole struct where it returns 0.
        let mut registers = unsafe {
            if libc::ptrace(libc::PTRACE_GETREGS, process, 0, registers.as_mut_ptr()) != 0 {
                return;
            }
            registers.assume_init()
        };
        let arguments = [registers.rdi, registers.rsi, registers.rdx, registers.r10];
        let number = registers.orig_rax as i64;
        let Some((_, kind, place)) = CALLS.iter().find(|(call, ..)| *call == number) else { return };
        let is_open = [libc::SYS_open, libc::SYS_openat].contains(&number);
        let flags = if number == libc::SYS_open { arguments[1] } else { arguments[2] };
        if is_open && flags as i32 & libc::O_CREAT == 0 || !self.fault.concerns(*kind) {
            return;
        }
        let Some(path) = path_of(process, *place, &arguments).filter(|path| path.starts_with(&self.root)) else {
            return;
        };
        self.calls += 1;
        let is_due = match self.fault {
            Fault::NoSpace => self.number > 0 && self.calls >= self.number,
            _ => self.calls == self.number,
        };
        if !is_due {
            return;
        }
        let program = fs::read_link(format!("/proc/{process}/exe")).unwrap_or_default();
        self.failed.get_or_insert_with(|| (program, format!("call {number} ({kind:?}) on {}", path.display())));
        match self.fault {
            Fault::ShortWrite => registers.rdx = (registers.rdx / 2).max(1),
            Fault::NoSpace => fail(&mut registers, libc::ENOSPC),
            Fault::InputOutput | Fault::Sync => fail(&mut registers, libc::EIO),
        }
        // SAFETY: the process is stopped.
        unsafe { libc::ptrace(libc::PTRACE_SETREGS, process, 0, &registers) };
    }
}

/// No call is made, and this is what it returns.
fn fail(registers: &mut libc::user_regs_struct, error: i32) {
    registers.orig_rax = u64::MAX;
    registers.rax = (-i64::from(error)) as u64;
}

/// The file that a call is about.
fn path_of(process: i32, place: Place, arguments: &[u64; 4]) -> Option<PathBuf> {
    let of_descriptor = |number: i32| match number {
        libc::AT_FDCWD => fs::read_link(format!("/proc/{process}/cwd")).ok(),
        number => fs::read_link(format!("/proc/{process}/fd/{number}")).ok(),
    };
    let (folder, path) = match place {
        Place::Descriptor(index) => return of_descriptor(arguments[index] as i32),
        Place::Path(path) => (libc::AT_FDCWD, path),
        Place::PathAt(folder, path) => (arguments[folder] as i32, path),
    };
    let name = text_at(process, arguments[path])?;
    Some(if name.is_absolute() { name } else { of_descriptor(folder)?.join(name) })
}

/// A path in the memory of a process.
fn text_at(process: i32, address: u64) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let mut bytes = Vec::new();
    while bytes.len() < 4096 {
        let mut word = 0_u64;
        let local = libc::iovec { iov_base: ptr::from_mut(&mut word).cast(), iov_len: size_of::<u64>() };
        // Not over the end of a page, of which the next may not be there.
        let length = (8 - (address + bytes.len() as u64) % 8) as usize;
        let remote = libc::iovec { iov_base: (address + bytes.len() as u64) as *mut _, iov_len: length };
        // SAFETY: writes at most `length` bytes into `word`.
        let read = unsafe { libc::process_vm_readv(process, &local, 1, &remote, 1, 0) };
        let read = usize::try_from(read).ok().filter(|read| *read > 0)?;
        let word = word.to_ne_bytes();
        match word[..read].iter().position(|byte| *byte == 0) {
            Some(end) => {
                bytes.extend(&word[..end]);
                return Some(std::ffi::OsString::from_vec(bytes).into());
            }
            None => bytes.extend(&word[..read]),
        }
    }
    None
}
