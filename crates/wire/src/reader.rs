//! One packet at a time from any capture.

use std::io::Read;
use std::ops::ControlFlow;

use quiclab_units::Time;

use crate::capture::{Capture, Truncation};
use crate::decompressed::Decompressed;
use crate::dissector::{Dissector, Observed};
use crate::error::CaptureError;
use crate::frame::{Frame, Segment};
use crate::packet::Packet;
use crate::pcap::PcapFile;
use crate::pcapng::PcapngFile;
use crate::skip_reason::SkipReason;
use crate::source::Source;

/// Longest record or block accepted. A frame has at most 64 KiB (super-packets somewhat more); a key log of 100 000
/// connections has 16 MB. Anything longer is a damaged length field.
pub const MAXIMUM_BLOCK_BYTES: u32 = 64 * 1024 * 1024;

/// Reads a pcap or pcapng file, plain, gzip or zstd, in bounded memory.
pub struct CaptureReader<R: Read> {
    source: Source<Decompressed<R>>,
    format: Format,
    summary: Capture,
    finished: bool,
    /// The frame handed out last, still in the window.
    current: Option<FramePlace>,
    /// Handed to [`for_each_segment`](CaptureReader::for_each_segment) so far.
    frames: u64,
}

enum Format {
    Pcap(PcapFile),
    Pcapng(PcapngFile),
}

/// Where a frame lies in the window of the source.
pub(crate) struct FramePlace {
    pub(crate) time: Time,
    pub(crate) interface: u32,
    pub(crate) link_type: u16,
    /// Bytes on the wire.
    pub(crate) length: u32,
    pub(crate) captured: std::ops::Range<usize>,
    /// Bytes of the whole record or block.
    pub(crate) record_bytes: usize,
}

/// What one record or block gave.
pub(crate) enum Step {
    /// A frame, which is not consumed yet.
    Frame(FramePlace),
    /// Consumed.
    Skipped(SkipReason),
    /// A block that describes; nothing to hand out. Consumed.
    Described,
    /// The input ends where a record ends.
    End,
    /// The input ends inside a record.
    Cut,
}

impl<R: Read> CaptureReader<R> {
    /// Finds out the format from the first bytes.
    ///
    /// # Errors
    /// [`CaptureError`] when the input is empty, is no capture, or cannot be read.
    pub fn new(input: R) -> Result<Self, CaptureError> {
        let mut source =
            Source::new(Decompressed::detect(input).map_err(|source| CaptureError::Read { byte_offset: 0, source })?);
        let mut summary = Capture::default();
        let magic = source.peek(4)?;
        if magic.is_empty() {
            return Err(CaptureError::Empty);
        }
        let format = if PcapFile::recognises(magic) {
            Format::Pcap(PcapFile::open(&mut source, &mut summary)?)
        } else if PcapngFile::recognises(magic) {
            Format::Pcapng(PcapngFile::default())
        } else {
            return Err(CaptureError::UnknownFormat { found: magic.to_vec() });
        };
        // A classic header that is itself cut off has been noted as such.
        let finished = summary.truncation.is_some();
        Ok(CaptureReader { source, format, summary, finished, current: None, frames: 0 })
    }

    /// The next frame in the order of the file, whatever it holds; `None` at the file's end, or where it was cut off.
    ///
    /// # Errors
    /// [`CaptureError`] with the offset at which the file breaks its format or cannot be read. Reading on after an error
    /// gives `None`.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        if let Some(place) = self.current.take() {
            self.source.consume(place.record_bytes);
        }
        while !self.finished {
            let step = match &mut self.format {
                Format::Pcap(file) => file.next(&mut self.source),
                Format::Pcapng(file) => file.next(&mut self.source, &mut self.summary),
            };
            match step {
                Ok(Step::Frame(place)) => {
                    self.current = Some(place);
                    return Ok(self.current_frame());
                }
                Ok(Step::Skipped(reason)) => self.skip(reason),
                Ok(Step::Described) => {}
                Ok(Step::End) => {
                    self.finished = true;
                    if self.source.was_cut() {
                        self.summary.truncation = Some(self.source.truncation());
                    }
                }
                Ok(Step::Cut) => {
                    self.finished = true;
                    self.summary.truncation = Some(self.source.truncation());
                }
                Err(error) => {
                    self.finished = true;
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    /// The frame that [`next_frame`](Self::next_frame) gave last; `None` before the first and behind the last one.
    pub fn current_frame(&self) -> Option<Frame<'_>> {
        let place = self.current.as_ref()?;
        Some(Frame {
            time: place.time,
            interface: place.interface,
            link_type: place.link_type,
            length: place.length,
            byte_offset: self.source.offset(),
            captured: &self.source.window()[place.captured.clone()],
        })
    }

    /// The next UDP or TCP packet in the order of the file; `None` at its end, or where it was cut off. Other frames are
    /// counted in [`Capture::skipped`].
    ///
    /// # Errors
    /// As [`next_frame`](Self::next_frame).
    pub fn next_packet(&mut self) -> Result<Option<Packet>, CaptureError> {
        loop {
            let Some(frame) = self.next_frame()? else {
                return Ok(None);
            };
            match frame.segment() {
                Ok(segment) => return Ok(Some(segment.to_packet())),
                Err(reason) => self.skip(reason),
            }
        }
    }

    /// Reads all frames that are left, in the order of the file, until `on_segment` breaks; only those of interface `tap`,
    /// where one is given. It sees each UDP datagram and TCP segment before the next one is read, with the number of its
    /// frame in the file, from 1, and what is known of the file by then: all secrets that stand before it. Other frames are
    /// counted in [`Capture::skipped`].
    ///
    /// # Errors
    /// As [`next_frame`](Self::next_frame).
    pub fn for_each_segment(
        &mut self,
        tap: Option<u32>,
        on_segment: &mut dyn FnMut(u64, &Segment, &Capture) -> ControlFlow<()>,
    ) -> Result<(), CaptureError> {
        while self.next_frame()?.is_some() {
            self.frames += 1;
            let wanted = self.current_frame().filter(|frame| tap.is_none_or(|tap| tap == frame.interface));
            let Some(frame) = wanted else { continue };
            match frame.segment() {
                Ok(segment) => {
                    if on_segment(self.frames, &segment, &self.summary).is_break() {
                        return Ok(());
                    }
                }
                Err(reason) => self.skip(reason),
            }
        }
        Ok(())
    }

    /// Reads all frames that are left into `dissector`, with the secrets that stand before them. `on_segment` sees each as
    /// with [`for_each_segment`](Self::for_each_segment); what the dissector has no use for has no [`Observed`].
    ///
    /// # Errors
    /// As [`next_frame`](Self::next_frame).
    pub fn dissect(
        &mut self,
        dissector: &mut Dissector,
        tap: Option<u32>,
        on_segment: &mut dyn FnMut(u64, &Segment, Option<&Observed>),
    ) -> Result<(), CaptureError> {
        self.for_each_segment(tap, &mut |number, segment, summary| {
            dissector.add_secrets(&summary.secrets);
            on_segment(number, segment, dissector.on_segment(segment).as_ref());
            ControlFlow::Continue(())
        })
    }

    /// Counts a frame that [`next_frame`](Self::next_frame) gave and that could not be used.
    pub fn skip(&mut self, reason: SkipReason) {
        *self.summary.skipped.entry(reason).or_insert(0) += 1;
    }

    /// What is known so far besides the packets, which are none.
    pub fn summary(&self) -> &Capture {
        &self.summary
    }

    /// What is known besides the packets. Complete once [`next_packet`](Self::next_packet) has said `None`;
    /// `packets` is empty.
    pub fn into_summary(self) -> Capture {
        self.summary
    }
}

impl<R: Read> Source<R> {
    pub(crate) fn truncation(&self) -> Truncation {
        Truncation { byte_offset: self.offset(), bytes_present: self.buffered() as u64 }
    }
}
