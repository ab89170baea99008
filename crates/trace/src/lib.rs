//! The rows of a capture as Parquet files: what DuckDB, polars or pandas want to be asked.
//!
//! Holds: four tables, `packets.parquet`, `frames.parquet`, `events.parquet`, `samples.parquet`; how a packet, a frame, an event, a sample becomes
//! a row. Tables of runs, with columns that the caller names: written, and read back in pieces.
//! Holds not: the reading of captures and qlogs (`quiclab-wire`), metrics. Every column is described in
//! `docs/reference/trace.md`; a test holds the two together.
//!
//! Call order: [`TraceWriter::create`], then [`TraceWriter::on_packet`], [`TraceWriter::on_event`] and [`TraceWriter::on_sample`] in the order in which
//! rows shall stand, then [`TraceWriter::finish`]. Rows are written in groups, so memory does not grow with the capture,
//! but for some kilobytes of index per group. The same input gives the same bytes.
//!
//! To read the code: `row` says how a struct becomes columns, `packets`, `frames`, `events` and `samples` are those structs. A new column
//! is a field there, and a row in the reference.

mod cell;
mod column;
mod error;
mod events;
mod frames;
mod numbers;
mod packets;
mod partial;
mod row;
mod rows;
mod runs;
mod samples;
mod table;
mod writer;

pub use error::TraceError;
pub use numbers::{MOST_ROWS, read_numbers};
pub use rows::{RunColumns, RunKind, RunsReader, read_runs};
pub use runs::{RUNS_SCHEMA, RUNS_SCHEMA_KEY, RunColumn, RunsWriter, write_runs};
pub use samples::Sample;
pub use writer::{EVENTS_FILE, FRAMES_FILE, PACKETS_FILE, SAMPLES_FILE, SCHEMA_KEY, SCHEMA_VERSION, TraceWriter};
