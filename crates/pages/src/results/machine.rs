//! `roofline.json` in a folder of results: what the machine of its runs can do at best.

use std::{
    io,
    path::Path,
    sync::OnceLock,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, bail};
use quiclab_inputs::{MOST_TEXT_BYTES, read_unlinked_text};
use quiclab_perf::roofline::{Cost, Roofline};
use quiclab_report::MachineLimits;
use serde::{Deserialize, Serialize};

use crate::folder;

const FILE: &str = "roofline.json";
/// Version of the file.
const SCHEMA: u32 = 1;
/// Bytes of UDP payload in each packet: what most stacks find at an MTU of 1500.
const PACKET_BYTES: usize = 1452;
/// How long each part is measured.
const TIME: Duration = Duration::from_millis(300);

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    schema: u32,
    /// Milliseconds since 1970.
    measured_unix_ms: u64,
    roofline: Roofline,
}

/// Measures this machine, once in a command, which `say` announces, and writes the file into a folder.
///
/// # Errors
/// Where it cannot be written.
pub fn write(into: &Path, say: fn(&str)) -> Result<()> {
    static MEASURED: OnceLock<Measured> = OnceLock::new();
    let measured = MEASURED.get_or_init(|| {
        say("measuring what this machine can do at best");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let roofline = Roofline::measure(PACKET_BYTES, TIME);
        Measured { schema: SCHEMA, measured_unix_ms: now.as_millis() as u64, roofline }
    });
    folder::write(into, FILE, serde_json::to_string_pretty(measured)? + "\n").map(drop)
}

/// What the file of a folder says; `None` where there is none, or where the cost of a part is not known.
///
/// # Errors
/// Where it cannot be read.
pub fn limits(folder: &Path) -> Result<Option<MachineLimits>> {
    let path = folder.join(FILE);
    let text = match read_unlinked_text(&path, MOST_TEXT_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.with_context(|| path.display().to_string())?,
    };
    let measured: Measured = serde_json::from_str(&text)
        .with_context(|| format!("{}\nhint: quiclab run FILE --roofline writes it again", path.display()))?;
    if measured.schema > SCHEMA {
        bail!(
            "{}: found schema {}, expected at most {SCHEMA}\nhint: use a newer version of quiclab",
            path.display(),
            measured.schema
        );
    }
    let roofline = &measured.roofline;
    let both = |cost: Cost| [cost.send_ns_per_byte, cost.receive_ns_per_byte];
    let known = roofline.cheapest_cipher().zip(roofline.cheapest_udp());
    Ok(known.map(|(cipher, udp)| MachineLimits {
        packet_bytes: roofline.packet_bytes,
        cryptography: both(cipher),
        sockets: both(udp),
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_was_measured_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(limits(folder.path()).unwrap(), None);
        write(folder.path(), |_| {}).unwrap();
        let read = limits(folder.path()).unwrap().unwrap();
        assert_eq!(read.packet_bytes, PACKET_BYTES);
        assert!(read.best_bits_per_second() > 0.0 && read.cryptography[0] > 0.0 && read.sockets[1] > 0.0, "{read:?}");
    }

    #[test]
    fn a_damaged_file_and_one_of_a_newer_version_are_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), "{").unwrap();
        assert!(format!("{:#}", limits(folder.path()).unwrap_err()).contains(FILE));
        write(folder.path(), |_| {}).unwrap();
        let text = fs::read_to_string(folder.path().join(FILE)).unwrap();
        fs::write(folder.path().join(FILE), text.replace("\"schema\": 1", "\"schema\": 9")).unwrap();
        assert!(limits(folder.path()).unwrap_err().to_string().contains("found schema 9, expected at most 1"));
    }
}
