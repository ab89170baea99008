//! What can be wrong with a capture, and where.

use quiclab_units::Time;

/// Why a capture cannot be read. Offsets count bytes of the uncompressed file.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file has no bytes.
    #[error(
        "byte 0: the file is empty, expected a pcap or pcapng header\nhint: was the capture stopped before its first write?"
    )]
    Empty,
    /// The first bytes belong to no known format.
    #[error(
        "byte 0: found {found:02x?}, expected the first bytes of pcap, pcapng or gzip\nhint: other capture formats can be \
         converted with `editcap -F pcapng IN OUT`"
    )]
    UnknownFormat {
        /// The first bytes, at most four.
        found: Vec<u8>,
    },
    /// The container breaks its own rules.
    #[error(
        "byte {byte_offset}: {what}: found {found}, expected {expected}\nhint: the file is damaged from here on; \
         `editcap -F pcapng IN OUT` may save the part before"
    )]
    Malformed {
        /// Where the record or block begins.
        byte_offset: u64,
        /// Which part.
        what: &'static str,
        /// What is there.
        found: String,
        /// What the format allows.
        expected: String,
    },
    /// A block larger than any capture tool writes.
    #[error(
        "byte {byte_offset}: a block of {length} bytes, expected at most {limit}\nhint: the length field is damaged, \
         or the rest of the file is not a capture"
    )]
    BlockTooLong {
        /// Where the block begins.
        byte_offset: u64,
        /// Its length field.
        length: u64,
        /// [`MAXIMUM_BLOCK_BYTES`](crate::MAXIMUM_BLOCK_BYTES).
        limit: u64,
    },
    /// The reader handed in failed, or the gzip stream is damaged.
    #[error("byte {byte_offset}: cannot read further: {source}\nhint: for a .gz file try `gzip -t FILE`")]
    Read {
        /// Bytes read before.
        byte_offset: u64,
        /// What the reader said.
        source: std::io::Error,
    },
}

/// Why a packet cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// No interface with this index was given to the writer.
    #[error("packet at {} ns: interface {interface}, but the capture has {interfaces}", time.as_nanos())]
    UnknownInterface {
        /// Time of the packet.
        time: Time,
        /// The index asked for.
        interface: u32,
        /// How many there are.
        interfaces: usize,
    },
    /// There are more bytes than the frame had, or than the interface keeps.
    #[error(
        "packet at {} ns: {captured} captured bytes, expected at most {limit} ({limited_by})", time.as_nanos()
    )]
    TooManyBytes {
        /// Time of the packet.
        time: Time,
        /// Bytes handed over.
        captured: usize,
        /// Bytes allowed.
        limit: u32,
        /// Which limit.
        limited_by: &'static str,
    },
    /// Packets must come in the order of time.
    #[error(
        "found a packet at {} ns after one at {} ns\nhint: merge the taps by time before writing", time.as_nanos(), previous.as_nanos()
    )]
    TimeBackwards {
        /// Time of the packet.
        time: Time,
        /// Time of the one before it.
        previous: Time,
    },
    /// A name, key log or interface list too long for its length field.
    #[error("{what} of {length} bytes, expected at most {limit}")]
    TooLong {
        /// What is too long.
        what: &'static str,
        /// Its length.
        length: usize,
        /// The longest that fits.
        limit: usize,
    },
    /// The writer handed in failed.
    #[error("cannot write: {0}")]
    Write(#[from] std::io::Error),
}
