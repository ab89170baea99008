//! Reads the CPU time of the endpoints by function, of runs with `tap.profile`.

use std::{io, path::Path};

use quiclab_agent_protocol::profile::{MOST_PROFILE_BYTES, PROFILE, Profile};
use quiclab_inputs::read_unlinked;

use crate::{
    Record,
    layout::{CLIENT_FOLDER, SERVER_FOLDER},
};

/// The profiles of server and client, by role; none of a run without `tap.profile`. The second value tells of those that are missing
/// or damaged.
pub fn profiles(record: &Record) -> (Vec<(&'static str, Profile)>, Vec<String>) {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    // Without the setting a file of this name is the endpoint's own.
    if record.run.run.settings.tap.profile {
        for role in [SERVER_FOLDER, CLIENT_FOLDER] {
            match read(&record.folder.join(role).join(PROFILE)) {
                Ok(profile) => found.push((role, profile)),
                Err(error) => missing.push(format!("{role}/{PROFILE}: {error}")),
            }
        }
    }
    (found, missing)
}

fn read(path: &Path) -> io::Result<Profile> {
    Ok(serde_json::from_slice(&read_unlinked(path, MOST_PROFILE_BYTES)?)?)
}
