//! What there is before endpoints: the stacks that can run, and folders for them.

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
};

use quiclab_experiment::stack::{StackManifest, Transport};
use quiclab_testbed::loopback::{Root, Scratch};

use crate::settings::PerfSettings;

/// The version of stacks that come as packages.
const OF_PACKAGES: &str = "debian";

/// A stack that can run.
pub(super) struct Stack {
    pub(super) manifest: StackManifest,
    pub(super) root: Root,
    /// What it is called where that is not its name and version.
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

/// What there is before endpoints.
pub(super) struct Setup {
    /// The server's stack, where it runs here.
    pub(super) server: Option<Stack>,
    pub(super) client: Option<Stack>,
    /// What the ends speak.
    pub(super) transport: Transport,
    /// What endpoints are made of that was not built here, in words.
    pub(super) origins: Vec<String>,
    /// Folder for endpoints, in memory, under this name for all of them.
    pub(super) shared: PathBuf,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) _scratch: Scratch,
}

impl Setup {
    /// The port at which datagrams can be dropped; `None`: there are none.
    pub(super) fn udp_port(&self, settings: &PerfSettings) -> Option<u16> {
        (self.transport == Transport::Quic).then_some(settings.port)
    }
}
