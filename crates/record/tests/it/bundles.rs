//! What goes in comes out, with the same bytes each time; what a stranger changed is refused.

use std::{
    fs,
    io::{Cursor, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
};

use proptest::prelude::*;
use quiclab_record::bundle::{Bundle, BundleError, Limits, Mode, SUMS, Writer};
use sha2::{Digest, Sha256};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

fn bundle(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = Writer::new(Cursor::new(Vec::new()), "first").unwrap();
    for (name, bytes) in files {
        writer.add_bytes(name, bytes).unwrap();
    }
    let (cursor, count) = writer.finish().unwrap();
    assert_eq!(count, files.len());
    cursor.into_inner()
}

fn open(bytes: &[u8]) -> Result<Bundle<Cursor<&[u8]>>, BundleError> {
    Bundle::open(Cursor::new(bytes), Limits::default())
}

fn refusal(bytes: &[u8]) -> String {
    match open(bytes) {
        Ok(_) => panic!("it was not refused"),
        Err(error) => error.to_string(),
    }
}

/// A zip archive as a stranger may make it, with a list of hashes that is right.
fn foreign(files: &[(&str, &[u8], SimpleFileOptions)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let mut sums = String::new();
    for (name, bytes, options) in files {
        zip.start_file(*name, *options).unwrap();
        zip.write_all(bytes).unwrap();
        let sum: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        sums.push_str(&format!("{sum}  {}\n", name.strip_prefix("first/").unwrap_or(name)));
    }
    zip.start_file(format!("first/{SUMS}"), SimpleFileOptions::default()).unwrap();
    zip.write_all(sums.as_bytes()).unwrap();
    zip.finish().unwrap().into_inner()
}

fn plain() -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(CompressionMethod::Deflated)
}

#[test]
fn what_was_written_is_read_and_the_bytes_are_the_same_each_time() {
    let zeros = vec![0; 1 << 20];
    let files: &[(&str, &[u8])] = &[("a.txt", b"abc"), ("records/x/run.toml", b""), ("zeros", &zeros)];
    let bytes = bundle(files);
    assert_eq!(bytes, bundle(files));
    let mut read = open(&bytes).unwrap();
    assert_eq!(read.folder(), "first");
    let names: Vec<_> = read.files().map(|(name, length, _)| (name.to_owned(), length)).collect();
    assert_eq!(names, [("a.txt".into(), 3), ("records/x/run.toml".into(), 0), ("zeros".into(), 1 << 20)]);
    // FIPS 180-2, appendix B.1.
    let sum = read.files().next().unwrap().2.to_owned();
    assert_eq!(sum, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert!(read.check(10, |_| {}).is_empty());
    assert_eq!(read.read("a.txt").unwrap(), b"abc");
    assert!(read.read("b.txt").is_err());
}

#[test]
fn files_are_unpacked_with_holes_and_modes_and_never_over_others() {
    let mut writer = Writer::new(Cursor::new(Vec::new()), "first").unwrap();
    let mut sparse = vec![0; 1 << 22];
    sparse[1 << 20] = 1;
    writer.add("made/disk", Mode::Plain, sparse.len() as u64, &sparse[..]).unwrap();
    writer.add("made/run.sh", Mode::Program, 2, &b"#!"[..]).unwrap();
    writer.add_bytes("other", b"x").unwrap();
    let bytes = writer.finish().unwrap().0.into_inner();
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(open(&bytes).unwrap().extract("made/", folder.path()).unwrap(), 2);
    assert_eq!(fs::read(folder.path().join("disk")).unwrap(), sparse);
    assert!(fs::metadata(folder.path().join("disk")).unwrap().blocks() * 512 < 1 << 20);
    assert_eq!(fs::metadata(folder.path().join("run.sh")).unwrap().permissions().mode() & 0o111, 0o111);
    assert!(!folder.path().join("other").exists());
    let error = open(&bytes).unwrap().extract("made/", folder.path()).unwrap_err().to_string();
    assert!(error.contains("disk") && error.contains("exists"), "{error}");
}

#[test]
fn sha256sum_and_unzip_agree() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.zip");
    fs::write(&path, bundle(&[("a.txt", b"abc"), ("b c/d", b"two")])).unwrap();
    let script = "set -e; cd \"$0\"; python3 -c 'import zipfile; zipfile.ZipFile(\"out.zip\").extractall()'; cd first; \
                  sha256sum --check --strict SHA256SUMS";
    let output = std::process::Command::new("sh").args(["-c", script]).arg(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a.txt: OK\nb c/d: OK\n");
}

#[test]
fn a_changed_byte_is_found_with_file_and_both_hashes() {
    let mut bytes = foreign(&[
        ("first/a", b"unchanged", plain().compression_method(CompressionMethod::Stored)),
        ("first/b", b"to be changed", plain().compression_method(CompressionMethod::Stored)),
    ]);
    let at = bytes.windows(13).position(|window| window == b"to be changed").unwrap();
    bytes[at] ^= 1;
    let wrong = open(&bytes).unwrap().check(10, |_| {});
    assert_eq!(wrong.len(), 1);
    assert!(wrong[0].to_string().starts_with("first/b: found "), "{}", wrong[0]);
}

#[test]
fn a_wrong_hash_with_a_right_checksum_is_found() {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in [("first/a", "x".to_owned()), ("first/SHA256SUMS", format!("{}  a\n", "0".repeat(64)))] {
        zip.start_file(name, plain()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    let bytes = zip.finish().unwrap().into_inner();
    let wrong = open(&bytes).unwrap().check(10, |_| {});
    let expected = format!("expected {}", "0".repeat(64));
    assert!(wrong[0].to_string().starts_with("first/a: found SHA-256 2d711642"), "{}", wrong[0]);
    assert!(wrong[0].to_string().ends_with(&expected), "{}", wrong[0]);
}

#[test]
fn every_cut_archive_is_refused() {
    let bytes = bundle(&[("a.txt", b"abc"), ("b", b"def")]);
    for length in 0..bytes.len() {
        assert!(open(&bytes[..length]).is_err(), "cut to {length} bytes");
    }
    assert!(refusal(&bytes[..40]).contains("found no whole zip archive"));
}

#[test]
fn names_that_lead_out_of_the_folder_are_refused() {
    for name in ["first/../../etc/passwd", "/etc/passwd", "first/a\\..\\b", "first//a", "first/./a"] {
        let error = refusal(&foreign(&[(name, b"x", plain())]));
        assert!(error.contains("expected"), "{name}: {error}");
    }
    let error = refusal(&foreign(&[("second/a", b"x", plain())]));
    assert!(error.contains("second/a: found a file outside of it, expected all files in the folder first"), "{error}");
}

#[test]
fn links_and_folders_are_refused() {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.add_symlink("first/a", "/etc/passwd", plain()).unwrap();
    let error = refusal(&zip.finish().unwrap().into_inner());
    assert!(error.contains("first/a: found a link or a device"), "{error}");
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.add_directory("first/a", plain()).unwrap();
    assert!(refusal(&zip.finish().unwrap().into_inner()).contains("found a folder"));
}

#[test]
fn files_that_the_list_does_not_have_and_missing_ones_are_refused() {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in [("first/a", ""), ("first/SHA256SUMS", "")] {
        zip.start_file(name, plain()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    assert!(refusal(&zip.finish().unwrap().into_inner()).contains("first/a: found no line in SHA256SUMS"));
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("first/SHA256SUMS", plain()).unwrap();
    zip.write_all(format!("{}  gone\n", "0".repeat(64)).as_bytes()).unwrap();
    assert!(refusal(&zip.finish().unwrap().into_inner()).contains("line 1: found gone, which is missing"));
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("first/a", plain()).unwrap();
    assert!(refusal(&zip.finish().unwrap().into_inner()).contains("first/SHA256SUMS: found no such file"));
}

#[test]
fn more_than_the_limits_is_refused_before_anything_is_decompressed() {
    let bytes = bundle(&[("a", &[0; 1000]), ("b", b"x")]);
    let with = |limits| match Bundle::open(Cursor::new(&bytes[..]), limits) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    let list = 2 * (64 + 2 + 2);
    assert_eq!(with(Limits { files: 3, bytes: 1001 + list, ..Limits::default() }), "");
    assert!(with(Limits { files: 2, ..Limits::default() }).contains("found 3 files, expected at most 2"));
    assert!(with(Limits { bytes: 1000 + list, ..Limits::default() }).contains("expected at most 1136"));
    // A thousand bytes of one, as zip bombs have it.
    let tight = Limits { expansion: 1, harmless_bytes: 0, ..Limits::default() };
    let most = bytes.len();
    assert!(with(tight).contains(&format!("found {} bytes of files, expected at most {most}", 1001 + list)));
    assert_eq!(with(Limits { harmless_bytes: 1001 + list, ..tight }), "");
    assert!(with(Limits { text_bytes: 9, ..Limits::default() }).contains("SHA256SUMS: found 136 bytes"));
}

#[test]
fn files_that_share_bytes_are_refused() {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("first/a", plain()).unwrap();
    zip.write_all(&[0; 100_000]).unwrap();
    zip.shallow_copy_file("first/a", "first/b").unwrap();
    assert!(refusal(&zip.finish().unwrap().into_inner()).contains("found files that share bytes"));
}

#[test]
fn a_length_in_the_directory_that_is_too_small_does_not_decompress_the_rest() {
    let mut bytes = bundle(&[("a", &[7; 100_000])]);
    // The central directory's entry: the signature of APPNOTE.TXT 4.3.12, and the uncompressed size 24 bytes behind it.
    let at = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap() + 24;
    bytes[at..at + 4].copy_from_slice(&10_u32.to_le_bytes());
    match open(&bytes) {
        Err(_) => {}
        Ok(mut read) => assert_eq!(read.check(10, |_| {}).len(), 1),
    }
}

#[test]
fn a_file_that_changed_while_it_was_read_is_an_error() {
    let mut writer = Writer::new(Cursor::new(Vec::new()), "first").unwrap();
    let error = writer.add("a", Mode::Plain, 4, &b"abc"[..]).unwrap_err().to_string();
    assert_eq!(error, "first/a: found 3 bytes, expected 4, as it had before");
    assert!(Writer::new(Cursor::new(Vec::new()), "a/b").is_err());
    let mut writer = Writer::new(Cursor::new(Vec::new()), "first").unwrap();
    writer.add_bytes("a", b"").unwrap();
    assert!(writer.add_bytes("a", b"").is_err() && writer.add_bytes(SUMS, b"").is_err());
}

proptest! {
    #[test]
    fn any_change_of_one_byte_is_refused_found_or_harmless(at in 0_usize..600, flip in 1_u8..=255) {
        let files: &[(&str, &[u8])] = &[("a.txt", b"abcabcabc"), ("b", b"def")];
        let mut bytes = bundle(files);
        let at = at % bytes.len();
        bytes[at] ^= flip;
        if let Ok(mut read) = open(&bytes) && read.check(10, |_| {}).is_empty() {
            let found: Vec<_> = read.files().map(|(name, _, _)| name.to_owned()).collect();
            prop_assert_eq!(found, ["a.txt", "b"]);
            prop_assert_eq!(read.read("a.txt").unwrap(), b"abcabcabc");
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = open(&bytes);
    }
}
