//! The files of stacks, sent to hosts that do not have them yet.

use std::{
    fs::File,
    io::{BufWriter, Seek, SeekFrom, Write},
    path::Path,
};

use anyhow::{Context, Result};
use quiclab_agent_protocol::hosts::{Answer, Request};

use super::talk::{Limit, Reply, Sessions, Trouble};
use crate::netns::plain::{PlainStack, names};

/// Makes sure that a host has the files of a stack. `say` tells people what takes long.
pub(super) fn provide(
    sessions: &mut Sessions,
    host: usize,
    stack: &PlainStack,
    limit: Limit,
    say: fn(&str),
) -> Result<(), Trouble> {
    let [root, files] = names(&stack.built)?;
    let folders = [(&root, &stack.root), (&files, &stack.files)];
    let all = folders.iter().map(|(name, _)| (*name).clone()).collect();
    sessions.tell(host, &Request::Missing { names: all })?;
    let missing = match sessions.answer(host, limit)? {
        Reply::Answer(Answer::Missing { names }) => names,
        other => return Err(sessions.unexpected(host, &other)),
    };
    for (name, folder) in folders.into_iter().filter(|(name, _)| missing.contains(name)) {
        let (mut archive, bytes) = pack(folder)?;
        say(&format!("sending {name} ({:.0} MB) to {}, once", bytes as f64 / 1e6, sessions.label(host)));
        sessions.tell_with(host, &Request::Store { name: name.clone(), bytes }, &mut archive)?;
        sessions.done(host, limit)?;
    }
    Ok(())
}

/// A folder as an archive, and its length.
fn pack(folder: &Path) -> Result<(File, u64)> {
    let packed = || -> Result<(File, u64)> {
        let file = tempfile::tempfile()?;
        let mut builder = tar::Builder::new(BufWriter::with_capacity(1 << 18, file));
        builder.follow_symlinks(false);
        builder.mode(tar::HeaderMode::Complete);
        builder.append_dir_all(".", folder)?;
        let mut buffer = builder.into_inner()?;
        buffer.flush()?;
        let mut file = buffer.into_inner().map_err(|error| error.into_error())?;
        let bytes = file.stream_position()?;
        file.seek(SeekFrom::Start(0))?;
        Ok((file, bytes))
    };
    packed().with_context(|| format!("packing {}", folder.display()))
}
