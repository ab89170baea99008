//! What datagrams hold, for rules of the path that ask for it. Keys come from the logs that the endpoints write while they run.

use std::{
    fs::File,
    io::Read,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use quiclab_content::Classifier;
use quiclab_path::content::{Content, Direction};
use quiclab_sim::transfer::{contents::ContentReader, stack::Datagram};
use quiclab_units::Time;
use quiclab_wire::{Segment, Transport};

use super::foreign;

/// Bytes that are read of a key log at once: of some 60 connections. The rest follows with the next datagram.
const MOST_KEYS_AT_ONCE: u64 = 1 << 16;

/// Reads datagrams with the keys that are known by then.
pub(super) struct Reader {
    classifier: Classifier,
    server: SocketAddr,
    client: SocketAddr,
    key_logs: [KeyLog; 2],
}

impl Reader {
    /// Between the addresses of server and client, whose folders are in `work`.
    pub(super) fn new([server, client]: [SocketAddr; 2], work: &Path) -> Self {
        let key_log = |role: &str| KeyLog::new(work.join(role).join("logs/keys.log"));
        Self {
            classifier: Classifier::new(server.port()),
            server,
            client,
            key_logs: [key_log("server"), key_log("client")],
        }
    }
}

impl ContentReader for Reader {
    fn on_sent(&mut self, time: Time, to: Direction, datagram: &Datagram) -> Option<Content> {
        for key_log in &mut self.key_logs {
            if let Some(lines) = key_log.new_lines() {
                self.classifier.add_keys(&lines);
            }
        }
        let (source, destination) = match to {
            Direction::ToClient => (self.server, self.client),
            Direction::ToServer => (self.client, self.server),
        };
        let length = u32::try_from(datagram.payload.len()).ok()?;
        let segment = Segment {
            time,
            interface: 0,
            frame_length: length,
            captured_length: length,
            source,
            destination,
            payload_length: length,
            payload: &datagram.payload,
            transport: Transport::Udp,
        };
        self.classifier.on_segment(to, &segment)
    }

    fn on_delivered(&mut self, content: &Content) {
        self.classifier.on_delivered(content);
    }
}

/// A key log that grows.
struct KeyLog {
    path: PathBuf,
    file: Option<File>,
    /// The beginning of a line whose end is not there yet.
    partial: Vec<u8>,
}

impl KeyLog {
    fn new(path: PathBuf) -> Self {
        Self { path, file: None, partial: Vec::new() }
    }

    /// The whole lines that were added since it was asked last. What cannot be read says nothing.
    fn new_lines(&mut self) -> Option<Vec<u8>> {
        if self.file.is_none() {
            self.file = foreign::open(&self.path).ok();
        }
        let mut bytes = std::mem::take(&mut self.partial);
        let before = bytes.len() as u64;
        // A line without an end is not kept for ever.
        let room = MOST_KEYS_AT_ONCE.saturating_sub(before);
        let _ = self.file.as_mut()?.take(room).read_to_end(&mut bytes);
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.partial = bytes.split_off(end);
        if self.partial.len() as u64 >= MOST_KEYS_AT_ONCE {
            self.partial.clear();
        }
        (!bytes.is_empty()).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_key_log_gives_each_line_once_and_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.log");
        let mut log = KeyLog::new(path.clone());
        assert_eq!(log.new_lines(), None);
        let mut file = File::create(&path).unwrap();
        file.write_all(b"one\ntw").unwrap();
        assert_eq!(log.new_lines().unwrap(), b"one\n");
        assert_eq!(log.new_lines(), None);
        file.write_all(b"o\nthree\n").unwrap();
        assert_eq!(log.new_lines().unwrap(), b"two\nthree\n");
        file.write_all(&vec![b'x'; 3 * MOST_KEYS_AT_ONCE as usize]).unwrap();
        for _ in 0..4 {
            assert_eq!(log.new_lines(), None);
            assert!((log.partial.len() as u64) < MOST_KEYS_AT_ONCE);
        }
    }
}
