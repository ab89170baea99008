//! What leaves: batches of packets, each a buffer with one planned send time.

use std::time::Instant;

use anyhow::{Context, Result};
use quiclab_contract::{Gso, Pacing};
use quiclab_sans_io::{Answer, Buffer, wire::ANSWER_LIMIT};

use crate::{
    batch::Batch,
    plan::Plan,
    planned::PlannedTimes,
    settings::{Settings, planned},
    spread::{Spread, pacing_rate},
};

/// Bytes that leave with one answer at most, and those of the batch that passes it: half of what an answer may have.
const MOST_BYTES: usize = ANSWER_LIMIT / 2;

/// Does for answers what the socket of the endpoint for virtual machines does for system calls.
pub struct Outbox {
    /// Most packets in one buffer.
    most_segments: usize,
    /// `None` where no send times are handed over.
    plan: Option<Plan>,
    /// `None` where quiche's own times are taken as they are.
    spread: Option<Spread>,
    batch: Batch,
    /// Bytes that leave with this answer.
    bytes: usize,
    /// `None` where the planned send times are not written down.
    planned: Option<PlannedTimes>,
}

impl Outbox {
    /// With batches and send times as the settings ask.
    ///
    /// # Errors
    /// Where the file of planned send times cannot be created.
    pub fn new(settings: &Settings) -> Result<Self> {
        let spreads = settings.gso_segments.is_some();
        let plan = (settings.pacing == Pacing::TxTime).then(|| Plan::new(settings.txtime_clock, spreads));
        Ok(Self {
            most_segments: if settings.gso == Gso::Off { 1 } else { settings.gso_segments.unwrap_or(usize::MAX) },
            plan: plan.transpose()?,
            spread: spreads.then(Spread::default),
            batch: Batch::new(),
            bytes: 0,
            planned: planned(settings).as_deref().map(PlannedTimes::create).transpose()?,
        })
    }

    /// The next batch is the first of an answer.
    pub fn begin(&mut self) {
        self.bytes = 0;
    }

    /// True where the rest is to be sent with the next answer, at the same time.
    pub fn is_full(&self) -> bool {
        self.bytes >= MOST_BYTES
    }

    /// Sends one batch of `quic`: with segmentation offload up to its send quantum, otherwise one packet. True: there may be
    /// more.
    ///
    /// # Errors
    /// Where a packet is longer than a datagram can be.
    pub fn send_from(&mut self, quic: &mut quiche::Connection, answer: &mut Answer) -> Result<bool> {
        let Self { most_segments, plan, spread, batch, bytes, planned } = self;
        let rate = spread.as_ref().and_then(|_| pacing_rate(quic));
        if let Some(plan) = plan {
            plan.begin();
        }
        batch.fill(quic, *most_segments, |payload, at| {
            let Some(plan) = plan else { return };
            let at = spread.as_mut().map_or(at, |spread| spread.time(at, payload.len(), rate));
            // What is not written down needs no checksum.
            plan.push(planned.as_ref().map_or(0, |_| crc32c::crc32c(payload)), at);
        });
        let payload = batch.buffer[..batch.length].to_vec();
        let segment = batch.segment.min(payload.len());
        batch.length = 0;
        batch.info = None;
        if payload.is_empty() {
            return Ok(false);
        }
        *bytes += payload.len();
        let segment = u16::try_from(segment).context("a packet longer than a datagram")?;
        let time = plan.as_mut().and_then(|plan| plan.time(Instant::now()));
        answer.buffers.push(Buffer { ecn: 0, segment, planned: time, payload });
        if let (Some(plan), planned) = (plan, planned) {
            let packets = plan.finish();
            if let Some(planned) = planned {
                packets.iter().for_each(|(checksum, time)| planned.push(*checksum, *time));
            }
        }
        Ok(true)
    }

    /// Sends `datagram` by itself at once.
    ///
    /// # Errors
    /// Where it is longer than a datagram can be.
    pub fn send_stateless(&mut self, datagram: Vec<u8>, answer: &mut Answer) -> Result<()> {
        let buffer = Buffer::datagram(0, datagram).context("a packet longer than a datagram")?;
        let planned = self.plan.as_mut().and_then(|plan| plan.at_once(Instant::now()));
        answer.buffers.push(Buffer { planned, ..buffer });
        Ok(())
    }

    /// Writes down the planned send times so far, where that was asked for.
    ///
    /// # Errors
    /// What the file system answers.
    pub fn write_planned_times(&mut self) -> Result<()> {
        self.planned.as_mut().map_or(Ok(()), PlannedTimes::write)
    }
}
