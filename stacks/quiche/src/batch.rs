//! Packets that leave in one system call.

use std::time::Instant;

/// Most segments that the kernel cuts one send into: UDP_MAX_SEGMENTS, include/linux/udp.h (Linux 4.18 to 6.8).
const MAX_SEGMENTS: usize = 64;

/// Largest UDP payload over IPv4: 65535 less 20 bytes of IP and 8 of UDP header. Over IPv6 it is larger.
const MAX_UDP_PAYLOAD: usize = 65_507;

/// RFC 9000, section 20.1.
const INTERNAL_ERROR: u64 = 0x1;

/// Consecutive packets to one peer: all of `segment` bytes, but for the last, which may be shorter.
pub struct Batch {
    pub buffer: Vec<u8>,
    /// Bytes of `buffer` that wait to be sent; 0: no batch.
    pub length: usize,
    pub segment: usize,
    /// Of the first packet: where to and when.
    pub info: Option<quiche::SendInfo>,
}

impl Batch {
    /// Room for the largest batch, and none in it.
    pub fn new() -> Self {
        Self { buffer: vec![0; MAX_UDP_PAYLOAD], length: 0, segment: 0, info: None }
    }

    /// Takes at most `most` packets of one path from `quic` until the quantum is full, a packet is shorter than the others, or there is none.
    /// `planned` is told of each packet and when it is to leave.
    pub fn fill(&mut self, quic: &mut quiche::Connection, most: usize, mut planned: impl FnMut(&[u8], Instant)) {
        self.segment = quic.max_send_udp_payload_size();
        let segments = (quic.send_quantum().min(MAX_UDP_PAYLOAD) / self.segment).clamp(1, MAX_SEGMENTS.min(most));
        let quantum = segments * self.segment;
        while self.length < quantum {
            // quiche chooses the path of the first packet.
            let (from, to) = self.info.map(|first| (first.from, first.to)).unzip();
            match quic.send_on_path(&mut self.buffer[self.length..quantum], from, to) {
                Ok((length, info)) => {
                    planned(&self.buffer[self.length..self.length + length], info.at);
                    self.length += length;
                    self.info.get_or_insert(info);
                    if length < self.segment {
                        break;
                    }
                }
                Err(quiche::Error::Done) => break,
                Err(error) => {
                    eprintln!("connection {}: writing a packet: {error}", quic.trace_id());
                    // Only where it is closed already, and then it stays so.
                    let _ = quic.close(false, INTERNAL_ERROR, b"");
                    break;
                }
            }
        }
    }
}
