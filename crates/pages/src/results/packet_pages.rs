//! What the packets of runs tell: for verdicts, for the bottleneck over time, and a page with every packet.

use std::fs;

use crate::{folder, run_page, transfer::page};
use anyhow::{Context, Result};
use quiclab_record::layout::CAPTURE_FILE;
use quiclab_report::{OverTime, PacketSummary, ReportInput, RunRow, render_look_html};
use quiclab_units::ShowPath;
use rayon::prelude::*;

use super::{MOST_RUN_PAGES, Results};

/// End of the name of a page, behind the name of its record.
const ENDING: &str = "-look.html";
/// Packets of a run above which a page is written only on request: 150,000 packets are 4 MB.
const MOST_PACKETS_UNASKED: u64 = 200_000;

impl Results {
    /// Looks at the packets of the first run of each group, up to a number of groups, or of each run where `all`; writes
    /// their pages.
    pub(super) fn look_at_runs(&self, input: &mut ReportInput, all: bool) -> Result<()> {
        let is_wanted = |run: &&mut RunRow| {
            let is_small = run.metrics.metrics.packets_sent.unwrap_or(0) <= MOST_PACKETS_UNASKED;
            let is_captured = self.folder.join(&run.folder).join(CAPTURE_FILE).is_file();
            is_captured && (all || (run.packets.is_some() && is_small))
        };
        let most = if all { usize::MAX } else { MOST_RUN_PAGES };
        let wanted: Vec<_> = input.runs.iter_mut().filter(is_wanted).take(most).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let pages = self.folder.join(run_page::PAGES_FOLDER);
        fs::create_dir_all(&pages).with_context(|| pages.shown())?;
        wanted.into_par_iter().try_for_each(|run| {
            run.packet_summary = self.look_at(&run.folder)?;
            Ok(())
        })
    }

    /// `None` where the capture holds no packets of a server, or ends in the middle of one.
    fn look_at(&self, record: &str) -> Result<Option<PacketSummary>> {
        let Some(seen) = page::of_record(&self.folder.join(record))? else { return Ok(None) };
        let Some(facts) = seen.facts else { return Ok(None) };
        let pages = self.folder.join(run_page::PAGES_FOLDER);
        let name = format!("{record}{ENDING}");
        let packet_summary = PacketSummary {
            facts,
            server_start_ns: seen.transfer.server_start_ns,
            page: Some(format!("{}/{name}", run_page::PAGES_FOLDER)),
            over_time: OverTime::of(&seen.transfer.packets),
        };
        folder::write(&pages, &name, render_look_html(&[seen.transfer]))?;
        Ok(Some(packet_summary))
    }
}
