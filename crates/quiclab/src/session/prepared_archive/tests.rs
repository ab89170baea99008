use quiclab_testbed::cache::Care;

use super::*;

const ZEROS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

fn cache(folder: &Path) -> Cache {
    let cache = Cache::at(folder.to_path_buf());
    for (name, text) in [("kernel/6.1-a", "kernel"), ("stack/x-b", "stack"), ("state/c", "state")] {
        let make = |aside: &Path| {
            fs::write(aside.join("file"), text)?;
            Ok(File::options().write(true).open(aside.join("file"))?.set_len(1 << 20)?)
        };
        cache.folder(name, make).unwrap();
    }
    cache
}

/// An archive of a stranger, who may write anything into it: files below `things/`, and what the list says of them.
fn strange(folder: &Path, files: &[(&str, &[u8])], list: &serde_json::Value) -> PathBuf {
    let path = folder.join("strange.zip");
    let mut writer = Writer::new(File::create(&path).unwrap(), "quiclab-prepared").unwrap();
    for (name, bytes) in files {
        writer.add_bytes(&format!("things/{name}"), bytes).unwrap();
    }
    writer.add_bytes(LIST, list.to_string().as_bytes()).unwrap();
    writer.finish().unwrap();
    path
}

fn list(things: &serde_json::Value) -> serde_json::Value {
    serde_json::json!({ "schema": SCHEMA, "quiclab": "1", "things": things })
}

/// Why the archive is refused; the cache stays empty.
fn refusal(archive: &Path, sha256: Option<&str>) -> String {
    let there = tempfile::tempdir().unwrap();
    let cache = Cache::at(there.path().to_path_buf());
    let error = format!("{:#}", take(&cache, archive, sha256).unwrap_err());
    assert_eq!(cache.things().unwrap(), [], "{error}");
    error
}

fn counts(taken: &[Taken]) -> (usize, usize) {
    let [one] = taken else { panic!("found {} archives, expected one", taken.len()) };
    (one.taken, one.all)
}

#[test]
fn what_one_machine_has_made_another_one_takes_and_has_the_same() {
    let [one, other, out] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let (archive, sha256) = pack(&cache(one.path()), out.path()).unwrap();
    assert_eq!(pack(&cache(one.path()), out.path()).unwrap().0, archive, "the bytes are the same");
    assert!(fs::metadata(&archive).unwrap().len() < 4000);
    let there = Cache::at(other.path().to_path_buf());
    assert_eq!(counts(&take(&there, out.path(), None).unwrap()), (2, 2));
    assert_eq!(counts(&take(&there, &archive, Some(&sha256.to_uppercase())).unwrap()), (0, 2));
    for name in ["kernel/6.1-a/file", "stack/x-b/file", "stack/x-b/sums", "stack/x-b/contents"] {
        let [left, right] = [one.path(), other.path()].map(|folder| fs::read(folder.join(name)).unwrap());
        assert!(left == right, "{name}");
    }
    assert!(!other.path().join("state").exists());
}

#[test]
fn a_changed_stack_under_a_genuine_name_says_which_archive_it_is_from() {
    let [one, other, third, out, again] = [(); 5].map(|()| tempfile::tempdir().unwrap());
    let files: &[(&str, &[u8])] = &[("stack/x-b/file", b"evil")];
    let archive = strange(out.path(), files, &list(&serde_json::json!({ "stack/x-b": { "file": 1 << 20 } })));
    let sha256 = hash::of_file(&archive).unwrap();
    let there = Cache::at(other.path().to_path_buf());
    take(&there, &archive, Some(&sha256)).unwrap();
    // Nothing is wrong with its hashes, which is all that they can say.
    there.verify(&there.path("stack/x-b"), Care::Thorough).unwrap();
    let origin = there.origin("stack/x-b").unwrap();
    let from = Archive { archive: "strange.zip".to_owned(), sha256 };
    assert_eq!(origin.from, from);
    assert!(origin.to_string().starts_with(&format!("from an archive: {from}, taken 20")), "{origin}");
    // Who has it from there has it from the stranger.
    let (packed, _) = pack(&there, again.path()).unwrap();
    let last = Cache::at(third.path().to_path_buf());
    take(&last, &packed, None).unwrap();
    assert_eq!(last.origin("stack/x-b").unwrap().earlier, [from]);
    // What was made here stays, and stays one's own.
    let own = cache(one.path());
    assert_eq!(counts(&take(&own, &archive, None).unwrap()), (0, 1));
    assert_eq!(own.origin("stack/x-b"), None);
}

#[test]
fn an_archive_with_another_hash_than_the_one_that_was_told_is_refused() {
    let [one, out] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (archive, sha256) = pack(&cache(one.path()), out.path()).unwrap();
    let error = refusal(&archive, Some(ZEROS));
    assert!(error.contains(&format!("found SHA-256 {sha256}, expected {ZEROS} as --sha256 says")), "{error}");
    let error = refusal(out.path(), Some(&sha256));
    assert!(error.contains("--sha256 is the hash of one archive"), "{error}");
    // Nothing of it is read: these bytes are no archive at all.
    let nonsense = out.path().join("nonsense.zip");
    fs::write(&nonsense, "nonsense").unwrap();
    assert!(refusal(&nonsense, Some(ZEROS)).contains("as --sha256 says"));
}

#[test]
fn an_archive_that_is_small_and_unpacks_to_much_is_refused() {
    let out = tempfile::tempdir().unwrap();
    let bytes = vec![b'x'; (LIMITS.harmless_bytes + 1) as usize];
    let files: &[(&str, &[u8])] = &[("stack/x-b/file", &bytes)];
    let archive = strange(out.path(), files, &list(&serde_json::json!({ "stack/x-b": { "file": bytes.len() } })));
    assert!(fs::metadata(&archive).unwrap().len() < LIMITS.harmless_bytes / LIMITS.expansion / 2);
    let error = refusal(&archive, None);
    assert!(error.contains(&format!("bytes of files, expected at most {}", LIMITS.harmless_bytes)), "{error}");
}

#[test]
fn files_that_are_not_listed_or_that_the_cache_writes_itself_are_refused() {
    let out = tempfile::tempdir().unwrap();
    let refused =
        |files: &[(&str, &[u8])], things: &serde_json::Value| refusal(&strange(out.path(), files, &list(things)), None);
    let file: (&str, &[u8]) = ("stack/x-b/file", b"x");
    for (unlisted, bytes) in [("stack/x-b/other", b"x"), ("stack/y-c/file", b"x"), ("stack", b"x")] {
        let error = refused(&[file, (unlisted, bytes)], &serde_json::json!({ "stack/x-b": { "file": 1 } }));
        assert!(error.contains(&format!("things/{unlisted}: found a file that {LIST} does not list")), "{error}");
    }
    for own in ["sums", "contents", "origin.json", "tree/bin/sh"] {
        let name = format!("stack/x-b/{own}");
        let error = refused(&[file, (&name, b"x")], &serde_json::json!({ "stack/x-b": { "file": 1, own: 1 } }));
        assert!(error.contains("found a name that the cache writes itself"), "{own}: {error}");
    }
    let many: BTreeMap<_, _> = (0..65).map(|number| (format!("file-{number}"), MOST_BYTES)).collect();
    assert!(refused(&[file], &serde_json::json!({ "stack/x-b": many })).contains("bytes of files, expected at most"));
}

#[test]
fn a_file_system_that_is_not_what_the_thing_says_of_it_is_refused() {
    let out = tempfile::tempdir().unwrap();
    // The superblock of erofs: its magic number at 1024, blocks of 4 KiB, two of them.
    let mut image = vec![7; 8192];
    image[1024..1028].copy_from_slice(&0xe0f5_e1e2_u32.to_le_bytes());
    image[1024 + 12] = 12;
    image[1024 + 36..1024 + 40].copy_from_slice(&2_u32.to_le_bytes());
    // Zeros at the end are not in the archive, and count for the hash.
    image[8000..].fill(0);
    let genuine = hash::of_reader(&mut &image[..]).unwrap();
    let things = serde_json::json!({ "stack/x-b": { "stack.erofs": 8192, "sha256": 64 } });
    let with = |image: &[u8]| {
        let files: &[(&str, &[u8])] = &[("stack/x-b/stack.erofs", image), ("stack/x-b/sha256", genuine.as_bytes())];
        strange(out.path(), files, &list(&things))
    };
    let there = tempfile::tempdir().unwrap();
    take(&Cache::at(there.path().to_path_buf()), &with(&image[..8000]), None).unwrap();
    image[7999] = 8;
    let error = refusal(&with(&image[..8000]), None);
    assert!(error.contains("stack/x-b: stack.erofs: found SHA-256 "), "{error}");
}

#[test]
fn forged_origins_are_refused() {
    let out = tempfile::tempdir().unwrap();
    let things = serde_json::json!({ "stack/x-b": { "file": 1 } });
    for earlier in [
        serde_json::json!({ "stack/x-b": [{ "archive": "a", "sha256": "short" }] }),
        serde_json::json!({ "stack/x-b": [{ "archive": "a".repeat(256), "sha256": ZEROS }] }),
        serde_json::json!({ "stack/x-b": vec![serde_json::json!({ "archive": "a", "sha256": ZEROS }); MOST_EARLIER + 1] }),
        serde_json::json!({ "stack/other": [] }),
    ] {
        let mut list = list(&things);
        list["earlier"] = earlier;
        let error = refusal(&strange(out.path(), &[("stack/x-b/file", b"x")], &list), None);
        assert!(error.contains("found no list of archives"), "{error}");
    }
}

#[test]
fn what_an_installed_quiclab_brings_is_unpacked_once_and_keeps_its_origin() {
    let [one, other, out] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let (archive, sha256) = pack(&cache(one.path()), out.path()).unwrap();
    let there = Cache::at(other.path().to_path_buf());
    take_missing(&there, &[out.path().join("another file"), archive.clone()]).unwrap();
    assert_eq!(fs::metadata(other.path().join("kernel/6.1-a/file")).unwrap().len(), 1 << 20);
    assert_eq!(there.origin("kernel/6.1-a").unwrap().from.sha256, sha256);
    // Its bytes are not looked at again: they could be anything behind the list.
    let changed = out.path().join(format!("{START}0123456789abcdef{END}"));
    fs::rename(&archive, &changed).unwrap();
    take_missing(&there, std::slice::from_ref(&changed)).unwrap();
    fs::remove_dir_all(other.path().join("stack/x-b")).unwrap();
    assert!(take_missing(&there, &[changed]).is_err());
}

#[test]
fn an_archive_that_is_not_what_its_name_says_is_refused() {
    let [one, out] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (archive, _) = pack(&cache(one.path()), out.path()).unwrap();
    let wrong = out.path().join(format!("{START}0123456789abcdef{END}"));
    fs::rename(&archive, &wrong).unwrap();
    let error = refusal(&wrong, None);
    assert!(error.contains("expected 0123456789abcdef"), "{error}");
    assert!(refusal(one.path(), None).contains("expected at least one"));
}

#[test]
fn names_of_things_that_lead_elsewhere_are_refused() {
    for name in ["../x", "stack/../x", "state/x", "stack/x/y", "stack/.x", "stack"] {
        assert!(check(name, &BTreeMap::new()).is_err(), "{name}");
    }
    check("stack/x", &BTreeMap::from([("a/b".to_owned(), MOST_BYTES)])).unwrap();
    assert!(check("stack/x", &BTreeMap::from([("a".to_owned(), MOST_BYTES + 1)])).is_err());
    assert!(check("stack/x", &BTreeMap::from([("../a".to_owned(), 1)])).is_err());
}
