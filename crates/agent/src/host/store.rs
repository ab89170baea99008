//! Files of stacks, which quiclab has sent: folders whose names have the hash of what is in them.

use std::{
    fs,
    io::{self, Read},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
};

use anyhow::{Context, Result, anyhow, ensure};

use super::options::Options;

/// Above the stored folders.
const FOLDERS: &str = "roots";

/// Where files are stored.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
    forgets: bool,
}

impl Store {
    /// The store of this agent. Removes what an earlier one did not finish.
    ///
    /// # Errors
    /// Where the folder cannot be made.
    pub fn new(options: &Options) -> Result<Self> {
        let folder = options.folder.join(FOLDERS);
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        // Endpoints are others than this user, and read files below it.
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?;
        let unfinished = fs::read_dir(&folder)?.flatten().filter(|entry| is_unfinished(&entry.file_name()));
        unfinished.for_each(|entry| drop(fs::remove_dir_all(entry.path())));
        Ok(Self { folder, forgets: options.forgets })
    }

    /// Returns which of `names` are not there.
    pub fn missing(&self, names: Vec<String>) -> Vec<String> {
        names.into_iter().filter(|name| !self.folder.join(name).is_dir()).collect()
    }

    /// Stores the folder `name` from an archive.
    ///
    /// # Errors
    /// Where the disk is full, or the archive is none.
    pub fn take(&self, name: &str, archive: &mut dyn Read) -> Result<()> {
        ensure!(
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'),
            "found the folder name {name:?}, expected letters, digits and hyphens"
        );
        let aside = self.folder.join(format!("{name}{UNFINISHED}"));
        let unpacked = unpack(archive, &aside).and_then(|()| fs::rename(&aside, self.folder.join(name)));
        unpacked.map_err(|error| {
            let _ = fs::remove_dir_all(&aside);
            // That of the file system; the library adds a sentence for each folder above.
            let error = anyhow::Error::from(error);
            anyhow!("storing {name} in {}: {}", self.folder.display(), error.root_cause())
        })
    }

    /// Removes everything, where this was asked for.
    pub fn close(&self) {
        if self.forgets
            && let Some(above) = self.folder.parent()
        {
            let _ = fs::remove_dir_all(above);
        }
    }
}

const UNFINISHED: &str = ".part";

fn is_unfinished(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| name.ends_with(UNFINISHED))
}

fn unpack(archive: &mut dyn Read, folder: &std::path::Path) -> io::Result<()> {
    fs::create_dir(folder)?;
    let mut archive = tar::Archive::new(archive);
    archive.set_preserve_permissions(true);
    archive.set_preserve_mtime(false);
    archive.set_overwrite(false);
    archive.unpack(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive() -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(5);
        header.set_mode(0o755);
        header.set_cksum();
        builder.append_data(&mut header, "bin/tool", &b"hello"[..]).unwrap();
        builder.into_inner().unwrap()
    }

    #[test]
    fn a_folder_is_stored_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { folder: folder.path().into(), forgets: true };
        let store = Store::new(&options).unwrap();
        let bytes = archive();
        store.take("cut", &mut &bytes[..514]).unwrap_err();
        store.take("../up", &mut &bytes[..]).unwrap_err();
        store.take("root-1", &mut &bytes[..]).unwrap();
        assert_eq!(store.missing(vec!["cut".into(), "root-1".into()]), ["cut"]);
        let tool = folder.path().join("roots/root-1/bin/tool");
        assert_eq!(fs::metadata(tool).unwrap().permissions().mode() & 0o777, 0o755);
        fs::create_dir(folder.path().join("roots/root-2.part")).unwrap();
        Store::new(&options).unwrap();
        assert_eq!(fs::read_dir(folder.path().join("roots")).unwrap().count(), 1);
        store.close();
        assert!(!folder.path().exists());
    }
}
