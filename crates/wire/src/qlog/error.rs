//! What can be wrong with a qlog file, and where.

/// Why a qlog file cannot be read. Offsets count bytes of the uncompressed file.
#[derive(Debug, thiserror::Error)]
pub enum QlogError {
    /// The file has no bytes, or nothing but white space and separators.
    #[error("byte 0: the file is empty, expected a qlog header\nhint: was the endpoint killed before its first write?")]
    Empty,
    /// The file is something else.
    #[error(
        "byte {byte_offset}: found {found}, expected {expected}\nhint: qlog is a JSON object with `traces`, or records of JSON \
         after a header with `trace`; a compressed file must be decompressed first (`gzip -d`, `zstd -d`)"
    )]
    NotQlog {
        /// Where it shows.
        byte_offset: u64,
        /// What is there.
        found: String,
        /// What a qlog file has there.
        expected: &'static str,
    },
    /// The JSON around the events is broken.
    #[error(
        "byte {byte_offset}: {what}: found {found}, expected {expected}\nhint: the file is damaged from here on; \
         earlier events were read; `head -c {byte_offset} FILE` keeps them"
    )]
    Malformed {
        /// Where it breaks.
        byte_offset: u64,
        /// Which part.
        what: &'static str,
        /// What is there.
        found: String,
        /// What JSON allows.
        expected: &'static str,
    },
    /// An event, or a member of the header, longer than any stack writes.
    #[error(
        "byte {byte_offset}: an event of more than {limit} bytes\nhint: a quotation mark or bracket is missing, or packets \
         were logged with their bytes (`raw.data`)"
    )]
    EventTooLong {
        /// Where it begins.
        byte_offset: u64,
        /// [`MAXIMUM_EVENT_BYTES`](super::MAXIMUM_EVENT_BYTES).
        limit: usize,
    },
    /// The reader handed in failed.
    #[error("byte {byte_offset}: cannot read further: {source}\nhint: is the file complete, and the disk healthy?")]
    Read {
        /// Bytes read before.
        byte_offset: u64,
        /// What the reader said.
        source: std::io::Error,
    },
}
