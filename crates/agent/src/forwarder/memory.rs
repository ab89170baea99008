//! Memory of frames, which is used again.

use super::socket::MOST_BYTES;

/// Frames up to this length are packets; longer ones are super-packets.
const PACKET_BYTES: usize = 2048;
const SUPER_PACKET_BYTES: usize = MOST_BYTES;
/// Memory kept for packets, and for super-packets: 25 ms at 1 Gbit/s, 4 ms at 30 Gbit/s.
const KEPT_BYTES: [usize; 2] = [4 << 20, 16 << 20];

/// Buffers of frames that were sent, for those to come. Without them the memory of each super-packet would be new to the process, and the
/// kernel would have to clear it page by page.
#[derive(Debug, Default)]
pub struct Spare([Vec<Vec<u8>>; 2]);

impl Spare {
    /// A buffer with these bytes.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        let class = usize::from(bytes.len() > PACKET_BYTES);
        let capacity = [PACKET_BYTES, SUPER_PACKET_BYTES][class].max(bytes.len());
        let mut buffer = self.0[class].pop().unwrap_or_else(|| Vec::with_capacity(capacity));
        buffer.clear();
        buffer.extend_from_slice(bytes);
        buffer
    }

    /// Keeps a buffer, where there is room.
    pub fn put_back(&mut self, buffer: Vec<u8>) {
        let class = usize::from(buffer.capacity() > PACKET_BYTES);
        let bytes = [PACKET_BYTES, SUPER_PACKET_BYTES][class];
        if buffer.capacity() >= bytes && self.0[class].len() < KEPT_BYTES[class] / bytes {
            self.0[class].push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_a_frame_is_that_of_one_before_of_its_kind() {
        let mut spare = Spare::default();
        let [packet, whole] = [vec![1; 1514], vec![2; 60_000]].map(|bytes| spare.take(&bytes));
        let places = [packet.as_ptr(), whole.as_ptr()];
        spare.put_back(packet);
        spare.put_back(whole);
        let [packet, whole] = [vec![3; 60], vec![4; 65_000]].map(|bytes| spare.take(&bytes));
        assert_eq!([packet.as_ptr(), whole.as_ptr()], places);
        assert_eq!((packet, whole), (vec![3; 60], vec![4; 65_000]));
    }

    #[test]
    fn what_is_kept_is_bounded_and_long_enough() {
        let mut spare = Spare::default();
        spare.put_back(Vec::with_capacity(100));
        assert_eq!(spare.take(&[0; 1514]).capacity(), PACKET_BYTES);
        for _ in 0..10_000 {
            spare.put_back(Vec::with_capacity(PACKET_BYTES));
        }
        assert_eq!(spare.0[0].len() * PACKET_BYTES, KEPT_BYTES[0]);
    }
}
