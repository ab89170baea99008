//! One ssh session: it puts the agent there, if it is not there yet, and starts it.
//!
//! ssh is the user's, with the user's configuration, keys and known hosts. It never asks anything. One session serves all runs; when it
//! ends, for whatever reason, the agent undoes everything and ends.

use std::{
    fs::File,
    io::{BufReader, Read, Seek, SeekFrom, Write, copy},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, Sender, SyncSender, channel},
    },
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use quiclab_agent_protocol::hosts::HEARTBEAT_SECONDS;

use super::{
    inventory::HostEntry,
    messages::{MessageReader, WORD, What},
    spool::Spool,
};

/// What one of several hosts said or did.
pub(super) struct Event {
    /// Its place in the inventory.
    pub host: usize,
    /// What it was.
    pub what: What,
}

/// The agent there is the right one.
pub(super) const HAS_AGENT: &str = "is there";
/// The script waits for the agent's bytes.
pub(super) const NEEDS_AGENT: &str = "is needed";
/// The agent arrived.
pub(super) const GOT_AGENT: &str = "has arrived";
/// How long ssh may take to connect, and to notice a dead link while connected, in seconds.
const CONNECT_SECONDS: u32 = 15;
const ALIVE_SECONDS: u32 = 5;
const MOST_UNANSWERED: u32 = 3;

/// A running session. Dropping it ends it.
pub(super) struct Session {
    label: String,
    child: Child,
    input: Arc<Mutex<Option<ChildStdin>>>,
    /// Dropping it ends the heartbeat.
    _beats: Sender<()>,
}

/// Who uses a host, and with which agent.
pub(super) struct Visitor<'a> {
    /// The agent's executable here.
    pub agent: &'a Path,
    /// Its SHA-256.
    pub digest: &'a str,
    /// Who is asking, in words for others.
    pub who: &'a str,
    /// The configuration of ssh, if not the user's.
    pub ssh_config: Option<&'a Path>,
}

impl Session {
    /// Starts ssh. What the host says comes as events; results go into `spool`.
    ///
    /// # Errors
    /// Where ssh cannot be started.
    pub fn start(
        host: usize,
        entry: &HostEntry,
        visitor: &Visitor,
        events: SyncSender<Event>,
        spool: Arc<Mutex<Spool>>,
    ) -> Result<Self> {
        let said = tempfile::tempfile().context("a file for what ssh says")?;
        let mut command = ssh(entry, visitor)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(said.try_clone()?);
        let mut child = command.spawn().context("ssh\nhint: apt-get install openssh-client")?;
        let output = child.stdout.take().context("the output of ssh")?;
        let input = Arc::new(Mutex::new(child.stdin.take()));
        let label = entry.label();
        let has_spoken = Arc::new(AtomicBool::new(false));
        let output = MessageReader::new(BufReader::with_capacity(1 << 18, output));
        let reader = Reader { host, output, events, spool, said, has_spoken: has_spoken.clone() };
        thread::Builder::new().name(format!("ssh {label}")).spawn(move || reader.read())?;
        let (beats, stop) = channel::<()>();
        let beaten = input.clone();
        thread::Builder::new().name(format!("heartbeat {label}")).spawn(move || {
            while stop.recv_timeout(Duration::from_secs(HEARTBEAT_SECONDS)) == Err(RecvTimeoutError::Timeout) {
                // Before the agent speaks, the script takes what comes for the agent's bytes.
                if !has_spoken.load(Ordering::Acquire) {
                    continue;
                }
                // A write that waits for others holds this one up, and is a word itself.
                let mut input = beaten.lock().unwrap_or_else(PoisonError::into_inner);
                if input.as_mut().is_none_or(|input| input.write_all(b"\n").and_then(|()| input.flush()).is_err()) {
                    return;
                }
            }
        })?;
        Ok(Self { label, child, input, _beats: beats })
    }

    /// The host, for messages.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Sends a line, and bytes behind it.
    ///
    /// # Errors
    /// Where the session has ended.
    pub fn send(&self, line: &[u8], behind: &mut dyn Read) -> Result<()> {
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        let input = input.as_mut().context("the session has ended")?;
        let sent = input.write_all(line).and_then(|()| copy(behind, input)).and_then(|_| input.flush());
        sent.map_err(|error| anyhow!("{}: sending: {error}", self.label))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The end of its input ends the agent, and that ends ssh.
        *self.input.lock().unwrap_or_else(PoisonError::into_inner) = None;
        for _ in 0..100 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The command that connects, and starts the agent.
fn ssh(entry: &HostEntry, visitor: &Visitor) -> Result<Command> {
    let bytes = visitor.agent.metadata().with_context(|| visitor.agent.display().to_string())?.len();
    let mut command = Command::new("ssh");
    for option in [
        "BatchMode=yes".to_owned(),
        format!("ConnectTimeout={CONNECT_SECONDS}"),
        format!("ServerAliveInterval={ALIVE_SECONDS}"),
        format!("ServerAliveCountMax={MOST_UNANSWERED}"),
        "ForwardAgent=no".to_owned(),
        "ForwardX11=no".to_owned(),
        "ClearAllForwardings=yes".to_owned(),
    ] {
        command.args(["-o", &option]);
    }
    if let Some(config) = visitor.ssh_config {
        command.arg("-F").arg(config);
    }
    if let Some(port) = entry.port {
        command.args(["-p", &port.to_string()]);
    }
    command.args(["-T", &entry.ssh, &format!("exec sh -c '{}'", script(entry, visitor, bytes))]);
    // A session of its own: Ctrl-C reaches quiclab, which ends sessions in order.
    // SAFETY: plain system calls between fork and exec.
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(&mut command, || {
            nix::unistd::setsid().map(drop).map_err(std::io::Error::from)
        });
    }
    Ok(command)
}

/// What runs there first. It has no single quotes, so that any shell can hand it on.
fn script(entry: &HostEntry, visitor: &Visitor, bytes: u64) -> String {
    let above = match &entry.folder {
        Some(folder) => format!("\"{folder}\""),
        None => "\"${XDG_CACHE_HOME:-$HOME/.cache}\"".to_owned(),
    };
    let become_root = if entry.sudo { "sudo -n " } else { "" };
    let forget = if entry.keep { "" } else { " --forget" };
    let digest = visitor.digest;
    let short = &digest[..digest.len().min(16)];
    let who: String =
        visitor.who.chars().filter(|letter| letter.is_ascii_alphanumeric() || " .,:@_+-".contains(*letter)).collect();
    format!(
        "set -eu; umask 022; d={above}/quiclab-agent; mkdir -p \"$d\"; \
         if test -L \"$d\" || ! test -O \"$d\"; then \
         echo \"found the folder $d of somebody else, or a link, expected one of your own\" >&2; exit 73; fi; a=\"$d/agent-{short}\"; \
         if test -x \"$a\" && echo \"{digest}  $a\" | sha256sum -c >/dev/null 2>&1; then echo \"{WORD}{HAS_AGENT}\"; \
         else echo \"{WORD}{NEEDS_AGENT}\"; \
         if head -c {bytes} > \"$a.$$\" && echo \"{digest}  $a.$$\" | sha256sum -c >/dev/null && chmod 755 \"$a.$$\" && \
         mv -f \"$a.$$\" \"$a\"; then echo \"{WORD}{GOT_AGENT}\"; \
         else rm -f \"$a.$$\"; echo \"the agent could not be stored as $a\" >&2; exit 73; fi; fi; \
         exec {become_root}\"$a\" host --folder \"$d\" --for \"{who}\"{forget}"
    )
}

struct Reader {
    host: usize,
    output: MessageReader<BufReader<ChildStdout>>,
    events: SyncSender<Event>,
    spool: Arc<Mutex<Spool>>,
    said: File,
    /// Set with the agent's first answer.
    has_spoken: Arc<AtomicBool>,
}

impl Reader {
    /// Reads until the session ends, or nobody wants to know.
    fn read(mut self) {
        let why = match self.read_all() {
            Ok(()) => String::new(),
            Err(error) => format!("{error:#}; "),
        };
        let why = format!("{why}{}", reason(&text_of(&mut self.said)));
        let _ = self.events.send(Event { host: self.host, what: What::Gone(why) });
    }

    fn read_all(&mut self) -> Result<()> {
        while let Some(what) = self.output.next(self.host, &self.spool)? {
            self.has_spoken.store(self.output.has_answered(), Ordering::Release);
            if self.events.send(Event { host: self.host, what }).is_err() {
                break;
            }
        }
        Ok(())
    }
}

fn text_of(file: &mut File) -> String {
    let mut text = String::new();
    let _ = file.seek(SeekFrom::Start(0)).and_then(|_| file.take(1 << 16).read_to_string(&mut text));
    text
}

/// Why a session ended, by what ssh and the host said.
fn reason(said: &str) -> String {
    let said = said.trim();
    let what = if said.is_empty() { "the session ended without a word".to_owned() } else { tail_of(said) };
    match hint(said) {
        Some(hint) => format!("{what}\nhint: {hint}"),
        None => what,
    }
}

/// What went wrong on a host, and what to do about it if that is known.
pub(super) fn with_hint(error: String) -> String {
    match hint(&error) {
        Some(hint) if !error.contains("hint: ") => format!("{error}\nhint: {hint}"),
        _ => error,
    }
}

/// What to do about what ssh or a host said.
fn hint(said: &str) -> Option<&'static str> {
    let hint = [
        (
            "REMOTE HOST IDENTIFICATION HAS CHANGED",
            "the key of the host is not the one in known_hosts. If the host was installed anew: ssh-keygen -R HOST, then ssh to it once. \
             Otherwise somebody else answers in its place",
        ),
        ("Host key verification failed", "the key of the host is not in known_hosts: ssh to it once by hand, and compare the key"),
        ("Permission denied", "the host does not accept your key: ssh-copy-id, or ssh-add where your agent does not have it yet"),
        ("Connection refused", "no ssh server answers there: check host and port"),
        ("timed out", "the host does not answer: check its address, and that it is on"),
        ("Could not resolve hostname", "there is no host of this name: check ssh = \"...\" in the hosts file"),
        ("No space left on device", "the disk there is full: free some space, or name another place with folder = \"...\" in the hosts file"),
        ("a password is required", "sudo asks for a password there: allow it without (NOPASSWD), or log in as root"),
    ]
    .into_iter()
    .find(|(text, _)| said.contains(text));
    hint.map(|(_, hint)| hint)
}

/// The last lines, without those that only decorate.
fn tail_of(said: &str) -> String {
    let lines: Vec<_> =
        said.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("@@@")).collect();
    lines[lines.len().saturating_sub(6)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_session_is_explained_by_what_ssh_said() {
        let refused = reason("ssh: connect to host a port 22: Connection refused\n");
        assert!(refused.contains("no ssh server answers there"), "{refused}");
        let changed = "@@@@@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.\n";
        assert!(reason(changed).contains("ssh-keygen -R"));
        assert_eq!(reason(""), "the session ended without a word");
        assert_eq!(reason("something else"), "something else");
    }

    #[test]
    fn a_folder_of_somebody_else_is_not_used() {
        let above = tempfile::tempdir().unwrap();
        let entry = format!(
            "[[host]]\nrole = \"server\"\nssh = \"a\"\ninterface = \"b\"\nfolder = \"{}\"\n\
             [[host]]\nrole = \"client\"\nssh = \"c\"\ninterface = \"d\"\n",
            above.path().display()
        );
        let inventory = super::super::inventory::Inventory::parse(&entry).unwrap();
        let visitor = Visitor { agent: Path::new("/a"), digest: &"0".repeat(64), who: "me", ssh_config: None };
        let text = script(&inventory.hosts[0], &visitor, 5);
        let run = || Command::new("sh").args(["-c", &text]).stdin(Stdio::null()).output().unwrap();
        let folder = above.path().join("quiclab-agent");
        let refused = |what: &str| {
            let output = run();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!((output.status.code(), &output.stdout[..]), (Some(73), &b""[..]), "{what}: {said}");
            assert!(said.contains("of somebody else, or a link, expected one of your own"), "{what}: {said}");
        };
        // One's own folder: the script goes on, and asks for the agent.
        let own = run();
        assert!(own.stdout.starts_with(format!("{WORD}{NEEDS_AGENT}").as_bytes()), "{own:?}");
        if nix::unistd::geteuid().is_root() {
            std::os::unix::fs::chown(&folder, Some(65_534), None).unwrap();
            refused("another owner");
        }
        std::fs::remove_dir(&folder).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), &folder).unwrap();
        refused("a link");
    }

    #[test]
    fn the_script_can_be_quoted_whoever_asks() {
        let host = "[[host]]\nrole = \"server\"\nssh = \"a\"\ninterface = \"b\"\n[[host]]\nrole = \"client\"\nssh = \"c\"\ninterface = \"d\"\nfolder = \"/x\"\n";
        let inventory = super::super::inventory::Inventory::parse(host).unwrap();
        let visitor =
            Visitor { agent: Path::new("/a"), digest: &"0".repeat(64), who: "it's $(me) on \"a\"", ssh_config: None };
        for host in &inventory.hosts {
            let text = script(host, &visitor, 5);
            assert!(!text.contains('\''), "{text}");
            assert!(text.contains("--for \"its me on a\""), "{text}");
        }
    }
}
