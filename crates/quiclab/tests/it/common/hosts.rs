//! Machines to log in to: network namespaces of this one, each with a real sshd, an interface for management, and cables between them.
//!
//! ```text
//!   this machine --- server (eth1) === (eth1) wire (eth2) === (eth1) client
//!        |     \---------------------- wire                     |
//!        \------------------------------------------------------/      management: 10.213.N.x
//! ```

use std::{
    fs::{self, File},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU8, Ordering},
    time::Duration,
};

use super::output_of;
use quiclab_testing::{has_program, has_root, wait_until};

/// Names of the machines, in the order of their management addresses.
pub const NAMES: [&str; 4] = ["server", "wire", "client", "sniffer"];
const SSHD: &str = "/usr/sbin/sshd";

/// Four machines; the sniffer has no cable at first. Dropping them takes them away.
pub struct Machines {
    pub folder: tempfile::TempDir,
    prefix: String,
    network: String,
    servers: Vec<Child>,
}

/// Whether there can be such machines here. Where not, the test is skipped.
pub fn are_possible() -> bool {
    has_root("make network namespaces with sshd in them")
        && has_program(SSHD, "openssh-server")
        && has_program("/usr/bin/ssh", "openssh-client")
        && has_program("/sbin/ip", "iproute2")
}

fn must(words: &[&str]) {
    let output = output_of(Command::new(words[0]).args(&words[1..]));
    assert_eq!(output.status, Some(0), "{words:?}: {}{}", output.output, output.errors);
}

impl Machines {
    /// Makes them. `None` where that cannot be, and then the test is skipped.
    pub fn new() -> Option<Self> {
        if !are_possible() {
            return None;
        }
        static COUNT: AtomicU8 = AtomicU8::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("q{}n{number}", std::process::id());
        // Other test programs run at the same time.
        let network =
            format!("10.{}.{}", 128 + std::process::id() % 64, (std::process::id() / 64 + u32::from(number) * 7) % 250);
        let folder = tempfile::tempdir().unwrap();
        let mut machines = Self { folder, prefix, network, servers: Vec::new() };
        machines.cable();
        machines.keys();
        for name in NAMES {
            machines.serve(name);
        }
        Some(machines)
    }

    /// The namespace of a machine.
    pub fn namespace(&self, name: &str) -> String {
        format!("{}-{name}", self.prefix)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Address of a machine's management.
    pub fn address(&self, name: &str) -> String {
        let place = NAMES.iter().position(|other| *other == name).unwrap();
        format!("{}.{}", self.network, 4 * place + 2)
    }

    fn cable(&self) {
        for (place, name) in NAMES.into_iter().enumerate() {
            let namespace = self.namespace(name);
            let outside = format!("{}m{place}", self.prefix);
            must(&["ip", "netns", "add", &namespace]);
            must(&["ip", "link", "add", "name", &outside, "type", "veth", "peer", "name", "mgmt", "netns", &namespace]);
            must(&["ip", "address", "add", &format!("{}.{}/30", self.network, 4 * place + 1), "dev", &outside]);
            must(&["ip", "link", "set", &outside, "up"]);
            self.inside(name, &["ip", "address", "add", &format!("{}/30", self.address(name)), "dev", "mgmt"]);
            self.inside(name, &["ip", "link", "set", "lo", "up"]);
            self.inside(name, &["ip", "link", "set", "mgmt", "up"]);
        }
        for (one, its, other, others) in [("server", "eth1", "wire", "eth1"), ("wire", "eth2", "client", "eth1")] {
            let (from, to) = (self.namespace(one), self.namespace(other));
            must(&[
                "ip", "-n", &from, "link", "add", "name", its, "type", "veth", "peer", "name", others, "netns", &to,
            ]);
            self.inside(one, &["ip", "link", "set", its, "up"]);
            self.inside(other, &["ip", "link", "set", others, "up"]);
        }
    }

    /// A cable between server and client, for two machines.
    pub fn cable_directly(&self) {
        let (from, to) = (self.namespace("server"), self.namespace("client"));
        must(&["ip", "-n", &from, "link", "add", "name", "eth9", "type", "veth", "peer", "name", "eth9", "netns", &to]);
        for name in ["server", "client"] {
            self.inside(name, &["ip", "link", "set", "eth9", "up"]);
        }
        let has_carrier = |name: &&str| !self.state(name).contains("NO-CARRIER");
        wait_until("the cable", || ["server", "client"].iter().all(has_carrier));
    }

    /// A mirror of the server's port towards the wire, at `eth1` of the sniffer. The kernel of this machine is the switch.
    pub fn mirror_the_server(&self) {
        let (from, to) = (self.namespace("server"), self.namespace("sniffer"));
        must(&[
            "ip", "-n", &from, "link", "add", "name", "mirror", "type", "veth", "peer", "name", "eth1", "netns", &to,
        ]);
        self.inside("server", &["ip", "link", "set", "mirror", "up"]);
        self.inside("sniffer", &["ip", "link", "set", "eth1", "up"]);
        self.inside("server", &["tc", "qdisc", "add", "dev", "eth1", "clsact"]);
        for end in ["ingress", "egress"] {
            let all = ["u32", "match", "u32", "0", "0"];
            let mirror = ["action", "mirred", "egress", "mirror", "dev", "mirror"];
            let filter = ["tc", "filter", "add", "dev", "eth1", end, "protocol", "all"];
            self.inside("server", &[&filter[..], &all, &mirror].concat());
        }
    }

    /// Runs a program on a machine.
    pub fn inside(&self, name: &str, words: &[&str]) {
        let namespace = self.namespace(name);
        must(&[&["ip", "netns", "exec", &namespace], words].concat());
    }

    fn keys(&self) {
        for key in ["user", "host"] {
            must(&["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", &self.path(key)]);
        }
        let host = fs::read_to_string(self.path("host.pub")).unwrap();
        let known = NAMES.map(|name| format!("{} {host}", self.address(name))).concat();
        fs::write(self.path("known_hosts"), known).unwrap();
        let user = fs::read_to_string(self.path("user.pub")).unwrap();
        fs::write(self.path("authorized_keys"), user).unwrap();
        fs::set_permissions(self.path("authorized_keys"), fs::Permissions::from_mode(0o600)).unwrap();
        let mut config = String::new();
        for name in NAMES {
            config += &format!("Host {name}\n  HostName {}\n", self.address(name));
        }
        config += &format!(
            "Host *\n  User root\n  Port 22\n  IdentityFile {}\n  IdentitiesOnly yes\n  UserKnownHostsFile {}\n  \
             GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n",
            self.path("user"),
            self.path("known_hosts")
        );
        fs::write(self.path("ssh_config"), config).unwrap();
    }

    fn serve(&mut self, name: &str) {
        fs::create_dir_all("/run/sshd").unwrap();
        let config = self.path(&format!("sshd_config_{name}"));
        let text = format!(
            "Port 22\nListenAddress {}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\nPermitRootLogin yes\nStrictModes \
             no\nPasswordAuthentication no\n",
            self.address(name),
            self.path("host"),
            self.path("authorized_keys")
        );
        fs::write(&config, text).unwrap();
        let log = File::create(self.path(&format!("sshd_{name}.log"))).unwrap();
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(name), SSHD, "-D", "-e", "-f", &config]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.servers.push(command.spawn().unwrap());
        let ask = || {
            output_of(Command::new("ssh").args(["-F", &self.path("ssh_config"), "-o", "BatchMode=yes", name, "true"]))
        };
        wait_until("sshd", || ask().status == Some(0));
    }

    /// Runs a program on a machine, where it sees the mounts that sshd's sessions see.
    pub fn among_its_mounts(&self, name: &str, words: &[&str]) {
        let place = NAMES.iter().position(|other| *other == name).unwrap();
        let process = self.servers[place].id().to_string();
        must(&[&["nsenter", "--mount", "--net", "--target", &process, "--"], words].concat());
    }

    /// Ends the sessions of a machine, as if a cable had been pulled out and somebody had noticed at once.
    pub fn end_sessions(&self, name: &str) {
        let place = NAMES.iter().position(|other| *other == name).unwrap();
        let server = self.servers[place].id().to_string();
        must(&["pkill", "-KILL", "-P", &server]);
    }

    /// Where a machine keeps the agent and the files of stacks.
    pub fn kept(&self, role: &str) -> PathBuf {
        self.folder.path().join(format!("on-{role}"))
    }

    /// Ends a machine's sshd, with its sessions.
    pub fn stop_serving(&mut self, name: &str) {
        let place = NAMES.iter().position(|other| *other == name).unwrap();
        let _ = self.servers[place].kill();
        let _ = self.servers[place].wait();
    }

    /// Writes a hosts file with these machines, and lines for each of them.
    pub fn inventory(&self, roles: &[&str], more: &str) -> PathBuf {
        let mut text = format!("ssh_config = \"{}\"\n", self.path("ssh_config"));
        for role in roles {
            let interfaces = match (*role, roles.len()) {
                ("wire", _) => "to_server = \"eth1\"\nto_client = \"eth2\"",
                (_, 2) => "interface = \"eth9\"",
                _ => "interface = \"eth1\"",
            };
            let folder = self.kept(role).display().to_string();
            text += &format!(
                "\n[[host]]\nrole = \"{role}\"\nssh = \"{role}\"\n{interfaces}\nfolder = \"{folder}\"\n{more}\n"
            );
        }
        let path = self.folder.path().join("hosts.toml");
        fs::write(&path, text).unwrap();
        path
    }

    /// What is on a machine: its interfaces with their link-layer addresses and disciplines, its mounts, and the processes in its
    /// network, but for sshd's own.
    pub fn state(&self, name: &str) -> String {
        let namespace = self.namespace(name);
        let ask = |words: &[&str]| output_of(Command::new("ip").args(["netns", "exec", &namespace]).args(words)).output;
        let processes = output_of(Command::new("ip").args(["netns", "pids", &namespace])).output;
        let names = processes.lines().filter_map(|process| {
            let name = fs::read_to_string(format!("/proc/{}/comm", process.trim())).ok()?;
            (!name.starts_with("sshd")).then(|| format!("process {name}"))
        });
        format!("{}{}{}", ask(&["ip", "-o", "link"]), ask(&["tc", "qdisc"]), names.collect::<String>())
    }

    /// Waits until the machines are as they were.
    pub fn wait_for(&self, before: &[String]) {
        let mut now = Vec::new();
        let start = std::time::Instant::now();
        // Minutes: it measures nothing, what is left behind stays for ever.
        while start.elapsed() < Duration::from_secs(300) {
            now = NAMES.map(|name| self.state(name)).to_vec();
            if now == before {
                return;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        panic!("left behind after five minutes: {now:#?}, before: {before:#?}");
    }

    /// [`Machines::state`] of all.
    pub fn states(&self) -> Vec<String> {
        NAMES.map(|name| self.state(name)).to_vec()
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
        for name in NAMES {
            let namespace = self.namespace(name);
            for process in output_of(Command::new("ip").args(["netns", "pids", &namespace])).output.lines() {
                // Of a namespace that nobody but this test knows.
                let _ = Command::new("kill").args(["-9", process.trim()]).status();
            }
            let _ = Command::new("ip").args(["netns", "delete", &namespace]).status();
        }
    }
}
