//! A cache that is damaged, pruned while it is used, or in a folder with an odd name.

use std::{
    ffi::OsStr,
    fs::{self, File},
    os::unix::{ffi::OsStrExt, fs::FileExt, fs::symlink},
    path::{Path, PathBuf},
    process::Command,
};

use quiclab_record::bundle::Writer;
use sha2::{Digest, Sha256};

use crate::common::{Bench, CommandOutput, TEST_STACKS, output_of, quiclab, records};
use quiclab_testing::wait_until;

const EXPERIMENT: &str = r#"
name = "tests/cache"
title = "One good transfer"
[stack]
name = "misbehaving"
[workload]
size = "1 MiB"
"#;

/// The cache that other tests use, with everything that the experiment needs.
fn filled(bench: &Bench) -> PathBuf {
    let good = output_of(&mut bench.run(TEST_STACKS, "filled", &[]));
    assert_eq!(good.status, Some(0), "{}", good.errors);
    std::env::var("QUICLAB_CACHE").map_or_else(
        |_| Path::new(&std::env::var("HOME").unwrap()).join(".cache/quiclab"),
        |folder| Path::new(&folder).to_path_buf(),
    )
}

/// A cache with what `cache` has, by links; things of this kind, as far as the experiment needs them, are copies.
fn copy(cache: &Path, to: &Path, copied: &str) {
    for kind in ["image", "kernel", "stack", "state"] {
        fs::create_dir_all(to.join(kind)).unwrap();
        for entry in fs::read_dir(cache.join(kind)).unwrap().flatten() {
            let name = entry.file_name();
            if !name.as_bytes().starts_with(b".") && entry.path().is_dir() {
                let target = to.join(kind).join(name);
                if kind != copied {
                    symlink(entry.path(), target).unwrap();
                } else if is_needed(cache, &entry.path()) {
                    let copied =
                        Command::new("cp").args(["-r", "--sparse=always"]).arg(entry.path()).arg(target).status();
                    assert!(copied.unwrap().success());
                }
            }
        }
    }
}

/// Whether a thing was used in the last minutes: the good run did.
fn is_needed(cache: &Path, thing: &Path) -> bool {
    let mut lock = cache.join(".used").join(thing.strip_prefix(cache).unwrap()).into_os_string();
    lock.push(".lock");
    let used = fs::metadata(lock).and_then(|facts| facts.modified());
    used.is_ok_and(|used| used.elapsed().unwrap_or_default().as_secs() < 600)
}

/// The only file of this name in the things of a kind that were copied.
fn files(cache: &Path, kind: &str, name: &str) -> Vec<PathBuf> {
    let things = fs::read_dir(cache.join(kind)).unwrap().flatten();
    let files: Vec<_> = things.map(|thing| thing.path().join(name)).filter(|file| file.is_file()).collect();
    assert!(!files.is_empty(), "no {kind}/*/{name}");
    files
}

fn run_with(bench: &Bench, cache: &Path, out: &str) -> CommandOutput {
    output_of(bench.run(TEST_STACKS, out, &[]).env("QUICLAB_CACHE", cache))
}

fn with_cache(words: &[&str], cache: &Path) -> CommandOutput {
    output_of(quiclab().args(words).env("QUICLAB_CACHE", cache))
}

#[test]
fn a_thing_that_was_cut_is_not_used() {
    let bench = Bench::new(EXPERIMENT);
    let cache = filled(&bench);
    for (kind, file) in [("image", "root.erofs"), ("kernel", "vmlinuz")] {
        let damaged = bench.out(&format!("cut-{kind}"));
        copy(&cache, &damaged, kind);
        for file in files(&damaged, kind, file) {
            File::options().write(true).open(file).unwrap().set_len(4).unwrap();
        }
        let result = run_with(&bench, &damaged, "cut");
        assert_eq!(result.status, Some(125), "{kind}: {}", result.errors);
        let expected = format!("hint: quiclab cache remove {kind}/");
        assert!(result.errors.contains("is damaged") && result.errors.contains(&expected), "{}", result.errors);
    }
}

#[test]
fn a_byte_changed_in_place_leaves_no_record_and_names_the_command_that_fixes_it() {
    let bench = Bench::new(EXPERIMENT);
    let cache = filled(&bench);
    for (kind, file) in [("image", "root.erofs"), ("state", "state")] {
        let damaged = bench.out(&format!("damaged-{kind}"));
        copy(&cache, &damaged, kind);
        for file in files(&damaged, kind, file) {
            let file = File::options().read(true).write(true).open(file).unwrap();
            // Deep in the data: neither of the two is read to here by every run.
            let mut byte = [0];
            file.read_exact_at(&mut byte, 40 << 20).unwrap();
            file.write_all_at(&[byte[0] ^ 1], 40 << 20).unwrap();
        }
        let out = format!("out-{kind}");
        let result = run_with(&bench, &damaged, &out);
        assert_ne!(result.status, Some(0), "{kind}: {}", result.errors);
        let line = result.errors.lines().find(|line| line.contains("hint: quiclab cache remove")).unwrap_or_default();
        assert!(result.errors.contains(&format!("{file}: found SHA-256 ")), "{kind}: {}", result.errors);
        assert!(records(&bench.out(&out)).is_empty(), "{kind}: a damaged cache made a record");
        // What doctor says is the same, and the command helps.
        let doctor = with_cache(&["doctor", "--cache", "--stacks", TEST_STACKS], &damaged);
        assert_eq!(doctor.status, Some(1), "{}", doctor.errors);
        assert!(doctor.output.contains("DAMAGED") && doctor.errors.contains(kind), "{}", doctor.output);
        let words: Vec<_> = line.split("quiclab ").nth(1).unwrap().split(';').next().unwrap().split(' ').collect();
        let removed = with_cache(&words, &damaged);
        assert_eq!((removed.status, removed.errors.as_str()), (Some(0), ""), "{words:?}");
        assert!(removed.output.starts_with(&format!("removed {kind}/")), "{}", removed.output);
    }
}

#[test]
fn a_cache_in_use_is_pruned_of_what_nobody_uses() {
    let bench = Bench::new(&EXPERIMENT.replace("1 MiB", "8 MiB"));
    let cache = filled(&bench);
    let mine = bench.out("mine");
    copy(&cache, &mine, "none");
    fs::create_dir_all(mine.join("own/unused")).unwrap();
    fs::write(mine.join("own/unused/program"), "words").unwrap();
    let log = File::create(bench.out("log")).unwrap();
    let mut run = bench.run(TEST_STACKS, "pruned", &[]);
    let mut run = run.env("QUICLAB_CACHE", &mine).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
    let is_running = || fs::read_dir(mine.join(".used/state")).is_ok_and(|mut entries| entries.next().is_some());
    wait_until("the run to use its state", || is_running() || run.try_wait().unwrap().is_some());
    let pruned = with_cache(&["cache", "prune", "--keep", "0B", "--json"], &mine);
    assert_eq!(pruned.status, Some(0), "{}", pruned.errors);
    let found: serde_json::Value = serde_json::from_str(&pruned.output).unwrap();
    let names = |list: &str| -> Vec<String> {
        found[list].as_array().unwrap().iter().map(|thing| thing["name"].as_str().unwrap().to_owned()).collect()
    };
    let status = run.wait().unwrap();
    assert!(status.success(), "{}", fs::read_to_string(bench.out("log")).unwrap());
    assert_eq!(records(&bench.out("pruned")).len(), 1);
    assert!(names("removed").contains(&"own/unused".to_owned()), "{found}");
    for kind in ["image", "kernel", "stack", "state"] {
        let used = names("in_use").iter().filter(|name| name.starts_with(kind)).count();
        assert!(used >= 1, "nothing of {kind} was in use: {found}");
    }
    // Now nobody uses anything.
    let pruned = with_cache(&["cache", "prune", "--keep", "0B"], &mine);
    assert_eq!(pruned.status, Some(0), "{}", pruned.errors);
    let left = with_cache(&["cache", "--json"], &mine);
    assert!(left.output.contains("\"things\": []"), "{}", left.output);
}

/// An archive of a stranger with a changed stack under a genuine name. Returns its SHA-256, too.
fn strange_archive(folder: &Path) -> (PathBuf, String) {
    let path = folder.join("quiclab-of-a-stranger.zip");
    let mut writer = Writer::new(File::create(&path).unwrap(), "quiclab-prepared").unwrap();
    writer.add_bytes("things/stack/quinn-0123456789abcdef/endpoint", b"changed").unwrap();
    let things = serde_json::json!({ "stack/quinn-0123456789abcdef": { "endpoint": 7 } });
    let list = serde_json::json!({ "schema": 1, "quiclab": "0.1.0", "things": things });
    writer.add_bytes("prepared.json", list.to_string().as_bytes()).unwrap();
    writer.finish().unwrap();
    let sha256 = Sha256::digest(fs::read(&path).unwrap()).iter().map(|byte| format!("{byte:02x}")).collect();
    (path, sha256)
}

#[test]
fn what_an_archive_planted_never_poses_as_built_here() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let (archive, sha256) = strange_archive(folder.path());
    let archive = archive.to_str().unwrap();
    // Another archive than the one that was spoken of is not read at all.
    let refused = with_cache(&["tools", "prepare", "--from", archive, "--sha256", &"0".repeat(64)], &cache);
    assert_eq!(refused.status, Some(125), "{}", refused.errors);
    assert!(refused.errors.contains(&format!("found SHA-256 {sha256}")), "{}", refused.errors);
    assert!(!cache.join("stack").exists());
    let wrong = with_cache(&["tools", "prepare", "--from", archive, "--sha256", "abc"], &cache);
    assert_eq!(wrong.status, Some(125));
    assert!(wrong.errors.contains("expected 64 hexadecimal digits"), "{}", wrong.errors);

    let taken = with_cache(&["tools", "prepare", "--from", archive], &cache);
    assert_eq!(taken.status, Some(0), "{}", taken.errors);
    assert!(taken.errors.contains(&format!("sha256 {sha256}, compared with nothing")), "{}", taken.errors);
    let origin = format!("from an archive: quiclab-of-a-stranger.zip sha256 {sha256}");
    let doctor = with_cache(&["doctor", "--cache", "--json", "--stacks", TEST_STACKS], &cache);
    let checks: serde_json::Value = serde_json::from_str(&doctor.output).unwrap();
    let found = |name: &str| {
        let check = checks.as_array().unwrap().iter().find(|check| check["name"] == name);
        check.unwrap_or_else(|| panic!("no {name} in {checks}"))["found"].as_str().unwrap().to_owned()
    };
    assert!(found("contents of the cache").starts_with("0 things"), "{}", found("contents of the cache"));
    assert!(found("stack/quinn-0123456789abcdef").starts_with(&origin), "{checks}");
    let listed = with_cache(&["cache"], &cache);
    assert!(listed.errors.contains(&origin), "{}", listed.errors);
    let listed: serde_json::Value = serde_json::from_str(&with_cache(&["cache", "--json"], &cache).output).unwrap();
    assert_eq!(listed["things"][0]["origin"]["sha256"], sha256);
}

#[test]
fn a_run_with_things_from_an_archive_says_so_and_is_the_same_run() {
    let bench = Bench::new(EXPERIMENT);
    filled(&bench);
    let archives = bench.out("archives");
    let mut prepare = quiclab();
    prepare.args(["tools", "prepare"]).arg(bench.file()).args(["--stacks", TEST_STACKS]).arg("--to").arg(&archives);
    let packed = output_of(&mut prepare);
    assert_eq!(packed.status, Some(0), "{}", packed.errors);
    let sha256 = packed.errors.split("--sha256 ").nth(1).unwrap().split_whitespace().next().unwrap();
    let other = bench.out("other-cache");
    let taken = with_cache(&["tools", "prepare", "--from", packed.output.trim(), "--sha256", sha256], &other);
    assert_eq!(taken.status, Some(0), "{}", taken.errors);
    let result = run_with(&bench, &other, "elsewhere");
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let lines: Vec<_> = result.errors.lines().filter(|line| line.contains("was not built here")).collect();
    assert_eq!(lines.len(), 1, "{}", result.errors);
    assert!(lines[0].contains(&format!("sha256 {sha256}")), "{}", lines[0]);
    // A record's identity is that of what is in the archive, and the folder of results says where that is from.
    assert_eq!(records(&bench.out("elsewhere")), records(&bench.out("filled")));
    let index = fs::read(bench.out("elsewhere").join("experiment.json")).unwrap();
    let index: serde_json::Value = serde_json::from_slice(&index).unwrap();
    let foreign = index["from_archives"].as_object().unwrap();
    for kind in ["image/", "kernel/", "stack/", "state/"] {
        let of_kind = foreign.iter().find(|(name, _)| name.starts_with(kind));
        let (_, origin) = of_kind.unwrap_or_else(|| panic!("no {kind} in {index}"));
        assert_eq!(origin["sha256"], sha256, "{kind}");
        // The saved state was made here, of the archive's kernel.
        assert_eq!(origin["made_of"].is_string(), kind == "state/", "{origin}");
    }
}

#[test]
fn the_cache_is_listed_with_sizes() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("own/mine")).unwrap();
    fs::write(folder.path().join("own/mine/program"), vec![1; 100_000]).unwrap();
    let listed = with_cache(&["cache"], folder.path());
    assert_eq!(listed.status, Some(0), "{}", listed.errors);
    assert!(listed.output.contains("own/mine") && listed.output.contains(" kB"), "{}", listed.output);
    assert!(listed.errors.trim_end().ends_with("1 thing"), "{}", listed.errors);
    let missing = with_cache(&["cache", "remove", "own/other"], folder.path());
    assert_eq!(missing.status, Some(125));
    assert!(missing.errors.contains("found no \"own/other\" in the cache"), "{}", missing.errors);
}

#[test]
fn folders_may_have_any_name() {
    let bench = Bench::new(EXPERIMENT);
    let cache = filled(&bench);
    let odd = bench.folder.path().join(OsStr::from_bytes(b"ca,che \xff'"));
    symlink(&cache, &odd).unwrap();
    let out = bench.folder.path().join(OsStr::from_bytes(b"out,put=1 \xff"));
    let mut run = quiclab();
    run.arg("run").arg(bench.file()).args(["--stacks", TEST_STACKS]).arg("--out").arg(&out).env("QUICLAB_CACHE", &odd);
    let result = run.output().unwrap();
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    let [plain, odd] = [bench.out("filled"), out].map(|folder| {
        let [name] = &records(&folder)[..] else { panic!("expected one record in {}", folder.display()) };
        fs::read(folder.join(name).join("wire.pcapng")).unwrap()
    });
    assert_eq!(plain, odd, "the same run has other packets elsewhere");
}
