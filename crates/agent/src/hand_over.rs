//! What a run left, into the slot. Endpoints choose names, numbers and lengths of their files, so each of them has a bound.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use nix::sys::statvfs::statvfs;
use quiclab_orders::{
    orders::Orders,
    places::{DOWNLOADS, LOGS, OUTPUTS},
    slot::{self, BLOCK, Blob, Manifest},
};

use crate::{
    device::Device,
    endpoint::files_below,
    root::{Root, shared},
    run::Finished,
};

/// More of what an endpoint prints is not kept.
const LONGEST_OUTPUT: u64 = 1 << 20;
/// More log files of one role are not kept.
const MOST_LOGS: usize = 1000;
/// Of all names of one role's log files, in bytes: they stand in the manifest, where each byte may take six.
const LONGEST_NAMES: usize = 100 << 10;
/// Room for the manifest in front of the blobs; it holds counters and names only.
const MANIFEST_ROOM: u64 = 2 << 20;
/// Written by the contract, and kept before other files.
const FIRST: [&str; 2] = ["keys.log", "planned.csv"];

/// A file to hand over.
struct Source {
    name: String,
    path: PathBuf,
    /// More bytes of it are left out.
    most: u64,
}

impl Finished<'_> {
    /// Writes everything into the slot, the header last.
    ///
    /// # Errors
    /// Where the slot is too small or a file cannot be read.
    pub fn hand_over(mut self, device: &mut Device, orders: &Orders) -> Result<()> {
        let mut offset = MANIFEST_ROOM;
        let mut blobs = Vec::new();
        for (tap, report) in self.taps.iter().zip(&self.report.taps) {
            let length = report.block_bytes * report.blocks_used;
            device.write_pages_at(offset, &tap.pages()[..length as usize]).context("handing over a capture")?;
            blobs.push(Blob { name: format!("tap/{}", report.name), offset, length });
            offset += length;
        }
        for source in self.sources(orders) {
            // A link could lead to what should have been fetched, a pipe would never end.
            if !fs::symlink_metadata(&source.path).is_ok_and(|facts| facts.is_file()) {
                continue;
            }
            let Ok(file) = File::open(&source.path) else { continue };
            let whole = file.metadata().map_or(0, |facts| facts.len());
            if whole > source.most {
                self.report.cut.insert(source.name.clone(), whole - source.most);
            }
            let length = device
                .write_at(offset, &mut file.take(source.most))
                .with_context(|| format!("handing over {}", source.name))?;
            blobs.push(Blob { name: source.name, offset, length });
            offset += length.next_multiple_of(BLOCK as u64);
        }
        self.taps.clear();
        let manifest = serde_json::to_vec(&Manifest { report: self.report, blobs })?;
        anyhow::ensure!(
            (manifest.len() + BLOCK) as u64 <= MANIFEST_ROOM,
            "the manifest is too long: {}",
            manifest.len()
        );
        device.write_at(BLOCK as u64, &mut &manifest[..])?;
        device.write_at(0, &mut &slot::header(slot::RESULTS_MAGIC, manifest.len() as u64)[..])?;
        Ok(())
    }

    fn sources(&mut self, orders: &Orders) -> Vec<Source> {
        let longest = orders.transfer.size_bytes;
        let names = orders.transfer.names.iter();
        let mut sources: Vec<_> = names
            .map(|name| Source { name: format!("download/{name}"), path: shared(DOWNLOADS).join(name), most: longest })
            .collect();
        for (role, root) in [("server", self.roots.server), ("client", self.roots.client)] {
            let mut lost = Vec::new();
            sources.extend(logs(role, root, orders.log_limit_bytes, &mut lost));
            self.report.lost_logs.extend(lost.into_iter().map(|what| format!("{role}: {what}")));
        }
        sources
    }
}

/// The files that an endpoint left in its folder of logs; notes what is not among them.
fn logs(role: &str, root: &Root, limit_bytes: u64, lost: &mut Vec<String>) -> Vec<Source> {
    let folder = root.outside(LOGS);
    if statvfs(&folder).is_ok_and(|facts| facts.blocks_available() == 0) {
        lost.push(format!("the folder of logs is full at {limit_bytes} bytes, and what came later is missing"));
    }
    let files = files_below(&folder).unwrap_or_else(|error| {
        lost.push(format!("the logs cannot be read: {error}"));
        Vec::new()
    });
    let (kept, left_out) = chosen(files);
    if left_out > 0 {
        lost.push(format!("{left_out} of {} log files are not kept", kept.len() + left_out));
    }
    let mut left = limit_bytes;
    let sources = kept.into_iter().map(|file| {
        let path = folder.join(&file);
        let is_output = OUTPUTS.iter().any(|output| file == Path::new(output));
        // A file can be longer than the folder has room, where it has holes.
        let most = if is_output { left.min(LONGEST_OUTPUT) } else { left };
        left -= fs::symlink_metadata(&path).map_or(0, |facts| facts.len()).min(most);
        Source { name: format!("{role}/{}", file.display()), path, most }
    });
    sources.collect()
}

/// Those of an endpoint's log files that are kept, what the contract names first, and how many are not.
fn chosen(mut files: Vec<PathBuf>) -> (Vec<PathBuf>, usize) {
    files.sort_by_key(|file| !OUTPUTS.iter().chain(&FIRST).any(|first| file == Path::new(first)));
    let all = files.len();
    let mut bytes = 0;
    let names_that_fit = files.iter().take_while(|file| {
        bytes += file.as_os_str().len();
        bytes <= LONGEST_NAMES
    });
    let kept = names_that_fit.count().min(MOST_LOGS);
    files.truncate(kept);
    (files, all - kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_contract_names_is_kept_before_other_files() {
        let mut files: Vec<PathBuf> = (0..1_200).map(|number| format!("a{number}").into()).collect();
        files.extend(["keys.log".into(), "stderr".into()]);
        let (kept, left_out) = chosen(files);
        assert_eq!((kept.len(), left_out), (MOST_LOGS, 202));
        assert!(kept[..2].contains(&"keys.log".into()) && kept[..2].contains(&"stderr".into()));
    }

    #[test]
    fn long_names_are_left_out_with_what_is_behind_them() {
        let long = |letter: &str| PathBuf::from(letter.repeat(LONGEST_NAMES / 2));
        let (kept, left_out) = chosen(vec![long("a"), long("b"), "c".into()]);
        assert_eq!((kept.len(), left_out), (2, 1));
    }
}
