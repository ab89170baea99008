//! A capture on every core: one thread reads it and hands each packet to the thread that follows its flow.
//!
//! Which thread that is, the addresses decide, so a flow is measured by one thread alone, and what comes out does not depend
//! on how many there are. Connections that change their addresses could part from themselves: `quiclab_metrics::merge`
//! notices that, and then the file is read once more by one thread.

use std::{
    io::Read,
    ops::ControlFlow,
    panic::resume_unwind,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, SyncSender, channel, sync_channel},
    },
    thread,
};

use quiclab_metrics::{AnalysisSettings, CaptureAnalysis, CapturePart, merge};
use quiclab_wire::{
    Capture, CaptureError, CaptureReader, Dissector, DissectorSettings, Observed, Secrets, Segment, SegmentBatch,
};

/// The reader keeps so many threads busy at most.
const MOST_WORKERS: usize = 32;
/// A batch is handed over when it has so many packets or so many bytes of payload: as much as fits into a core's cache.
const BATCH_PACKETS: usize = 1_024;
const BATCH_BYTES: usize = 256 * 1024;
/// Batches that wait for a worker, of all workers and of each.
const BATCHES_WAITING: usize = 64;
const MOST_BATCHES_WAITING_EACH: usize = 8;
/// Groups of address pairs, each of which goes to the worker that has least to do when its first packet comes.
const GROUPS: usize = 1_024;

/// How packets are shared among workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Packets are not shared: reading and measuring take turns in one thread.
    Alone,
    /// All to one worker, beside the thread that reads.
    One,
    /// Workers share packets by interface: flows of different interfaces have nothing in common.
    ByInterface(usize),
    /// Workers share packets by addresses: nearly always right, see [`analyze`].
    ByAddresses(usize),
}

/// What it takes to measure a capture.
pub struct Task<'a> {
    pub dissector: DissectorSettings,
    pub analysis: AnalysisSettings,
    pub key_log: &'a [u8],
}

/// What a worker gets.
enum Work {
    Keys(Arc<[u8]>),
    Packets(SegmentBatch),
}

/// Reads a capture to its end and measures every flow. `on_packet` sees each packet in the order of the file; where several
/// workers share them, only those of the first. `None` where sharing by addresses would have taken a connection apart: read
/// again with another [`Sharing`].
///
/// # Errors
/// [`CaptureError`] where the file breaks its format or cannot be read.
pub fn analyze<R: Read + Send>(
    reader: CaptureReader<R>,
    task: &Task,
    sharing: Sharing,
    on_packet: &mut dyn FnMut(u64, &Segment, Option<&Observed>),
) -> Result<Option<CaptureAnalysis>, CaptureError> {
    let workers = match sharing {
        Sharing::Alone => {
            let mut dissector = Dissector::new(task.dissector.clone());
            dissector.add_keys(task.key_log);
            return quiclab_metrics::analyze(reader, dissector, task.analysis.clone(), on_packet).map(Some);
        }
        Sharing::One => 1,
        Sharing::ByInterface(workers) | Sharing::ByAddresses(workers) => workers.clamp(1, MOST_WORKERS),
    };
    let new_part = || {
        let dissector = match sharing {
            Sharing::ByInterface(_) | Sharing::ByAddresses(_) => Dissector::of_part(task.dissector.clone()),
            Sharing::Alone | Sharing::One => Dissector::new(task.dissector.clone()),
        };
        let mut part = CapturePart::new(dissector, task.analysis.clone());
        part.add_keys(task.key_log);
        part
    };
    thread::scope(|scope| {
        let waiting = (BATCHES_WAITING / workers).min(MOST_BATCHES_WAITING_EACH);
        let (give_back, returned) = channel();
        let (senders, mut receivers): (Vec<_>, Vec<_>) = (0..workers).map(|_| sync_channel(waiting)).unzip();
        let router = Router::new(senders, returned, sharing, &task.dissector);
        let reading = scope.spawn(move || router.read(reader));
        let own = receivers.remove(0);
        let others: Vec<_> = receivers
            .into_iter()
            .map(|receiver| {
                let (part, give_back) = (new_part(), give_back.clone());
                scope.spawn(move || work(part, receiver, give_back, &mut |_, _, _| {}))
            })
            .collect();
        let mut parts = vec![work(new_part(), own, give_back, on_packet)];
        for other in others {
            parts.push(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        let capture = reading.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        Ok(merge(parts, capture))
    })
}

/// Measures what comes until no more does.
fn work(
    mut part: CapturePart,
    receiver: Receiver<Work>,
    give_back: Sender<SegmentBatch>,
    on_packet: &mut dyn FnMut(u64, &Segment, Option<&Observed>),
) -> CapturePart {
    for work in receiver {
        match work {
            Work::Keys(key_log) => part.add_keys(&key_log),
            Work::Packets(mut batch) => {
                for (number, segment) in batch.iter() {
                    part.on_segment(number, &segment, on_packet);
                }
                batch.clear();
                // The reader may be done.
                let _ = give_back.send(batch);
            }
        }
    }
    part
}

/// Reads, and hands out.
struct Router {
    workers: Vec<Worker>,
    returned: Receiver<SegmentBatch>,
    sharing: Sharing,
    settings: DissectorSettings,
    /// Which worker has a group, once one has.
    groups: Vec<Option<usize>>,
    secrets_sent: usize,
}

struct Worker {
    sender: SyncSender<Work>,
    batch: SegmentBatch,
    /// Bytes of frames and packets so far, as a measure of what it has to do.
    load: u64,
}

/// A worker has gone, which only a panic makes it do; the caller meets that when it joins the worker.
struct WorkerGone;

impl Router {
    fn new(
        senders: Vec<SyncSender<Work>>,
        returned: Receiver<SegmentBatch>,
        sharing: Sharing,
        settings: &DissectorSettings,
    ) -> Self {
        let worker = |sender| Worker { sender, batch: SegmentBatch::default(), load: 0 };
        Router {
            workers: senders.into_iter().map(worker).collect(),
            returned,
            sharing,
            settings: settings.clone(),
            groups: vec![None; GROUPS],
            secrets_sent: 0,
        }
    }

    fn read<R: Read>(mut self, mut reader: CaptureReader<R>) -> Result<Capture, CaptureError> {
        reader.for_each_segment(
            None,
            &mut |number, segment, summary| match self.hand_out(number, segment, summary) {
                Ok(()) => ControlFlow::Continue(()),
                Err(WorkerGone) => ControlFlow::Break(()),
            },
        )?;
        for index in 0..self.workers.len() {
            if self.send_batch(index).is_err() {
                break;
            }
        }
        Ok(reader.into_summary())
    }

    fn hand_out(&mut self, number: u64, segment: &Segment, summary: &Capture) -> Result<(), WorkerGone> {
        if summary.secrets.len() > self.secrets_sent {
            self.send_keys(&summary.secrets)?;
        }
        let index = self.worker_of(segment);
        let worker = &mut self.workers[index];
        // A packet costs about as much as the decryption of 256 bytes.
        worker.load += 256 + segment.payload.len() as u64;
        worker.batch.push(number, segment);
        if worker.batch.len() >= BATCH_PACKETS || worker.batch.payload_bytes() >= BATCH_BYTES {
            self.send_batch(index)?;
        }
        Ok(())
    }

    fn worker_of(&mut self, segment: &Segment) -> usize {
        let hash = match self.sharing {
            Sharing::Alone | Sharing::One => return 0,
            Sharing::ByInterface(_) if self.settings.interfaces_are_one_tap => return 0,
            Sharing::ByInterface(_) => u64::from(segment.interface),
            Sharing::ByAddresses(_) => self.settings.address_hash(segment),
        };
        let group = (hash % GROUPS as u64) as usize;
        if let Some(index) = self.groups[group] {
            return index;
        }
        let least = (0..self.workers.len()).min_by_key(|index| self.workers[*index].load).unwrap_or(0);
        self.groups[group] = Some(least);
        least
    }

    /// Secrets apply to the packets behind them: what was read before goes first.
    fn send_keys(&mut self, secrets: &[Secrets]) -> Result<(), WorkerGone> {
        for secret in &secrets[self.secrets_sent..] {
            if secret.kind != Secrets::TLS_KEY_LOG {
                continue;
            }
            let key_log: Arc<[u8]> = secret.data.as_slice().into();
            for index in 0..self.workers.len() {
                self.send_batch(index)?;
                self.workers[index].sender.send(Work::Keys(key_log.clone())).map_err(|_| WorkerGone)?;
            }
        }
        self.secrets_sent = secrets.len();
        Ok(())
    }

    fn send_batch(&mut self, index: usize) -> Result<(), WorkerGone> {
        let worker = &mut self.workers[index];
        if worker.batch.is_empty() {
            return Ok(());
        }
        let empty = self.returned.try_recv().unwrap_or_default();
        let batch = std::mem::replace(&mut worker.batch, empty);
        worker.sender.send(Work::Packets(batch)).map_err(|_| WorkerGone)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, path::Path};

    use super::*;

    fn flows(capture: &str, sharing: Sharing) -> Option<usize> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/data/captures").join(capture);
        let reader = CaptureReader::new(File::open(path).unwrap()).unwrap();
        let (dissector, analysis) = (DissectorSettings::default(), AnalysisSettings::default());
        let task = Task { dissector, analysis, key_log: &[] };
        Some(analyze(reader, &task, sharing, &mut |_, _, _| {}).unwrap()?.flows.len())
    }

    #[test]
    fn a_connection_that_moves_to_another_worker_must_be_read_again() {
        for workers in [2, 3, 40] {
            assert_eq!(flows("migration.pcapng", Sharing::ByAddresses(workers)), None);
        }
        let whole = [Sharing::Alone, Sharing::One, Sharing::ByInterface(2), Sharing::ByAddresses(1)];
        assert_eq!(whole.map(|sharing| flows("migration.pcapng", sharing)), [Some(1); 4]);
    }

    #[test]
    fn connections_that_stay_where_they_are_need_one_reading() {
        for capture in ["quic-go.pcapng", "tcp-tls.pcapng", "retry.pcapng", "ipv6.pcapng"] {
            assert!(flows(capture, Sharing::ByAddresses(4)).is_some(), "{capture}");
        }
    }
}
