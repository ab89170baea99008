//! One quiclab at a time performs runs in real time on a machine: two would disturb each other's timing.
//!
//! Whoever performs the first run takes the turn and keeps it until the process ends, however it ends, because the kernel frees a lock
//! with its holder. The file says whose turn it is. It lies in the cache, so processes with different caches do not know of each other.

use std::{
    env,
    fs::{self, File, TryLockError},
    io::{Seek, Write},
    path::{Path, PathBuf},
    process,
    sync::{Mutex, PoisonError, atomic::Ordering},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::{
    perform::{Host, Interrupted},
    stack_store::StackStore,
};

/// Folder of the locks below the cache's; one for each machine, because machines may share the disk.
const FOLDER: &str = "turns";
/// How often a turn that another process has is tried.
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

/// The turn of this process, once it has it.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// Locked as long as it is open.
    file: Mutex<Option<File>>,
}

/// Who has the turn.
#[derive(Debug, Serialize, Deserialize)]
struct Holder {
    process: u32,
    /// Seconds since 1970.
    since: u64,
    folder: PathBuf,
}

impl Turn {
    /// Takes the turn, and waits where another process has it.
    ///
    /// # Errors
    /// Where the cache cannot be written, an interruption, or where another process has the turn and `stack_store` says not to wait.
    pub fn take(&self, stack_store: &StackStore, host: &Host) -> Result<()> {
        // Other threads of this process wait here.
        let mut own = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if own.is_some() {
            return Ok(());
        }
        let path = stack_store.cache.path(FOLDER).join(machine());
        let mut is_told = false;
        loop {
            if let Some(file) = try_take(&path)? {
                *own = Some(file);
                return Ok(());
            }
            let whose = whose(&path);
            if !stack_store.waits_for_turn {
                bail!(
                    "{whose}; two would disturb each other's timing\nhint: without --no-wait this one waits for its end"
                );
            }
            if !is_told {
                stack_store.say(&format!("waiting: {whose}"));
                is_told = true;
            }
            if host.stop.load(Ordering::Relaxed) {
                return Err(Interrupted::ByRequest.into());
            }
            thread::sleep(BETWEEN_TRIES);
        }
    }
}

/// The name of this machine as a file's name.
fn machine() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let safe = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    name.trim().chars().map(safe).chain(".lock".chars()).collect()
}

fn try_take(path: &Path) -> Result<Option<File>> {
    let opened = || -> Result<Option<File>> {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        let mut file = File::options().create(true).truncate(false).write(true).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let holder = Holder { process: process::id(), since, folder: env::current_dir().unwrap_or_default() };
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(&serde_json::to_vec(&holder)?)?;
        Ok(Some(file))
    };
    opened().with_context(|| path.display().to_string())
}

/// Whose turn it is, in words.
fn whose(path: &Path) -> String {
    let holder = fs::read(path).ok().and_then(|text| serde_json::from_slice::<Holder>(&text).ok());
    // Its holder may not have written it yet.
    let Some(Holder { process, since, folder }) = holder else {
        return format!("another quiclab performs runs in real time on this machine ({})", path.display());
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    format!(
        "another quiclab performs runs in real time on this machine: process {process} in {}, for {} s",
        folder.display(),
        now.saturating_sub(since)
    )
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, atomic::AtomicBool};

    use super::*;

    #[test]
    fn one_holder_at_a_time_has_the_turn_and_the_others_are_told_whose_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("turns").join(machine());
        let first = try_take(&path).unwrap().expect("nobody has it");
        assert!(try_take(&path).unwrap().is_none());
        let expected = format!("process {} in {}, for 0 s", process::id(), env::current_dir().unwrap().display());
        assert!(whose(&path).contains(&expected), "{}", whose(&path));
        fs::write(&path, "").unwrap();
        assert!(whose(&path).contains(&path.display().to_string()), "{}", whose(&path));
        drop(first);
        assert!(try_take(&path).unwrap().is_some());
    }

    #[test]
    fn a_turn_is_waited_for_unless_nobody_wants_to_wait() {
        let folder = tempfile::tempdir().unwrap();
        let stack_store = |waits_for_turn| StackStore {
            cache: crate::cache::Cache::at(folder.path().to_owned()),
            waits_for_turn,
            ..StackStore::without_stacks(Arc::default(), |_| {}).unwrap()
        };
        let stop = Arc::new(AtomicBool::new(false));
        let host = Host { core: 0, stop: stop.clone(), timeout: Duration::ZERO, wait_for_quiet: Duration::ZERO };
        let (first, second) = (Turn::default(), Turn::default());
        for _ in 0..2 {
            first.take(&stack_store(false), &host).unwrap();
        }
        let error = second.take(&stack_store(false), &host).unwrap_err().to_string();
        assert!(error.contains(&format!("process {}", process::id())) && error.contains("--no-wait"), "{error}");
        thread::scope(|scope| {
            let waiting = scope.spawn(|| second.take(&stack_store(true), &host));
            thread::sleep(Duration::from_millis(20));
            assert!(!waiting.is_finished());
            drop(first);
            waiting.join().unwrap().unwrap();
        });
        stop.store(true, Ordering::Relaxed);
        let error = Turn::default().take(&stack_store(true), &host).unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&Interrupted::ByRequest));
    }
}
