//! Where the agent's executable is.
//!
//! A build leaves it beside the command. A released command carries it behind its own end, so that one file is all of quiclab:
//!
//! ```text
//!   the command | the agent | its length: 8 bytes, little-endian | "quiclab-agent-1\n"
//! ```

use std::{
    env,
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::{
    cache::{Cache, Care},
    hash,
};

/// What a command that carries an agent ends with.
const MARK: &[u8; 16] = b"quiclab-agent-1\n";
/// Bytes of the length and the mark.
const END_BYTES: u64 = 24;
/// Its name, and that of its file.
const AGENT: &str = "quiclab-agent";

/// The agent's executable: beside this program, or carried by it.
///
/// # Errors
/// Where it is neither, and where the cache that it is unpacked to cannot be written.
pub fn agent() -> Result<PathBuf> {
    let program = env::current_exe().context("this program's own path")?;
    let beside = program.with_file_name(AGENT);
    if beside.is_file() {
        return Ok(beside);
    }
    match carried(&program).with_context(|| program.display().to_string())? {
        Some(bytes) => unpack(&Cache::from_environment()?, &bytes),
        None => {
            bail!("{}: not found\nhint: cargo build --release builds it next to quiclab", beside.display())
        }
    }
}

/// The agent that `program` carries, if it carries one.
fn carried(program: &Path) -> Result<Option<Vec<u8>>> {
    let mut file = File::open(program)?;
    let Some(end) = file.metadata()?.len().checked_sub(END_BYTES) else { return Ok(None) };
    file.seek(SeekFrom::Start(end))?;
    let (mut length, mut mark) = ([0; 8], [0; 16]);
    file.read_exact(&mut length)?;
    file.read_exact(&mut mark)?;
    if mark != *MARK {
        return Ok(None);
    }
    let length = u64::from_le_bytes(length);
    let start = end.checked_sub(length).context("the agent behind its end: found more bytes than the file has")?;
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

fn unpack(cache: &Cache, bytes: &[u8]) -> Result<PathBuf> {
    let name = format!("agent/{}", hash::of_reader(&mut &bytes[..])?);
    let folder = cache.folder(&name, |folder| {
        let path = folder.join(AGENT);
        fs::write(&path, bytes).with_context(|| path.display().to_string())?;
        Ok(fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?)
    })?;
    cache.verify(&folder, Care::Default)?;
    Ok(folder.join(AGENT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_carries_an_agent_gives_it_and_others_give_none() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("quiclab");
        let with = |bytes: &[u8]| {
            fs::write(&program, bytes).unwrap();
            carried(&program)
        };
        let end = |length: u64| [&length.to_le_bytes()[..], MARK].concat();
        assert_eq!(with(b"").unwrap(), None);
        assert_eq!(with(&[b'x'; 100]).unwrap(), None);
        assert_eq!(with(&[&b"command"[..], b"agent", &end(5)].concat()).unwrap(), Some(b"agent".to_vec()));
        assert!(with(&[&b"agent"[..], &end(6)].concat()).is_err());
    }

    #[test]
    fn the_carried_agent_is_unpacked_once_and_can_be_run() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_path_buf());
        let path = unpack(&cache, b"#!/bin/sh\nexit 3\n").unwrap();
        assert_eq!(unpack(&cache, b"#!/bin/sh\nexit 3\n").unwrap(), path);
        assert_eq!(std::process::Command::new(path).status().unwrap().code(), Some(3));
    }
}
