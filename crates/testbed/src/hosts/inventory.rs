//! The file that names the hosts: docs/reference/hosts-file.md.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use quiclab_agent_protocol::hosts::PlaceOfHost;
use serde::Deserialize;

/// The longest file of hosts.
const MOST_BYTES: u64 = 1 << 20;

/// The hosts of a testbed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inventory {
    /// Configuration file for ssh, instead of the user's own; relative to the folder of this file.
    #[serde(default)]
    pub ssh_config: Option<PathBuf>,
    /// The hosts.
    #[serde(rename = "host")]
    pub hosts: Vec<HostEntry>,
}

/// One host.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostEntry {
    /// What it does.
    pub role: Role,
    /// Where ssh finds it: `[user@]host`, or a name in the configuration of ssh.
    pub ssh: String,
    /// Port of its ssh server; without it, as ssh has it.
    #[serde(default)]
    pub port: Option<u16>,
    /// Its interface towards the other hosts: of a server and a client. Of a sniffer, the one at the mirror port.
    #[serde(default)]
    pub interface: Option<String>,
    /// Interface of a wire towards the server.
    #[serde(default)]
    pub to_server: Option<String>,
    /// Interface of a wire towards the client.
    #[serde(default)]
    pub to_client: Option<String>,
    /// The CPUs that runs may use; all without it.
    #[serde(default)]
    pub cores: Vec<usize>,
    /// Whether to become root by `sudo -n`.
    #[serde(default)]
    pub sudo: bool,
    /// Folder there for the agent and the files of stacks; without it, the user's cache.
    #[serde(default)]
    pub folder: Option<String>,
    /// Whether these files stay there for the next time.
    #[serde(default = "yes")]
    pub keep: bool,
}

fn yes() -> bool {
    true
}

/// What a host does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The server runs there.
    Server,
    /// It lies between the others, and shapes the path.
    Wire,
    /// The client runs there.
    Client,
    /// It captures what the server's interface sends and receives, at a mirror port.
    Sniffer,
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Server => "server",
            Self::Wire => "wire",
            Self::Client => "client",
            Self::Sniffer => "sniffer",
        })
    }
}

impl Inventory {
    /// Reads the file.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn read(path: &Path) -> Result<Self> {
        let text = quiclab_inputs::read_regular_text(path, MOST_BYTES).with_context(|| path.display().to_string())?;
        let mut inventory = Self::parse(&text).with_context(|| path.display().to_string())?;
        if let Some(config) = &mut inventory.ssh_config {
            *config = path.parent().unwrap_or(Path::new("")).join(&*config);
        }
        Ok(inventory)
    }

    /// Reads its text. The hosts come in the order server, wire, client, sniffer.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Self> {
        let mut inventory: Self =
            toml::from_str(text).map_err(|error| anyhow::anyhow!("{}", error.to_string().trim_end()))?;
        inventory.hosts.sort_by_key(|host| host.role);
        let count = |role| inventory.hosts.iter().filter(|host| host.role == role).count();
        for (role, least, most) in
            [(Role::Server, 1, 1), (Role::Wire, 0, 1), (Role::Client, 1, 1), (Role::Sniffer, 0, 1)]
        {
            let found = count(role);
            if found < least || found > most {
                let expected = if least == most { "exactly one" } else { "at most one" };
                bail!("[[host]]: found {found} with role = \"{role}\", expected {expected}");
            }
        }
        inventory.hosts.iter().try_for_each(HostEntry::check)?;
        Ok(inventory)
    }

    /// Where the host is in the network of a run.
    pub fn place(&self, host: &HostEntry) -> PlaceOfHost {
        let text = |name: &Option<String>| name.clone().unwrap_or_default();
        let has_wire = self.hosts.iter().any(|other| other.role == Role::Wire);
        match host.role {
            Role::Server if has_wire => PlaceOfHost::Server { interface: text(&host.interface) },
            Role::Server => PlaceOfHost::ServerAndWire { to_client: text(&host.interface) },
            Role::Wire => PlaceOfHost::Wire { to_server: text(&host.to_server), to_client: text(&host.to_client) },
            Role::Client => PlaceOfHost::Client { interface: text(&host.interface) },
            Role::Sniffer => PlaceOfHost::Sniffer { interface: text(&host.interface) },
        }
    }
}

impl HostEntry {
    /// The host's name for messages.
    pub fn label(&self) -> String {
        format!("{} ({})", self.role, self.ssh)
    }

    fn check(&self) -> Result<()> {
        let role = self.role;
        let needed: [(&str, &Option<String>, bool); 3] = [
            ("interface", &self.interface, role != Role::Wire),
            ("to_server", &self.to_server, role == Role::Wire),
            ("to_client", &self.to_client, role == Role::Wire),
        ];
        for (key, value, is_needed) in needed {
            match value {
                None if is_needed => {
                    bail!(
                        "host {role}: {key}: missing; expected the name of a network interface there, such as \"eth1\""
                    )
                }
                Some(found) if !is_needed => bail!(
                    "host {role}: {key}: found {found:?}, which a {role} does not have\nhint: {}",
                    if role == Role::Wire {
                        "to_server and to_client name both interfaces of a wire"
                    } else {
                        "interface"
                    }
                ),
                Some(found) if !is_interface(found) => {
                    bail!(
                        "host {role}: {key}: found {found:?}, expected the name of a network interface, of 1 to 15 characters"
                    )
                }
                _ => {}
            }
        }
        if role == Role::Wire && self.to_server == self.to_client {
            bail!("host wire: to_server and to_client: found one interface for both, expected two");
        }
        // A program that is given this as an argument must not take it for an option.
        if self.ssh.is_empty() || self.ssh.starts_with('-') || self.ssh.contains(char::is_whitespace) {
            bail!("host {role}: ssh: found {:?}, expected [USER@]HOST or a name from ~/.ssh/config", self.ssh);
        }
        if let Some(folder) = &self.folder
            && !(folder.starts_with('/')
                && folder.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte)))
        {
            bail!("host {role}: folder: found {folder:?}, expected an absolute path of letters, digits and . _ - /");
        }
        Ok(())
    }
}

/// Whether the kernel takes this name for an interface.
fn is_interface(name: &str) -> bool {
    (1..=15).contains(&name.len())
        && !name.contains(|letter: char| letter == '/' || letter.is_whitespace())
        && name != "."
        && name != ".."
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "[[host]]\nrole = \"client\"\nssh = \"bob\"\ninterface = \"eth1\"\n\n[[host]]\nrole = \"server\"\nssh = \"root@alice\"\nport = 2222\ninterface = \"eth0\"\ncores = [2, 3]\n";

    #[test]
    fn two_hosts_share_the_wire_with_the_server_and_a_third_has_it_alone() {
        let two = Inventory::parse(TWO).unwrap();
        let places: Vec<_> = two.hosts.iter().map(|host| two.place(host)).collect();
        assert_eq!(places[0], PlaceOfHost::ServerAndWire { to_client: "eth0".into() });
        assert_eq!(places[1], PlaceOfHost::Client { interface: "eth1".into() });
        assert!(two.hosts[0].keep && two.hosts[0].cores == [2, 3]);
        let wire = "\n[[host]]\nrole = \"wire\"\nssh = \"carol\"\nto_server = \"a\"\nto_client = \"b\"\n";
        let three = Inventory::parse(&format!("{TWO}{wire}")).unwrap();
        let places: Vec<_> = three.hosts.iter().map(|host| three.place(host)).collect();
        assert_eq!(places[0], PlaceOfHost::Server { interface: "eth0".into() });
        assert_eq!(places[1], PlaceOfHost::Wire { to_server: "a".into(), to_client: "b".into() });
        let sniffer = "\n[[host]]\nrole = \"sniffer\"\nssh = \"dan\"\ninterface = \"m\"\n";
        let four = Inventory::parse(&format!("{TWO}{sniffer}{wire}")).unwrap();
        assert_eq!(four.place(&four.hosts[3]), PlaceOfHost::Sniffer { interface: "m".into() });
        let two_of_them = Inventory::parse(&format!("{TWO}{sniffer}{sniffer}")).unwrap_err().to_string();
        assert!(two_of_them.contains("found 2 with role = \"sniffer\", expected at most one"), "{two_of_them}");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (from, to, parts) in [
            (
                "role = \"client\"",
                "role = \"cleint\"",
                &["line 2", "cleint", "expected one of `server`, `wire`, `client`, `sniffer`"][..],
            ),
            ("port = 2222", "prot = 2222", &["line 9", "prot", "expected one of"]),
            ("port = 2222", "port = \"a\"", &["line 9", "expected u16"]),
            ("role = \"client\"", "role = \"server\"", &["found 2 with role = \"server\", expected exactly one"]),
            ("interface = \"eth1\"\n", "", &["host client: interface: missing"]),
            (
                "interface = \"eth1\"",
                "interface = \"eth1\"\nto_client = \"x\"",
                &["host client: to_client: found \"x\""],
            ),
            ("ssh = \"bob\"", "ssh = \"-oProxyCommand=x\"", &["host client: ssh: found \"-oProxyCommand=x\""]),
            ("ssh = \"bob\"", "ssh = \"bob\"\nfolder = \"/a b\"", &["host client: folder: found \"/a b\""]),
        ] {
            assert!(TWO.contains(from));
            let error = format!("{:#}", Inventory::parse(&TWO.replacen(from, to, 1)).unwrap_err());
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
    }
}
