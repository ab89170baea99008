//! Arguments of `quiclab tools`, whose commands scripts and packages call.

use std::path::PathBuf;

use clap::{
    Args, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use quiclab_testbed::kernel_build::{BUILDABLE, Buildable, PACED};

use super::{
    help::CompletionsArguments,
    perform::PerformArguments,
    prepare::PrepareArguments,
    shared::{Output, StackOptions},
};

/// Arguments of `quiclab tools`.
#[derive(Debug, Args)]
pub struct ToolsArguments {
    /// What to do
    #[command(subcommand)]
    pub tool: Tool,
}

/// What `quiclab tools` does.
#[derive(Debug, Subcommand)]
pub enum Tool {
    /// Perform a single run whose settings are all resolved
    Perform(PerformArguments),
    /// Fetch the kernel and build the guest image and the stacks, without running anything; or take them from an archive
    Prepare(PrepareArguments),
    /// List the guest kernels, or build one: with paced segmentation offload, or User-Mode Linux in virtual time
    Kernel(KernelArguments),
    /// Print a script that completes verbs, settings and values in a shell
    Completions(CompletionsArguments),
    /// Write manual pages, for packages
    #[command(hide = true)]
    Man(ManArguments),
}

/// Arguments of `quiclab tools kernel`.
#[derive(Debug, Args)]
pub struct KernelArguments {
    /// What to do
    #[command(subcommand)]
    pub action: KernelAction,
}

/// What `quiclab tools kernel` does.
#[derive(Debug, Subcommand)]
pub enum KernelAction {
    /// Print the kernels that experiments can choose, and which of them are in the cache
    List(KernelListArguments),
    /// Build a kernel from Debian's source with our patches; takes some minutes
    Build(KernelBuildArguments),
}

/// Arguments of `quiclab tools kernel list`.
#[derive(Debug, Args)]
pub struct KernelListArguments {
    #[command(flatten)]
    pub stacks: StackOptions,
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `quiclab tools kernel build`.
#[derive(Debug, Args)]
pub struct KernelBuildArguments {
    /// Which one: 6.1-paced has paced segmentation offload (kernel/patch), uml is User-Mode Linux in virtual time (kernel/uml)
    #[arg(value_name = "KERNEL", default_value = "6.1-paced", value_parser = buildable())]
    pub kernel: &'static Buildable,
    /// Build it even if the cache has it from the same source, patch, configuration and compiler
    #[arg(long)]
    pub again: bool,
    #[command(flatten)]
    pub stacks: StackOptions,
    #[command(flatten)]
    pub output: Output,
}

/// Takes the name of a kernel that can be built.
fn buildable() -> impl TypedValueParser<Value = &'static Buildable> {
    PossibleValuesParser::new(BUILDABLE.map(|kernel| kernel.name))
        .map(|name| BUILDABLE.into_iter().find(|kernel| kernel.name == name).unwrap_or(&PACED))
}

/// Arguments of `quiclab tools man`.
#[derive(Debug, Args)]
pub struct ManArguments {
    /// Folder for the pages
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}
