//! Handshakes in captures.

use std::{
    io::{self, Read},
    ops::ControlFlow,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context, Result, bail};
use quiclab_metrics::HandshakeStream;
use quiclab_scan::survey::ScanRow;
use quiclab_testbed::perform::Interrupted;
use quiclab_units::ShowPath;
use quiclab_wire::{CaptureReader, Decompressed, DissectorSettings, Secrets};

use crate::{
    session::{
        bounded_input::{self, STANDARD_INPUT},
        pipe, signals,
    },
    settings::CaptureSettings,
    terminal::progress::BytesProgress,
};

/// Hands each handshake of the captures to `on_row` as it ends. Whether a capture was cut off.
///
/// # Errors
/// A file that cannot be read, an interruption, what `on_row` says.
pub fn read(
    settings: &CaptureSettings,
    stop: &Arc<AtomicBool>,
    on_row: &mut dyn FnMut(ScanRow) -> Result<()>,
) -> Result<bool> {
    let key_log = bounded_input::read_key_logs(&settings.keys)?;
    let mut was_cut = false;
    for file in &settings.files {
        was_cut |= read_one(file, settings, &key_log, stop, on_row).with_context(|| file.shown().to_string())?;
    }
    Ok(was_cut)
}

fn read_one(
    path: &Path,
    settings: &CaptureSettings,
    key_log: &[u8],
    stop: &Arc<AtomicBool>,
    on_row: &mut dyn FnMut(ScanRow) -> Result<()>,
) -> Result<bool> {
    let reading = signals::reading();
    let (input, length) = open(path)?;
    let progress = BytesProgress::new(&path.shown().to_string(), length, true);
    let decompressed = Decompressed::detect(progress.count(input)).context("cannot be read")?;
    drop(reading);
    let input = pipe::in_background(decompressed, stop.clone());
    let dissector =
        DissectorSettings { server_port: settings.server_port, interfaces_are_one_tap: settings.merge_interfaces };
    let mut stream = HandshakeStream::new(dissector, key_log);
    let mut secrets_read = 0;
    let mut written = Ok(());
    let mut on_handshake = |seen: quiclab_metrics::SeenHandshake| {
        if written.is_ok() {
            written = on_row(seen.into());
        }
    };
    let mut reader = CaptureReader::new(input)?;
    let done = reader.for_each_segment(None, &mut |_, segment, summary| {
        for secret in summary.secrets.iter().skip(secrets_read).filter(|it| it.kind == Secrets::TLS_KEY_LOG) {
            stream.add_keys(&secret.data);
        }
        secrets_read = summary.secrets.len();
        stream.on_segment(segment, &mut on_handshake);
        ControlFlow::Continue(())
    });
    progress.finish();
    if stop.load(Ordering::Relaxed) {
        return Err(Interrupted::ByRequest.into());
    }
    stream.finish(&mut on_handshake);
    if stream.cut_short() > 0 {
        status!(
            "warning: {} handshakes were given up before they were over, since there were too many at once",
            stream.cut_short()
        );
    }
    written?;
    done?;
    Ok(reader.into_summary().truncation.is_some())
}

fn open(path: &Path) -> Result<(Box<dyn Read + Send>, Option<u64>)> {
    if path == Path::new(STANDARD_INPUT) {
        return Ok((Box::new(io::stdin()), None));
    }
    let file = bounded_input::open(path).context("cannot be opened")?;
    let about = file.metadata()?;
    if about.is_dir() {
        bail!("found a folder, expected a capture file");
    }
    Ok((Box::new(file), about.is_file().then_some(about.len())))
}
