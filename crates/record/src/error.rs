//! What can be wrong with a record.

use std::{
    io,
    path::{Path, PathBuf},
};

use quiclab_units::ShowPath;

use crate::layout::DAMAGED_FOLDER;

/// Why a record cannot be read or written. Each message names the file and what to do.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A file that every record has is not there.
    #[error("{}: the file is missing, so the record is not complete\n{}", path.shown(), again(folder))]
    Missing {
        /// The file.
        path: PathBuf,
        /// The record's folder.
        folder: PathBuf,
    },
    /// There is no record at all.
    #[error("{}: found no {file}, expected the folder of a record\nhint: a record is a folder that quiclab run has written, with {file} in it", folder.shown(), file = crate::layout::RUN_FILE)]
    NoRecord {
        /// The folder.
        folder: PathBuf,
    },
    /// A file cannot be read.
    #[error("{}: {source}", path.shown())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("{}: cannot be written: {source}{}", path.shown(), room_hint(source))]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file is cut, damaged, or of another kind.
    #[error("{}: {message}\n{}", path.shown(), again(folder))]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What was found and what was expected.
        message: String,
        /// The record's folder.
        folder: PathBuf,
    },
    /// A file has another length than when it was written.
    #[error("{}: found {found} bytes, expected {expected}: the file was cut or changed after it was written\n{}", path.shown(), again(folder))]
    Length {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        found: u64,
        /// Its length when it was written.
        expected: u64,
        /// The record's folder.
        folder: PathBuf,
    },
    /// A file has its length, and other bytes than when it was written.
    #[error("{}: found SHA-256 {found}, expected {expected}: the file was changed after it was written\n{}", path.shown(), again(folder))]
    Changed {
        /// The file.
        path: PathBuf,
        /// Its hash.
        found: String,
        /// Its hash when it was written.
        expected: String,
        /// The record's folder.
        folder: PathBuf,
    },
    /// A file belongs to another run.
    #[error("{}: found the run {found}, expected {expected}: the file belongs to another record\n{}", path.shown(), again(folder))]
    OtherRun {
        /// The file.
        path: PathBuf,
        /// The identity in the file.
        found: String,
        /// The identity that the rest of the record has.
        expected: String,
        /// The record's folder.
        folder: PathBuf,
    },
    /// The record is of a run of another kind.
    #[error("{}: found a record of a {found}, expected one of a {expected}", path.shown())]
    OtherKind {
        /// The file.
        path: PathBuf,
        /// Kind of the run in the file.
        found: String,
        /// Kind that was asked for.
        expected: &'static str,
    },
    /// A newer version has written a file.
    #[error(
        "{}: found schema {found}, but quiclab {} reads schemas {oldest} to {newest}\nhint: {}",
        path.shown(), env!("CARGO_PKG_VERSION"), reader(made_by.as_deref())
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: u64,
        /// The oldest that this version reads.
        oldest: u32,
        /// The newest that this version reads.
        newest: u32,
        /// The version of quiclab that has written the record, where that can be told.
        made_by: Option<String>,
    },
    /// The capture cannot be measured.
    #[error("{}: {message}\n{}", path.shown(), again(folder))]
    Capture {
        /// The capture.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
        /// The record's folder.
        folder: PathBuf,
    },
    /// The file system cannot swap two folders in one step.
    #[error("{}: its file system cannot replace a folder in one step: {source}\nhint: rm -r {0}, or use --out to move to another file system", path.shown())]
    NoExchange {
        /// The folder that was to be replaced.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl RecordError {
    /// The error of reading `path`, which is missing where the system says so.
    pub(crate) fn reading(path: &Path, folder: &Path, source: io::Error) -> Self {
        let (path, folder) = (path.to_path_buf(), folder.to_path_buf());
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing { path, folder },
            io::ErrorKind::InvalidData => {
                Self::Malformed { path, message: "found bytes that are not UTF-8".to_owned(), folder }
            }
            // It is a link, a pipe or a file elsewhere, as crates/inputs says. The kernel's own answers have a number.
            io::ErrorKind::InvalidInput | io::ErrorKind::PermissionDenied if source.raw_os_error().is_none() => {
                Self::Malformed { path, message: source.to_string(), folder }
            }
            _ => Self::Read { path, source },
        }
    }

    /// True where the record itself is damaged: a file is missing, was cut or changed, or belongs to another record. Its run can be performed
    /// again. False where the record may be whole: the disk or the permissions are at fault, or a newer version has written it.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Missing { .. }
            | Self::Malformed { .. }
            | Self::Length { .. }
            | Self::Changed { .. }
            | Self::OtherRun { .. }
            | Self::Capture { .. } => true,
            Self::NoRecord { .. }
            | Self::Read { .. }
            | Self::Write { .. }
            | Self::OtherKind { .. }
            | Self::Newer { .. }
            | Self::NoExchange { .. } => false,
        }
    }

    /// The message without its hint, for a list or another sentence.
    pub fn brief(&self) -> String {
        let message = self.to_string();
        message.split("\nhint: ").next().unwrap_or_default().to_owned()
    }

    /// The error of writing `path`, for `map_err`.
    pub(crate) fn writing(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Write { path, source }
    }
}

fn again(folder: &Path) -> String {
    let kept = folder.parent().unwrap_or(Path::new("")).join(DAMAGED_FOLDER);
    format!("hint: the command that made the record performs the run again and moves this one to {}", kept.shown())
}

fn reader(made_by: Option<&str>) -> String {
    match made_by {
        Some(version) => format!("use quiclab {version}, which wrote this record, or a newer version"),
        None => "use a newer version of quiclab".to_owned(),
    }
}

fn room_hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "\nhint: free some space, or use --out to move to another disk; complete records are kept"
        }
        _ => "",
    }
}
