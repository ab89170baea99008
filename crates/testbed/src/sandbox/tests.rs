//! Each wall alone: together they hide from the tests of whole runs that one of them has a hole.

use std::{fs, net::TcpListener, os::unix::process::CommandExt, process::Command};

use super::{Sandbox, VisibleFiles, available};
use crate::sim::hostile::hostile;
use quiclab_sandbox::Program;

/// Which parts stand besides the limits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alone {
    Limits,
    Namespaces,
    Files,
    Calls,
}

impl Alone {
    /// False where this host lacks it.
    fn is_here(self) -> bool {
        let missing = match self {
            Self::Limits => None,
            Self::Namespaces => available().namespaces.as_ref().err(),
            Self::Files => available().files.as_ref().err(),
            Self::Calls => available().calls.as_ref().err(),
        };
        if let Some(reason) = missing {
            eprintln!("skipped: this host lacks the wall: {reason}");
        }
        missing.is_none()
    }

    /// What the hostile program says of an attempt behind this wall.
    fn words(self, arguments: &[&str]) -> String {
        self.words_of(Program::WithoutSockets, arguments)
    }

    /// The same where the program is of this kind.
    fn words_of(self, program: Program, arguments: &[&str]) -> String {
        let own = tempfile::tempdir().unwrap();
        let visible =
            VisibleFiles { readable: vec![hostile()], own: own.path().to_path_buf(), file_bytes: 1 << 20, program };
        let mut sandbox = Sandbox::create(&visible).unwrap();
        sandbox.namespaces = sandbox.namespaces.filter(|_| self == Self::Namespaces);
        sandbox.files = sandbox.files.filter(|_| self == Self::Files);
        sandbox.calls = sandbox.calls.filter(|_| self == Self::Calls);
        let mut command = Command::new(hostile());
        command.args(arguments).env_clear().env("LOGS", own.path()).current_dir(own.path());
        let parent = std::process::id();
        // SAFETY: this is between fork and exec.
        unsafe { command.pre_exec(move || sandbox.enter(parent)) };
        let output = command.output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(matches!(output.status.code(), Some(3 | 4)), "{arguments:?}: {}: {words}", output.status);
        words
    }

    #[track_caller]
    fn refuses(self, arguments: &[&str], reason: &str) {
        let words = self.words(arguments);
        assert!(words.contains("it was not possible") && words.contains(reason), "{arguments:?}: {words}");
    }

    #[track_caller]
    fn allows(self, arguments: &[&str]) {
        let words = self.words(arguments);
        assert!(words.contains("it was possible"), "{arguments:?}: {words}");
    }
}

#[test]
fn limits_hold_alone() {
    Alone::Limits.refuses(&["allocate"], "after ");
    Alone::Limits.refuses(&["open"], "Too many open files");
    Alone::Limits.refuses(&["grow"], "File too large");
}

#[test]
fn namespaces_hide_files_processes_and_networks_alone() {
    let alone = Alone::Namespaces;
    if !alone.is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    let gone = "No such file or directory";
    alone.refuses(&["read", secret.to_str().unwrap()], gone);
    alone.refuses(&["read", "/etc/passwd"], gone);
    // Where the earlier root would be if it were still mounted over this one.
    alone.refuses(&["read", "/../etc/passwd"], gone);
    alone.refuses(&["read", "/proc/self/environ"], gone);
    let key = std::process::id().cast_signed();
    // SAFETY: system calls; the memory is not used.
    let words = unsafe {
        let memory = libc::shmget(key, 4096, libc::IPC_CREAT | libc::IPC_EXCL | 0o600);
        assert!(memory >= 0, "{}", std::io::Error::last_os_error());
        let words = alone.words(&["attach", &key.to_string()]);
        libc::shmctl(memory, libc::IPC_RMID, std::ptr::null_mut());
        words
    };
    assert!(words.contains(gone), "{words}");
    let mut other = Command::new("/bin/sleep").arg("1000").spawn().unwrap();
    let words = alone.words(&["kill", &other.id().to_string()]);
    let is_alive = other.try_wait().unwrap().is_none();
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(is_alive && words.contains("No such process"), "{words}");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    alone.refuses(&["tcp", &listener.local_addr().unwrap().to_string()], "Network is unreachable");
    // Read-only, with or without the right to write there.
    alone.refuses(&["write", "/usr/quiclab-forged"], "Read-only file system");
    alone.refuses(&["write", "/quiclab-forged"], "Read-only file system");
    // Here is no root that it could become.
    alone.refuses(&["call", &libc::SYS_setuid.to_string()], "Invalid argument");
    alone.allows(&["write", "mine"]);
    alone.allows(&["read", "/dev/urandom"]);
}

#[test]
fn rules_for_files_hold_alone() {
    let alone = Alone::Files;
    if !alone.is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    let denied = "Permission denied";
    alone.refuses(&["read", secret.to_str().unwrap()], denied);
    alone.refuses(&["read", "/etc/passwd"], denied);
    alone.refuses(&["list", folder.path().to_str().unwrap()], denied);
    alone.refuses(&["write", folder.path().join("forged").to_str().unwrap()], denied);
    alone.refuses(&["link", "/etc/passwd"], denied);
    alone.allows(&["write", "mine"]);
    alone.allows(&["read", "/dev/urandom"]);
}

#[test]
fn the_filter_of_system_calls_holds_alone() {
    const X32: libc::c_long = 0x4000_0000;
    let alone = Alone::Calls;
    if !alone.is_here() {
        return;
    }
    let refused = "Operation not permitted";
    for mode in ["udp", "listen", "unix", "memfd", "daemon", "type"] {
        alone.refuses(&[mode], refused);
    }
    // Without the filter these fail with another error, or succeed and change nothing.
    for call in [
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_pidfd_open,
        libc::SYS_symlink,
        libc::SYS_linkat,
        libc::SYS_mknod,
        libc::SYS_open_by_handle_at,
        libc::SYS_unshare,
        libc::SYS_mount,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_io_uring_setup,
        libc::SYS_keyctl,
        libc::SYS_finit_module,
        libc::SYS_settimeofday,
    ] {
        alone.refuses(&["call", &call.to_string()], refused);
        alone.refuses(&["call", &(call | X32).to_string()], refused);
    }
    alone.refuses(&["call", &libc::SYS_clone.to_string()], refused);
    // As on a kernel that lacks it.
    alone.refuses(&["call", &libc::SYS_clone3.to_string()], "Function not implemented");
    alone.allows(&["read", "/etc/passwd"]);
    alone.allows(&["write", "mine"]);
}

#[test]
fn the_kernel_of_user_mode_linux_has_processes_and_memory_and_no_network_of_this_machine() {
    let alone = Alone::Calls;
    if !alone.is_here() {
        return;
    }
    let words = |arguments: &[&str]| alone.words_of(Program::UserModeLinux, arguments);
    for mode in ["udp", "listen", "unix"] {
        assert!(words(&[mode]).contains("Operation not permitted"), "{mode}: {}", words(&[mode]));
    }
    // Whoever started the guest reads its files, and would follow links.
    let links = [libc::SYS_symlink, libc::SYS_symlinkat, libc::SYS_link, libc::SYS_linkat, libc::SYS_mknod];
    let others = [libc::SYS_ptrace, libc::SYS_setpgid, libc::SYS_mount, libc::SYS_bpf, libc::SYS_io_uring_setup];
    for call in links.into_iter().chain(others) {
        let words = words(&["call", &call.to_string()]);
        assert!(words.contains("Operation not permitted"), "{call}: {words}");
    }
    assert!(words(&["memfd"]).contains("it was possible"), "{}", words(&["memfd"]));
}
