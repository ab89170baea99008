//! What a run left, and what of it is handed over. Endpoints choose names, numbers and lengths of their files, so each of them has a bound.

use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use nix::sys::statvfs::statvfs;
use quiclab_agent_protocol::{
    activity::ACTIVITY,
    orders::Orders,
    places::{DOWNLOADS, OUTPUTS},
    profile::PROFILE,
    slot::MOST_LOGS,
};

use crate::{
    endpoint::files_below,
    log_names::{LogNames, escaped},
    root::shared,
    run::Finished,
};

/// Most bytes that are kept of what an endpoint prints.
const LONGEST_OUTPUT: u64 = 1 << 20;
/// Most bytes of all names of one role's log files together: they are in the manifest, once or twice.
const LONGEST_NAMES: usize = 100 << 10;
/// Files whose paths are longer than this are not kept. The record's own folder comes before them, and paths have an end.
const LONGEST_NAME: usize = 1024;
/// Most files that are even looked at.
const MOST_FILES: usize = 100_000;
/// Written by the contract or by the agent, and kept before other files.
const FIRST: [&str; 3] = ["keys.log", "planned.csv", PROFILE];

/// A file to hand over.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// Name of the blob.
    pub name: String,
    /// Where it is now.
    pub path: PathBuf,
    /// Its length in bytes, as far as it is kept.
    pub length: u64,
}

impl Source {
    /// Reads it, exactly as long as [`Source::length`] says: nothing writes to it any more.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn open(&self) -> Result<io::Take<File>> {
        let file = File::open(&self.path).with_context(|| format!("handing over {}", self.name))?;
        Ok(file.take(self.length))
    }
}

impl Finished {
    /// The captures, and what the hosts did: name of the blob, and its bytes.
    pub(crate) fn captures(&self) -> impl Iterator<Item = (String, &[u8])> {
        let activity = self.activity.iter().map(|bytes| (ACTIVITY.to_owned(), &bytes[..]));
        let captures = self.taps.iter().zip(&self.report.taps).map(|(tap, report)| {
            let length = report.bytes_used().unwrap_or(0);
            (format!("tap/{}", report.name), &tap.pages()[..length as usize])
        });
        captures.chain(activity)
    }

    /// Closes the taps side by side and does not wait.
    pub(crate) fn close_taps(&mut self) {
        for tap in self.taps.drain(..) {
            std::thread::spawn(move || drop(tap));
        }
    }

    /// The files that are kept: downloads first, then the endpoints' logs. The report tells what is not among them.
    pub(crate) fn sources(&mut self, orders: &Orders) -> Vec<Source> {
        let longest = orders.transfer.size_bytes;
        let mut sources = Vec::new();
        for name in &orders.transfer.names {
            let path = shared(DOWNLOADS).join(name);
            sources.extend(self.source("client", format!("download/{name}"), path, longest));
        }
        for (role, folder) in self.logs.clone() {
            let mut lost = Vec::new();
            let files = logs(&folder, orders.log_limit_bytes, &mut lost);
            self.report.lost_logs.extend(lost.into_iter().map(|what| format!("{role}: {what}")));
            let mut left = orders.log_limit_bytes;
            for (file, name) in files {
                let is_output = OUTPUTS.iter().any(|output| file == Path::new(output));
                // A file can be longer than the folder has room, where it has holes.
                let most = if is_output { left.min(LONGEST_OUTPUT) } else { left };
                let source = self.source(role, format!("{role}/{name}"), folder.join(&file), most);
                left -= source.as_ref().map_or(0, |source| source.length);
                sources.extend(source);
            }
        }
        sources
    }

    /// Cuts a log to `room` bytes, and notes what is missing.
    pub(crate) fn cut_to(&mut self, source: &mut Source, room: u64) {
        let is_log = source.name.starts_with("server/") || source.name.starts_with("client/");
        if is_log && source.length > room {
            *self.report.cut.entry(source.name.clone()).or_default() += source.length - room;
            source.length = room;
        }
    }

    /// A file of which at most `most` bytes are kept; `None` where there is none. The report tells what was cut or cannot be read.
    fn source(&mut self, role: &str, name: String, path: PathBuf, most: u64) -> Option<Source> {
        // A link could lead to what should have been fetched, a pipe would never end.
        let facts = fs::symlink_metadata(&path).ok().filter(|facts| facts.is_file())?;
        if let Err(error) = File::open(&path) {
            self.report.lost_logs.push(format!("{role}: {name} cannot be read: {error}"));
            return None;
        }
        if facts.len() > most {
            self.report.cut.insert(name.clone(), facts.len() - most);
        }
        Some(Source { name, path, length: facts.len().min(most) })
    }
}

/// Paths of an endpoint's log files below its folder, and their names in the results; notes what is not among them.
fn logs(folder: &Path, limit_bytes: u64, lost: &mut Vec<String>) -> Vec<(PathBuf, String)> {
    if statvfs(folder).is_ok_and(|facts| facts.blocks_available() == 0) {
        lost.push(format!("the log folder is full at {limit_bytes} bytes; later output is missing"));
    }
    let mut files = Vec::new();
    let unreadable = files_below(folder, MOST_FILES, |file| files.push(file));
    if let Some(error) = unreadable {
        lost.push(format!("some folders of logs cannot be read: {error}"));
    }
    let (kept, left_out) = chosen(files);
    if left_out > 0 {
        lost.push(format!("{left_out} of {} log files were not kept", kept.len() + left_out));
    }
    let mut names = LogNames::default();
    let named: Vec<_> = kept.into_iter().map(|file| (names.name(&file), file)).collect();
    let mut renamed = named.iter().filter(|(name, file)| file.as_os_str() != name.as_str());
    if let Some((example, _)) = renamed.next() {
        lost.push(format!(
            "the names of {} log files were changed, because they are not text or too long; the first one is now {example:?}",
            renamed.count() + 1
        ));
    }
    named.into_iter().map(|(name, file)| (file, name)).collect()
}

/// Chooses which log files of an endpoint are kept, what the contract names first, and counts those that are not.
fn chosen(mut files: Vec<PathBuf>) -> (Vec<PathBuf>, usize) {
    files.sort();
    files.sort_by_key(|file| !OUTPUTS.iter().chain(&FIRST).any(|first| file == Path::new(first)));
    let all = files.len();
    let (mut kept, mut bytes) = (Vec::new(), 0);
    for file in files {
        let length = escaped(file.as_os_str().as_bytes()).len();
        if kept.len() < MOST_LOGS && length <= LONGEST_NAME && bytes + length <= LONGEST_NAMES {
            bytes += length;
            kept.push(file);
        }
    }
    let left_out = all - kept.len();
    (kept, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_contract_names_is_kept_before_other_files() {
        let mut files: Vec<PathBuf> = (0..1_200).map(|number| format!("a{number}").into()).collect();
        files.extend(["keys.log".into(), "stderr".into()]);
        let (kept, left_out) = chosen(files);
        assert_eq!((kept.len(), left_out), (MOST_LOGS, 202));
        assert!(kept[..2].contains(&"keys.log".into()) && kept[..2].contains(&"stderr".into()));
    }

    #[test]
    fn names_that_are_too_long_alone_or_together_are_not_kept_and_others_are() {
        let long = |number: usize| PathBuf::from(format!("{number:0>LONGEST_NAME$}"));
        let mut files: Vec<_> = (0..200).map(long).collect();
        files.push("0".repeat(LONGEST_NAME + 1).into());
        files.push("z".into());
        let (kept, left_out) = chosen(files);
        assert_eq!((kept.len(), left_out), (LONGEST_NAMES / LONGEST_NAME, 202 - LONGEST_NAMES / LONGEST_NAME));
        assert!(kept.iter().all(|file| file.as_os_str().len() <= LONGEST_NAME));
    }
}
