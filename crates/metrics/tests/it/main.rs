//! The integration tests of this crate: one executable, a module for each subject.

mod closed_form;
mod common;
mod handshake;
mod handshake_class;
mod phases;
mod properties;
mod published;
mod reference;
mod uploads;
mod warnings;
