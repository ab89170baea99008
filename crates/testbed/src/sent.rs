//! What an end has sent by when, from a capture.

use std::{ops::ControlFlow, path::Path};

use anyhow::{Context, Result};
use quiclab_inputs::open_unlinked;
use quiclab_units::ShowPath;
use quiclab_wire::{Capture, CaptureReader, Role, Segment};

/// The packets of `sender` at a tap, of connections to a server's port: nanoseconds since the first one, and bytes so far.
///
/// # Errors
/// Where the capture cannot be read.
pub fn sent_by(capture: &Path, tap: u32, server_port: u16, sender: Role) -> Result<Vec<(u64, u64)>> {
    let place = || capture.shown();
    let mut reader = CaptureReader::new(open_unlinked(capture).with_context(place)?).with_context(place)?;
    let mut sent = Vec::new();
    let (mut first, mut bytes) = (None, 0);
    let mut on_segment = |_, segment: &Segment, _: &Capture| {
        let of_server = match sender {
            Role::Server => segment.source,
            Role::Client => segment.destination,
        };
        if of_server.port() == server_port {
            bytes += u64::from(segment.frame_length);
            let first = *first.get_or_insert(segment.time);
            sent.push((segment.time.checked_since(first).map_or(0, |time| time.as_nanos()), bytes));
        }
        ControlFlow::Continue(())
    };
    reader.for_each_segment(Some(tap), &mut on_segment).with_context(place)?;
    Ok(sent)
}
