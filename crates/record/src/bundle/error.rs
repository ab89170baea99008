//! What can be wrong with a bundle.

use std::io;

use zip::result::ZipError;

/// Why a bundle cannot be written or read. The caller adds the path of the archive.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// It is not a zip archive, or the end of it is missing.
    #[error("found no whole zip archive: {0}\nhint: was the file copied to its end?")]
    Archive(#[source] ZipError),
    /// Something in it that a bundle does not have.
    #[error("{place}: found {found}, expected {expected}")]
    Refused {
        /// The file in the archive, or what of the archive it is about.
        place: String,
        /// What is there.
        found: String,
        /// What may be there.
        expected: String,
    },
    /// A file whose bytes are not those that the list has the hash of.
    #[error("{place}: found SHA-256 {found}, expected {expected}")]
    Changed {
        /// The file in the archive.
        place: String,
        /// Hash of what is there, in hexadecimal.
        found: String,
        /// What the list says.
        expected: String,
    },
    /// A file that cannot be decompressed, or whose checksum in the archive is wrong.
    #[error("{place}: found damaged data: {source}")]
    Damaged {
        /// The file in the archive.
        place: String,
        /// What the reader says.
        source: io::Error,
    },
    /// A file outside of the archive that cannot be read or written.
    #[error("{place}: {source}")]
    File {
        /// The file.
        place: String,
        /// What the system says.
        source: io::Error,
    },
}

impl BundleError {
    pub(crate) fn refused(place: &str, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Refused { place: place.to_owned(), found: found.into(), expected: expected.into() }
    }

    pub(crate) fn file(place: &str) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::File { place: place.to_owned(), source }
    }

    pub(crate) fn damaged(place: &str) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Damaged { place: place.to_owned(), source }
    }

    /// Makes the error of an archive that is being written or read as a whole.
    pub(crate) fn zip(place: &str) -> impl FnOnce(ZipError) -> Self + '_ {
        move |error| match error {
            ZipError::Io(source) => Self::Damaged { place: place.to_owned(), source },
            error => Self::refused(place, error.to_string(), "a file that can be read"),
        }
    }
}
