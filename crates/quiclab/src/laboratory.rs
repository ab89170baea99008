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
    PATCHED_KERNEL,
    run::{Run, Versions},
    stack::StackManifest,
};
use quiclab_testbed::{
    cache::Cache,
    record::Records,
    stack::{BuiltStack, MANIFEST, Source, source, sources},
    vm::{
        kernel::Kernel,
        kernel_build::Recipe,
        kernel_module::with_modules,
        machine::qemu_version,
        priority,
        run::{PerformError, Performed, Side, Sides, Vm},
        state::{Guest, Host},
    },
};

use crate::{cli::StackOptions, own_stack::own_stack, signals};

/// Folder of imported stacks below the cache's.
pub const IMPORTED: &str = "imported";

/// Where things are, before anything is made.
#[derive(Debug)]
pub struct Laboratory {
    /// The stacks by name, also with every option of their builds.
    pub sources: BTreeMap<String, Source>,
    /// Where things are made once.
    pub cache: Cache,
    /// Sources of what is made for kernels, beside the stacks.
    kernels: PathBuf,
    /// Set to end everything.
    pub stop: Arc<AtomicBool>,
}

/// Everything that a set of runs needs, made.
#[derive(Debug)]
pub struct Prepared {
    sources: BTreeMap<String, Source>,
    stacks: BTreeMap<String, BuiltStack>,
    machines: BTreeMap<String, Vm>,
    /// Stacks that could not be built, and why.
    pub missing: BTreeMap<String, String>,
}

impl Laboratory {
    /// Finds the stacks and the cache.
    ///
    /// # Errors
    /// Where there are no stacks, or one's manifest is wrong.
    pub fn open(stacks: &StackOptions, stop: Arc<AtomicBool>) -> Result<Self> {
        let cache = Cache::from_environment()?;
        let folder = match &stacks.folder {
            Some(folder) => folder.clone(),
            None => find_stacks()?,
        };
        let mut sources = sources(&folder)?;
        if sources.is_empty() {
            bail!("{}: found no stack, expected folders with {MANIFEST}\nhint: --stacks DIR", folder.display());
        }
        for (name, source) in imported(&cache) {
            sources.entry(name).or_insert(source);
        }
        for path in &stacks.own {
            let source = own_stack(&cache, path)?;
            sources.insert(source.manifest.name.clone(), source);
        }
        let variants: Vec<_> = sources.values().flat_map(Source::variants).collect();
        sources.extend(variants.into_iter().map(|variant| (variant.manifest.name.clone(), variant)));
        let kernels = folder.parent().unwrap_or(Path::new("")).join("kernel");
        Ok(Self { sources, cache, kernels, stop })
    }

    /// The stacks as they usually are, in order of name: what is meant where no names are given.
    pub fn usual(&self) -> impl Iterator<Item = &StackManifest> {
        self.sources.values().filter(|source| source.options.is_empty()).map(|source| &source.manifest)
    }

    /// True where `name` is a stack that was imported as an image.
    pub fn is_imported(&self, name: &str) -> bool {
        self.sources.get(name).is_some_and(|source| source.folder.starts_with(self.cache.path(IMPORTED)))
    }

    /// What the stacks say of themselves, by name.
    pub fn manifests(&self) -> BTreeMap<String, StackManifest> {
        self.sources.iter().map(|(name, source)| (name.clone(), source.manifest.clone())).collect()
    }

    /// Makes what `runs` need, as far as the cache does not have it, and says on standard error what takes long. A stack that
    /// cannot be built is left out, unless none can be.
    ///
    /// # Errors
    /// A missing program or package with how to get it, no stack that can be built, or an interruption.
    pub fn prepare(&self, runs: &[Run], patience: Duration) -> Result<Prepared> {
        let mut prepared = Prepared {
            sources: self.sources.clone(),
            stacks: BTreeMap::new(),
            machines: BTreeMap::new(),
            missing: BTreeMap::new(),
        };
        let qemu_version = qemu_version()?;
        let agent = agent()?;
        let names: BTreeSet<_> =
            runs.iter().flat_map(|run| [&run.settings.stack.server, &run.settings.stack.client]).collect();
        for name in names {
            match self.stack(name) {
                Ok(stack) => {
                    prepared.stacks.insert(name.clone(), stack);
                }
                Err(error) if signals::is_interruption(&error) => return Err(error),
                Err(error) => {
                    say(&format!("{name} is left out: {error:#}"));
                    prepared.missing.insert(name.clone(), format!("{error:#}"));
                }
            }
        }
        if prepared.stacks.is_empty() && !runs.is_empty() {
            bail!("no stack could be built");
        }
        for run in runs {
            if !prepared.can(run) {
                continue;
            }
            let name = machine(run);
            if !prepared.machines.contains_key(&name) {
                let mut kernel = self.kernel(&run.settings.kernel)?;
                if run.settings.hosts.needs_modules() {
                    kernel = with_modules(&self.cache, &kernel, &self.kernels.join("module"))?;
                }
                let guest = Guest { kernel, agent: agent.clone(), qemu_version: qemu_version.clone() };
                prepared.machines.insert(name.clone(), Vm { cache: self.cache.clone(), guest });
            }
            let vm = &prepared.machines[&name];
            vm.prepare(run, prepared.sides(run), &self.host(0, patience)?, &mut |size| {
                say(&format!("booting a guest of {} MiB with kernel {name} (once; some 10 s)", size.memory_mib));
            })?;
        }
        Ok(prepared)
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
    /// As [`Kernel::prepare`], and [`Recipe::built`] for the one that is built only where it is asked for.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        if name == PATCHED_KERNEL {
            return self.paced_kernel()?.built(&self.cache);
        }
        if Kernel::find(&self.cache, name).is_none() {
            say(&format!("getting kernel {name} from the package archive (once)"));
        }
        Kernel::prepare(&self.cache, name)
    }

    /// What the kernel with paced segmentation offload is made of.
    ///
    /// # Errors
    /// As [`Recipe::read`].
    pub fn paced_kernel(&self) -> Result<Recipe> {
        Recipe::read(&self.kernels.join("patch"))
    }

    /// The built stack `name`.
    ///
    /// # Errors
    /// As [`BuiltStack::prepare`].
    pub fn stack(&self, name: &str) -> Result<BuiltStack> {
        let source = self.source(name)?;
        if BuiltStack::find(&self.cache, source)?.is_none() {
            say(&format!("building {name} {} (once; up to some minutes)", source.manifest.version));
        }
        BuiltStack::prepare(&self.cache, source, &self.stop)
    }

    /// The stack `name`.
    ///
    /// # Errors
    /// Where there is none.
    pub fn source(&self, name: &str) -> Result<&Source> {
        self.sources.get(name).with_context(|| {
            let known = self.usual().map(|manifest| manifest.name.clone()).collect::<Vec<_>>().join(", ");
            format!("stack: found {name:?}, expected one of {known}")
        })
    }
}

/// Which machine a run needs.
fn machine(run: &Run) -> String {
    let module = if run.settings.hosts.needs_modules() { " with quiclab's modules" } else { "" };
    format!("{}{module}", run.settings.kernel)
}

impl Prepared {
    /// True where the stacks of `run` are there.
    pub fn can(&self, run: &Run) -> bool {
        let stack = &run.settings.stack;
        [&stack.server, &stack.client].into_iter().all(|name| self.stacks.contains_key(name))
    }

    fn sides(&self, run: &Run) -> Sides<'_> {
        let side = |name: &String| Side { manifest: &self.sources[name].manifest, stack: &self.stacks[name] };
        Sides { server: side(&run.settings.stack.server), client: side(&run.settings.stack.client) }
    }

    /// What `run` is made with.
    ///
    /// # Errors
    /// Where a part cannot be read.
    pub fn versions(&self, run: &Run) -> Result<Versions> {
        self.machines[&machine(run)].versions(run, self.sides(run))
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
        self.machines[&machine(run)].perform(run, self.sides(run), records, failures, host)
    }

    /// Performs `run` with other variables in the endpoints' environments.
    ///
    /// # Errors
    /// See [`PerformError`].
    pub fn perform_with(
        &self,
        run: &Run,
        variables: &Variables,
        records: &Records,
        failures: &Path,
        host: &Host,
    ) -> Result<Performed, PerformError> {
        let mut sides = self.sides(run);
        let [mut server, mut client] = [sides.server, sides.client].map(|side| side.manifest.clone());
        server.guest.environment.extend(variables.server.clone());
        client.guest.environment.extend(variables.client.clone());
        sides.server.manifest = &server;
        sides.client.manifest = &client;
        self.machines[&machine(run)].perform(run, sides, records, failures, host)
    }
}

/// Variables that replace those of the contract, or come beside them, by role.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    /// The server's.
    pub server: BTreeMap<String, String>,
    /// The client's.
    pub client: BTreeMap<String, String>,
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

/// The stacks that were imported as images, by name. What an earlier version of quiclab imported and this one cannot read is left
/// out, with a warning.
fn imported(cache: &Cache) -> BTreeMap<String, Source> {
    let entries = fs::read_dir(cache.path(IMPORTED)).into_iter().flatten().flatten();
    let folders = entries.map(|entry| entry.path()).filter(|folder| folder.join(MANIFEST).is_file());
    let mut imported = BTreeMap::new();
    for folder in folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match source(&folder) {
            Ok(source) => {
                imported.insert(name, source);
            }
            Err(error) => say(&format!("warning: {name} is left out: {error:#}\nhint: quiclab stacks import it again")),
        }
    }
    imported
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
