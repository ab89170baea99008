//! Good images give the tree that they describe, bad ones an error, and none anything outside of the tree.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    sync::atomic::AtomicBool,
};

use anyhow::Result;
use tar::EntryType;

use super::{
    test_images::{Tar, configuration, docker_save, gzip, oci_layout, sha256, zstd},
    unpack,
};

/// Unpacks an archive, and says what is in its tree besides the folders that every tree has: files by their contents,
/// links by an arrow and their target, folders by a slash.
fn tree_of(archive: &[u8]) -> Result<BTreeMap<String, String>> {
    let folder = tempfile::tempdir()?;
    let [file, work] = ["archive", "inside"].map(|name| folder.path().join(name));
    fs::write(&file, archive)?;
    fs::create_dir(&work)?;
    let result = unpack(&file, &work, &AtomicBool::new(false));
    let outside: Vec<_> = fs::read_dir(folder.path())?.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(outside.len(), 2, "something was written outside: {outside:?}");
    let mut found = BTreeMap::new();
    let tree = result?.tree;
    list(&tree, &tree, &mut found);
    Ok(found)
}

fn list(tree: &Path, folder: &Path, found: &mut BTreeMap<String, String>) {
    const ALWAYS: &[&str] =
        &["proc", "sys", "dev", "tmp", "run", "www", "downloads", "certs", "logs", "stack", "etc", "work"];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(tree).unwrap().display().to_string();
        let facts = fs::symlink_metadata(&path).unwrap();
        if facts.is_symlink() {
            found.insert(name, format!("-> {}", fs::read_link(&path).unwrap().display()));
        } else if facts.is_dir() {
            if !ALWAYS.contains(&name.as_str()) {
                found.insert(name, "/".to_owned());
            }
            list(tree, &path, found);
        } else {
            found.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}

fn of_layers(layers: Vec<Tar>) -> Result<BTreeMap<String, String>> {
    tree_of(&docker_save(&layers.into_iter().map(Tar::bytes).collect::<Vec<_>>()))
}

fn tree(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    entries.iter().map(|(name, what)| ((*name).to_owned(), (*what).to_owned())).collect()
}

fn two_layers() -> Vec<Vec<u8>> {
    let below = Tar::default().folder("bin/").file("bin/a", "one").symlink("lib", "bin").file("./run.sh", "old");
    let above = Tar::default().file("run.sh", "new").file("lib/b", "two");
    vec![below.bytes(), above.bytes()]
}

#[test]
fn every_layout_and_compression_gives_the_same_tree() {
    let layers = two_layers();
    let expected = tree(&[("bin", "/"), ("bin/a", "one"), ("bin/b", "two"), ("lib", "-> bin"), ("run.sh", "new")]);
    let plain = |bytes: &[u8]| bytes.to_vec();
    for layout in
        [docker_save(&layers), oci_layout(&layers, plain), oci_layout(&layers, gzip), oci_layout(&layers, zstd)]
    {
        for archive in [layout.clone(), gzip(&layout), zstd(&layout)] {
            assert_eq!(tree_of(&archive).unwrap(), expected);
        }
    }
}

#[test]
fn what_an_image_starts_is_read_from_its_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("archive");
    fs::write(&file, oci_layout(&two_layers(), gzip)).unwrap();
    let image = unpack(&file, folder.path(), &AtomicBool::new(false)).unwrap().image;
    assert_eq!(image.command, ["/run.sh", "--now"]);
    assert_eq!(image.environment, tree(&[("PATH", "/bin"), ("EMPTY", "")]));
    assert_eq!((image.folder.as_str(), image.user.as_str()), ("/work", ""));
    assert_eq!(image.tag.as_deref(), Some("endpoint"));
    assert_eq!(image.id, sha256(&configuration(&two_layers())));
}

#[test]
fn whiteouts_hide_what_is_below_and_nothing_of_their_own_layer() {
    let below = || Tar::default().file("d/a", "1").file("d/b", "2").file("d/e/f", "3").file("x", "4").file("keep", "5");
    let one = Tar::default().file("d/.wh.a", "").file(".wh.x", "").file(".wh.never", "").file(".wh..wh.plnk", "");
    assert_eq!(
        of_layers(vec![below(), one]).unwrap(),
        tree(&[("d", "/"), ("d/b", "2"), ("d/e", "/"), ("d/e/f", "3"), ("keep", "5")])
    );
    // The specification lets the marker stand before or after what the layer itself brings.
    for layer in [
        Tar::default().file("d/.wh..wh..opq", "").file("d/new", "6").file("d/e/g", "7"),
        Tar::default().file("d/new", "6").file("d/e/g", "7").file("d/.wh..wh..opq", ""),
    ] {
        assert_eq!(
            of_layers(vec![below(), layer]).unwrap(),
            tree(&[("d", "/"), ("d/e", "/"), ("d/e/g", "7"), ("d/new", "6"), ("keep", "5"), ("x", "4")])
        );
    }
}

#[test]
fn later_layers_win_whatever_was_there() {
    let below = Tar::default().file("f", "1").folder("d/").file("d/inside", "2").symlink("l", "/f").file("g", "3");
    let above = Tar::default().folder("f/").file("f/now", "4").file("d", "5").file("l", "6").file("g/now", "7");
    let expected = tree(&[("d", "5"), ("f", "/"), ("f/now", "4"), ("g", "/"), ("g/now", "7"), ("l", "6")]);
    assert_eq!(of_layers(vec![below, above]).unwrap(), expected);
}

#[test]
fn a_working_folder_may_be_a_link() {
    // The configuration says /work.
    let layer = Tar::default().file("opt/app/run", "1").symlink("work", "/opt/app");
    let expected = tree(&[("opt", "/"), ("opt/app", "/"), ("opt/app/run", "1"), ("work", "-> /opt/app")]);
    let found = of_layers(vec![layer]).unwrap();
    assert_eq!(found, expected);
}

#[test]
fn paths_cannot_make_folders_without_end() {
    let deep = "/a".repeat(45);
    let layer = (0..2_300).fold(Tar::default(), |tar, number| tar.file(&format!("{number}{deep}"), ""));
    let error = of_layers(vec![layer]).unwrap_err();
    assert!(format!("{error:#}").contains("more than 100000 folders"), "{error:#}");
}

#[test]
fn a_hard_link_is_another_name_until_a_layer_replaces_one_of_them() {
    let below = Tar::default().file("a", "1").hard_link("b", "./a").hard_link("c", "a");
    assert_eq!(
        of_layers(vec![below, Tar::default().file("a", "2")]).unwrap(),
        tree(&[("a", "2"), ("b", "1"), ("c", "1")])
    );
}

#[test]
fn permissions_are_kept_and_devices_are_left_out() {
    let layer = Tar::default()
        .add(EntryType::Directory, "closed/", "", 0o555, b"")
        .add(EntryType::Regular, "closed/su", "", 0o4755, b"x")
        .add(EntryType::Regular, "secret", "", 0o000, b"x")
        .add(EntryType::Char, "null", "", 0o666, b"")
        .add(EntryType::Fifo, "pipe", "", 0o666, b"");
    let above = Tar::default().file("closed/more", "y");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("archive");
    fs::write(&file, docker_save(&[layer.bytes(), above.bytes()])).unwrap();
    let tree = unpack(&file, folder.path(), &AtomicBool::new(false)).unwrap().tree;
    let mode = |path: &str| fs::symlink_metadata(tree.join(path)).unwrap().permissions().mode() & 0o7777;
    // What the owner could not read, who is root in the guest, it can.
    assert_eq!([mode("closed"), mode("closed/su"), mode("closed/more"), mode("secret")], [0o755, 0o4755, 0o644, 0o400]);
    assert!(!tree.join("null").exists() && !tree.join("pipe").exists());
    assert_eq!(fs::metadata(tree.join("closed/su")).unwrap().nlink(), 1);
}

#[test]
fn nothing_leaves_the_tree() {
    let bad = |layer: Tar| format!("{:#}", of_layers(vec![Tar::default().file("ok", ""), layer]).unwrap_err());
    for (layer, expected) in [
        (Tar::default().file("../evil", "x"), "\"..\""),
        (Tar::default().file("a/../../evil", "x"), "\"..\""),
        (Tar::default().file("/evil", "x"), "absolute"),
        (Tar::default().symlink("l", "../..").file("l/evil", "x"), "leaves the image"),
        (Tar::default().symlink("l", "/").symlink("m", "l/../..").file("m/evil", "x"), "leaves the image"),
        (Tar::default().symlink("l", "/nowhere").file("l/evil", "x"), "leads nowhere"),
        (Tar::default().symlink("l", "l").file("l/evil", "x"), "more than 40 links"),
        (Tar::default().hard_link("h", "../../etc/passwd"), "\"..\""),
        (Tar::default().hard_link("h", "/etc/passwd"), "absolute"),
        (Tar::default().symlink("l", "../../..").hard_link("h", "l/etc/passwd"), "leaves the image"),
        (Tar::default().hard_link("h", "nothing"), "does not exist"),
        (Tar::default().file(".wh...", ""), "whiteout"),
        (Tar::default().file("ok/.wh..", ""), "whiteout"),
        (Tar::default().file("../.wh.evil", ""), "\"..\""),
        (Tar::default().symlink("l", "../../..").file("l/.wh..wh..opq", "").file("l/.wh.x", ""), "leaves the image"),
    ] {
        let error = bad(layer);
        assert!(error.contains(expected) && error.contains("layer 2 of 2"), "{error}");
    }
}

#[test]
fn the_last_name_of_a_path_is_never_followed() {
    let layer = Tar::default().symlink("l", "/etc/passwd").file("l", "mine").symlink("etc/hosts", "../../hosts");
    assert_eq!(of_layers(vec![layer]).unwrap(), tree(&[("l", "mine")]));
    let layer = Tar::default().symlink("tmp", "/").symlink("proc", "../..");
    assert_eq!(of_layers(vec![layer]).unwrap(), tree(&[]));
}

#[test]
fn what_is_too_large_is_refused_before_it_is_written() {
    let mut layer = Tar::default().file("big", "").bytes();
    let mut header = tar::Header::from_byte_slice(&layer[..512]).clone();
    header.set_size((4 << 30) + 1);
    header.set_cksum();
    layer[..512].copy_from_slice(header.as_bytes());
    let error = format!("{:#}", tree_of(&docker_save(&[layer])).unwrap_err());
    assert!(error.contains("4 GiB") && error.contains("hint: "), "{error}");
    let long = Tar::default().add(EntryType::GNULongName, "././@LongLink", "", 0, &[b'a'; 70_000]).file("x", "");
    let error = format!("{:#}", of_layers(vec![long]).unwrap_err());
    assert!(error.contains("a name of 70000 bytes"), "{error}");
}

#[test]
fn archives_that_hold_no_image_say_what_is_missing() {
    let error = |archive: &[u8]| format!("{:#}", tree_of(archive).unwrap_err());
    assert!(error(b"not at all").contains("expected a tar archive"));
    assert!(error(&Tar::default().file("etc/passwd", "").bytes()).contains("docker export"));
    let other = String::from_utf8(configuration(&[])).unwrap().replace("amd64", "arm64");
    let manifest = "[{\"Config\":\"c.json\",\"Layers\":[]}]";
    assert!(
        error(&Tar::default().file("c.json", &other).file("manifest.json", manifest).bytes()).contains("linux/arm64")
    );
    let twice = "[{\"Config\":\"c\",\"Layers\":[]},{\"Config\":\"c\",\"Layers\":[]}]";
    assert!(error(&Tar::default().file("manifest.json", twice).bytes()).contains("found 2 images"));
    assert!(error(&Tar::default().file("manifest.json", manifest).bytes()).contains("c.json: missing in the archive"));
}

#[test]
fn an_archive_that_is_cut_off_anywhere_is_an_error() {
    for whole in [docker_save(&two_layers()), oci_layout(&two_layers(), gzip), gzip(&oci_layout(&two_layers(), zstd))] {
        // The two blocks of zeros at the end say nothing.
        let said = if whole.starts_with(&[0x1f, 0x8b]) { whole.len() - 9 } else { whole.len() - 1536 };
        for length in (0..said).step_by(97) {
            assert!(tree_of(&whole[..length]).is_err(), "{length} of {} bytes", whole.len());
        }
    }
}

#[test]
fn archives_with_wrong_bytes_never_panic_and_never_leave_the_tree() {
    let whole = [docker_save(&two_layers()), oci_layout(&two_layers(), gzip), oci_layout(&two_layers(), zstd)];
    // Numerical Recipes' generator: any will do, as long as a failure can be repeated.
    let mut state = 1_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for round in 0..900 {
        let mut archive = whole[round % 3].clone();
        for _ in 0..=next(4) {
            let place = next(archive.len());
            archive[place] = [0, b'/', b'.', b'0', 0xff, next(256) as u8][next(6)];
        }
        // Headers with a right checksum get further.
        for block in archive.chunks_exact_mut(512).filter(|block| block[257..262] == *b"ustar") {
            let mut header = tar::Header::from_byte_slice(block).clone();
            header.set_cksum();
            block.copy_from_slice(header.as_bytes());
        }
        let _ = tree_of(&archive);
    }
}
