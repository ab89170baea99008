//! What a survey would send.

use std::path::Path;

use anyhow::Result;

use super::{
    hooks::SurveyHooks,
    settings::TargetSettings,
    whom::{self, Next, Whom},
};
use crate::targets::{Cost, Frequency, Plan, Summary};

/// Networks that are listed.
const MOST_NETWORKS: usize = 10;
/// Packets to a server that answers, at most: the ClientHello, which may take two datagrams, both again after a probe timeout, an answer to
/// each of the server's datagrams, Finished with the request, and the close.
const PACKETS_SENT: u64 = 12;
/// Packets of a server: 256 KiB are the most that is read.
const BYTES_RECEIVED: u64 = 256 << 10;

/// Counts how many packets would go to whom, with datagrams of so many bytes. Of groups that are asked again and again: one round.
///
/// # Errors
/// A list or an exclusion that cannot be read.
pub fn plan<'a>(
    lists: impl Iterator<Item = &'a Path>,
    targets: &TargetSettings,
    datagram_bytes: u16,
    rate: Frequency,
    hooks: &dyn SurveyHooks,
) -> Result<Summary> {
    let size = u64::from(datagram_bytes);
    let cost = Cost {
        packets_sent: PACKETS_SENT,
        bytes_sent: PACKETS_SENT * size,
        packets_received: BYTES_RECEIVED / size,
        bytes_received: BYTES_RECEIVED,
    };
    let mut plan = Plan::new(cost);
    for list in lists {
        count(list, targets, hooks, &mut plan)?;
    }
    Ok(plan.summary(rate, MOST_NETWORKS))
}

fn count(list: &Path, targets: &TargetSettings, hooks: &dyn SurveyHooks, plan: &mut Plan) -> Result<()> {
    let mut whom = Whom::new(list, whom::exclusions(targets, hooks)?, targets, hooks)?;
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
