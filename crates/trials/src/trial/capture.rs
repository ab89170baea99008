//! The packets of the loopback, captured by dumpcap.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// How long dumpcap may take until it captures, and until it has written what it has.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How often waiting looks.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The program that captures the loopback's packets. Dropping it ends it.
pub struct Capture {
    child: Child,
    file: PathBuf,
    keys: PathBuf,
}

impl Capture {
    /// Starts to capture to `file`, with an empty file for TLS secrets beside it.
    ///
    /// # Errors
    /// Where dumpcap is missing, or does not begin to write within five seconds.
    pub fn start(file: &Path) -> Result<Self> {
        let keys = PathBuf::from(format!("{}.keys", file.display()));
        fs::write(&keys, "").with_context(|| keys.display().to_string())?;
        // Made here, so that its absence says that this is not the last try's file.
        let _ = fs::remove_file(file);
        let mut command = Command::new("dumpcap");
        command
            .args(["-q", "-i", "lo", "-w"])
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().context("--capture: dumpcap cannot be started\nhint: apt-get install tshark")?;
        let mut capture = Self { child, file: file.to_path_buf(), keys };
        let deadline = Instant::now() + TIMEOUT;
        while !fs::metadata(file).is_ok_and(|facts| facts.len() > 0) {
            if capture.child.try_wait()?.is_some() || Instant::now() > deadline {
                bail!(
                    "--capture: dumpcap did not start to write {}\nhint: dumpcap -i lo -w {0} shows the reason",
                    file.display()
                );
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(capture)
    }

    /// The file for TLS secrets.
    pub fn keys(&self) -> &Path {
        &self.keys
    }

    /// Ends it when it has written everything, and returns where that is, in words.
    ///
    /// # Errors
    /// Where it does not end by itself.
    pub fn finish(mut self) -> Result<String> {
        // It hands over what it has seen every half second or so.
        thread::sleep(Duration::from_secs(1));
        let (file, keys) = (self.file.display().to_string(), self.keys.display().to_string());
        if !self.end() {
            bail!(
                "--capture: dumpcap did not end within {} s of SIGINT and was killed; the end of {file} may be missing",
                TIMEOUT.as_secs()
            );
        }
        Ok(format!("packets are in {file}: quiclab analyze {file} --keys {keys}"))
    }

    /// Asks it to end, and kills it where it does not. True where it ended by itself.
    fn end(&mut self) -> bool {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return true;
        }
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGINT);
        let deadline = Instant::now() + TIMEOUT;
        while Instant::now() < deadline {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return true;
            }
            thread::sleep(POLL_INTERVAL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        false
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.end();
    }
}
