//! One file on its way to the downloads.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

use anyhow::{Context, Result};

use crate::request::Request;

/// Bytes written to a file at once.
const CHUNK: usize = 64 * 1024;

pub struct Download {
    pub request: Request,
    /// `None` until the response begins.
    file: Option<BufWriter<File>>,
}

impl Download {
    /// A request that has no answer yet.
    pub fn new(request: Request) -> Self {
        Self { request, file: None }
    }

    /// Creates the file, unless it is there.
    ///
    /// # Errors
    /// What the file system answers.
    pub fn create(&mut self, folder: &Path) -> Result<()> {
        if self.file.is_none() {
            let stored = folder.join(&self.request.file_name);
            let file = File::create(&stored).with_context(|| format!("creating {}", stored.display()))?;
            self.file = Some(BufWriter::with_capacity(CHUNK, file));
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
        Ok(())
    }

    /// Looks at the whole.
    ///
    /// # Errors
    /// Where there was no response, or it cannot be stored.
    pub fn finish(mut self) -> Result<()> {
        let path = &self.request.path;
        let file = self.file.as_mut().with_context(|| format!("{path}: ended without a response"))?;
        file.flush().with_context(|| format!("{path}: storing"))
    }
}
