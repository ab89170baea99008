//! One file on its way to the downloads.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use crate::request::Request;

/// A request and what has come of it.
#[derive(Debug)]
pub struct Download {
    /// What was asked for.
    pub request: Request,
    /// `None` until the response begins.
    file: Option<BufWriter<File>>,
    /// Bytes that are collected before they are written.
    buffer: usize,
    /// Bytes announced by content-length; `None`: nothing announced.
    announced: Option<u64>,
    received: u64,
}

/// What is wrong with an answer.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// Any status but 200.
    #[error("{path}: found status {found}, expected 200")]
    Status {
        /// Path of the request.
        path: String,
        /// The status.
        found: String,
    },
    /// A content-length that cannot be read.
    #[error("{path}: content-length {found:?}")]
    Announced {
        /// Path of the request.
        path: String,
        /// The header's value.
        found: String,
    },
    /// A body that is not as long as announced.
    #[error("{path}: found {found} bytes, expected {expected}")]
    Length {
        /// Path of the request.
        path: String,
        /// Bytes of the body.
        found: u64,
        /// What content-length says.
        expected: u64,
    },
    /// A body before the response has begun.
    #[error("{path}: body before headers")]
    Early {
        /// Path of the request.
        path: String,
    },
    /// An end before the response has begun.
    #[error("{path}: ended without a response")]
    Nothing {
        /// Path of the request.
        path: String,
    },
    /// The file cannot be created or written.
    #[error("{path}: storing: {error}")]
    Storing {
        /// Path of the request.
        path: String,
        /// Why.
        error: io::Error,
    },
}

impl Download {
    /// A request that has no answer yet. What comes is collected until it is `buffer` bytes (0: never), and then written.
    pub fn new(request: Request, buffer: usize) -> Self {
        Self { request, file: None, buffer, announced: None, received: 0 }
    }

    /// Takes the HTTP/3 headers of the response, by their names, and creates the file.
    ///
    /// # Errors
    /// Where the status is not 200, the length is no number, or the file cannot be created.
    pub fn on_headers<'a>(
        &mut self,
        header: impl Fn(&str) -> Option<&'a [u8]>,
        folder: &Path,
    ) -> Result<(), DownloadError> {
        let text = |name| header(name).map(|value| String::from_utf8_lossy(value).into_owned());
        // Interim responses (RFC 9114, section 4.1) and trailers carry no status of interest.
        let Some(status) = text(":status").filter(|status| !status.starts_with('1')) else {
            return Ok(());
        };
        if status != "200" {
            return Err(DownloadError::Status { path: self.path(), found: status });
        }
        self.announced = match text("content-length") {
            Some(found) => {
                let announced = found.parse().map_err(|_| DownloadError::Announced { path: self.path(), found })?;
                Some(announced)
            }
            None => None,
        };
        self.create(folder)
    }

    /// Creates the file, or empties one that was there; does nothing where this download has one. HTTP/0.9 has no headers.
    ///
    /// # Errors
    /// What the file system answers.
    pub fn create(&mut self, folder: &Path) -> Result<(), DownloadError> {
        if self.file.is_none() {
            let file = File::create(folder.join(&self.request.file_name)).map_err(|error| self.storing(error))?;
            self.file = Some(BufWriter::with_capacity(self.buffer, file));
        }
        Ok(())
    }

    /// Stores a part of the body.
    ///
    /// # Errors
    /// Where the response has not begun, and what the file system answers.
    pub fn store(&mut self, bytes: &[u8]) -> Result<(), DownloadError> {
        let Some(file) = &mut self.file else {
            return Err(DownloadError::Early { path: self.path() });
        };
        file.write_all(bytes).map_err(|error| self.storing(error))?;
        self.received += bytes.len() as u64;
        Ok(())
    }

    /// Looks at the whole, and writes what is left.
    ///
    /// # Errors
    /// Where the body is not as long as announced, or there was no response, and what the file system answers.
    pub fn finish(mut self) -> Result<(), DownloadError> {
        if let Some(expected) = self.announced.filter(|&expected| expected != self.received) {
            return Err(DownloadError::Length { path: self.path(), found: self.received, expected });
        }
        let Some(file) = &mut self.file else {
            return Err(DownloadError::Nothing { path: self.path() });
        };
        file.flush().map_err(|error| self.storing(error))
    }

    fn path(&self) -> String {
        self.request.path.clone()
    }

    fn storing(&self, error: io::Error) -> DownloadError {
        DownloadError::Storing { path: self.path(), error }
    }
}

#[cfg(test)]
#[path = "download_tests.rs"]
mod tests;
