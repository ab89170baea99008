//! The words behind `quiclab-agent host`.

use std::path::PathBuf;

use anyhow::{Result, bail};

/// What they say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// Where files are stored.
    pub folder: PathBuf,
    /// Whether they are removed at the end.
    pub forgets: bool,
}

impl Options {
    /// Reads them. `--for WHO` says whom the agent works for; it is there to be seen by others, in the list of processes.
    ///
    /// # Errors
    /// Words that are not expected.
    pub fn read(words: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let mut rest = words.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            match (word, word == "--forget") {
                (_, true) => options.forgets = true,
                ("--folder", _) => options.folder = rest.next().unwrap_or_default().into(),
                (super::lock::FOR, _) => drop(rest.next()),
                _ => bail!("found {word:?}, expected --folder DIR, {} WHO or --forget", super::lock::FOR),
            }
        }
        if !options.folder.is_absolute() {
            bail!("--folder: found {:?}, expected an absolute path", options.folder);
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Options> {
        Options::read(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn words_are_read_and_others_are_named() {
        let options = read(&["--folder", "/var/tmp/a", "--for", "me on here", "--forget"]).unwrap();
        assert_eq!(options, Options { folder: "/var/tmp/a".into(), forgets: true });
        assert!(read(&["--folder", "/a", "--now"]).unwrap_err().to_string().contains("\"--now\""));
        assert!(read(&["--folder", "a"]).is_err());
    }
}
