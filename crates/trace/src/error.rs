//! What can go wrong while a trace is written, or a table is read.

use std::path::PathBuf;

use parquet::errors::ParquetError;

/// Why a trace cannot be written, or a table cannot be read. What was begun is removed; whole files of an earlier trace stay, unless noted.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The folder is not there and cannot be made.
    #[error("{}: cannot make the folder: {source}\nhint: does a file have this name, or may you not write to the \
             parent folder?", path.display())]
    CreateFolder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file cannot be opened for writing.
    #[error("{}: cannot create: {source}\nhint: may you write to its folder?", path.display())]
    CreateFile {
        /// The file, by its temporary name.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Rows cannot be written.
    #[error("{}: cannot write: {source}\nhint: is the disk full?", path.display())]
    Write {
        /// The file, by its temporary name.
        path: PathBuf,
        /// What the library or the system said.
        source: ParquetError,
    },
    /// A table of numbers cannot be read.
    #[error("{}: cannot be read as a Parquet file of numbers", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the library or the system said.
        source: ParquetError,
    },
    /// Columns of a table of runs cannot be read.
    #[error("{}: cannot be read as a Parquet file with these columns: {source}\nhint: is the file whole, and did \
             `quiclab` write it?", path.display())]
    ReadRows {
        /// The file.
        path: PathBuf,
        /// What the library or the system said, or which column is wrong.
        source: ParquetError,
    },
    /// A whole file cannot be given its name. Of an earlier trace in this folder, files may be missing.
    #[error("{}: cannot rename the complete file: {source}\nhint: is there a folder of this name?", path.display())]
    Publish {
        /// The file, by its final name.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}
