//! What a capture shows of how many requests a client has at the same time.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Result, ensure};
use quiclab_experiment::run::Run;
use quiclab_inputs::open_unlinked;
use quiclab_record::layout::{CAPTURE_FILE, SENDER_TAP};
use quiclab_testbed::contract::SERVER_PORT;
use quiclab_wire::{CaptureReader, Dissector, DissectorSettings, QuicFrame, Role as Sender};

/// The two lowest bits of the streams that a client opens in both directions (RFC 9000, section 2.1).
const OF_CLIENT: u64 = 0;

/// The streams of requests at the server's tap.
#[derive(Debug, Default)]
struct Requests {
    open: BTreeSet<u64>,
    all: BTreeSet<u64>,
    most: usize,
}

impl Requests {
    /// The client is never ahead of what the server has sent, so it has at least as many open as this counts.
    fn take(&mut self, sender: Sender, stream: u64, fin: bool) {
        if stream & 0x03 != OF_CLIENT {
            return;
        }
        match sender {
            Sender::Client => {
                // A frame that comes again opens nothing.
                if self.all.insert(stream) {
                    self.open.insert(stream);
                }
                self.most = self.most.max(self.open.len());
            }
            Sender::Server if fin => {
                self.open.remove(&stream);
            }
            Sender::Server => {}
        }
    }
}

/// Whether the client of the run in `folder` had `most` requests at the same time, and never more.
///
/// # Errors
/// Where it had more or fewer, or where the packets do not show it.
pub fn at_a_time(most: u32, run: &Run, folder: &Path) -> Result<String> {
    let mut reader = CaptureReader::new(open_unlinked(&folder.join(CAPTURE_FILE))?)?;
    let mut dissector =
        Dissector::new(DissectorSettings { server_port: Some(SERVER_PORT), interfaces_are_one_tap: true });
    let mut requests = Requests::default();
    reader.dissect(&mut dissector, Some(SENDER_TAP), &mut |_, _, observed| {
        let Some(observed) = observed else { return };
        for packet in observed.packets {
            for frame in &observed.frames[packet.frames.clone()] {
                if let QuicFrame::Stream { stream, fin, .. } = frame {
                    requests.take(observed.sender, *stream, *fin);
                }
            }
        }
    })?;
    let (files, found) = (run.settings.workload.files as usize, requests.all.len());
    ensure!(found == files, "found {found} streams of requests in the packets, expected {files}");
    ensure!(
        requests.most <= most as usize,
        "found {} requests at the same time, expected at most {most}",
        requests.most
    );
    ensure!(requests.most == most as usize, "found at most {} requests at the same time, of {most}", requests.most);
    Ok(format!("{found} streams, at most {most} at the same time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_open_until_the_end_of_its_response_is_sent() {
        let mut requests = Requests::default();
        let (client, server) = (Sender::Client, Sender::Server);
        for (sender, stream, fin) in [
            (client, 2, false), // HTTP/3's control stream
            (client, 0, true),
            (client, 4, true),
            (client, 4, true), // again
            (server, 0, false),
            (server, 0, true),
            (client, 0, true), // a retransmission that was too late
            (client, 8, true),
        ] {
            requests.take(sender, stream, fin);
        }
        assert_eq!((requests.most, requests.all.len(), requests.open.len()), (2, 3, 2));
        requests.take(client, 12, true);
        assert_eq!(requests.most, 3);
    }
}
