//! Results that many tests read and none changes: each is made once, by the command that is tested, and kept in the build's folder.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use super::{Bench, REAL_STACKS, TEST_STACKS, agent, output_of, records};

/// Results of one experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prepared {
    /// ngtcp2 in virtual machines with two controllers, two seeds each and qlog.
    Controllers,
    /// A transfer over TCP in network namespaces, in real time.
    RealTime,
    /// Flows of models in the simulator, as `models::SMALL`.
    Models,
}

const CONTROLLERS: &str = r#"
name = "prepared/controllers"
title = "Two controllers"
[stack]
name = "ngtcp2"
[workload]
size = "256 KiB"
repetitions = 2
[tap]
qlog = true
[matrix]
"stack.congestion_control" = ["cubic", "bbr"]
[[expect]]
claim = "the link is used"
metric = "goodput_wire_bps"
above = 1000000
"#;

const REAL_TIME: &str = r#"
name = "prepared/real-time"
title = "Real time"
[stack]
name = "misbehaving"
[workload]
size = "200 kB"
"#;

impl Prepared {
    fn name(self) -> &'static str {
        match self {
            Self::Controllers => "controllers",
            Self::RealTime => "real-time",
            Self::Models => "models",
        }
    }

    /// The folder of the stacks that it runs with.
    pub fn stacks(self) -> &'static str {
        match self {
            Self::Controllers => REAL_STACKS,
            Self::RealTime | Self::Models => TEST_STACKS,
        }
    }

    /// The folder of the results. The first test that asks makes them, and the others wait for it. Tests of another build of the command or
    /// the agent have others.
    pub fn results(self) -> PathBuf {
        let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("prepared");
        fs::create_dir_all(&all).unwrap();
        let name =
            format!("{}-{}-{}", self.name(), version(Path::new(env!("CARGO_BIN_EXE_quiclab"))), version(&agent()));
        let folder = all.join(&name);
        let lock = File::create(all.join(format!("{}.lock", self.name()))).unwrap();
        lock.lock().unwrap();
        if folder.is_dir() {
            return folder;
        }
        let prefix = format!("{}-", self.name());
        for old in fs::read_dir(&all).unwrap().map(|entry| entry.unwrap()) {
            if old.file_name().to_string_lossy().starts_with(&prefix) {
                fs::remove_dir_all(old.path()).unwrap();
            }
        }
        let (text, more): (&str, &[&str]) = match self {
            Self::Controllers => (CONTROLLERS, &[]),
            Self::RealTime => (REAL_TIME, &["--testbed", "netns", "--wait-for-quiet", "0"]),
            Self::Models => (super::models::SMALL, &[]),
        };
        let bench = Bench::new(text);
        let made = output_of(&mut bench.run(self.stacks(), "out", more));
        assert_eq!(made.status, Some(0), "{self:?}: {}", made.errors);
        // A move within one file system leaves no half of it behind.
        let aside = all.join(format!(".{name}"));
        let _ = fs::remove_dir_all(&aside);
        copy(&bench.out("out"), &aside);
        fs::rename(&aside, &folder).unwrap();
        folder
    }

    /// The folders of its records, sorted.
    pub fn records(self) -> Vec<PathBuf> {
        let results = self.results();
        records(&results).iter().map(|name| results.join(name)).collect()
    }

    /// A copy of the results that a test may change.
    pub fn copy(self) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        copy(&self.results(), folder.path());
        folder
    }
}

/// What tells this build of a program from others.
fn version(program: &Path) -> String {
    let facts = fs::metadata(program).unwrap();
    let changed = facts.modified().unwrap().duration_since(UNIX_EPOCH).unwrap();
    format!("{:x}{:x}", facts.len(), changed.as_nanos())
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
