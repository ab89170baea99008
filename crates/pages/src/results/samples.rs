//! What the hosts of a run did, as rows of a trace.

use std::path::Path;

use anyhow::Result;
use quiclab_record::HostActivity;
use quiclab_trace::{Sample, TraceWriter};

/// Adds what the record in `folder` has; nothing where it has none.
///
/// # Errors
/// Where it cannot be read, or a row cannot be written.
pub fn add(folder: &Path, trace: &mut TraceWriter) -> Result<()> {
    let Some(activity) = HostActivity::read(folder)? else { return Ok(()) };
    for series in &activity.series {
        for (counter, values) in &series.counters {
            for (place, value) in values.iter().enumerate() {
                // The reader has made sure that every step has two times.
                let Some([begin, end]) =
                    activity.times_ns.get(series.first_step as usize + place..).and_then(<[u64]>::first_chunk)
                else {
                    continue;
                };
                trace.on_sample(&Sample {
                    time_ns: *begin,
                    duration_ns: end - begin,
                    of: &series.of,
                    kind: &series.kind,
                    process: series.process,
                    number: series.number,
                    name: series.name.as_deref(),
                    counter,
                    value: *value,
                })?;
            }
        }
    }
    Ok(())
}
