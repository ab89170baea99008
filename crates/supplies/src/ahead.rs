//! What an experiment needs, made before the command that runs it is there: it takes minutes to compile, in which the package archive
//! answers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result};
use quiclab_experiment::{Experiment, Overrides};

use crate::{
    cache::Cache,
    image::Image,
    kernel::Kernel,
    stack::{BuiltStack, Source, own_image, packages, sources},
};

/// Makes kernels, guest images and those stacks of the experiment in `file` that need no compiler, as its `profile` has them, with the stacks
/// in the folder `stacks`, as far as the cache does not have them. Files that the experiment names are not read.
///
/// Who runs the experiment meanwhile waits for what is being made, and makes the rest.
///
/// # Errors
/// A file that is wrong, and what cannot be made; everything else is made nevertheless.
pub fn make(cache: &Cache, file: &Path, profile: Option<&str>, stacks: &Path, stop: &AtomicBool) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let sources = sources(stacks)?;
    let manifests: BTreeMap<_, _> =
        sources.iter().map(|(name, source)| (name.clone(), source.manifest.clone())).collect();
    let experiment = Experiment::parse(&file.display().to_string(), &text, profile)?;
    let plan = experiment.plan(&manifests, &Overrides::default())?;
    let pairs = plan.runs.iter().map(|run| &run.settings.stack);
    let needed: BTreeSet<&String> = pairs.flat_map(|pair| [&pair.server, &pair.client]).collect();
    let needed: Vec<&Source> = needed.into_iter().filter_map(|name| sources.get(name)).collect();
    let kernels: BTreeSet<&String> = plan.runs.iter().map(|run| &run.settings.vm.kernel).collect();
    let images: BTreeSet<_> =
        needed.iter().filter(|source| own_image(source).is_none()).map(|source| packages(source)).collect();
    // A compiler would take from the one that is at work what it uses itself, and make the first run wait for the last stack.
    let uncompiled = needed.iter().filter(|source| source.manifest.build.host_tools.is_empty());
    let kernels = kernels.into_iter().map(|name| Kernel::prepare(cache, name).map(drop));
    let images = images.iter().map(|packages| Image::prepare(cache, packages, stop).map(drop));
    let stacks = uncompiled.map(|source| BuiltStack::prepare(cache, source, false, stop).map(drop));
    first_error(kernels.chain(images).chain(stacks))
}

/// Goes on where one failed, and returns the first error.
fn first_error(outcomes: impl Iterator<Item = Result<()>>) -> Result<()> {
    outcomes.fold(Ok(()), Result::and)
}

#[cfg(test)]
mod tests {
    use std::{sync::atomic::Ordering, thread};

    use super::*;
    use crate::{image::ROOT_FILE, process::Interrupted, stack::tests::own_stack};

    const EXPERIMENT: &str = "name = \"x\"\ntitle = \"x\"\n[stack]\nname = \"mine\"\n";

    /// A cache that has the kernel, and a stack that brings its root file system along: nothing is fetched.
    fn given(root: &Path, build: &str) -> Cache {
        let source = own_stack(root, build);
        fs::write(source.folder.join(ROOT_FILE), "").unwrap();
        fs::write(root.join("x.toml"), EXPERIMENT).unwrap();
        let cache = Cache::at(root.join("cache"));
        cache.folder(&format!("kernel/6.1-{}", Kernel::parts()), |_| Ok(())).unwrap();
        cache
    }

    fn make_in(root: &Path, cache: &Cache, stop: &AtomicBool) -> Result<()> {
        make(cache, &root.join("x.toml"), None, root, stop)
    }

    #[test]
    fn stacks_of_an_experiment_are_built_at_low_priority() {
        let root = tempfile::tempdir().unwrap();
        let cache = given(
            root.path(),
            "command = \"nice > $QUICLAB_STACK_OUT/endpoint; cp $QUICLAB_STACK_OUT/endpoint ../nice\"",
        );
        let source = &sources(root.path()).unwrap()["mine"];
        assert!(BuiltStack::find(&cache, source).unwrap().is_none());
        make_in(root.path(), &cache, &AtomicBool::new(false)).unwrap();
        assert!(BuiltStack::find(&cache, source).unwrap().is_some());
        assert_eq!(fs::read_to_string(root.path().join("nice")).unwrap(), "19\n");
    }

    #[test]
    fn what_cannot_be_made_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let cache = given(root.path(), "command = \"echo broken >&2; exit 1\"");
        let error = make_in(root.path(), &cache, &AtomicBool::new(false)).unwrap_err();
        assert!(format!("{error:#}").contains("broken"), "{error:#}");
        fs::write(root.path().join("x.toml"), EXPERIMENT.replace("mine", "other")).unwrap();
        let error = make_in(root.path(), &cache, &AtomicBool::new(false)).unwrap_err();
        assert!(format!("{error:#}").contains("\"other\""), "{error:#}");
    }

    #[test]
    fn a_signal_ends_a_build() {
        let root = tempfile::tempdir().unwrap();
        let cache = given(root.path(), "command = \"touch ../begun; sleep 600\"");
        let stop = AtomicBool::new(false);
        let error = thread::scope(|scope| {
            let making = scope.spawn(|| make_in(root.path(), &cache, &stop));
            quiclab_testing::wait_until("the build", || root.path().join("begun").exists());
            stop.store(true, Ordering::Relaxed);
            making.join().unwrap().unwrap_err()
        });
        assert_eq!(error.downcast_ref(), Some(&Interrupted::ByRequest), "{error:#}");
    }
}
