use std::{fs::File, os::unix::fs::FileExt, time::Duration};

use super::*;

/// A cache with one thing of two files, and the thing's folder. The files have settled.
fn cached() -> (tempfile::TempDir, Cache, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let cache = Cache::at(root.path().to_path_buf());
    let folder = cache
        .folder("image/one", |folder| {
            fs::create_dir(folder.join("below"))?;
            fs::write(folder.join("below/file"), "some text")?;
            Ok(fs::write(folder.join("root.erofs"), "some bytes")?)
        })
        .unwrap();
    (root, cache, folder)
}

fn stamp_of(cache: &Cache) -> Option<Stamp> {
    read_stamp(&cache.sibling_of("image/one", "json"))
}

/// Writes the stamp as if the files had been read `seconds` later than they were.
fn shift(cache: &Cache, seconds: i64) {
    let stamp = stamp_of(cache).unwrap();
    write_stamp(&cache.sibling_of("image/one", "json"), &Stamp { at_seconds: stamp.at_seconds + seconds, ..stamp })
        .unwrap();
}

fn change_in_place(path: &Path) {
    let before = fs::metadata(path).unwrap().modified().unwrap();
    let file = File::options().write(true).open(path).unwrap();
    file.write_all_at(b"S", 0).unwrap();
    // As a careful program would hide it.
    file.set_modified(before).unwrap();
}

#[test]
fn a_byte_changed_in_place_is_found_with_its_file_and_what_to_do() {
    for name in ["root.erofs", "below/file"] {
        let (_root, cache, folder) = cached();
        cache.verify(&folder, Care::Default).unwrap();
        change_in_place(&folder.join(name));
        let error = cache.verify(&folder, Care::Default).unwrap_err();
        let damage = error.downcast_ref::<Damage>().unwrap();
        assert!(damage.problem.starts_with(&format!("{name}: found SHA-256 ")), "{damage}");
        assert_eq!(damage.hint, "quiclab cache remove image/one; it will be made again");
        assert!(cache.verify(&folder, Care::Default).is_err(), "it stays damaged");
    }
}

#[test]
fn a_file_that_comes_or_goes_is_damage() {
    let (_root, cache, folder) = cached();
    fs::write(folder.join("below/more"), "").unwrap();
    let error = cache.verify(&folder, Care::Default).unwrap_err().to_string();
    assert!(error.contains("below/more: found a file that was not there"), "{error}");
    fs::remove_file(folder.join("below/more")).unwrap();
    cache.verify(&folder, Care::Default).unwrap();
    fs::remove_file(folder.join("below/file")).unwrap();
    let error = cache.verify(&folder, Care::Default).unwrap_err().to_string();
    assert!(error.contains("below/file: missing"), "{error}");
}

#[test]
fn files_are_read_again_only_where_they_may_have_changed() {
    let (_root, cache, folder) = cached();
    cache.verify(&folder, Care::Default).unwrap();
    let files = || {
        let files = sums::files(&folder).unwrap().into_iter();
        files.map(|(path, facts)| (sums::escaped(&path), facts)).collect::<BTreeMap<_, _>>()
    };
    let holds = || stamp_of(&cache).unwrap().holds_for(&files(), seconds_now());
    assert!(!holds(), "they changed in the second in which they were read");
    // Read three seconds later, which is in a moment from now.
    shift(&cache, SETTLED_SECONDS + 1);
    let later = seconds_now() + SETTLED_SECONDS + 1;
    let stamp = stamp_of(&cache).unwrap();
    assert!(stamp.holds_for(&files(), later));
    assert!(stamp.holds_for(&files(), later + BELIEVED_SECONDS - 10));
    assert!(!stamp.holds_for(&files(), later + BELIEVED_SECONDS), "a day later");
    assert!(!stamp.holds_for(&files(), stamp.at_seconds - 1), "the clock was set back");
    assert!(!Stamp { boot: "another".into(), ..stamp_of(&cache).unwrap() }.holds_for(&files(), later));
    std::thread::sleep(Duration::from_millis(10));
    change_in_place(&folder.join("root.erofs"));
    assert!(!stamp.holds_for(&files(), later), "a change in place shows in the time of the last change");
}

#[test]
fn a_stamp_is_believed_unless_care_is_thorough() {
    let (_root, cache, folder) = cached();
    cache.verify(&folder, Care::Default).unwrap();
    // What a failing disk does: other bytes, and no fact has changed.
    change_in_place(&folder.join("root.erofs"));
    let files = sums::files(&folder).unwrap().into_iter();
    let files = files.map(|(path, facts)| (sums::escaped(&path), (facts, "unread".to_owned()))).collect();
    let at_seconds = seconds_now();
    write_stamp(&cache.sibling_of("image/one", "json"), &Stamp { boot: boot(), at_seconds, files }).unwrap();
    std::thread::sleep(Duration::from_secs(SETTLED_SECONDS as u64 + 1));
    let stamp = Stamp { at_seconds: seconds_now(), ..stamp_of(&cache).unwrap() };
    write_stamp(&cache.sibling_of("image/one", "json"), &stamp).unwrap();
    cache.verify(&folder, Care::Default).unwrap();
    assert!(cache.verify(&folder, Care::Thorough).is_err());
}

#[test]
fn a_thing_of_an_earlier_version_is_compared_with_what_was_first_read_of_it() {
    let (_root, cache, folder) = cached();
    fs::remove_file(folder.join(sums::SUMS)).unwrap();
    fs::write(folder.join(super::super::CONTENTS), super::super::contents(&folder).unwrap()).unwrap();
    cache.verify(&folder, Care::Default).unwrap();
    cache.verify(&folder, Care::Thorough).unwrap();
    change_in_place(&folder.join("root.erofs"));
    let error = cache.verify(&folder, Care::Default).unwrap_err().to_string();
    assert!(error.contains("root.erofs: found SHA-256"), "{error}");
}

#[test]
fn what_is_verified_aside_is_known_at_the_end() {
    let (_root, cache, folder) = cached();
    cache.verify_aside(vec![folder.clone()]).finish().unwrap();
    change_in_place(&folder.join("root.erofs"));
    let verifying = cache.verify_aside(vec![folder.clone(), folder.clone()]);
    quiclab_testing::wait_until("the damage to be found", || verifying.so_far().is_err());
    assert!(verifying.so_far().unwrap_err().is::<Damage>());
    assert!(verifying.finish().unwrap_err().is::<Damage>());
    let missing = cache.verify_aside(vec![cache.path("image/none")]).finish().unwrap_err().to_string();
    assert!(missing.contains("image/none") && missing.contains("No such file"), "{missing}");
}
