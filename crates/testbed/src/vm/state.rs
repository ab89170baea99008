//! The saved state: a guest that has booted once and waits for orders.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use serde_json::json;

use super::{
    initramfs,
    kernel::Kernel,
    machine::{self, Files, RoleFiles, STACK_BYTES, Size},
    monitor::Qemu,
};
use crate::{cache::Cache, hash, perform::Host};

/// Booting takes some ten seconds; a guest that is not up by then never will be.
const BOOT_PATIENCE: Duration = Duration::from_secs(300);

/// Leaves the shared files (image, slot, stack) out of the state: they stay where they are.
const IGNORE_SHARED: &str = "x-ignore-shared";

/// What a guest is made of.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Its kernel.
    pub kernel: Kernel,
    /// The agent's executable.
    pub agent: PathBuf,
    /// Version of QEMU.
    pub qemu_version: String,
}

/// A state in the cache.
#[derive(Clone, Debug)]
pub struct SavedState {
    folder: PathBuf,
    /// How large the guest is.
    pub size: Size,
}

impl Guest {
    /// Identity of everything a saved state depends on.
    ///
    /// # Errors
    /// Where a part cannot be read.
    pub fn identity(&self, size: Size) -> Result<String> {
        Ok(hash::Hasher::default()
            .part(self.kernel.version()?.as_bytes())
            .part(Kernel::parts().as_bytes())
            .part(hash::of_file(&self.agent).with_context(|| self.agent.display().to_string())?.as_bytes())
            .part(self.qemu_version.as_bytes())
            .part(machine::identity(size).as_bytes())
            .short())
    }

    /// True where the cache has the saved state of this guest.
    ///
    /// # Errors
    /// As [`Guest::identity`].
    pub fn has_saved_state(&self, cache: &Cache, size: Size) -> Result<bool> {
        Ok(cache.path(&format!("state/{}", self.identity(size)?)).is_dir())
    }

    /// The saved state of this guest; boots and saves it where the cache has none.
    ///
    /// # Errors
    /// Where the guest does not come up, or is told to stop meanwhile.
    pub fn saved_state(&self, cache: &Cache, size: Size, host: &Host) -> Result<SavedState> {
        let name = format!("state/{}", self.identity(size)?);
        let folder = cache.folder(&name, |folder| self.boot_and_save(folder, size, host))?;
        Ok(SavedState { folder, size })
    }

    fn boot_and_save(&self, folder: &Path, size: Size, host: &Host) -> Result<()> {
        let state = SavedState { folder: folder.to_path_buf(), size };
        initramfs::write(&self.agent, &self.kernel, &state.initramfs())?;
        let console = folder.join("console");
        // What carries the endpoints' files is plugged in when a run begins; the guest looks at it no sooner.
        let empty =
            [("slot", size.slot_bytes), ("root", size.root_bytes), ("stack", STACK_BYTES)].map(|(name, length)| {
                let path = folder.join(name);
                File::create(&path).and_then(|file| file.set_len(length)).map(|()| path)
            });
        let [slot, root, stack] = empty;
        let [slot, root, stack] = [slot.context("slot")?, root.context("root")?, stack.context("stack")?];
        let role = RoleFiles { root: &root, stack: &stack };
        let files = Files {
            kernel: &self.kernel.image(),
            initramfs: &state.initramfs(),
            server: role,
            client: role,
            slot: &slot,
            console: &console,
        };
        let saved = self.boot(&files, size, host).and_then(|mut qemu| {
            set_capability(&mut qemu)?;
            qemu.execute("migrate", json!({ "uri": exec_uri("cat > ", &state.file()) }))?;
            qemu.wait_for_migration()?;
            qemu.quit().map(drop)
        });
        if let Err(error) = saved {
            let said = fs::read_to_string(&console).unwrap_or_default();
            return Err(error.context(format!("the guest did not boot; its console:\n{}", crate::command::tail(&said))));
        }
        for file in [slot, root, stack, console] {
            fs::remove_file(&file).with_context(|| file.display().to_string())?;
        }
        Ok(())
    }

    fn boot(&self, files: &Files, size: Size, host: &Host) -> Result<Qemu> {
        let mut qemu = Qemu::start(machine::qemu(size, files), host.core, host.stop.clone(), BOOT_PATIENCE)?;
        qemu.wait_for_event("GUEST_PANICKED")?;
        Ok(qemu)
    }
}

/// What a run brings to the machine.
#[derive(Clone, Copy, Debug)]
pub struct RunFiles<'a> {
    /// The server's files.
    pub server: RoleFiles<'a>,
    /// The client's files.
    pub client: RoleFiles<'a>,
    /// Orders and results.
    pub slot: &'a Path,
    /// Where the guest's console goes.
    pub console: &'a Path,
}

impl SavedState {
    /// Starts a QEMU that goes on where the state was saved.
    ///
    /// # Errors
    /// Where QEMU cannot restore it.
    pub fn restore(&self, guest: &Guest, files: &RunFiles, host: &Host) -> Result<Qemu> {
        let files = Files {
            kernel: &guest.kernel.image(),
            initramfs: &self.initramfs(),
            server: files.server,
            client: files.client,
            slot: files.slot,
            console: files.console,
        };
        let mut command = machine::qemu(self.size, &files);
        command.args(["-incoming", "defer"]);
        let mut qemu = Qemu::start(command, host.core, host.stop.clone(), host.patience)?;
        set_capability(&mut qemu)?;
        qemu.execute("migrate-incoming", json!({ "uri": exec_uri("cat ", &self.file()) }))?;
        qemu.wait_for_migration()?;
        qemu.execute("cont", json!({}))?;
        Ok(qemu)
    }

    fn file(&self) -> PathBuf {
        self.folder.join("state")
    }

    fn initramfs(&self) -> PathBuf {
        self.folder.join("initramfs")
    }
}

fn set_capability(qemu: &mut Qemu) -> Result<()> {
    let capabilities = json!({ "capabilities": [{ "capability": IGNORE_SHARED, "state": true }] });
    qemu.execute("migrate-set-capabilities", capabilities).map(drop)
}

/// QEMU before 8.2 knows no `file:` migration, so the state goes through a shell's `cat`, the path quoted for it.
fn exec_uri(command: &str, path: &Path) -> String {
    format!("exec:{command}'{}'", path.display().to_string().replace('\'', r"'\''"))
}
