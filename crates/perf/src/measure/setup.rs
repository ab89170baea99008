//! The stacks of a test and folders for its endpoints, which are made before any endpoint starts.

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
};

use anyhow::{Context, Result, bail, ensure};
use quiclab_experiment::stack::{PERF, Role, StackManifest, Transport};
use quiclab_testbed::{
    loopback::{self, Network, Root, Scratch},
    stack::Source,
    stack_store::StackRequest,
};
use quiclab_trials::files::Files;

use super::{ends, hooks::Hooks, settings::PerfSettings};

/// The stack of `--tcp`, which it asks for no TLS.
const TCP: &str = "tcp-tls";

/// The name that results of `--tcp` have in place of a stack's.
const PLAIN_TCP: &str = "plain TCP";

/// The version of stacks that come as packages.
const OF_PACKAGES: &str = "debian";

/// A stack that can run.
pub(super) struct Stack {
    pub(super) manifest: StackManifest,
    pub(super) root: Root,
    /// A title in place of name and version.
    pub(super) title: Option<&'static str>,
}

impl Stack {
    pub(super) fn title(&self) -> String {
        match (self.title, self.manifest.version.as_str()) {
            (Some(title), _) => title.to_owned(),
            // That of its packages, not of what is measured here.
            (None, OF_PACKAGES) => self.manifest.name.clone(),
            (None, version) => format!("{} {version}", self.manifest.name),
        }
    }
}

/// The stacks of a test, and its folders.
pub(super) struct Setup {
    /// The server's stack, where it runs here.
    pub(super) server: Option<Stack>,
    pub(super) client: Option<Stack>,
    /// The transport protocol of both ends.
    pub(super) transport: Transport,
    /// A sentence for each part of the endpoints that was not built here.
    pub(super) origins: Vec<String>,
    /// Folder for endpoints, in memory, under this name for all of them.
    pub(super) shared: PathBuf,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) hooks: Hooks,
    pub(super) _scratch: Scratch,
}

impl Setup {
    /// Builds the stacks and enters the network of the test.
    ///
    /// # Errors
    /// A stack that is not there, cannot be built or has no `perf`.
    pub(super) fn prepare(settings: &PerfSettings, stop: &Arc<AtomicBool>, hooks: Hooks) -> Result<Self> {
        let asked = if settings.tcp { &TCP.to_owned() } else { &settings.stack };
        let paths = [
            Some(asked).filter(|_| settings.client.is_none() || settings.client_stack.is_none()),
            settings.client_stack.as_ref(),
        ];
        let mut own: Vec<_> =
            paths.into_iter().flatten().filter(|stack| stack.contains('/')).map(PathBuf::from).collect();
        own.dedup();
        let options = StackRequest { folder: settings.folder.clone(), own, replace: true, rebuild: settings.rebuild };
        let laboratory = hooks.laboratory(&options, stop)?;
        let stack_store = &laboratory.stack_store;
        // Own ones are listed in the order of their paths.
        let name_of = |stack: &String| {
            let place = options.own.iter().position(|path| path.as_os_str() == stack.as_str());
            place.and_then(|place| stack_store.own.get(place)).unwrap_or(stack).clone()
        };
        let source = |name: &str, role: Role| -> Result<Source> {
            let source = stack_store.source(name)?;
            let cases = match role {
                Role::Server => &source.manifest.test_cases.server,
                Role::Client => &source.manifest.test_cases.client,
            };
            if !cases.iter().any(|case| case == PERF) {
                let can = |one: &&StackManifest| one.test_cases.server.iter().any(|case| case == PERF);
                let names: Vec<_> = stack_store.default_builds().filter(can).map(|one| one.name.clone()).collect();
                bail!(
                    "stack {name}: its stack.toml does not claim the test case perf\nhint: these do: {}",
                    names.join(", ")
                );
            }
            Ok(source.clone())
        };
        let server = match settings.client {
            None => Some(source(&name_of(asked), Role::Server)?),
            Some(_) => None,
        };
        let client_name = name_of(settings.client_stack.as_ref().unwrap_or(asked));
        let client = if settings.server { None } else { Some(source(&client_name, Role::Client)?) };
        let transports: Vec<_> = [&server, &client].into_iter().flatten().map(|one| one.manifest.transport).collect();
        let transport = *transports.first().context("found neither a server nor a client")?;
        ensure!(
            transports.iter().all(|other| *other == transport),
            "--client-stack: both ends must be of QUIC, or both of TCP"
        );
        if settings.server {
            ends::counters_port(settings.port, transport)?;
        }
        let build = |source: &Option<Source>| -> Result<Option<Files>> {
            let source = source.as_ref();
            source
                .map(|source| {
                    Files::build(&stack_store.cache, source, settings.rebuild, stop, |text: &str| hooks.progress(text))
                })
                .transpose()
        };
        let (server_files, client_files) = (build(&server)?, build(&client)?);
        let foreign = stack_store.cache.used_from_archives();
        let origins =
            foreign.iter().map(|(name, origin)| format!("{name} was not built here, it is {origin}")).collect();
        let network = if settings.server || settings.client.is_some() { Network::OfThisMachine } else { Network::Own };
        let scratch = loopback::enter(network)?;
        let shared = scratch.path().join("shared");
        for folder in ["logs/server", "logs/client", "www", "downloads", "home", "certs"] {
            let folder = shared.join(folder);
            std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        }
        let stack = |source: Option<Source>, files: Option<Files>, name: &str| -> Result<Option<Stack>> {
            let Some((source, files)) = source.zip(files) else { return Ok(None) };
            let root = files.root(&scratch.path().join(name), &shared)?;
            let title = settings.tcp.then_some(PLAIN_TCP);
            Ok(Some(Stack { manifest: source.manifest, root, title }))
        };
        let server = stack(server, server_files, "server")?;
        let client = stack(client, client_files, "client")?;
        Ok(Self { server, client, transport, origins, shared, stop: stop.clone(), hooks, _scratch: scratch })
    }

    /// The port at which datagrams can be dropped; `None`: there are none.
    pub(super) fn udp_port(&self, settings: &PerfSettings) -> Option<u16> {
        (self.transport == Transport::Quic).then_some(settings.port)
    }
}
