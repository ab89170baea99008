//! The kernel that `quiclab tools kernel build uml` makes: two boots of it print the same bytes.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use quiclab_testbed::{
    cache::Cache,
    guest::initramfs,
    kernel_build::{Recipe, UML},
};

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// 2026-01-01, in nanoseconds since the Unix epoch.
const START_NS: u64 = 1_767_225_600_000_000_000;
const HOUR_NS: u64 = 3_600_000_000_000;
const BLOCK: &str = "hello from host";

/// A machine that is ready to be booted.
struct Machine {
    folder: tempfile::TempDir,
    kernel: PathBuf,
}

impl Machine {
    /// # Panics
    /// Where the kernel is not in the cache, or there is no compiler.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let recipe = Recipe::read(&UML, &Path::new(REPOSITORY).join("kernel")).unwrap();
        let kernel = recipe.built(&Cache::from_environment().unwrap()).unwrap();
        let init = folder.path().join("init");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/uml/init.c");
        let compiler = Command::new("gcc").args(["-O1", "-static", "-o"]).arg(&init).arg(source).status().unwrap();
        assert!(compiler.success());
        initramfs::write(&init, &kernel, &folder.path().join("initramfs")).unwrap();
        Self { kernel: fs::canonicalize(kernel.image()).unwrap(), folder }
    }

    /// Boots the machine and returns what its console shows until it switches itself off.
    fn boot(&self, seed: u64, variable: (&str, &str)) -> String {
        let [disk, console] = ["disk", "console"].map(|name| self.folder.path().join(name));
        fs::write(&disk, BLOCK).unwrap();
        File::options().write(true).open(&disk).unwrap().set_len(1 << 20).unwrap();
        let mut command = Command::new(&self.kernel);
        command.args(["time-travel=inf-cpu", &format!("time-travel-start={START_NS}"), "seccomp=on", "mem=256M"]);
        command.args([&format!("rng-seed={seed}"), "initrd=initramfs", "ubd0=disk"]);
        command.args(["con=null", "con0=null,fd:1", "console=tty0", "noreboot", "panic=1"]);
        command.env_clear().env("HOME", self.folder.path()).env(variable.0, variable.1);
        command.current_dir(self.folder.path()).stdin(Stdio::null()).stderr(Stdio::null());
        let end = command.stdout(File::create(&console).unwrap()).status().unwrap();
        let said = String::from_utf8_lossy(&fs::read(&console).unwrap()).into_owned();
        assert!(end.success(), "{end}: {said}");
        assert_eq!(fs::read(&disk).unwrap()[4096..4102], *b"answer", "{said}");
        said
    }
}

/// What process 1 said of something.
fn said<'a>(console: &'a str, what: &str) -> &'a str {
    let start = format!("init: {what} ");
    let found = console.lines().find_map(|line| line.trim_end().strip_prefix(&start));
    found.unwrap_or_else(|| panic!("nothing of {what:?} in {console}"))
}

fn number(console: &str, what: &str) -> u64 {
    said(console, what).parse().unwrap()
}

#[test]
#[ignore = "needs kernel uml, which takes minutes to build: make test-uml"]
fn boots_are_the_same_to_the_byte_and_time_leaps() {
    let machine = Machine::new();
    let first = machine.boot(1, ("A", "b"));

    // A moment after the start, which is not that of the host; an hour and a microsecond later to within what clock and calls take.
    assert!((START_NS..START_NS + 1_000_000_000).contains(&number(&first, "real")), "{first}");
    assert!((HOUR_NS..HOUR_NS + 10_000).contains(&number(&first, "hour")), "{first}");
    assert!((HOUR_NS..HOUR_NS + 10_000).contains(&number(&first, "ticks")), "{first}");
    assert!((1000..2000).contains(&number(&first, "moment")), "{first}");
    // The disk takes no time, and does not let time leap.
    assert_eq!(said(&first, "block"), BLOCK);
    assert!(number(&first, "disk") < 1_000_000, "{first}");
    if first.contains("processor: CPUID is the same everywhere") {
        assert_eq!(said(&first, "cpuid"), "7 756e6547 6c65746e 49656e69");
    } else {
        assert!(first.contains("processor: CPUID is that of the host"), "{first}");
    }

    // Whatever else the machine does, and whatever is in the environment.
    let stop = Arc::new(AtomicBool::new(false));
    let load: Vec<_> = (0..4)
        .map(|_| {
            let stop = stop.clone();
            thread::spawn(move || while !stop.load(Ordering::Relaxed) {})
        })
        .collect();
    for round in 0..10 {
        assert_eq!(machine.boot(1, ("VARIABLE", &"x".repeat(round * 37))), first, "boot {round}");
    }
    stop.store(true, Ordering::Relaxed);
    load.into_iter().for_each(|thread| thread.join().unwrap());

    let other = machine.boot(2, ("A", "b"));
    assert_ne!(said(&other, "random"), said(&first, "random"));
    assert_ne!(said(&other, "addresses"), said(&first, "addresses"));
    // How long reading the time stamp counter takes is drawn by the seed, too.
    assert!((HOUR_NS..HOUR_NS + 10_000).contains(&number(&other, "hour")), "{other}");
}
