//! The target that reads bundles.

use std::{
    collections::BTreeMap,
    fs,
    io::{Cursor, Write},
    path::Path,
};

use quiclab_record::bundle::{Bundle, Limits, SUMS};
use sha2::{Digest, Sha256};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// Opens, checks and unpacks any bytes as a bundle, or, where the first of them is 0, files of the input with right hashes: nothing is written
/// outside of the folder, no more than the limit, and a file has the bytes of its hash.
pub fn bundle(input: &[u8]) {
    let made = input.strip_prefix(&[0]).map(made);
    let bytes = made.as_deref().unwrap_or(input);
    let limits = Limits { files: 100, bytes: 1 << 20, text_bytes: 1 << 16, ..Limits::default() };
    let Ok(mut bundle) = Bundle::open(Cursor::new(bytes), limits) else { return };
    let wrong = bundle.check(10, |_| {});
    let outside = tempfile::tempdir().expect("a folder");
    let inside = outside.path().join("inside");
    fs::create_dir(&inside).expect("a folder");
    let extracted = bundle.extract("", &inside);
    assert!(wrong.is_empty() || extracted.is_err());
    assert_eq!(fs::read_dir(outside.path()).expect("a folder").count(), 1);
    assert!(bytes_below(&inside) <= limits.bytes);
    if extracted.is_ok() {
        let said: Vec<_> =
            bundle.files().map(|(name, length, sha256)| (name.to_owned(), length, sha256.to_owned())).collect();
        for (name, length, sha256) in said {
            let found = fs::read(inside.join(&name)).expect("a file of this name");
            assert_eq!((found.len() as u64, hash(&found)), (length, sha256), "{name:?}");
            assert!(bundle.read(&name).is_ok_and(|read| read == found) || length > limits.text_bytes);
        }
    }
}

/// A zip archive of files: a byte with the length of the name and one with that of the content, then both. The upper bits say the method, and
/// the last byte is that of a mode.
fn made(mut input: &[u8]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let mut sums = BTreeMap::new();
    while let [name, content, mode, rest @ ..] = input {
        let (method, length) = (name >> 7, usize::from(name & 0x7f).min(rest.len()));
        let (name, rest) = rest.split_at(length);
        let (content, rest) = rest.split_at(usize::from(*content).min(rest.len()));
        input = rest;
        let name = format!("a/{}", String::from_utf8_lossy(name));
        let method = if method == 0 { CompressionMethod::Stored } else { CompressionMethod::Deflated };
        let options = SimpleFileOptions::default().compression_method(method).unix_permissions(u32::from(*mode));
        if zip.start_file(&name[..], options).is_ok() {
            zip.write_all(content).expect("memory is written");
            sums.insert(name[2..].to_owned(), hash(content));
        }
    }
    zip.start_file(format!("a/{SUMS}"), SimpleFileOptions::default()).ok();
    let list: String = sums.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect();
    let _ = zip.write_all(list.as_bytes());
    zip.finish().expect("memory is written").into_inner()
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_below(folder: &Path) -> u64 {
    let of = |entry: fs::DirEntry| {
        let facts = entry.metadata().expect("its facts");
        assert!(facts.is_dir() || facts.is_file());
        if facts.is_dir() { bytes_below(&entry.path()) } else { facts.len() }
    };
    fs::read_dir(folder).expect("a folder").map(|entry| of(entry.expect("an entry"))).sum()
}
