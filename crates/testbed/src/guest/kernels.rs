//! The kernels of guests.

use std::path::{Path, PathBuf};

use anyhow::Result;
use quiclab_experiment::PATCHED_KERNEL;

use crate::{
    kernel::Kernel,
    kernel_build::{Buildable, PACED, Recipe},
    stack_store::StackStore,
};

/// Folder of what is made for kernels, beside that of the stacks.
const KERNELS: &str = "kernel";

/// The kernel `name`, from the cache or the package archive.
///
/// # Errors
/// As [`Kernel::prepare`], and [`Recipe::built`] for the one that is built only where it is asked for.
pub fn kernel(stack_store: &StackStore, name: &str) -> Result<Kernel> {
    if name == PATCHED_KERNEL {
        return recipe(stack_store, &PACED)?.built(&stack_store.cache);
    }
    if Kernel::find(&stack_store.cache, name).is_none() {
        stack_store.say(&format!("fetching kernel {name} from the package archive (once)"));
    }
    Kernel::prepare(&stack_store.cache, name)
}

/// Reads the patches and the configuration of a kernel that is built here.
///
/// # Errors
/// As [`Recipe::read`].
pub fn recipe(stack_store: &StackStore, kernel: &'static Buildable) -> Result<Recipe> {
    Recipe::read(kernel, &kernels(stack_store))
}

/// The folder of what is made for kernels.
pub(crate) fn kernels(stack_store: &StackStore) -> PathBuf {
    stack_store.stacks.parent().unwrap_or(Path::new("")).join(KERNELS)
}
