//! What datagrams hold, for rules of the path that ask for it. Keys come from the logs that the endpoints write while they run.

use std::{
    fs::File,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use quiclab_content::{Classifier, KeyLogLines};
use quiclab_path::content::{Content, Direction};
use quiclab_sim::transfer::{contents::ContentReader, stack::Datagram};
use quiclab_units::Time;
use quiclab_wire::{Segment, Transport};

use super::foreign;

/// Reads datagrams with the keys that are known by then.
pub(super) struct Reader {
    classifier: Classifier,
    server: SocketAddr,
    client: SocketAddr,
    key_logs: [KeyLog; 2],
}

impl Reader {
    /// Makes a reader of packets between the addresses of server and client, whose folders are in `work`.
    pub(super) fn new([server, client]: [SocketAddr; 2], work: &Path) -> Self {
        let key_log = |role: &str| KeyLog::new(work.join(role).join("logs/keys.log"));
        Self {
            classifier: Classifier::new(server.port()),
            server,
            client,
            key_logs: [key_log("server"), key_log("client")],
        }
    }

    /// Another connection begins; keys that were read are not read again.
    pub(super) fn forget(&mut self) {
        self.classifier = Classifier::new(self.server.port());
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
            ecn: 0,
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
    lines: KeyLogLines,
}

impl KeyLog {
    fn new(path: PathBuf) -> Self {
        Self { path, file: None, lines: KeyLogLines::default() }
    }

    /// The whole lines that were added since it was asked last.
    fn new_lines(&mut self) -> Option<Vec<u8>> {
        if self.file.is_none() {
            self.file = foreign::open(&self.path).ok();
        }
        self.lines.read(self.file.as_mut()?)
    }
}
