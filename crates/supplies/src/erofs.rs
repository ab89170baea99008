//! Read-only file systems of the files in a folder, as guests and endpoints mount them.

use std::{ffi::OsStr, fs, path::Path};

use anyhow::{Context, Result, ensure};

use crate::{command, hash};

/// Time of all files, so that a file system depends on its files alone: 2026-01-01.
pub(crate) const EPOCH: &str = "1767225600";

/// Makes the file system `image`, with this UUID, of everything in the folder `files`; all of it belongs to root. Returns the SHA-256 of
/// the image.
///
/// It is made twice and compared: `mkfs.erofs` can end with success though the disk failed while it wrote.
///
/// # Errors
/// A missing program, a full disk, or a disk that fails.
pub fn make(image: &Path, files: &Path, uuid: &str) -> Result<String> {
    let make = |image: &Path| {
        let words = ["--quiet", "-x-1", "--all-root", "-T", EPOCH, "-U", uuid].map(OsStr::new);
        command::run("mkfs.erofs", &[&words[..], &[image.as_os_str(), files.as_os_str()]].concat(), "erofs-utils")
    };
    make(image)?;
    let again = image.with_extension("again");
    make(&again)?;
    let hash = hash::of_file(image)?;
    ensure!(
        hash::of_file(&again)? == hash,
        "{}: mkfs.erofs made two different images of the same files\nhint: look for errors of the disk with dmesg",
        image.display()
    );
    fs::remove_file(&again).with_context(|| again.display().to_string())?;
    Ok(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_made_once_more_and_only_one_of_them_stays() {
        let folder = tempfile::tempdir().unwrap();
        let files = folder.path().join("files");
        fs::create_dir(&files).unwrap();
        fs::write(files.join("one"), "text").unwrap();
        let image = folder.path().join("image.erofs");
        let hash = make(&image, &files, "7175696c-6162-4000-8000-000000000002").unwrap();
        assert_eq!(hash, hash::of_file(&image).unwrap());
        let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["files", "image.erofs"]);
    }

    #[test]
    fn two_different_images_are_an_error_that_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let files = folder.path().join("files");
        fs::create_dir(&files).unwrap();
        // The image is one of the files: the second time there is one more.
        let image = files.join("image.erofs");
        let error = make(&image, &files, "7175696c-6162-4000-8000-000000000002").unwrap_err().to_string();
        assert!(error.contains("image.erofs: mkfs.erofs made two different images"), "{error}");
    }
}
