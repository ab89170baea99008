//! Captures of real stacks, as the classifier sees them.

use quiclab_content::Classifier;
use quiclab_path::content::{Content, Direction};
use quiclab_testing::files::capture;
use quiclab_wire::{CaptureReader, Secrets, Transport};

/// The contents of a capture of `crates/wire`, in order. Each datagram is received before the next one is sent, apart from those of
/// which `is_lost` is true.
pub fn contents(name: &str, has_keys: bool, is_lost: impl Fn(&Content) -> bool) -> Vec<Content> {
    let mut reader = CaptureReader::new(std::fs::File::open(capture(name)).unwrap()).unwrap();
    let mut server_port = None;
    let mut classifier = None;
    let mut contents = Vec::new();
    let mut secrets = 0;
    while let Some(frame) = reader.next_frame().unwrap() {
        let Ok(segment) = frame.segment() else { continue };
        if matches!(segment.transport, Transport::Tcp { .. }) {
            continue;
        }
        let port = *server_port.get_or_insert(segment.destination.port());
        let classifier = classifier.get_or_insert_with(|| Classifier::new(port));
        let to = if segment.destination.port() == port { Direction::ToServer } else { Direction::ToClient };
        let content = classifier.on_segment(to, &segment);
        if let Some(content) = content {
            if !is_lost(&content) {
                classifier.on_delivered(&content);
            }
            contents.push(content);
        }
        let summary = reader.summary();
        for secret in
            summary.secrets.iter().skip(secrets).filter(|secret| secret.kind == Secrets::TLS_KEY_LOG && has_keys)
        {
            classifier.add_keys(&secret.data);
        }
        secrets = summary.secrets.len();
    }
    contents
}

/// Describes the contents in words.
pub fn words(contents: &[Content]) -> Vec<String> {
    contents.iter().map(Content::describe).collect()
}
