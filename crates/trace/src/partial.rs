//! A file under a temporary name until it is whole.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::error::TraceError;

/// Where a file is written, and what it will be called. Dropped before that, it is removed.
pub(crate) struct Partial {
    temporary: PathBuf,
    path: PathBuf,
    is_published: bool,
}

impl Partial {
    /// Begins the file `name` of a folder, over what a writer that was killed has left.
    pub(crate) fn create(folder: &Path, name: &str) -> Result<(Self, File), TraceError> {
        let temporary = folder.join(format!(".{name}.partial"));
        match File::create(&temporary) {
            Ok(file) => Ok((Partial { temporary, path: folder.join(name), is_published: false }, file)),
            Err(source) => Err(TraceError::CreateFile { path: temporary, source }),
        }
    }

    pub(crate) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Removes the file of an earlier trace, if there is one.
    pub(crate) fn remove_earlier(&self) -> Result<(), TraceError> {
        match std::fs::remove_file(&self.path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(TraceError::Publish { path: self.path.clone(), source })
            }
            _ => Ok(()),
        }
    }

    /// Gives the file its name.
    pub(crate) fn publish(mut self) -> Result<(), TraceError> {
        match std::fs::rename(&self.temporary, &self.path) {
            Ok(()) => {
                self.is_published = true;
                Ok(())
            }
            Err(source) => Err(TraceError::Publish { path: self.path.clone(), source }),
        }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_published {
            // What remains has a name that nobody takes for a whole file.
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}
