//! Arguments of `quiclab tools prepare`.

use std::path::PathBuf;

use clap::Args;

use super::{set::SetOptions, shared::StackOptions, values::parse_sha256};
use crate::settings::PrepareSettings;

/// Arguments of `quiclab tools prepare`.
#[derive(Debug, Args)]
#[command(after_help = PREPARE_HELP)]
pub struct PrepareArguments {
    /// An experiment file; prepares what it needs [default: all stacks and kernel 6.1]
    pub file: Option<PathBuf>,
    /// A profile that the file defines, such as quick
    #[arg(long, requires = "file")]
    pub profile: Option<String>,
    /// Take kernel, guest images and stacks from this archive instead, or from each quiclab-prepared-*.zip in this folder; nothing is
    /// compiled
    #[arg(long, value_name = "ARCHIVE|DIR", conflicts_with_all = ["file", "to"])]
    pub from: Option<PathBuf>,
    /// SHA-256 of that archive, as its maker told it to you by other means; refuses any other one before anything of it is read
    #[arg(long, value_name = "HEX", requires = "from", value_parser = sha256)]
    pub sha256: Option<String>,
    /// Afterwards pack what was prepared into this folder, as quiclab-prepared-HASH.zip; the same things give the same bytes
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    #[command(flatten)]
    pub set: SetOptions,
    #[command(flatten)]
    pub stacks: StackOptions,
}

impl PrepareArguments {
    /// Plain values of the arguments.
    pub fn resolve(self) -> PrepareSettings {
        PrepareSettings {
            file: self.file,
            profile: self.profile,
            from: self.from,
            sha256: self.sha256,
            to: self.to,
            set: self.set.settings,
            stacks: self.stacks.request(),
        }
    }
}

fn sha256(text: &str) -> Result<String, String> {
    parse_sha256(text, "sha256sum")
}

const PREPARE_HELP: &str = "\
Examples:
  quiclab tools prepare experiments/examples/first.toml           so that the first run starts at once
  quiclab tools prepare FILE --to .                               an archive for machines that have QEMU and no compilers
  quiclab tools prepare --from quiclab-prepared-0123456789abcdef.zip --sha256 HEX

What is in an archive runs on this machine, and nothing proves what it was made of: trust its maker as that of a program.
What is taken from one keeps the archive's name and hash, which are shown wherever it is used.

Saved states of guests are not in an archive, because they belong to a version of QEMU; they are made within seconds.";
