//! Options that several verbs have.

use std::path::PathBuf;

use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser},
};
use quiclab_testbed::{registry::TESTBEDS, stack_store::StackRequest};

/// Where the stacks are.
#[derive(Clone, Debug, Default, Args)]
pub struct StackOptions {
    /// Folder of the stacks [default: stacks/, or sans-io/ for the simulator, in this folder or a parent]
    #[arg(long = "stacks", value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Your own stack: a program that implements the endpoint contract, or a folder with a stack.toml; can be repeated.
    /// An experiment that does not name it runs with it instead of the stacks that it names
    #[arg(long = "stack", value_name = "PATH")]
    pub own: Vec<PathBuf>,
    /// Use a --stack in place of the stack that has its name; without this option such a --stack is refused
    #[arg(long, requires = "own")]
    pub replace: bool,
    /// Run the build commands again even if the cache has the builds: of the --stack stacks, or without --stack of all that are needed
    #[arg(long)]
    pub rebuild: bool,
}

impl StackOptions {
    /// Returns what they ask for, without clap.
    pub fn request(&self) -> StackRequest {
        let Self { folder, own, replace, rebuild } = self.clone();
        StackRequest { folder, own, replace, rebuild }
    }
}

/// How to print.
#[derive(Clone, Debug, Args)]
pub struct Output {
    /// Print JSON to standard output instead of text
    #[arg(long)]
    pub json: bool,
}

/// What `--testbed` takes.
pub(super) fn testbeds() -> PossibleValuesParser {
    let value = |make: &fn() -> std::sync::Arc<dyn quiclab_testbed::testbed::Testbed>| {
        let testbed = make();
        PossibleValue::new(testbed.name()).help(testbed.about())
    };
    PossibleValuesParser::new(TESTBEDS.iter().map(value))
}

pub(super) fn parse_positive<T>(text: &str) -> Result<T, String>
where
    T: std::str::FromStr<Err: std::fmt::Display> + Default + PartialEq,
{
    let value: T = text.parse().map_err(|error: T::Err| error.to_string())?;
    if value == T::default() { Err(format!("found {text:?}, expected more than 0")) } else { Ok(value) }
}

pub(super) fn parse_filter(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err(format!("found {text:?}, expected KEY=VALUE such as stack=quiche")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_needs_a_key_and_an_equals_sign() {
        assert_eq!(parse_filter("path.rate=40 Mbit/s"), Ok(("path.rate".into(), "40 Mbit/s".into())));
        assert!(parse_filter("quiche").is_err());
        assert!(parse_filter("=quiche").is_err());
    }
}
