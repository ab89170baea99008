//! `quiclab stacks`

mod build;
mod check;
pub mod implementations;
mod import;
mod list;
mod trial;

use anyhow::Result;

use crate::cli::{StacksAction, StacksArguments};

/// Does what is asked with the stacks.
///
/// # Errors
/// As each action.
pub fn stacks(arguments: &StacksArguments) -> Result<u8> {
    match &arguments.action {
        StacksAction::List(arguments) => list::list(arguments),
        StacksAction::Build(arguments) => build::build(arguments),
        StacksAction::Check(arguments) => check::check(arguments),
        StacksAction::Try(arguments) => trial::trial(arguments),
        StacksAction::Import(arguments) => import::import(arguments),
    }
}
