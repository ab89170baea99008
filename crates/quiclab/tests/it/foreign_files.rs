//! An experiment and a record of a stranger reach for files of the user, for pipes, and for files that are too long. None of them is read,
//! nothing of them is printed, and nothing is waited for.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use crate::common::{
    Bench, CommandOutput, TEST_STACKS,
    models::{SMALL, run},
    output_of, quiclab, records,
};

/// A secret in files of the user, and in the environment.
const SECRET: &str = "hunter2";
/// The exit status of `quiclab run` where nothing was run.
const REFUSED: Option<i32> = Some(125);

fn fifo(path: &Path) {
    nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
}

/// The folder of a stranger's experiment, beside a file of the user.
struct Stranger {
    user: tempfile::TempDir,
}

impl Stranger {
    fn new() -> Self {
        let user = tempfile::tempdir().unwrap();
        let own = Self { user };
        fs::create_dir(own.folder()).unwrap();
        fs::write(own.secret(), format!("token = \"{SECRET}\"\n")).unwrap();
        own
    }

    fn secret(&self) -> PathBuf {
        self.user.path().join("secret")
    }

    fn folder(&self) -> PathBuf {
        self.user.path().join("experiment")
    }

    fn file(&self) -> PathBuf {
        self.folder().join("x.toml")
    }

    /// `quiclab run --dry-run` of an experiment with these lines.
    fn plan(&self, lines: &str, more: &[&str]) -> CommandOutput {
        let text = format!("name = \"x\"\ntitle = \"X\"\n[stack]\nname = \"misbehaving\"\n{lines}\n");
        fs::write(self.file(), text).unwrap();
        let mut command = quiclab();
        command.args(["run", "--dry-run", "--stacks", TEST_STACKS]).arg(self.file()).args(more);
        refused(&mut command)
    }
}

/// What a command said that nothing of a secret may be in.
fn refused(command: &mut Command) -> CommandOutput {
    let done = output_of(command.env("TOKEN", SECRET));
    for text in [&done.output, &done.errors] {
        assert!(!text.contains(SECRET) && !text.contains("root:"), "{command:?}: {text}");
    }
    done
}

/// Each way in which an experiment can name a file.
fn ways(name: &str) -> [String; 4] {
    let queue = "{ stage = \"queue\", discipline = \"drop_tail\", limit = \"9 packets\" }";
    [
        format!("[path]\ninclude = \"{name}\""),
        format!("[matrix]\n\"path.include\" = [\"none\", \"{name}\"]"),
        format!("[path]\nto_client = [{queue}, {{ stage = \"rate_trace\", file = \"{name}\" }}]"),
        format!("[path]\nto_client = [{{ stage = \"delay_trace\", length = \"1 s\", file = \"{name}\" }}]"),
    ]
}

#[test]
fn an_experiment_reads_nothing_outside_of_its_folder() {
    let stranger = Stranger::new();
    symlink("../secret", stranger.folder().join("link")).unwrap();
    symlink("..", stranger.folder().join("up")).unwrap();
    let absolute = stranger.secret().display().to_string();
    for name in ["/proc/self/environ", "/etc/shadow", "../secret", "link", "up/secret", "../missing", &absolute] {
        for lines in ways(name) {
            let done = stranger.plan(&lines, &[]);
            assert_eq!(done.status, REFUSED, "{lines}: {}{}", done.output, done.errors);
            assert!(done.errors.contains("found a file outside of the folder "), "{lines}: {}", done.errors);
            assert!(done.errors.contains("\nhint: copy the file there"), "{}", done.errors);
        }
    }
}

#[test]
fn an_included_path_reads_nothing_outside_of_the_folder_of_the_experiment() {
    let stranger = Stranger::new();
    fs::create_dir(stranger.folder().join("paths")).unwrap();
    let queue = "{ stage = \"queue\", discipline = \"drop_tail\", limit = \"9 packets\" }";
    for (name, expected) in [("../../secret", "outside of the folder"), ("../missing", "No such file")] {
        let path = format!(
            "title = \"a\"\nsource = \"b\"\nto_server = []\nto_client = [{queue}, {{ stage = \"rate_trace\", file = \"{name}\" }}]\n"
        );
        fs::write(stranger.folder().join("paths/a.toml"), path).unwrap();
        let done = stranger.plan("[path]\ninclude = \"paths/a.toml\"", &[]);
        assert!(done.errors.contains("paths/a.toml:4:") && done.errors.contains(expected), "{}", done.errors);
        assert_eq!(done.status, REFUSED);
    }
}

#[test]
fn a_pipe_a_device_and_a_file_of_terabytes_are_refused_at_once() {
    let stranger = Stranger::new();
    fifo(&stranger.folder().join("fifo"));
    File::create(stranger.folder().join("large")).unwrap().set_len(10 << 30).unwrap();
    fs::create_dir(stranger.folder().join("below")).unwrap();
    fs::write(stranger.folder().join("secret"), format!("token = \"{SECRET}\"\n")).unwrap();
    fs::write(stranger.folder().join("binary"), b"\xff\xfe").unwrap();
    for (name, expected) in [
        ("fifo", "found a FIFO, expected a regular file"),
        ("below", "found a folder, expected a regular file"),
        ("large", "found 10737418240 bytes, expected at most "),
        ("binary", "found bytes that are not UTF-8, expected text"),
        ("secret", "expected"),
    ] {
        for lines in ways(name) {
            let done = stranger.plan(&lines, &[]);
            assert!(done.status == REFUSED && done.errors.contains(expected), "{lines}: {}", done.errors);
        }
    }
}

#[test]
fn the_user_can_name_a_path_elsewhere_and_nothing_of_a_file_that_is_none_is_shown() {
    let stranger = Stranger::new();
    let set = |path: &Path| format!("path.include={}", path.display());
    let path = stranger.user.path().join("mine.toml");
    fs::write(
        &path,
        "title = \"a\"\nsource = \"b\"\nto_server = []\nto_client = [{ stage = \"delay\", delay = \"1 ms\" }]\n",
    )
    .unwrap();
    let done = stranger.plan("", &["--set", &set(&path)]);
    assert_eq!(done.status, Some(0), "{}", done.errors);
    let done = stranger.plan("", &["--set", &set(&stranger.secret())]);
    assert!(done.status == REFUSED && done.errors.contains(":1:1: expected one of the keys title"), "{}", done.errors);
    let pipe = stranger.user.path().join("fifo");
    fifo(&pipe);
    for (file, expected) in [(pipe.as_path(), "found a FIFO"), (Path::new("/dev/zero"), "found a device")] {
        let done = stranger.plan("", &["--set", &set(file)]);
        assert!(done.status == REFUSED && done.errors.contains(expected), "{}", done.errors);
    }
}

#[test]
fn a_bundle_has_no_files_that_the_experiment_only_reaches_for() {
    let bench = Bench::new(&format!("{SMALL}\n# edited below\n"));
    assert_eq!(run(&bench, "results", &[]).status, Some(0));
    fs::write(bench.out("secret"), SECRET).unwrap();
    let folder = bench.out("experiment");
    fs::create_dir(&folder).unwrap();
    symlink("../secret", folder.join("link")).unwrap();
    fifo(&folder.join("fifo"));
    let file = folder.join("x.toml");
    fs::write(&file, "title = \"../secret\"\n[path]\ninclude = [\"../secret\", \"link\", \"fifo\", \"/etc/passwd\"]\n")
        .unwrap();
    let mut command = quiclab();
    command.arg("bundle").arg(bench.out("results")).arg(bench.out("a.zip")).args(["--author", "Doe, Jane"]);
    let done = output_of(command.arg("--experiment").arg(&file));
    assert_eq!(done.status, Some(0), "{}", done.errors);
    let listed = output_of(Command::new("python3").args(["-m", "zipfile", "-l"]).arg(bench.out("a.zip")));
    assert!(listed.output.contains("/experiment/x.toml"), "{}", listed.output);
    for name in ["secret", "link", "fifo", "passwd"] {
        assert!(!listed.output.contains(name), "{name}: {}", listed.output);
    }
}

#[test]
fn a_record_with_a_link_or_a_pipe_in_the_place_of_a_file_is_refused_and_nothing_behind_it_is_shown() {
    let bench = Bench::new(SMALL);
    assert_eq!(run(&bench, "results", &[]).status, Some(0));
    fs::write(bench.out("secret"), format!("schema = {SECRET}\n")).unwrap();
    let record = bench.out("results").join(&records(&bench.out("results"))[0]);
    for name in ["run.toml", "metrics.json", "contents.json", "path.json"] {
        let file = record.join(name);
        let Ok(bytes) = fs::read(&file) else { continue };
        for is_link in [true, false] {
            fs::remove_file(&file).unwrap();
            if is_link {
                symlink(bench.out("secret"), &file).unwrap()
            } else {
                fifo(&file)
            }
            let done = refused(quiclab().arg("verify").arg(&record));
            assert_ne!(done.status, Some(0), "{name}: {}", done.output);
            refused(quiclab().arg("report").arg(bench.out("results")));
        }
        fs::remove_file(&file).unwrap();
        fs::write(&file, bytes).unwrap();
    }
}

#[test]
fn a_manifest_that_is_a_link_shows_nothing_of_what_is_behind_it() {
    let stranger = Stranger::new();
    let stack = stranger.folder().join("stack");
    fs::create_dir(&stack).unwrap();
    for target in [stranger.secret(), PathBuf::from("/etc/passwd"), PathBuf::from("/dev/zero")] {
        symlink(&target, stack.join("stack.toml")).unwrap();
        let done = refused(quiclab().args(["stacks", "try"]).arg(&stack));
        assert_eq!(done.status, REFUSED, "{}: {}", target.display(), done.errors);
        assert!(done.errors.contains("stack.toml"), "{}: {}", target.display(), done.errors);
        fs::remove_file(stack.join("stack.toml")).unwrap();
    }
}

#[test]
fn the_list_of_a_record_reaches_no_file_elsewhere() {
    let bench = Bench::new(SMALL);
    assert_eq!(run(&bench, "results", &[]).status, Some(0));
    fs::write(bench.out("secret"), SECRET).unwrap();
    let record = bench.out("results").join(&records(&bench.out("results"))[0]);
    let list = record.join("contents.json");
    let whole = fs::read_to_string(&list).unwrap();
    for name in ["../../secret", "/etc/passwd"] {
        fs::write(&list, whole.replacen("\"metrics.json\"", &format!("\"{name}\""), 1)).unwrap();
        let done = refused(quiclab().arg("verify").arg(&record));
        assert!(
            done.errors.contains("outside of the folder") || done.output.contains("outside of the folder"),
            "{done:?}"
        );
        assert_ne!(done.status, Some(0));
    }
}

/// Files that read only what the kernel or quiclab itself has written, a test, or, for `bounded_input.rs`, what the user names.
const OWN: [&str; 11] = [
    "quiclab/src/cli/reference.rs",
    "quiclab/src/session/bounded_input.rs",
    "perf/src/measure/certificates.rs",
    "perf/src/measure/machine.rs",
    "perf/src/measure/usage.rs",
    "quiclab/src/session/prepared_archive.rs",
    "quiclab/src/verbs/stacks/import.rs",
    "quiclab/src/verbs/stacks/import/save.rs",
    "record/src/replace.rs",
    "scan/src/survey/whom.rs",
    "trials/src/trial/network.rs",
];

#[test]
fn everything_else_is_opened_by_the_crate_that_waits_for_nothing() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let names = ["experiment", "perf", "quiclab", "record", "report", "scan", "trace", "trials", "wire"];
    let mut folders: Vec<_> = names.iter().map(|name| crates.join(name).join("src")).collect();
    let (mut found, mut seen) = (Vec::new(), 0);
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.strip_prefix(crates).unwrap().display().to_string();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if !name.ends_with(".rs") || name.contains("/tests") || OWN.contains(&name.as_str()) {
                continue;
            }
            seen += 1;
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let is_open = |line: &&str| {
                let calls = [" File::open(", "(File::open(", "fs::File::open(", "fs::read(", "fs::read_to_string("];
                calls.iter().any(|call| line.contains(call)) && !line.contains("\"/proc/") && !line.contains("\"/sys/")
            };
            found.extend(code.lines().filter(is_open).map(|line| format!("{name}: {}", line.trim())));
        }
    }
    assert!(seen > 100, "{seen}");
    assert!(found.is_empty(), "expected quiclab_inputs or given, found {found:#?}");
}
