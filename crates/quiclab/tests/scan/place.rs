//! An Internet with real servers, and the command that scans it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::atomic::AtomicBool,
};

use quiclab_internet::{Behaviour, Description, Group, Host, Server};
use quiclab_testbed::{
    cache::Cache,
    image::Image,
    loopback::{self, Endpoint, Network, Root, Scratch, ServerSettings, start_server},
    stack::{Source, packages, prepare_files, source},
};
use serde_json::Value;

/// Where scans may complain; here nobody does.
const CONTACT: &str = "https://scan.example/";

fn stack(name: &str) -> Source {
    source(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stacks").join(name)).unwrap()
}

/// Builds a stack, and the files that it needs.
pub fn build(name: &str) {
    let (cache, stop, source) = (Cache::from_environment().unwrap(), AtomicBool::new(false), stack(name));
    prepare_files(&cache, &source, false, &stop).unwrap();
    let packages = packages(&source);
    if !packages.is_empty() {
        Image::prepare(&cache, &packages, &stop).unwrap();
    }
}

/// This process in its namespaces, with servers.
pub struct Place {
    scratch: Scratch,
    servers: Vec<Endpoint>,
    pub description: Description,
}

impl Place {
    /// Enters namespaces of this process's own.
    pub fn enter() -> Self {
        let scratch = loopback::enter(Network::Own).expect("namespaces");
        fs::create_dir_all(scratch.path().join("shared")).unwrap();
        let group = |name: &str, origin_as, prefixes: &[&str]| Group {
            name: name.to_owned(),
            origin_as,
            prefixes: prefixes.iter().map(|prefix| prefix.parse().unwrap()).collect(),
        };
        let description = Description {
            seed: 1,
            groups: vec![
                group("near", 13_335, &["100.64.0.0/16", "2001:db8:64::/48"]),
                group("far", 15_169, &["100.80.0.0/16"]),
                group("elsewhere", 64_500, &["100.96.0.0/16"]),
            ],
            ..Description::default()
        };
        Place { scratch, servers: Vec::new(), description }
    }

    /// Starts a server that hosts can have as theirs.
    pub fn serve(&mut self, name: &str, stack_name: &str, instant_ack: bool, settings: &ServerSettings) {
        let (cache, source) = (Cache::from_environment().unwrap(), stack(stack_name));
        let files = prepare_files(&cache, &source, false, &AtomicBool::new(false)).unwrap();
        let (folder, shared) = (self.scratch.path().join(name), self.scratch.path().join("shared"));
        let root = match Image::find(&cache, &packages(&source)) {
            Some(image) if !packages(&source).is_empty() => Root::of_guest(&folder, &files, &image.file(), &shared),
            _ => Root::of_this_machine(&folder, &files, &shared),
        };
        let server = start_server(&root.unwrap(), &source.manifest, &shared, name, settings).unwrap();
        self.servers.push(server);
        let address = ([127, 0, 0, 1], settings.port).into();
        self.description.servers.push(Server { name: name.to_owned(), address, instant_ack: Some(instant_ack) });
    }

    /// A host of the Internet.
    pub fn host(&mut self, address: &str, rtt_ms: u64, behaviour: Behaviour) {
        let rtt = quiclab_units::Duration::from_millis(rtt_ms);
        self.description.hosts.push(Host::new(address.parse().unwrap(), rtt, behaviour));
    }

    /// A file of this text.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.scratch.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// A path for results.
    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Scans a list into a folder, with more arguments.
    pub fn scan(&self, list: &Path, out: &Path, more: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quiclab"));
        // A user's own exclusions are not those of a test.
        command.env("XDG_CONFIG_HOME", self.scratch.path());
        command.arg("scan").arg(list).args(["--contact", CONTACT, "--format", "jsonl", "--rate", "1000/s"]);
        command.arg("--out").arg(out).args(more).output().unwrap()
    }

    /// Ends the servers.
    pub fn leave(self) {
        self.servers.into_iter().for_each(Endpoint::end);
    }
}

/// What a program said, where it failed.
pub fn check(output: &Output) {
    assert!(output.status.success(), "{}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
}

/// Rows of a folder by their server's address, or by their target where they have none.
pub fn rows(folder: &Path) -> BTreeMap<String, Value> {
    let mut rows = BTreeMap::new();
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "jsonl")) {
        for line in fs::read_to_string(file).unwrap().lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let key = row["server"].as_str().or(row["target"].as_str()).unwrap().to_owned();
            assert!(rows.insert(key.clone(), row).is_none(), "{key} has two rows");
        }
    }
    rows
}
