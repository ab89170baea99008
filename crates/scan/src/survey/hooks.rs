//! What a survey asks of the program that performs it.

use std::{any::Any, fs::File, io, path::Path};

use anyhow::Result;

use super::summary::Summary;

/// The terminal, and files that a user names: any of them can be a pipe that says nothing.
pub trait SurveyHooks {
    /// Tells the user something, in a line or several.
    fn status(&self, text: &str);

    /// A guard: as long as it lives, a signal ends this process even if a read does not return.
    fn reading(&self) -> Box<dyn Any>;

    /// Opens a file that the user named. A signal ends this process while it waits for somebody who writes.
    ///
    /// # Errors
    /// What the kernel answers.
    fn open(&self, path: &Path) -> io::Result<File>;

    /// Reads a list that the user named; `-` is standard input. A signal ends this process meanwhile.
    ///
    /// # Errors
    /// Where it cannot be read, or is too long.
    fn read_list(&self, path: &Path) -> Result<Vec<u8>>;

    /// Begins to show how far a survey of so many targets is.
    fn progress(&self, targets: u64) -> Box<dyn SurveyProgress>;
}

/// Shows how far a survey is.
pub trait SurveyProgress {
    /// `read`: targets of the list by now.
    fn show(&mut self, summary: &Summary, read: u64, in_flight: usize);

    /// Nothing more is shown.
    fn finish(&self);
}
