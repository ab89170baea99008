//! The agent started by mistake on a host, as whoever runs the tests: nothing of the host changes.

use quiclab_testing::has_namespaces;
use std::{
    collections::BTreeMap,
    fs,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Output, Stdio},
};

const AGENT: &str = env!("CARGO_BIN_EXE_quiclab-agent");

/// What `init` would change first: mounts, interfaces, buffers, addresses, slices of the scheduler.
fn state_of_host() -> BTreeMap<String, String> {
    let mut state = BTreeMap::new();
    let folders = [
        "/proc/sys/net/core",
        "/proc/sys/net/ipv4/conf/all",
        "/proc/sys/net/ipv6/conf/all",
        "/proc/sys/net/ipv6/conf/default",
        "/sys/kernel/debug/sched",
    ];
    let names = |folder: &str| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = folders.into_iter().flat_map(names).filter(|path| path.is_file());
    for path in files.chain(["/proc/self/mountinfo".into(), "/proc/modules".into()]) {
        // Some can only be written.
        state.insert(path.display().to_string(), fs::read_to_string(&path).unwrap_or_default());
    }
    for folder in ["/sys/class/net", "/"] {
        let found: Vec<_> = names(folder).map(|path| path.display().to_string()).collect();
        state.insert(folder.to_owned(), found.join(" "));
    }
    for name in ["net", "mnt", "pid", "user"] {
        let link = fs::read_link(Path::new("/proc/self/ns").join(name)).unwrap();
        state.insert(name.to_owned(), link.display().to_string());
    }
    state
}

fn refused(command: &mut Command) -> Output {
    let before = state_of_host();
    assert!(before["/proc/self/mountinfo"].contains(" / "), "the state of this host cannot be read");
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(state_of_host(), before);
    assert!(!output.status.success());
    assert!(output.stdout.is_empty());
    output
}

#[test]
fn without_a_life_the_agent_says_which_there_are() {
    for arguments in [&[][..], &["--help"], &["init", "serve"], &["serv"]] {
        let output = refused(Command::new(AGENT).args(arguments));
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("quiclab-agent serve") && text.contains("nothing was changed"), "{text}");
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn init_refuses_to_start_by_hand() {
    for name in [AGENT, "/init"] {
        let output = refused(Command::new(AGENT).arg0(name).arg("init"));
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("expected process 1") && text.contains("nothing was changed"), "{text}");
    }
}

#[test]
fn init_refuses_to_be_process_1_of_a_container() {
    if !has_namespaces() {
        return;
    }
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--pid", "--fork", "--mount", "--net", AGENT, "init"]);
    let text = String::from_utf8(refused(&mut command).stderr).unwrap();
    assert!(text.contains("CPUID") && text.contains("nothing was changed"), "{text}");
}
