//! What a sender's own qlog says of its congestion window.

use std::{
    fs,
    io::BufReader,
    path::{Path, PathBuf},
};

use quiclab_experiment::stack::Role;
use quiclab_inputs::open_unlinked;
use quiclab_metrics::{LoggedRoundTrips, SlowStartLog};
use quiclab_units::{Bounded, ShowPath};
use quiclab_wire::{QlogError, QlogEventKind, QlogMetrics, QlogPacket, QlogSpace, read_qlog};

use crate::{
    MOST_QLOG_BYTES, RecordError,
    layout::{QLOG_FOLDER, folder_of},
};

/// What a sender's log says of its congestion window.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowLog {
    /// Time in ns and bytes.
    pub(crate) windows: Vec<(i64, u64)>,
    pub(crate) slow_start: SlowStartLog,
}

/// What could be read of the sender's logs.
#[derive(Clone, Debug, Default)]
pub(crate) struct SenderLogs {
    /// Log of the connection with most updates of its window; `None` where no log has any.
    pub(crate) longest: Option<WindowLog>,
    /// What could not be read, with the names of the files. Where there is something, `longest` may be incomplete, or that of another
    /// connection.
    pub(crate) unread: Vec<String>,
}

/// The congestion window of a record's sender, by its own log: nanoseconds since its log began, and bytes. `None` where it wrote no log, or
/// no window into it. A log that ends in the middle is read up to there; of several connections the one with most updates counts.
///
/// # Errors
/// Where the log's folder cannot be read.
pub fn congestion_windows(record: &Path, sender: Role) -> Result<Option<Vec<(u64, u64)>>, RecordError> {
    let Some(log) = sender_logs(record, sender)?.longest else { return Ok(None) };
    let first = log.windows.first().map_or(0, |(time, _)| *time);
    let since = |time: i64| u64::try_from(time - first).unwrap_or(0);
    Ok(Some(log.windows.into_iter().map(|(time, bytes)| (since(time), bytes)).collect()))
}

/// The files in a folder of qlogs, in order of name; none where there is no such folder.
///
/// # Errors
/// Where it cannot be read.
pub fn qlog_files(folder: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let failed = |source| RecordError::Read { path: folder.to_path_buf(), source };
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Reads the logs of a record's sender.
pub(crate) fn sender_logs(record: &Path, sender: Role) -> Result<SenderLogs, RecordError> {
    let mut logs = SenderLogs::default();
    let mut empty = Vec::new();
    for file in qlog_files(&record.join(folder_of(sender)).join(QLOG_FOLDER))? {
        let name = file.strip_prefix(record).unwrap_or(&file).shown();
        let opened = match open_unlinked(&file) {
            Ok(opened) => opened,
            Err(error) => {
                logs.unread.push(format!("{name}: {error}"));
                continue;
            }
        };
        let mut log = WindowLog::default();
        let read = read_qlog(BufReader::new(Bounded::new(opened, MOST_QLOG_BYTES)), &mut |event| match event.kind {
            QlogEventKind::Metrics(QlogMetrics { congestion_window_bytes: Some(bytes), .. }) => {
                log.slow_start.on_window(bytes);
                log.windows.push((event.time_ns, bytes));
            }
            QlogEventKind::CongestionState { new } => log.slow_start.on_state(&new),
            QlogEventKind::PacketSent(QlogPacket {
                space: Some(QlogSpace::OneRtt),
                packet_number: Some(number),
                ..
            }) => {
                log.slow_start.on_sent(number);
            }
            _ => {}
        });
        match read {
            Ok(_) => {}
            // Stacks may write files of their own beside their qlogs.
            Err(QlogError::NotQlog { .. } | QlogError::Empty) if !has_name_of_qlog(&file) => {}
            // An endpoint may open a log for a connection that never begins.
            Err(QlogError::Empty) => empty.push(format!("{name}: the file is empty")),
            Err(error) => logs.unread.push(format!("{name}: {}", first_line(&error))),
        }
        if log.windows.len() > logs.longest.as_ref().map_or(0, |longest| longest.windows.len()) {
            logs.longest = Some(log);
        }
    }
    if logs.longest.is_none() {
        logs.unread.extend(empty);
    }
    Ok(logs)
}

/// What the qlogs of an endpoint say of its round-trip time: those of the connection with most updates. Files that cannot be read say
/// nothing.
pub(crate) fn logged_round_trips(record: &Path, endpoint: &str) -> Result<Option<LoggedRoundTrips>, RecordError> {
    let mut longest: Option<LoggedRoundTrips> = None;
    for file in qlog_files(&record.join(endpoint).join(QLOG_FOLDER))? {
        let Ok(opened) = open_unlinked(&file) else { continue };
        let mut log = LoggedRoundTrips::default();
        let input = BufReader::new(Bounded::new(opened, MOST_QLOG_BYTES));
        let read = read_qlog(input, &mut |event| log.on_event(&event.kind));
        if read.is_ok() && log.updates() > longest.as_ref().map_or(0, LoggedRoundTrips::updates) {
            longest = Some(log);
        }
    }
    Ok(longest)
}

fn has_name_of_qlog(file: &Path) -> bool {
    file.extension().is_some_and(|extension| ["qlog", "sqlog"].iter().any(|known| extension == *known))
}

fn first_line(error: &QlogError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = concat!(
        "\u{1e}{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"trace\":{\"vantage_point\":{\"type\":\"server\"}}}\n",
        "\u{1e}{\"time\":1,\"name\":\"recovery:metrics_updated\",\"data\":{\"congestion_window\":12000}}\n",
        "\u{1e}{\"time\":2,\"name\":\"recovery:metrics_updated\",\"data\":{\"congestion_window\":6000}}\n",
    );

    fn record(files: &[(&str, &str)]) -> tempfile::TempDir {
        let record = tempfile::tempdir().unwrap();
        let folder = record.path().join("server/qlog");
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
        record
    }

    #[test]
    fn the_log_with_most_windows_counts_and_other_files_do_no_harm() {
        let record = record(&[("a.sqlog", WHOLE), ("notes.txt", "not a qlog"), ("b.sqlog", "")]);
        let logs = sender_logs(record.path(), Role::Server).unwrap();
        assert_eq!(logs.longest.unwrap().windows, [(1_000_000, 12_000), (2_000_000, 6_000)]);
        assert!(logs.unread.is_empty(), "{:?}", logs.unread);
        assert_eq!(
            congestion_windows(record.path(), Role::Server).unwrap(),
            Some(vec![(0, 12_000), (1_000_000, 6_000)])
        );
    }

    #[test]
    fn a_log_that_cannot_be_parsed_is_named() {
        let record = record(&[("a.sqlog", WHOLE), ("b.sqlog", "this is no qlog")]);
        let logs = sender_logs(record.path(), Role::Server).unwrap();
        assert_eq!(logs.unread.len(), 1);
        assert!(logs.unread[0].starts_with("server/qlog/b.sqlog: byte 0: found "), "{:?}", logs.unread);
    }

    #[test]
    fn an_empty_log_matters_where_it_is_the_only_one() {
        let record = record(&[("a.sqlog", "")]);
        assert_eq!(
            sender_logs(record.path(), Role::Server).unwrap().unread,
            ["server/qlog/a.sqlog: the file is empty"]
        );
    }
}
