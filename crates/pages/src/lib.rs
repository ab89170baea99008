//! From records and captures to pages: what is read of a transfer packet by packet, and files of pages.
//!
//! Knows neither the command line nor the terminal: what a user names is opened by a function that the caller hands over, because
//! a signal may have to end the wait for a pipe. Read first: [`transfer::page::transfer`].

pub mod folder;
pub mod transfer;
