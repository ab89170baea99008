//! One file on its way to the downloads.

use std::{fs::File, io::Write, path::Path};

use anyhow::{Context, Result, bail, ensure};
use tquic::h3::{Header, NameValue};

use crate::request::Request;

pub struct Download {
    pub request: Request,
    /// `None` until the response begins.
    file: Option<File>,
    /// Bytes announced by content-length; `None`: nothing announced.
    expected: Option<u64>,
    received: u64,
}

impl Download {
    /// A request that has no answer yet.
    pub fn new(request: Request) -> Self {
        Self { request, file: None, expected: None, received: 0 }
    }

    /// Takes the HTTP/3 headers of the response, and creates the file.
    ///
    /// # Errors
    /// Where the status is not 200, or the file cannot be created.
    pub fn on_headers(&mut self, headers: &[Header], folder: &Path) -> Result<()> {
        let path = &self.request.path;
        let value = |name: &[u8]| {
            let header = headers.iter().find(|header| header.name() == name)?;
            std::str::from_utf8(header.value()).ok()
        };
        // Interim responses (RFC 9114, section 4.1) and trailers carry no status of interest.
        let Some(status) = value(b":status").filter(|status| !status.starts_with('1')) else {
            return Ok(());
        };
        ensure!(status == "200", "{path}: found status {status}, expected 200");
        self.expected = match value(b"content-length") {
            Some(text) => Some(text.parse().with_context(|| format!("{path}: content-length {text:?}"))?),
            None => None,
        };
        self.create(folder)
    }

    /// Creates the file, unless it is there.
    ///
    /// # Errors
    /// What the file system answers.
    pub fn create(&mut self, folder: &Path) -> Result<()> {
        if self.file.is_none() {
            let stored = folder.join(&self.request.file_name);
            self.file = Some(File::create(&stored).with_context(|| format!("creating {}", stored.display()))?);
        }
        Ok(())
    }

    /// Stores a part of the body.
    ///
    /// # Errors
    /// What the file system answers.
    pub fn store(&mut self, bytes: &[u8]) -> Result<()> {
        let path = &self.request.path;
        let file = self.file.as_mut().with_context(|| format!("{path}: body before headers"))?;
        file.write_all(bytes).with_context(|| format!("{path}: storing"))?;
        self.received += bytes.len() as u64;
        Ok(())
    }

    /// Looks at the whole.
    ///
    /// # Errors
    /// Where the body is not as long as announced, or there was no response.
    pub fn finish(&self) -> Result<()> {
        let path = &self.request.path;
        if let Some(expected) = self.expected.filter(|&expected| expected != self.received) {
            bail!("{path}: found {} bytes, expected {expected}", self.received);
        }
        ensure!(self.file.is_some(), "{path}: ended without a response");
        Ok(())
    }
}
