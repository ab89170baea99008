//! What runs are made with: stacks, kernel, image, saved state, each made once and cached.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use quiclab_experiment::{
    run::{Run, Versions},
    stack::StackManifest,
};
use quiclab_testbed::{
    cache::Cache,
    record::Records,
    stack::{BuiltStack, MANIFEST, manifests},
    vm::{
        image::Image,
        kernel::Kernel,
        machine::{Size, qemu_version},
        priority,
        run::{PerformError, Performed, Vm},
        state::{Guest, Host},
    },
};

/// Where things are, before anything is made.
#[derive(Debug)]
pub struct Laboratory {
    /// The stacks by name.
    pub manifests: BTreeMap<String, StackManifest>,
    /// Their folder.
    pub stacks_folder: PathBuf,
    /// Where things are made once.
    pub cache: Cache,
    /// Set to end everything.
    pub stop: Arc<AtomicBool>,
}

/// Everything that a set of runs needs, made.
#[derive(Debug)]
pub struct Prepared {
    manifests: BTreeMap<String, StackManifest>,
    stacks: BTreeMap<String, BuiltStack>,
    machines: BTreeMap<String, Vm>,
}

impl Laboratory {
    /// Finds the stacks and the cache.
    ///
    /// # Errors
    /// Where there are no stacks, or one's manifest is wrong.
    pub fn open(stacks: Option<&Path>, stop: Arc<AtomicBool>) -> Result<Self> {
        let stacks_folder = match stacks {
            Some(folder) => folder.to_path_buf(),
            None => find_stacks()?,
        };
        let manifests = manifests(&stacks_folder)?;
        if manifests.is_empty() {
            bail!("{}: found no stack, expected folders with {MANIFEST}\nhint: --stacks DIR", stacks_folder.display());
        }
        Ok(Self { manifests, stacks_folder, cache: Cache::from_environment()?, stop })
    }

    /// Makes what `runs` need, as far as the cache does not have it, and says on standard error what takes long.
    ///
    /// # Errors
    /// A missing program or package with how to get it, a failed build, or an interruption.
    pub fn prepare(&self, runs: &[Run], patience: Duration) -> Result<Prepared> {
        let qemu_version = qemu_version()?;
        let agent = agent()?;
        let image = self.image()?;
        let stacks = runs.iter().map(|run| run.settings.stack.name.as_str()).collect::<BTreeSet<_>>();
        let stacks = stacks.into_iter().map(|name| Ok((name.to_owned(), self.stack(name)?))).collect::<Result<_>>()?;
        let mut machines = BTreeMap::new();
        for run in runs {
            let settings = &run.settings;
            if !machines.contains_key(&settings.kernel) {
                let kernel = self.kernel(&settings.kernel)?;
                let guest =
                    Guest { kernel, image: image.clone(), agent: agent.clone(), qemu_version: qemu_version.clone() };
                let vm = Vm { cache: self.cache.clone(), guest };
                machines.insert(settings.kernel.clone(), vm);
            }
            let guest = &machines[&settings.kernel].guest;
            let size = Size::for_transfer(settings.workload.size)?;
            if !guest.has_saved_state(&self.cache, size)? {
                say(&format!(
                    "booting a guest of {} MiB with kernel {} (once; some 10 s)",
                    size.memory_mib, settings.kernel
                ));
                guest.saved_state(&self.cache, size, &self.host(0, patience)?)?;
            }
        }
        Ok(Prepared { manifests: self.manifests.clone(), stacks, machines })
    }

    /// The host's side of the guests of worker number `worker`: a core of its own, as long as there are enough.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn host(&self, worker: usize, patience: Duration) -> Result<Host> {
        let cores = priority::cores()?;
        Ok(Host { core: cores[worker % cores.len()], stop: self.stop.clone(), patience })
    }

    /// The kernel `name`.
    ///
    /// # Errors
    /// As [`Kernel::prepare`].
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        if Kernel::find(&self.cache, name).is_none() {
            say(&format!("getting kernel {name} from the package archive (once)"));
        }
        Kernel::prepare(&self.cache, name)
    }

    /// The guest image with the packages of all stacks.
    ///
    /// # Errors
    /// As [`Image::prepare`].
    pub fn image(&self) -> Result<Image> {
        let packages = self.manifests.values().flat_map(|manifest| manifest.guest.packages.clone()).collect();
        if Image::find(&self.cache, &packages).is_none() {
            say("making the guest image (once; some 20 s)");
        }
        Image::prepare(&self.cache, &packages, &self.stop)
    }

    /// The built stack `name`.
    ///
    /// # Errors
    /// As [`BuiltStack::prepare`].
    pub fn stack(&self, name: &str) -> Result<BuiltStack> {
        let manifest = self.manifests.get(name).with_context(|| {
            let known = self.manifests.keys().cloned().collect::<Vec<_>>().join(", ");
            format!("stack: found {name:?}, expected one of {known}")
        })?;
        let source = self.stacks_folder.join(name);
        if BuiltStack::find(&self.cache, &source)?.is_none() {
            say(&format!("building {name} {} (once; up to some minutes)", manifest.version));
        }
        BuiltStack::prepare(&self.cache, &source, manifest, &self.stop)
    }
}

impl Prepared {
    /// What `run` is made with.
    ///
    /// # Errors
    /// Where a part cannot be read.
    pub fn versions(&self, run: &Run) -> Result<Versions> {
        let name = &run.settings.stack.name;
        self.machines[&run.settings.kernel].versions(run, &self.manifests[name], &self.stacks[name])
    }

    /// Performs `run`.
    ///
    /// # Errors
    /// See [`PerformError`].
    pub fn perform(
        &self,
        run: &Run,
        records: &Records,
        failures: &Path,
        host: &Host,
    ) -> Result<Performed, PerformError> {
        let name = &run.settings.stack.name;
        let vm = &self.machines[&run.settings.kernel];
        vm.perform(run, &self.manifests[name], &self.stacks[name], records, failures, host)
    }
}

/// The agent stands next to this program.
///
/// # Errors
/// Where it does not.
pub fn agent() -> Result<PathBuf> {
    let path = env::current_exe().context("this program's own path")?.with_file_name("quiclab-agent");
    if !path.is_file() {
        bail!("{}: not found\nhint: cargo build --release makes it next to quiclab", path.display());
    }
    Ok(path)
}

fn find_stacks() -> Result<PathBuf> {
    let here = env::current_dir().context("the current folder")?;
    let has_stacks = |folder: &PathBuf| {
        let entries = fs::read_dir(folder.join("stacks")).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| entry.path().join(MANIFEST).is_file())
    };
    let found = here.ancestors().map(Path::to_path_buf).find(has_stacks);
    let found = found.with_context(|| {
        format!(
            "{}: found no folder stacks/ here or above\nhint: --stacks DIR, or work in a clone of quiclab",
            here.display()
        )
    })?;
    Ok(found.join("stacks"))
}

fn say(text: &str) {
    eprintln!("quiclab: {text}");
}
