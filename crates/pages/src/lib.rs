//! Folders of results, and from records and captures to pages: what is read of transfers, runs and handshakes, and files of pages and figures.
//!
//! Knows neither the command line nor the terminal: what a user names is opened by a function that the caller hands over, because
//! a signal may have to end the wait for a pipe. Read first: [`results::Results`] and [`transfer::page::transfer`].

pub mod figure_files;
pub mod folder;
pub mod host_pictures;
pub mod ladder;
pub mod path_summary;
pub mod results;
pub mod run_page;
pub mod transfer;
