//! The files of cached things, for an archive that takes them to another machine.

use std::{fs::File, io::Read, path::PathBuf};

use anyhow::{Context, Result, bail};

use super::{Cache, sums};

/// What is read at once.
const CHUNK: usize = 1 << 18;

/// A file of a cached thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedFile {
    /// Its path in the thing, with `/` between parts.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// Its length in bytes.
    pub bytes: u64,
    /// Bytes up to the last one that is not zero: file systems for guests are as long as the devices that carry them.
    pub data_bytes: u64,
}

impl Cache {
    /// The files of the thing `name` in order, without the lists that the cache keeps of it. Whoever fills [`Cache::folder`] with them makes the
    /// same thing.
    ///
    /// # Errors
    /// A thing that is not there or is damaged, a link, a name that is no text.
    pub fn carried(&self, name: &str) -> Result<Vec<CarriedFile>> {
        let folder = self.path(name);
        self.verify(&folder, super::Care::Default)?;
        let mut carried = Vec::new();
        for (below, facts) in sums::files(&folder)? {
            let path = folder.join(&below);
            let place = || path.display().to_string();
            if !path.symlink_metadata().with_context(place)?.is_file() {
                bail!("{}: found a link, expected files only", place());
            }
            let name = below.to_str().with_context(|| format!("{}: found a name that is no text", place()))?.to_owned();
            let data_bytes = data_bytes(File::open(&path).with_context(place)?).with_context(place)?;
            carried.push(CarriedFile { name, bytes: facts.bytes(), data_bytes, path });
        }
        Ok(carried)
    }
}

fn data_bytes(mut file: File) -> std::io::Result<u64> {
    let (mut buffer, mut at, mut end) = (vec![0; CHUNK], 0, 0);
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(end);
        }
        if let Some(last) = buffer[..count].iter().rposition(|byte| *byte != 0) {
            end = at + last as u64 + 1;
        }
        at += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_are_listed_with_the_length_of_their_data_and_without_lists() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_path_buf());
        let made = cache.folder("stack/a", |aside| {
            fs::create_dir(aside.join("below"))?;
            fs::write(aside.join("below/file"), "text")?;
            fs::write(aside.join("disk"), "data")?;
            Ok(File::options().write(true).open(aside.join("disk"))?.set_len(1 << 20)?)
        });
        made.unwrap();
        let found: Vec<_> = cache
            .carried("stack/a")
            .unwrap()
            .into_iter()
            .map(|file| (file.name, file.bytes, file.data_bytes))
            .collect();
        assert_eq!(found, [("below/file".to_owned(), 4, 4), ("disk".to_owned(), 1 << 20, 4)]);
        assert!(cache.carried("stack/b").is_err());
    }
}
