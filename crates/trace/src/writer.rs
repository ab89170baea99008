//! The writer: which rows a packet or an event becomes, in which files.

use std::path::Path;

use quiclab_wire::{Observed, QlogEvent, Segment};

use crate::error::TraceError;
use crate::events::EventRow;
use crate::frames::FrameRow;
use crate::packets::PacketRow;
use crate::samples::{Sample, SampleRow};
use crate::table::Table;

/// Name of the file of QUIC packets and TCP segments.
pub const PACKETS_FILE: &str = "packets.parquet";
/// Name of the file of QUIC frames.
pub const FRAMES_FILE: &str = "frames.parquet";
/// Name of the file of qlog events.
pub const EVENTS_FILE: &str = "events.parquet";
/// Name of the file of what hosts did over time.
pub const SAMPLES_FILE: &str = "samples.parquet";
/// Key under which each file says its [`SCHEMA_VERSION`].
pub const SCHEMA_KEY: &str = "quiclab_trace_schema";
/// Changes when a column changes its meaning or goes away; not for a new column.
pub const SCHEMA_VERSION: &str = "1";

/// Writes a trace. Dropped before [`finish`](Self::finish), it leaves nothing behind. One writer per folder at a time.
pub struct TraceWriter {
    packets: Table<PacketRow<'static>>,
    frames: Table<FrameRow<'static>>,
    events: Table<EventRow<'static>>,
    samples: Table<SampleRow<'static>>,
}

impl TraceWriter {
    /// Begins the files, under temporary names, in a folder that is made where it is missing.
    ///
    /// # Errors
    /// [`TraceError`] when the folder or a file cannot be made.
    pub fn create(folder: &Path) -> Result<Self, TraceError> {
        std::fs::create_dir_all(folder)
            .map_err(|source| TraceError::CreateFolder { path: folder.to_owned(), source })?;
        Ok(TraceWriter {
            packets: Table::create(folder, PACKETS_FILE)?,
            frames: Table::create(folder, FRAMES_FILE)?,
            events: Table::create(folder, EVENTS_FILE)?,
            samples: Table::create(folder, SAMPLES_FILE)?,
        })
    }

    /// Adds a segment: a row for each QUIC packet, one where there is none. `number`: position of its frame in the capture,
    /// from 1, as tshark counts. `observed`: what the dissector says of this segment.
    ///
    /// # Errors
    /// [`TraceError::Write`].
    pub fn on_packet(&mut self, number: u64, segment: &Segment, observed: Option<&Observed>) -> Result<(), TraceError> {
        let mut row = PacketRow::of_segment(number, segment, observed);
        let Some(observed) = observed else {
            return self.packets.push(row);
        };
        let mut bytes_left = segment.payload_length;
        for packet in observed.packets {
            row.set_packet(packet);
            self.packets.push(row.clone())?;
            for index in 0..packet.frames.len() as u32 {
                self.frames.push(FrameRow::new(&row, observed, packet, index))?;
            }
            row.packet_index += 1;
            bytes_left = bytes_left.saturating_sub(packet.length);
        }
        if observed.has_foreign_bytes {
            row.set_foreign_bytes(bytes_left);
        }
        if observed.has_foreign_bytes || observed.packets.is_empty() {
            self.packets.push(row)?;
        }
        Ok(())
    }

    /// Adds an event of a qlog. `source`: the name of its file, which tells several qlogs apart.
    ///
    /// # Errors
    /// [`TraceError::Write`].
    pub fn on_event(&mut self, source: &str, event: &QlogEvent) -> Result<(), TraceError> {
        self.events.push(EventRow::new(source, event))
    }

    /// Adds what a host did in a step of time.
    ///
    /// # Errors
    /// [`TraceError::Write`].
    pub fn on_sample(&mut self, sample: &Sample) -> Result<(), TraceError> {
        self.samples.push(SampleRow::new(sample))
    }

    /// Writes what is left, and gives the files their names once all of them are whole. `packets.parquet` comes last: where it
    /// is, the others of the same trace are too.
    ///
    /// # Errors
    /// [`TraceError::Write`] and [`TraceError::Publish`].
    pub fn finish(self) -> Result<(), TraceError> {
        let files = [self.samples.finish()?, self.events.finish()?, self.frames.finish()?, self.packets.finish()?];
        for file in files.iter().rev() {
            file.remove_earlier()?;
        }
        files.into_iter().try_for_each(|file| file.publish())
    }
}
