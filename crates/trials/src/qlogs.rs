//! Whether what an endpoint left in its qlog folder is qlog, with the events that quiclab uses.

use std::{
    fmt, fs,
    io::{BufReader, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use quiclab_experiment::{run::word, stack::Role};
use quiclab_inputs::open_unlinked;
use quiclab_record::MOST_QLOG_BYTES;
use quiclab_units::Bounded;
use quiclab_wire::{QlogEventKind, QlogPacket, read_qlog};

/// How many bytes of a file that is no qlog are shown.
const SHOWN_BYTES: usize = 8;
/// First bytes of files that are taken for qlog by mistake, and what to do about each.
const MISTAKEN: &[(&[u8], &str)] = &[
    (b"qlog", "this looks like picoquic's binary log; have the endpoint write JSON instead (picoquic_set_qlog)"),
    (&[0x1f, 0x8b], "this is compressed with gzip; write it uncompressed"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "this is compressed with zstd; write it uncompressed"),
];

/// How many events a qlog has of those that quiclab uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// `packet_sent` with a packet number: packets are matched with the capture by it.
    sent: u64,
    /// `packet_received` with a packet number.
    received: u64,
    /// Metrics with a congestion window.
    windows: u64,
}

impl Events {
    /// What is missing of the events that the qlog of this role needs.
    fn missing(self, role: Role, windows: bool) -> Vec<&'static str> {
        let needed = [
            (self.sent, "packet_sent with a packet number", true),
            (self.received, "packet_received with a packet number", true),
            // Only a sender's window limits the transfer.
            (self.windows, "metrics_updated with congestion_window", windows && role == Role::Server),
        ];
        needed.into_iter().filter(|(count, _, needed)| *needed && *count == 0).map(|(_, name, _)| name).collect()
    }

    fn all(self) -> u64 {
        self.sent + self.received + self.windows
    }
}

impl fmt::Display for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sent, received, windows } = self;
        write!(f, "{sent} packets sent, {received} received, {windows} congestion windows")
    }
}

/// The events of the fullest qlog that `role` left in `record`. Other files may lie beside it.
///
/// # Errors
/// Where there is no qlog, or its best one lacks events that quiclab uses: each with the file's path. `windows`: a server's
/// congestion windows are among them.
pub fn check(role: Role, windows: bool, record: &Path) -> Result<Events> {
    let folder = record.join(word(&role)).join("qlog");
    let mut files = Vec::new();
    files_below(&folder, &mut files)?;
    files.sort();
    if files.is_empty() {
        bail!("the {} left no qlog in QLOGDIR", word(&role));
    }
    let read: Vec<_> = files.iter().map(|file| (file, events(file))).collect();
    let best = read.iter().filter_map(|(file, events)| events.as_ref().ok().map(|events| (file, *events)));
    let Some((file, events)) = best.max_by_key(|(_, events)| (events.missing(role, windows).is_empty(), events.all()))
    else {
        let more = if read.len() > 1 { format!(" (and {} more files)", read.len() - 1) } else { String::new() };
        let Some((file, Err(error))) = read.into_iter().next() else { bail!("no file") };
        bail!("{}{more} is not a qlog: {error:#}", file.display());
    };
    let missing = events.missing(role, windows);
    if !missing.is_empty() {
        bail!(
            "{}: found {events}; missing: {}\nhint: without them reports and quiclab diff cannot show this endpoint's \
             view",
            file.display(),
            missing.join(", ")
        );
    }
    Ok(events)
}

fn events(file: &Path) -> Result<Events> {
    let mut start = Vec::new();
    open_unlinked(file)?.take(SHOWN_BYTES as u64).read_to_end(&mut start)?;
    let mut events = Events::default();
    let is_numbered = |packet: &QlogPacket| packet.packet_number.is_some();
    let read =
        read_qlog(BufReader::new(Bounded::new(open_unlinked(file)?, MOST_QLOG_BYTES)), &mut |event| match event.kind {
            QlogEventKind::PacketSent(packet) if is_numbered(&packet) => events.sent += 1,
            QlogEventKind::PacketReceived(packet) if is_numbered(&packet) => events.received += 1,
            QlogEventKind::Metrics(metrics) if metrics.congestion_window_bytes.is_some() => events.windows += 1,
            _ => {}
        });
    match read {
        Ok(_) => Ok(events),
        // What was read before the damage is no less true.
        Err(_) if events.all() > 0 => Ok(events),
        Err(error) => {
            let known = MISTAKEN.iter().find(|(magic, _)| start.starts_with(magic));
            let error = known.map_or_else(|| anyhow::anyhow!("{error}"), |(_, hint)| anyhow::anyhow!("{hint}"));
            Err(error).with_context(|| format!("it begins with {}", in_hexadecimal(&start)))
        }
    }
}

fn in_hexadecimal(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "nothing (it is empty)".to_owned();
    }
    let numbers = bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    format!("the bytes {numbers} (\"{}\")", bytes.escape_ascii())
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            files_below(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str =
        "{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"trace\":{\"vantage_point\":{\"type\":\"server\"}}}\n";
    const SENT: &str = "{\"time\":1,\"name\":\"transport:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":0}}}\n";
    const RECEIVED: &str = "{\"time\":2,\"name\":\"transport:packet_received\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":0}}}\n";
    const WINDOW: &str = "{\"time\":3,\"name\":\"recovery:metrics_updated\",\"data\":{\"congestion_window\":12000}}\n";
    const UNNUMBERED: &str =
        "{\"time\":1,\"name\":\"transport:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\"}}}\n";

    /// What is found where a server left these files.
    fn found(files: &[(&str, &[u8])]) -> Result<Events, String> {
        found_of(Role::Server, true, files)
    }

    fn found_of(role: Role, windows: bool, files: &[(&str, &[u8])]) -> Result<Events, String> {
        let record = tempfile::tempdir().unwrap();
        let folder = record.path().join(word(&role)).join("qlog");
        fs::create_dir_all(&folder).unwrap();
        for (name, bytes) in files {
            fs::write(folder.join(name), bytes).unwrap();
        }
        check(role, windows, record.path()).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn a_binary_log_of_picoquic_is_not_a_qlog() {
        let binary = [b"qlog".as_slice(), &[0, 0, 0, 1], &[0; 64]].concat();
        let error = found(&[("b1946ac92492d234.server.log", &binary)]).unwrap_err();
        for part in ["b1946ac92492d234.server.log is not a qlog", "71 6c 6f 67 00 00 00 01", "picoquic's binary log"] {
            assert!(error.contains(part), "{error}");
        }
        for other in [b"\x1f\x8b\x08\0".as_slice(), b"", b"CONNECTION established\n"] {
            assert!(found(&[("a.qlog", other)]).unwrap_err().contains("is not a qlog"));
        }
    }

    #[test]
    fn no_file_at_all_is_said_to_be_missing() {
        assert_eq!(found(&[]).unwrap_err(), "the server left no qlog in QLOGDIR");
    }

    #[test]
    fn each_kind_of_event_that_quiclab_uses_is_required() {
        let whole = [HEADER, SENT, RECEIVED, WINDOW].concat();
        assert_eq!(found(&[("a.sqlog", whole.as_bytes())]), Ok(Events { sent: 1, received: 1, windows: 1 }));
        for (parts, missing) in [
            ([HEADER, UNNUMBERED, RECEIVED, WINDOW], "missing: packet_sent with a packet number"),
            ([HEADER, SENT, SENT, WINDOW], "missing: packet_received with a packet number"),
            ([HEADER, SENT, RECEIVED, RECEIVED], "missing: metrics_updated with congestion_window"),
        ] {
            let error = found(&[("a.sqlog", parts.concat().as_bytes())]).unwrap_err();
            assert!(error.contains(missing) && error.contains("a.sqlog"), "{error}");
        }
        // A client's window limits nothing, and a stack may say that it logs none.
        let without = [HEADER, SENT, RECEIVED].concat();
        assert!(found_of(Role::Client, true, &[("a.sqlog", without.as_bytes())]).is_ok());
        assert!(found_of(Role::Server, false, &[("a.sqlog", without.as_bytes())]).is_ok());
    }

    #[test]
    fn a_window_by_its_older_names_counts() {
        for name in ["congestion_window", "cwnd", "current_cwnd"] {
            let whole = [HEADER, SENT, RECEIVED, &WINDOW.replace("congestion_window", name)].concat();
            let events = found(&[("a.sqlog", whole.as_bytes())]);
            assert_eq!(events, Ok(Events { sent: 1, received: 1, windows: 1 }), "{name}");
        }
    }

    #[test]
    fn a_stacks_own_files_may_lie_beside_its_qlog() {
        let whole = [HEADER, SENT, RECEIVED, WINDOW].concat();
        let files = [("a.txt", b"retry\n".as_slice()), ("b.sqlog", HEADER.as_bytes()), ("c.sqlog", whole.as_bytes())];
        assert_eq!(found(&files), Ok(Events { sent: 1, received: 1, windows: 1 }));
    }
}
