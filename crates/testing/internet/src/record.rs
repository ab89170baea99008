//! The record: what the hosts' side of the way saw, written by a thread of its own so that no disk delays a packet.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread::JoinHandle,
};

use quiclab_units::Time;
use quiclab_wire::{CaptureWriter, Direction, PacketToWrite, TapDescription, WriteError};

use crate::{
    description::Description,
    error::StartError,
    truth::{FlowTruth, HostTruth},
};

/// Bytes that wait to be written, at most.
const MOST_WAITING: usize = 256 << 20;
/// Packets wait this long for others that were earlier but are read later, in nanoseconds.
const REORDERING_NS: u64 = 200_000_000;
/// Name of the capture's interface.
const TAP: &str = "hosts";

/// A frame at a host.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Captured {
    /// Unix time in nanoseconds.
    pub(crate) time: u64,
    /// Order of those of the same time.
    pub(crate) sequence: u64,
    pub(crate) is_from_host: bool,
    /// The frame with its Ethernet header.
    pub(crate) frame: Vec<u8>,
}

enum Entry {
    Packet(Captured),
    Flow(Box<FlowTruth>),
}

/// Hands things over to the thread.
#[derive(Debug)]
pub(crate) struct Recorder {
    to_thread: Sender<Entry>,
    waiting: Arc<AtomicUsize>,
    thread: JoinHandle<Result<u64, WriteError>>,
    sequence: u64,
    not_recorded: u64,
}

/// How a record ended.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) not_recorded: u64,
    pub(crate) late: u64,
}

impl Recorder {
    /// Writes hosts.jsonl, and begins server.pcapng and flows.jsonl.
    pub(crate) fn start(folder: &Path, description: &Description) -> Result<Self, StartError> {
        let create = |name: &str| {
            let path = folder.join(name);
            match File::create(&path) {
                Ok(file) => Ok((BufWriter::with_capacity(1 << 20, file), path)),
                Err(source) => Err(StartError::Record { path, source }),
            }
        };
        let (mut hosts, path) = create("hosts.jsonl")?;
        write_hosts(&mut hosts, description).map_err(|source| StartError::Record { path, source })?;
        let (flows, _) = create("flows.jsonl")?;
        let (capture, path) = create("server.pcapng")?;
        let tap = TapDescription { name: TAP, snap_length: None };
        let capture = CaptureWriter::new(capture, &[tap], None)
            .map_err(|why| StartError::Record { path, source: io::Error::other(why) })?;
        let (to_thread, from_forwarder) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let writer = Writer { capture, flows, held: BinaryHeap::new(), written: 0, late: 0 };
        let thread = std::thread::Builder::new().name("internet-record".to_owned());
        let thread = thread.spawn({
            let waiting = waiting.clone();
            move || writer.run(&from_forwarder, &waiting)
        });
        let thread = thread.map_err(|why| StartError::kernel("a thread", why))?;
        Ok(Self { to_thread, waiting, thread, sequence: 0, not_recorded: 0 })
    }

    /// Takes a frame down.
    pub(crate) fn on_packet(&mut self, time: Time, is_from_host: bool, frame: Vec<u8>) {
        self.sequence += 1;
        let captured = Captured { time: time.as_nanos(), sequence: self.sequence, is_from_host, frame };
        self.send(Entry::Packet(captured));
    }

    /// Takes a flow down that has ended.
    pub(crate) fn on_flow(&mut self, flow: FlowTruth) {
        self.send(Entry::Flow(Box::new(flow)));
    }

    fn send(&mut self, entry: Entry) {
        let bytes = entry.bytes();
        if self.waiting.load(Ordering::Relaxed) + bytes > MOST_WAITING {
            self.not_recorded += 1;
            return;
        }
        self.waiting.fetch_add(bytes, Ordering::Relaxed);
        if self.to_thread.send(entry).is_err() {
            // The thread has failed, and says why when it is asked.
            self.not_recorded += 1;
        }
    }

    /// Waits until all is written.
    ///
    /// # Errors
    /// What the disk answered.
    pub(crate) fn finish(self) -> Result<Recorded, WriteError> {
        drop(self.to_thread);
        match self.thread.join() {
            Ok(late) => Ok(Recorded { not_recorded: self.not_recorded, late: late? }),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl Entry {
    fn bytes(&self) -> usize {
        match self {
            Self::Packet(captured) => size_of::<Captured>() + captured.frame.len(),
            Self::Flow(flow) => size_of_val(flow.as_ref()) + size_of_val(flow.to_host.as_slice()) * 2,
        }
    }
}

fn write_hosts(output: &mut impl Write, description: &Description) -> io::Result<()> {
    for host in &description.hosts {
        write_line(output, &HostTruth::new(description, host))?;
    }
    output.flush()
}

fn write_line(output: &mut impl Write, line: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *output, line)?;
    output.write_all(b"\n")
}

struct Writer<W: Write> {
    capture: CaptureWriter<W>,
    flows: W,
    held: BinaryHeap<Reverse<Captured>>,
    /// Time of the last packet in the file.
    written: u64,
    late: u64,
}

impl<W: Write> Writer<W> {
    fn run(mut self, entries: &Receiver<Entry>, waiting: &AtomicUsize) -> Result<u64, WriteError> {
        let mut newest = 0;
        while let Ok(entry) = entries.recv() {
            waiting.fetch_sub(entry.bytes(), Ordering::Relaxed);
            match entry {
                Entry::Packet(captured) => {
                    newest = newest.max(captured.time);
                    self.held.push(Reverse(captured));
                    self.write_until(newest.saturating_sub(REORDERING_NS))?;
                }
                Entry::Flow(flow) => write_line(&mut self.flows, &flow)?,
            }
        }
        self.write_until(u64::MAX)?;
        self.flows.flush()?;
        self.capture.finish()?;
        Ok(self.late)
    }

    fn write_until(&mut self, time: u64) -> Result<(), WriteError> {
        while self.held.peek().is_some_and(|Reverse(captured)| captured.time <= time) {
            let Some(Reverse(captured)) = self.held.pop() else { break };
            self.late += u64::from(captured.time < self.written);
            self.written = self.written.max(captured.time);
            self.capture.write_packet(&PacketToWrite {
                time: Time::from_nanos(self.written),
                interface: 0,
                frame_length: captured.frame.len() as u32,
                captured: &captured.frame,
                direction: Some(if captured.is_from_host { Direction::Outbound } else { Direction::Inbound }),
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(time: u64, sequence: u64) -> Captured {
        Captured { time, sequence, is_from_host: false, frame: vec![sequence as u8; 60] }
    }

    #[test]
    fn packets_are_written_in_the_order_of_time_and_a_late_one_is_counted() {
        let capture = CaptureWriter::new(Vec::new(), &[TapDescription { name: TAP, snap_length: None }], None).unwrap();
        let mut writer = Writer { capture, flows: Vec::new(), held: BinaryHeap::new(), written: 0, late: 0 };
        for one in [captured(30, 1), captured(10, 2), captured(20, 3)] {
            writer.held.push(Reverse(one));
        }
        writer.write_until(20).unwrap();
        assert_eq!((writer.written, writer.held.len(), writer.late), (20, 1, 0));
        writer.held.push(Reverse(captured(5, 4)));
        writer.write_until(u64::MAX).unwrap();
        assert_eq!((writer.written, writer.held.len(), writer.late), (30, 0, 1));
    }

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_told_at_the_end() {
        assert!(CaptureWriter::new(Full, &[], None).is_err());
        let capture = CaptureWriter::new(Vec::new(), &[TapDescription { name: TAP, snap_length: Some(10) }], None);
        let writer =
            Writer { capture: capture.unwrap(), flows: Vec::new(), held: BinaryHeap::new(), written: 0, late: 0 };
        let (to_thread, entries) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let thread = std::thread::spawn({
            let waiting = waiting.clone();
            move || writer.run(&entries, &waiting)
        });
        let mut recorder = Recorder { to_thread, waiting, thread, sequence: 0, not_recorded: 0 };
        // More than the tap takes stands for what the disk does not.
        recorder.on_packet(Time::from_nanos(1), false, vec![0; 60]);
        assert!(recorder.finish().is_err());
    }
}
