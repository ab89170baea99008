//! Who was asked already: a file that outlives a process that is killed.
//!
//! Lines of text. The first binds the file to a list. `asking LINE ADDRESS` is in the file before the first packet leaves, and
//! `written LINE ADDRESS` after its row is. `exclude ENTRY REASON` is an exclusion that holds for all of the scan. A line that was cut off
//! by a kill is removed: whatever it says had not happened yet.
//!
//! An entry is with the kernel when a function returns. It outlives the process, but not a loss of power.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{File, TryLockError},
    io::{self, BufRead, BufReader, Read, Write},
    net::IpAddr,
    path::{Path, PathBuf},
};

use quiclab_inputs::open_regular_with;
use quiclab_units::{ShowPath, shown};

use crate::targets::{
    exclusions::{Entry, Exclusions, Source},
    line::quoted,
    list::ListHash,
    seen::Seen,
};

/// Name of the file in a scan's folder.
pub const FILE: &str = "journal";
const HEAD: &str = "quiclab-scan-journal 1 list ";
/// Longest line, in bytes, with its end.
const LONGEST_LINE: u64 = 1024;
/// Longest reason of an exclusion, in characters.
const LONGEST_REASON: usize = 200;

/// The journal of one scan, which no other process has.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes of the file; all are whole lines.
    length: u64,
    /// Whether there is a part of a line behind.
    is_torn: bool,
    asked: Seen,
    lines: Lines,
    interrupted: BTreeSet<(u64, IpAddr)>,
    exclusions: BTreeMap<Entry, String>,
}

/// Why there is no journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another process has it.
    #[error("{} is in use by another scan\nhint: one folder for each scan", .0.shown())]
    InUse(PathBuf),
    /// It is of another list.
    #[error(
        "{} belongs to another list: found {found}, expected {expected}\n\
         hint: resume with the list as it was, or start in another folder",
        .path.shown()
    )]
    OtherList {
        /// The file.
        path: PathBuf,
        /// SHA-256 of its list.
        found: String,
        /// SHA-256 of the list of this scan.
        expected: ListHash,
    },
    /// A line that is no entry.
    #[error("{} line {line}: found {found}, expected {expected}", .path.shown())]
    Line {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// What it has.
        found: String,
        /// What it should have.
        expected: &'static str,
    },
    /// The file cannot be read or written. Nobody may be asked then.
    #[error("{} cannot be used", .path.shown())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Journal {
    /// Opens the journal of a folder, or begins one.
    ///
    /// # Errors
    /// When another process has it, it is of another list or damaged other than at its end, or the file system fails.
    pub fn open(folder: &Path, list: ListHash) -> Result<Self, JournalError> {
        let path = folder.join(FILE);
        let failed = |source| JournalError::File { path: path.clone(), source };
        let file = open_regular_with(&path, File::options().read(true).append(true).create(true)).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::InUse(path)),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let (asked, lines, interrupted, exclusions) = Default::default();
        let mut journal = Self { path, file, length: 0, is_torn: false, asked, lines, interrupted, exclusions };
        journal.read(list)?;
        Ok(journal)
    }

    /// Whether this address was asked for this line of the list.
    pub fn was_asked(&self, line: u64, address: IpAddr) -> bool {
        self.asked.contains(&(line, address))
    }

    /// Whether anything was done for this line of the list: an address asked, or a row written without.
    pub fn was_begun(&self, line: u64) -> bool {
        self.lines.contains(line)
    }

    /// What was asked and has no row: at an open, what a kill interrupted.
    pub fn interrupted(&self) -> impl Iterator<Item = (u64, IpAddr)> {
        self.interrupted.iter().copied()
    }

    /// Notes who is about to be asked. Packets may leave after it returns.
    ///
    /// # Errors
    /// When the file cannot be written, as on a full disk. Nothing is noted then, and nobody may be asked.
    pub fn asking(&mut self, asked: &[(u64, IpAddr)]) -> Result<(), JournalError> {
        let entries: String = asked.iter().map(|(line, address)| format!("asking {line} {address}\n")).collect();
        self.append(&entries)?;
        asked.iter().for_each(|(line, address)| self.note_asked(*line, *address));
        Ok(())
    }

    /// Notes that the row of an address is written.
    ///
    /// # Errors
    /// As those of [`asking`](Self::asking).
    pub fn written(&mut self, rows: &[(u64, IpAddr)]) -> Result<(), JournalError> {
        let entries: String = rows.iter().map(|(line, address)| format!("written {line} {address}\n")).collect();
        self.append(&entries)?;
        for row in rows {
            self.interrupted.remove(row);
        }
        Ok(())
    }

    /// Notes that the row of a line is written for which nobody is asked, as of a name without an address.
    ///
    /// # Errors
    /// As those of [`asking`](Self::asking).
    pub fn written_unasked(&mut self, line: u64) -> Result<(), JournalError> {
        self.append(&format!("written {line} -\n"))?;
        self.lines.insert(line);
        Ok(())
    }

    /// Unites the exclusions of this start with those of all earlier ones: none is forgotten while the scan lasts.
    ///
    /// # Errors
    /// As those of [`asking`](Self::asking).
    pub fn unite(&mut self, exclusions: &mut Exclusions) -> Result<(), JournalError> {
        let new: Vec<(Entry, String)> = exclusions
            .entries()
            .filter(|(entry, _)| !self.exclusions.contains_key(entry))
            .map(|(entry, source)| (entry, source.to_string()))
            .collect();
        for (entry, reason) in new {
            self.exclude(entry, &reason)?;
        }
        for (entry, reason) in &self.exclusions {
            exclusions.add(entry.clone(), Source::Scan(reason.clone()));
        }
        Ok(())
    }

    /// Notes an exclusion that came up during the scan, in its journal only.
    ///
    /// # Errors
    /// As those of [`asking`](Self::asking).
    pub fn exclude(&mut self, entry: Entry, reason: &str) -> Result<(), JournalError> {
        let reason: String = shown(reason).chars().take(LONGEST_REASON).collect();
        self.append(&format!("exclude {entry} {reason}\n"))?;
        self.exclusions.entry(entry).or_insert(reason);
        Ok(())
    }

    fn note_asked(&mut self, line: u64, address: IpAddr) {
        self.asked.insert(&(line, address));
        self.lines.insert(line);
        self.interrupted.insert((line, address));
    }

    fn failed(&self, source: io::Error) -> JournalError {
        JournalError::File { path: self.path.clone(), source }
    }

    /// Writes whole lines, or nothing.
    fn append(&mut self, entries: &str) -> Result<(), JournalError> {
        let written = self.remove_torn_line().and_then(|()| self.file.write_all(entries.as_bytes()));
        if let Err(error) = written {
            // A part of a line would spoil the next one. If it cannot be removed now, the next entry does, or the next start.
            self.is_torn = self.file.set_len(self.length).is_err();
            return Err(self.failed(error));
        }
        self.length += entries.len() as u64;
        Ok(())
    }

    fn remove_torn_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_torn) { self.file.set_len(self.length) } else { Ok(()) }
    }

    fn read(&mut self, list: ListHash) -> Result<(), JournalError> {
        let mut input = BufReader::new(self.file.try_clone().map_err(|error| self.failed(error))?);
        let (mut line, mut number) = (Vec::new(), 0_u64);
        loop {
            line.clear();
            let read = (&mut input).take(LONGEST_LINE).read_until(b'\n', &mut line);
            read.map_err(|error| self.failed(error))?;
            let Some(content) = line.strip_suffix(b"\n") else { break };
            number += 1;
            let text = str::from_utf8(content).map_err(|_| ("bytes that are no text".to_owned(), "UTF-8"));
            if number == 1 {
                let text = text.map_err(|(found, expected)| self.bad(number, found, expected))?;
                self.check_head(text, list)?;
            } else {
                let entry = text.and_then(|text| {
                    self.take(text)
                        .ok_or_else(|| (quoted(text), "\"asking\", \"written\" or \"exclude\" and its values"))
                });
                entry.map_err(|(found, expected)| self.bad(number, found, expected))?;
            }
            self.length += line.len() as u64;
        }
        if line.len() as u64 == LONGEST_LINE {
            return Err(self.bad(number + 1, format!("a line of {LONGEST_LINE} bytes or more"), "shorter ones"));
        }
        // Whatever follows is part of a line.
        self.file.set_len(self.length).map_err(|error| self.failed(error))?;
        if number == 0 { self.append(&format!("{HEAD}{list}\n")) } else { Ok(()) }
    }

    fn bad(&self, line: u64, found: String, expected: &'static str) -> JournalError {
        JournalError::Line { path: self.path.clone(), line, found, expected }
    }

    fn check_head(&self, text: &str, expected: ListHash) -> Result<(), JournalError> {
        let found = text.strip_prefix(HEAD).ok_or_else(|| self.bad(1, quoted(text), HEAD))?;
        if found == expected.to_string() {
            return Ok(());
        }
        Err(JournalError::OtherList { path: self.path.clone(), found: quoted(found), expected })
    }

    /// Takes an entry in. `None`: it is none.
    fn take(&mut self, text: &str) -> Option<()> {
        let (verb, rest) = text.split_once(' ')?;
        let (first, second) = rest.split_once(' ')?;
        match verb {
            "asking" => self.note_asked(first.parse().ok()?, second.parse().ok()?),
            "written" if second == "-" => self.lines.insert(first.parse().ok()?),
            "written" => {
                self.interrupted.remove(&(first.parse().ok()?, second.parse().ok()?));
            }
            "exclude" => drop(self.exclusions.entry(Entry::parse(first).ok()?).or_insert(second.to_owned())),
            _ => return None,
        }
        Some(())
    }
}

/// Numbers of lines, as ranges: those of a scan are dense.
#[derive(Debug, Default)]
struct Lines(BTreeMap<u64, u64>);

impl Lines {
    fn contains(&self, line: u64) -> bool {
        self.0.range(..=line).next_back().is_some_and(|(_, last)| line <= *last)
    }

    fn insert(&mut self, line: u64) {
        if self.contains(line) {
            return;
        }
        let before = line.checked_sub(1).and_then(|before| self.0.range(..=before).next_back());
        let first = before.filter(|(_, last)| **last + 1 == line).map_or(line, |(first, _)| *first);
        let last = line.checked_add(1).and_then(|next| self.0.remove(&next)).unwrap_or(line);
        self.0.insert(first, last);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_hold_what_a_set_holds(
            lines in prop::collection::vec(prop_oneof![0_u64..60, u64::MAX - 9..=u64::MAX], 0..80),
        ) {
            let (mut ranges, mut set) = (Lines::default(), BTreeSet::new());
            for line in lines {
                ranges.insert(line);
                set.insert(line);
            }
            for line in (0..62).chain(u64::MAX - 10..=u64::MAX) {
                prop_assert_eq!(ranges.contains(line), set.contains(&line));
            }
            let begins = |line: &&u64| line.checked_sub(1).is_none_or(|before| !set.contains(&before));
            let runs = set.iter().filter(begins).count();
            prop_assert_eq!(ranges.0.len(), runs);
        }
    }
}
