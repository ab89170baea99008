//! `quiclab demo`: the quick profile of the baseline, from a repository or from where quiclab is installed.

use anyhow::{Context, Result};
use clap::Parser;
use quiclab_testbed::stack_store::find_file;

use crate::{
    cli::{Cli, DemoArguments, Verb},
    run,
};

/// Its file.
const BASELINE: &str = "experiments/quic-steps/baseline.toml";

/// Runs it.
///
/// # Errors
/// Where its file is not there, and as `quiclab run`.
pub fn demo(arguments: &DemoArguments) -> Result<u8> {
    let file = find_file(BASELINE).with_context(|| {
        format!(
            "found no {BASELINE} here, in a parent folder, or where quiclab is installed\nhint: work in a clone of quiclab, or \
             name the folder that has experiments/ in QUICLAB_SHARE"
        )
    })?;
    let mut words = vec!["quiclab".into(), "run".into(), file.into_os_string()];
    words.extend(["--profile", "quick", "--out"].map(Into::into));
    words.push(arguments.out.clone().into_os_string());
    if let Some(jobs) = arguments.jobs {
        words.extend(["--jobs".into(), jobs.to_string().into()]);
    }
    match Cli::try_parse_from(words)?.verb {
        Verb::Run(arguments) => run::run(&arguments),
        _ => unreachable!("the second word is run"),
    }
}
