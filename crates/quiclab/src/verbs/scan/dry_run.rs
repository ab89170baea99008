//! What a scan would send.

use std::path::Path;

use anyhow::Result;
use comfy_table::CellAlignment;
use quiclab_scan::targets::{Cost, Plan, Summary};
use quiclab_units::Duration;

use super::whom::{self, Next, Whom};
use crate::{cli::ScanArguments, terminal::output};

/// Networks that are listed.
const MOST_NETWORKS: usize = 10;
/// Packets to a server that answers, at most: the ClientHello, which may take two datagrams, both again after a probe timeout, an answer to
/// each of the server's datagrams, Finished with the request, and the close.
const PACKETS_SENT: u64 = 12;
/// Packets of a server: 256 KiB are the most that is read.
const BYTES_RECEIVED: u64 = 256 << 10;

/// Prints how many packets would go to whom.
///
/// # Errors
/// A list or an exclusion that cannot be read.
pub fn dry_run(arguments: &ScanArguments) -> Result<()> {
    let size = u64::from(arguments.hello.hello_size);
    let cost = Cost {
        packets_sent: PACKETS_SENT,
        bytes_sent: PACKETS_SENT * size,
        packets_received: BYTES_RECEIVED / size,
        bytes_received: BYTES_RECEIVED,
    };
    let mut plan = Plan::new(cost);
    // Of groups that are asked again and again: one round.
    let groups = arguments.whom.group.iter().map(|group| group.list.as_path());
    for list in arguments.targets.as_deref().into_iter().chain(groups) {
        count(list, arguments, &mut plan)?;
    }
    let summary = plan.summary(arguments.whom.rate, MOST_NETWORKS);
    if arguments.output.json {
        output::print(&(serde_json::to_string_pretty(&summary)? + "\n"))
    } else {
        output::print(&text(&summary, arguments))
    }
}

fn count(list: &Path, arguments: &ScanArguments, plan: &mut Plan) -> Result<()> {
    let mut whom = Whom::new(list, whom::exclusions(&arguments.whom)?, &arguments.whom)?;
    while let Some((is_target, next)) = whom.read_dry()? {
        match next {
            Some(Next::Ask(job)) => plan.add(&[job.address.ip()]),
            Some(Next::Leave { .. }) => plan.add_excluded(),
            None if is_target => plan.add(&[]),
            None => {}
        }
    }
    Ok(())
}

fn text(summary: &Summary, arguments: &ScanArguments) -> String {
    let mut text = format!(
        "{} targets, {} of them excluded, {} names that would be resolved first\n",
        summary.targets, summary.excluded, summary.unresolved
    );
    text += &format!(
        "{} handshakes to {} addresses in {} networks, at {}: at least {}\n",
        summary.connections,
        summary.addresses,
        summary.networks,
        arguments.whom.rate,
        Duration::from_nanos(summary.duration_ns),
    );
    text += &format!(
        "at most {} packets and {} bytes to them, and {} bytes back; each name adds a handshake\n",
        summary.cost.packets_sent, summary.cost.bytes_sent, summary.cost.bytes_received
    );
    if !summary.busiest.is_empty() {
        let mut table = output::table(["network", "addresses", "handshakes", "packets, at most"]);
        for network in &summary.busiest {
            table.add_row([
                network.prefix.clone(),
                network.addresses.to_string(),
                network.connections.to_string(),
                network.cost.packets_sent.to_string(),
            ]);
        }
        table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
        text += &format!("{table}\n");
    }
    text + "No packet was sent.\n"
}
