//! Lists of targets, read line by line.

use std::io::{self, BufRead, Read};

use sha2::{Digest, Sha256};

use crate::targets::{line, lines::Lines, seen::Seen, target::Target};

/// A list in any of the forms of docs/reference/scan-lists.md: an iterator over its targets, without those that came before.
///
/// Holds one line, and 64 bits of each target for [duplicates](Seen).
pub struct List<R> {
    lines: Lines<R>,
    seen: Seen,
    counts: Counts,
    /// Whether no line had content yet, so that one may be a header.
    is_beginning: bool,
    has_ended: bool,
}

/// How many lines were what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// All lines.
    pub lines: u64,
    /// Targets handed out.
    pub targets: u64,
    /// Targets that were handed out before, in any form of the same name, address and port.
    pub duplicates: u64,
    /// Lines that could not be read.
    pub unreadable: u64,
    /// Lines without content: comments, empty ones, and a header.
    pub without_target: u64,
}

/// A line that says nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: found {found}, expected {expected}")]
pub struct BadLine {
    /// Counted from 1.
    pub line: u64,
    /// What the line has, escaped and shortened.
    pub found: String,
    /// What it should have.
    pub expected: &'static str,
}

/// Why there is no target.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// One line; the list goes on.
    #[error(transparent)]
    Line(#[from] BadLine),
    /// The input failed; the list ends.
    #[error("the list cannot be read after line {line}")]
    Read {
        /// The last line that was read, counted from 1.
        line: u64,
        /// Why.
        source: io::Error,
    },
}

impl<R: BufRead> List<R> {
    /// A list.
    pub fn new(input: R) -> Self {
        Self {
            lines: Lines::new(input),
            seen: Seen::default(),
            counts: Counts::default(),
            is_beginning: true,
            has_ended: false,
        }
    }

    /// What was read up to now.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What the next line says: `None` within if nothing.
    fn read(&mut self) -> io::Result<Option<Result<Option<Target>, BadLine>>> {
        let Some(content) = self.lines.read()? else { return Ok(None) };
        let content = match content {
            Ok("") => return Ok(Some(Ok(None))),
            Ok(content) => content,
            Err(bad) => return Ok(Some(Err(bad))),
        };
        if std::mem::take(&mut self.is_beginning) && line::is_header(content) {
            return Ok(Some(Ok(None)));
        }
        let read = line::read(content);
        let line = self.lines.number();
        Ok(Some(match read {
            Ok(read) => Ok(Some(Target { line, rank: read.rank, host: read.host, port: read.port })),
            Err(unreadable) => Err(BadLine { line, found: unreadable.found, expected: unreadable.expected }),
        }))
    }

    fn is_new(&mut self, target: &Target) -> bool {
        self.seen.insert(&(&target.host, target.port()))
    }
}

impl<R: BufRead> Iterator for List<R> {
    type Item = Result<Target, ListError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.has_ended {
            let read = match self.read() {
                Ok(Some(read)) => read,
                Ok(None) => {
                    self.has_ended = true;
                    return None;
                }
                Err(source) => {
                    self.has_ended = true;
                    return Some(Err(ListError::Read { line: self.lines.number(), source }));
                }
            };
            self.counts.lines += 1;
            match read {
                Ok(None) => self.counts.without_target += 1,
                Ok(Some(target)) if self.is_new(&target) => {
                    self.counts.targets += 1;
                    return Some(Ok(target));
                }
                Ok(Some(_)) => self.counts.duplicates += 1,
                Err(bad) => {
                    self.counts.unreadable += 1;
                    return Some(Err(bad.into()));
                }
            }
        }
        None
    }
}

/// SHA-256 of a list: a [journal](crate::targets::journal) belongs to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListHash(pub [u8; 32]);

impl ListHash {
    /// Reads all of a list.
    ///
    /// # Errors
    /// Those of the input.
    pub fn of(mut input: impl Read) -> io::Result<Self> {
        let mut digest = Sha256::new();
        let mut buffer = vec![0; 64 << 10];
        loop {
            match input.read(&mut buffer) {
                Ok(0) => return Ok(Self(digest.finalize().into())),
                Ok(length) => digest.update(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl std::fmt::Display for ListHash {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}
