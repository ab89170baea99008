//! The saved state: a guest that has booted once and waits for orders.

use std::{
    fs::{self, File},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result};
use nix::sys::{
    resource::{Resource, setrlimit},
    signal::{SigHandler, Signal, signal},
};
use serde_json::json;

use super::{machine, monitor::Qemu};
use crate::{
    cache::{Cache, Care},
    collect::excerpt,
    guest::{
        initramfs,
        machine::{Size, link, names},
    },
    hash,
    kernel::Kernel,
    perform::Host,
    stack::STACK_BYTES,
};

/// Folder of saved states in the cache.
const FOLDER: &str = "state";
/// Booting takes some ten seconds, and much longer where other work takes the processors. Those who wait longer for a run wait longer for this, too.
const BOOT_TIMEOUT: Duration = Duration::from_secs(300);

/// Most bytes that are kept of what a guest prints on its console.
const LONGEST_CONSOLE: u64 = 4 << 20;
/// Bytes of it that are looked at where a guest does not boot.
const LONGEST_EXCERPT: u64 = 1 << 20;

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
        Ok(cache.path(&format!("{FOLDER}/{}", self.identity(size)?)).is_dir())
    }

    /// Keeps the saved state of this guest from being removed as long as this process lives.
    ///
    /// # Errors
    /// As [`Guest::identity`], and [`Cache::hold`].
    pub fn hold_saved_state(&self, cache: &Cache, size: Size) -> Result<()> {
        cache.use_held(&format!("{FOLDER}/{}", self.identity(size)?))
    }

    /// The saved state of this guest; boots and saves it where the cache has none.
    ///
    /// # Errors
    /// Where the guest does not come up, or is told to stop meanwhile.
    pub fn saved_state(&self, cache: &Cache, size: Size, host: &Host) -> Result<SavedState> {
        let name = format!("{FOLDER}/{}", self.identity(size)?);
        let folder = cache.folder(&name, |folder| self.boot_and_save(cache, folder, size, host))?;
        Ok(SavedState { folder, size })
    }

    fn boot_and_save(&self, cache: &Cache, folder: &Path, size: Size, host: &Host) -> Result<()> {
        let state = SavedState { folder: folder.to_path_buf(), size };
        cache.verify(self.kernel.folder(), Care::Default)?;
        cache.inherit(self.kernel.folder(), folder)?;
        initramfs::write(&self.agent, &self.kernel, &state.initramfs())?;
        let work = folder.join("work");
        fs::create_dir(&work).with_context(|| work.display().to_string())?;
        // What carries the endpoints' files is plugged in when a run begins; the guest looks at it no sooner.
        for (name, length) in [
            (names::SLOT, size.slot_bytes),
            (names::SERVER_ROOT, size.root_bytes),
            (names::SERVER_STACK, STACK_BYTES),
            (names::CLIENT_ROOT, size.root_bytes),
            (names::CLIENT_STACK, STACK_BYTES),
        ] {
            File::create(work.join(name)).and_then(|file| file.set_len(length)).context(name)?;
        }
        link(&self.kernel.image(), &work, names::KERNEL)?;
        link(&state.initramfs(), &work, names::INITRAMFS)?;
        let saved = self.boot(&work, size, host).and_then(|mut qemu| {
            set_capability(&mut qemu)?;
            // QEMU before 8.2 knows no `file:` migration.
            qemu.execute("migrate", json!({ "uri": format!("exec:cat > {}", names::STATE) }))?;
            qemu.wait_for_migration()?;
            qemu.quit().map(drop)
        });
        if let Err(error) = saved {
            let said = excerpt(&work.join(names::CONSOLE), LONGEST_EXCERPT);
            return Err(error.context(format!("the guest did not boot; its console:\n{}", crate::command::tail(&said))));
        }
        fs::rename(work.join(names::STATE), state.file()).context(names::STATE)?;
        fs::remove_dir_all(&work).with_context(|| work.display().to_string())
    }

    fn boot(&self, work: &Path, size: Size, host: &Host) -> Result<Qemu> {
        let timeout = boot_timeout(host.timeout);
        let mut qemu = Qemu::start(machine::qemu(size, work), host.core, host.stop.clone(), timeout)?;
        qemu.wait_for_event("GUEST_PANICKED")?;
        Ok(qemu)
    }
}

/// A role's files.
#[derive(Clone, Debug)]
pub struct RoleFiles {
    /// Its root file system.
    pub root: PathBuf,
    /// Its stack's files.
    pub stack: PathBuf,
}

impl SavedState {
    /// Starts a QEMU that goes on where the state was saved, in the folder `work`, which has the slot already.
    ///
    /// # Errors
    /// Where QEMU cannot restore it.
    pub fn restore(
        &self,
        guest: &Guest,
        server: &RoleFiles,
        client: &RoleFiles,
        work: &Path,
        host: &Host,
    ) -> Result<Qemu> {
        for (file, name) in [
            (&guest.kernel.image(), names::KERNEL),
            (&self.initramfs(), names::INITRAMFS),
            (&self.file(), names::STATE),
            (&server.root, names::SERVER_ROOT),
            (&server.stack, names::SERVER_STACK),
            (&client.root, names::CLIENT_ROOT),
            (&client.stack, names::CLIENT_STACK),
        ] {
            link(file, work, name)?;
        }
        let mut command = machine::qemu(self.size, work);
        command.args(["-incoming", "defer"]);
        bound_written_files(&mut command, LONGEST_CONSOLE);
        let mut qemu = Qemu::start(command, host.core, host.stop.clone(), host.timeout)?;
        set_capability(&mut qemu)?;
        // QEMU before 8.2 knows no `file:` migration.
        qemu.execute("migrate-incoming", json!({ "uri": format!("exec:cat {}", names::STATE) }))?;
        qemu.wait_for_migration()?;
        qemu.execute("cont", json!({}))?;
        Ok(qemu)
    }

    /// Its folder in the cache.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its name in the cache.
    pub fn name(&self) -> String {
        format!("{FOLDER}/{}", self.folder.file_name().unwrap_or_default().to_string_lossy())
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

/// What a guest writes to its console is the only file that grows as it likes. More than `most` bytes are dropped.
fn bound_written_files(command: &mut Command, most: u64) {
    let enter = move || {
        setrlimit(Resource::RLIMIT_FSIZE, most, most)?;
        // A write beyond it fails, instead of ending the process.
        // SAFETY: the handler is one of the kernel's own.
        unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }?;
        Ok(())
    };
    // SAFETY: two system calls, which are safe between fork and exec.
    unsafe { command.pre_exec(enter) };
}

/// How long a guest may take to boot where a run may take this long.
fn boot_timeout(of_a_run: Duration) -> Duration {
    of_a_run.max(BOOT_TIMEOUT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_wait_longer_for_a_run_wait_longer_for_the_boot_before_it() {
        assert_eq!(boot_timeout(Duration::from_secs(3_000)), Duration::from_secs(3_000));
        assert_eq!(boot_timeout(Duration::from_secs(1)), BOOT_TIMEOUT);
    }
}
