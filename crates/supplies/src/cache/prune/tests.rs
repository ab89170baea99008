use std::{sync::Barrier, thread, time::Duration};

use super::*;

/// A cache with three things of 100 kB each, used in the order of their names.
fn three() -> (tempfile::TempDir, Cache) {
    let root = tempfile::tempdir().unwrap();
    let cache = Cache::at(root.path().to_path_buf());
    for (age, name) in [(3, "image/a"), (2, "stack/b"), (1, "state/c")] {
        cache.folder(name, |folder| Ok(fs::write(folder.join("file"), [1; 100_000])?)).unwrap();
        let used = SystemTime::now() - Duration::from_secs(3600 * age);
        for path in [cache.sibling_of(name, "lock"), cache.path(name)] {
            File::open(path).unwrap().set_modified(used).unwrap();
        }
    }
    // Another process: this one uses none of them.
    let cache = Cache::at(root.path().to_path_buf());
    (root, cache)
}

fn names(things: &[Thing]) -> Vec<&str> {
    things.iter().map(|thing| thing.name.as_str()).collect()
}

#[test]
fn what_was_not_used_for_longest_goes_first() {
    let (_root, cache) = three();
    let things = cache.things().unwrap();
    assert_eq!(names(&things), ["image/a", "stack/b", "state/c"]);
    assert!(things.iter().all(|thing| thing.bytes >= 100_000 && thing.bytes < 150_000));
    let kept = things[2].bytes;
    let planned = cache.prune(kept, true).unwrap();
    assert_eq!(cache.things().unwrap(), things, "a dry run removes nothing");
    let pruned = cache.prune(kept, false).unwrap();
    assert_eq!(pruned, planned);
    assert_eq!(names(&pruned.removed), ["image/a", "stack/b"]);
    assert_eq!((pruned.bytes_left, pruned.in_use.len()), (kept, 0));
    assert_eq!(names(&cache.things().unwrap()), ["state/c"]);
    assert!(cache.path("state/c/file").is_file());
}

#[test]
fn using_a_thing_makes_it_young() {
    let (root, cache) = three();
    Cache::at(root.path().to_path_buf()).folder("image/a", |_| unreachable!("it is there")).unwrap();
    assert_eq!(names(&cache.things().unwrap()), ["stack/b", "state/c", "image/a"]);
}

#[test]
fn what_a_process_uses_stays_until_it_ends() {
    let (root, cache) = three();
    let user = Cache::at(root.path().to_path_buf());
    let used = user.folder("image/a", |_| unreachable!("it is there")).unwrap();
    let pruned = cache.prune(0, false).unwrap();
    assert_eq!((names(&pruned.removed), names(&pruned.in_use)), (vec!["stack/b", "state/c"], vec!["image/a"]));
    assert!(used.join("file").is_file());
    let error = cache.remove(&["image/a".to_owned()]).unwrap_err().to_string();
    assert!(error.contains("image/a: a process uses it"), "{error}");
    drop(user);
    assert_eq!(names(&cache.remove(&["image/a".to_owned()]).unwrap()), ["image/a"]);
    assert_eq!(cache.things().unwrap(), []);
}

#[test]
fn imported_stacks_are_never_pruned_but_can_be_removed_by_name() {
    let (root, cache) = three();
    let importer = Cache::at(root.path().to_path_buf());
    importer.replace("imported/x", |_| false, |folder| Ok(fs::write(folder.join("stack.toml"), "x")?)).unwrap();
    drop(importer);
    assert_eq!(names(&cache.prune(0, false).unwrap().removed), ["image/a", "stack/b", "state/c"]);
    assert_eq!(names(&cache.things().unwrap()), ["imported/x"]);
    assert!(cache.remove(&["imported/x".to_owned(), "image/a".to_owned()]).is_err());
    assert_eq!(cache.remove(&["imported/x".to_owned()]).unwrap().len(), 1);
}

#[test]
fn object_files_stay_while_a_build_uses_them() {
    let (_root, cache) = three();
    fs::create_dir_all(cache.path("build/mine")).unwrap();
    let lock = File::create(cache.path("build/mine.lock")).unwrap();
    fs::write(cache.path("build/mine.log"), "words").unwrap();
    lock.lock().unwrap();
    assert_eq!(names(&cache.prune(0, false).unwrap().in_use), ["build/mine"]);
    drop(lock);
    assert_eq!(names(&cache.prune(0, false).unwrap().removed), ["build/mine"]);
    assert!(!cache.path("build/mine.log").exists() && cache.path("build/mine.lock").exists());
}

#[test]
fn two_prunes_at_once_remove_everything_once() {
    for _ in 0..20 {
        let (root, _) = three();
        let start = Barrier::new(2);
        let removed = thread::scope(|scope| {
            let prunes = [0, 1].map(|_| {
                scope.spawn(|| {
                    let cache = Cache::at(root.path().to_path_buf());
                    start.wait();
                    cache.prune(0, false).unwrap()
                })
            });
            prunes.map(|prune| prune.join().unwrap())
        });
        let cache = Cache::at(root.path().to_path_buf());
        assert_eq!(cache.things().unwrap(), []);
        assert!(removed.iter().all(|pruned| pruned.removed.len() + pruned.in_use.len() <= 3));
        let left: Vec<_> = fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".new-")), "{left:?}");
    }
}

#[test]
fn a_thing_is_whole_for_everybody_who_asks_while_others_prune() {
    let (root, _) = three();
    let start = Barrier::new(3);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                start.wait();
                for _ in 0..100 {
                    Cache::at(root.path().to_path_buf()).prune(0, false).unwrap();
                }
            });
        }
        start.wait();
        for _ in 0..100 {
            let cache = Cache::at(root.path().to_path_buf());
            let make = |folder: &Path| Ok(fs::write(folder.join("file"), "made")?);
            let folder = cache.folder("image/a", make).unwrap();
            thread::sleep(Duration::from_micros(300));
            assert!(fs::read(folder.join("file")).is_ok(), "removed while it was used");
            cache.verify(&folder, crate::cache::Care::Thorough).unwrap();
        }
    });
}
