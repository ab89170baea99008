//! Reads the CPU time of the endpoints by function, of runs with `tap.profile`.

use std::path::Path;

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
            match profile(&record.folder, role) {
                Ok(profile) => found.push((role, profile)),
                Err(reason) => missing.push(reason),
            }
        }
    }
    (found, missing)
}

/// The profile of `server` or `client` in the folder of a record.
///
/// # Errors
/// Where it is missing or damaged: a sentence that names the file.
pub fn profile(record: &Path, role: &str) -> Result<Profile, String> {
    let in_file = |reason: String| format!("{role}/{PROFILE}: {reason}");
    let text = read_unlinked(&record.join(role).join(PROFILE), MOST_PROFILE_BYTES);
    let text = text.map_err(|error| in_file(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| in_file(error.to_string()))
}
