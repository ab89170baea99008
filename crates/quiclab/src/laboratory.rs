//! What runs are made with: stacks, kernel, image, saved state, each made once and cached.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool},
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
    perform::{Host, PerformError, Performed, Side, Sides},
    record::Records,
    sim::{program::Program, transfers},
    stack::{BuiltStack, MANIFEST, Source, source, sources},
    vm::{
        kernel::Kernel,
        kernel_build::Recipe,
        kernel_module::with_modules,
        machine::qemu_version,
        priority,
        run::{Vm, unknown_setting},
        state::Guest,
    },
};

use crate::{
    cli::{StackOptions, Testbed},
    own_stack::add_own_stacks,
    signals,
};

/// Folder of imported stacks below the cache's.
pub const IMPORTED: &str = "imported";
/// Folder of the stacks that are started in the virtual machine, in a clone of quiclab.
const STACKS: &str = "stacks";
/// Folder of those that the simulator calls.
const SANS_IO: &str = "sans-io";
/// What is wrong where a run is asked for whose stack could not be built.
const MISSING: &str = "a stack of the run is missing";

/// Where things are, before anything is made.
#[derive(Debug)]
pub struct Laboratory {
    /// The stacks by name, also with every option of their builds.
    pub sources: BTreeMap<String, Source>,
    /// Names of the user's own stacks, in the order in which they were given.
    pub own: Vec<String>,
    /// Where things are made once.
    pub cache: Cache,
    /// Sources of what is made for kernels, beside the stacks.
    kernels: PathBuf,
    /// Set to end everything.
    pub stop: Arc<AtomicBool>,
    /// Where runs happen.
    testbed: Testbed,
    /// What is built again although the cache has it.
    rebuilds: Rebuilds,
}

/// What is built again although the cache has it, each once.
#[derive(Debug, Default)]
struct Rebuilds {
    /// Whether anything is.
    asked: bool,
    /// Those that were.
    done: Mutex<BTreeSet<String>>,
}

/// Everything that a set of runs needs, made.
#[derive(Debug)]
pub struct Prepared {
    sources: BTreeMap<String, Source>,
    place: Place,
    /// Stacks that could not be built, and why.
    pub missing: BTreeMap<String, String>,
}

/// Where runs happen, and the stacks as they are needed there.
#[derive(Debug)]
enum Place {
    /// Virtual machines by their kernels.
    Vm { stacks: BTreeMap<String, BuiltStack>, machines: BTreeMap<String, Vm> },
    /// The simulator.
    Sim { programs: BTreeMap<String, Program> },
}

impl Laboratory {
    /// Finds the stacks and the cache, for runs in virtual machines.
    ///
    /// # Errors
    /// Where there are no stacks, or one's manifest is wrong.
    pub fn open(stacks: &StackOptions, stop: Arc<AtomicBool>) -> Result<Self> {
        Self::open_for(Testbed::Vm, stacks, stop)
    }

    /// The same, for runs in `testbed`.
    ///
    /// # Errors
    /// As [`Laboratory::open`].
    pub fn open_for(testbed: Testbed, stacks: &StackOptions, stop: Arc<AtomicBool>) -> Result<Self> {
        let cache = Cache::from_environment()?;
        let usual = match testbed {
            Testbed::Vm => STACKS,
            Testbed::Sim => SANS_IO,
        };
        let folder = match &stacks.folder {
            Some(folder) => folder.clone(),
            None => find_stacks(usual)?,
        };
        let mut sources = sources(&folder)?;
        if sources.is_empty() {
            bail!("{}: found no stack, expected folders with {MANIFEST}\nhint: --stacks DIR", folder.display());
        }
        if testbed == Testbed::Vm {
            for (name, source) in imported(&cache) {
                sources.entry(name).or_insert(source);
            }
        }
        let own = add_own_stacks(&cache, &stacks.own, &mut sources)?;
        let variants: Vec<_> = sources.values().flat_map(Source::variants).collect();
        sources.extend(variants.into_iter().map(|variant| (variant.manifest.name.clone(), variant)));
        let kernels = folder.parent().unwrap_or(Path::new("")).join("kernel");
        let rebuilds = Rebuilds { asked: stacks.rebuild, ..Rebuilds::default() };
        Ok(Self { sources, own, cache, kernels, stop, testbed, rebuilds })
    }

    /// The stacks as they usually are, in order of name: what is meant where no names are given.
    pub fn usual(&self) -> impl Iterator<Item = &StackManifest> {
        self.sources.values().filter(|source| source.options.is_empty()).map(|source| &source.manifest)
    }

    /// True where `name` is a stack that was imported as an image.
    pub fn is_imported(&self, name: &str) -> bool {
        self.sources.get(name).is_some_and(|source| source.folder.starts_with(self.cache.path(IMPORTED)))
    }

    /// What is wrong with a run that has settings which its testbed does not know; `None` where all is well.
    pub fn unknown_setting(&self, run: &Run) -> Option<String> {
        match self.testbed {
            Testbed::Vm => unknown_setting(run),
            Testbed::Sim => transfers::unknown_setting(run),
        }
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
        match self.testbed {
            Testbed::Vm => self.prepare_machines(runs, patience),
            Testbed::Sim => {
                let (programs, missing) = self.build_all(runs, |name| self.program(name))?;
                Ok(Prepared { sources: self.sources.clone(), place: Place::Sim { programs }, missing })
            }
        }
    }

    fn prepare_machines(&self, runs: &[Run], patience: Duration) -> Result<Prepared> {
        let qemu_version = qemu_version()?;
        let agent = agent()?;
        let (stacks, missing) = self.build_all(runs, |name| self.stack(name))?;
        let mut machines: BTreeMap<String, Vm> = BTreeMap::new();
        for run in runs {
            let Some(sides) = sides(&self.sources, &stacks, run) else { continue };
            let name = machine(run);
            if !machines.contains_key(&name) {
                let mut kernel = self.kernel(&run.settings.vm.kernel)?;
                if run.settings.needs_modules() {
                    kernel = with_modules(&self.cache, &kernel, &self.kernels.join("module"))?;
                }
                let guest = Guest { kernel, agent: agent.clone(), qemu_version: qemu_version.clone() };
                machines.insert(name.clone(), Vm { cache: self.cache.clone(), guest });
            }
            let vm = &machines[&name];
            vm.prepare(run, sides, &self.host(0, patience)?, &mut |size| {
                say(&format!("booting a guest of {} MiB with kernel {name} (once; some 10 s)", size.memory_mib));
            })?;
        }
        Ok(Prepared { sources: self.sources.clone(), place: Place::Vm { stacks, machines }, missing })
    }

    /// What `build` makes of every stack of `runs`, and why it could not make it of some; an error where it can make none.
    fn build_all<T>(
        &self,
        runs: &[Run],
        build: impl Fn(&str) -> Result<T>,
    ) -> Result<(BTreeMap<String, T>, BTreeMap<String, String>)> {
        let (mut built, mut missing) = (BTreeMap::new(), BTreeMap::new());
        let names: BTreeSet<_> =
            runs.iter().flat_map(|run| [&run.settings.stack.server, &run.settings.stack.client]).collect();
        for name in names {
            match build(name) {
                Ok(stack) => {
                    built.insert(name.clone(), stack);
                }
                Err(error) if signals::is_interruption(&error) => return Err(error),
                Err(error) => {
                    say(&format!("skipping {name}: {error:#}"));
                    missing.insert(name.clone(), format!("{error:#}"));
                }
            }
        }
        if built.is_empty() && !runs.is_empty() {
            bail!("no stack could be built");
        }
        Ok((built, missing))
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

    /// The built stack `name`. With `--rebuild` it is built again the first time, if it is one of `--stack`, or if there are none of these.
    ///
    /// # Errors
    /// As [`BuiltStack::prepare`].
    pub fn stack(&self, name: &str) -> Result<BuiltStack> {
        let again = self.is_to_be_rebuilt(name);
        self.built(name, again)
    }

    /// The built stack `name`, which was asked for by this name: with `--rebuild` it is built again the first time, whatever others there are.
    ///
    /// # Errors
    /// As [`BuiltStack::prepare`].
    pub fn named_stack(&self, name: &str) -> Result<BuiltStack> {
        let again = self.rebuilds.asked && self.rebuilds.is_first(name);
        self.built(name, again)
    }

    fn built(&self, name: &str, again: bool) -> Result<BuiltStack> {
        let source = self.source(name)?;
        if again {
            say(&format!("building {name} {} again (up to some minutes)", source.manifest.version));
        } else if BuiltStack::find(&self.cache, source)?.is_none() {
            say(&format!("building {name} {} (once; up to some minutes)", source.manifest.version));
        }
        BuiltStack::prepare(&self.cache, source, again, &self.stop)
    }

    fn is_to_be_rebuilt(&self, name: &str) -> bool {
        let is_own = self.source(name).is_ok_and(|source| {
            self.own.iter().any(|own| self.sources.get(own).is_some_and(|own| own.folder == source.folder))
        });
        self.rebuilds.asked && (self.own.is_empty() || is_own) && self.rebuilds.is_first(name)
    }

    /// The program of the stack `name` that the simulator calls.
    ///
    /// # Errors
    /// As [`Program::prepare`].
    fn program(&self, name: &str) -> Result<Program> {
        let source = self.source(name)?;
        let again = self.is_to_be_rebuilt(name);
        if again || !Program::is_built(&self.cache, source)? {
            say(&format!("building {name} without sockets, {} (once; up to some minutes)", source.manifest.version));
        }
        Program::prepare(&self.cache, source, again, &self.stop)
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

impl Rebuilds {
    /// True where `name` was not built again yet; it counts as built then.
    fn is_first(&self, name: &str) -> bool {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned())
    }
}

/// The stacks of a run; `None` where one is missing.
fn sides<'a, S>(
    sources: &'a BTreeMap<String, Source>,
    stacks: &'a BTreeMap<String, S>,
    run: &Run,
) -> Option<Sides<'a, S>> {
    let side = |name: &String| Some(Side { manifest: &sources.get(name)?.manifest, stack: stacks.get(name)? });
    let stack = &run.settings.stack;
    Some(Sides { server: side(&stack.server)?, client: side(&stack.client)? })
}

/// The same stacks, which say other things of themselves.
fn with_manifests<'a, S>(sides: Sides<'a, S>, server: &'a StackManifest, client: &'a StackManifest) -> Sides<'a, S> {
    Sides { server: Side { manifest: server, ..sides.server }, client: Side { manifest: client, ..sides.client } }
}

/// Which machine a run needs.
fn machine(run: &Run) -> String {
    let module = if run.settings.needs_modules() { " with quiclab's modules" } else { "" };
    format!("{}{module}", run.settings.vm.kernel)
}

impl Prepared {
    /// True where the stacks of `run` are there.
    pub fn can(&self, run: &Run) -> bool {
        match &self.place {
            Place::Vm { stacks, .. } => sides(&self.sources, stacks, run).is_some(),
            Place::Sim { programs } => sides(&self.sources, programs, run).is_some(),
        }
    }

    /// What `run` is made with.
    ///
    /// # Errors
    /// Where a part cannot be read.
    pub fn versions(&self, run: &Run) -> Result<Versions> {
        match &self.place {
            Place::Vm { stacks, machines } => {
                machines[&machine(run)].versions(run, sides(&self.sources, stacks, run).context(MISSING)?)
            }
            Place::Sim { programs } => transfers::versions(run, sides(&self.sources, programs, run).context(MISSING)?),
        }
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
        self.perform_with(run, &Variables::default(), records, failures, host)
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
        let stack = &run.settings.stack;
        let manifest = |name: &String, variables: &BTreeMap<String, String>| {
            let mut manifest = self.sources[name].manifest.clone();
            manifest.guest.environment.extend(variables.clone());
            manifest
        };
        let [server, client] = [manifest(&stack.server, &variables.server), manifest(&stack.client, &variables.client)];
        match &self.place {
            Place::Vm { stacks, machines } => {
                let sides = with_manifests(sides(&self.sources, stacks, run).context(MISSING)?, &server, &client);
                machines[&machine(run)].perform(run, sides, records, failures, host)
            }
            Place::Sim { programs } => {
                let sides = with_manifests(sides(&self.sources, programs, run).context(MISSING)?, &server, &client);
                transfers::perform(run, sides, records, failures, host)
            }
        }
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
            Err(error) => say(&format!("warning: skipping {name}: {error:#}\nhint: quiclab stacks import it again")),
        }
    }
    imported
}

/// The folder of that name with stacks in it.
fn find_stacks(name: &str) -> Result<PathBuf> {
    let here = env::current_dir().context("the current folder")?;
    let has_stacks = |folder: &PathBuf| {
        let entries = fs::read_dir(folder.join(name)).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| entry.path().join(MANIFEST).is_file())
    };
    let found = here.ancestors().map(Path::to_path_buf).find(has_stacks);
    let found = found.with_context(|| {
        format!(
            "{}: found no folder {name}/ with stacks here or above\nhint: --stacks DIR, or work in a clone of quiclab",
            here.display()
        )
    })?;
    Ok(found.join(name))
}

fn say(text: &str) {
    eprintln!("quiclab: {text}");
}
