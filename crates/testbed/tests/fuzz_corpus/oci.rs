//! Archives of container images: bytes as they are, and images whose members come from the input, with digests that are right, so that their
//! layers are unpacked. Whatever they say, nothing may be written outside of the tree, and no link may lead out of it unseen.

use std::{fs, os::unix::fs::MetadataExt, path::Path, sync::atomic::AtomicBool};

use arbitrary::{Arbitrary, Unstructured};
use quiclab_testbed::oci::unpack;
use tar::EntryType;

#[path = "../../src/oci/test_images.rs"]
#[allow(dead_code)]
mod test_images;
use test_images::{Tar, docker_save, gzip, oci_layout, zstd};

#[derive(Arbitrary, Debug)]
struct Image {
    layout: u8,
    is_compressed: bool,
    layers: Vec<Vec<Member>>,
    /// A byte of the archive that is changed: where, and to what.
    damage: Option<(u16, u8)>,
}

#[derive(Arbitrary, Debug)]
struct Member {
    kind: u8,
    path: Name,
    link: Name,
    mode: u16,
    contents: Vec<u8>,
}

/// Paths of few parts, so that members meet each other.
#[derive(Arbitrary, Debug)]
enum Name {
    Parts(Vec<u8>),
    Text(String),
}

impl Name {
    fn text(&self) -> String {
        const PARTS: [&str; 16] = [
            "a",
            "b",
            "..",
            ".",
            "",
            "/",
            "etc",
            "passwd",
            ".wh.a",
            ".wh..wh..opq",
            ".wh.",
            "tmp",
            "proc",
            "hosts",
            "outside",
            "\u{e9}",
        ];
        let text = match self {
            Self::Parts(parts) => {
                parts.iter().take(8).map(|part| PARTS[usize::from(*part) % PARTS.len()]).collect::<Vec<_>>().join("/")
            }
            Self::Text(text) => text.clone(),
        };
        // As long as the field of the header.
        text.chars().take(24).collect()
    }
}

fn layer(members: &[Member]) -> Vec<u8> {
    const KINDS: [EntryType; 10] = [
        EntryType::Regular,
        EntryType::Directory,
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Regular,
        EntryType::Char,
        EntryType::Fifo,
        EntryType::GNULongName,
        EntryType::XHeader,
        EntryType::GNUSparse,
    ];
    let tar = members.iter().take(32).fold(Tar::default(), |tar, member| {
        let kind = KINDS[usize::from(member.kind) % KINDS.len()];
        let contents = &member.contents[..member.contents.len().min(2_000)];
        tar.add(kind, &member.path.text(), &member.link.text(), u32::from(member.mode), contents)
    });
    tar.bytes()
}

fn archive(input: &[u8]) -> Option<Vec<u8>> {
    let (first, rest) = input.split_first()?;
    if first & 3 == 0 {
        return Some(rest.to_vec());
    }
    let image = Image::arbitrary_take_rest(Unstructured::new(rest)).ok()?;
    let layers: Vec<_> = image.layers.iter().take(4).map(|members| layer(members)).collect();
    let mut archive = match image.layout % 4 {
        0 => docker_save(&layers),
        1 => oci_layout(&layers, |bytes| bytes.to_vec()),
        2 => oci_layout(&layers, gzip),
        _ => oci_layout(&layers, zstd),
    };
    if let Some((place, byte)) = image.damage {
        let place = usize::from(place) % archive.len().max(1);
        archive[place] = byte;
    }
    Some(if image.is_compressed { gzip(&archive) } else { archive })
}

/// An archive as the input says.
pub fn oci(input: &[u8]) {
    let Some(archive) = archive(input) else { return };
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder");
    let outside = folder.path().join("outside");
    fs::write(&outside, "outside").expect("a file");
    let [file, work] = ["archive", "inside"].map(|name| folder.path().join(name));
    fs::write(&file, archive).expect("a file");
    fs::create_dir(&work).expect("a folder");
    let result = unpack(&file, &work, &AtomicBool::new(false));
    assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 3, "something was written outside");
    assert_eq!(fs::read(&outside).expect("it is there"), b"outside");
    match result {
        Err(error) => assert!(format!("{error:#}").contains(": "), "{error:#}"),
        Ok(_) => check(&work.join("tree")),
    }
}

/// Files, folders and links: no devices, and nothing of another user.
fn check(folder: &Path) {
    for entry in fs::read_dir(folder).expect("it was just written") {
        let path = entry.expect("it was just written").path();
        let facts = fs::symlink_metadata(&path).expect("it was just written");
        let kind = facts.file_type();
        assert!(kind.is_dir() || kind.is_file() || kind.is_symlink(), "{}", path.display());
        if kind.is_file() {
            assert!(facts.len() < 1 << 24 && facts.uid() == user(), "{}", path.display());
        }
        if kind.is_dir() {
            check(&path);
        }
    }
}

/// Whoever runs the fuzzer.
fn user() -> u32 {
    fs::metadata("/proc/self").expect("proc is mounted").uid()
}
