//! draft-banks-quic-performance: numbers of bytes in both directions, without files.
//!
//! The library's own buffer of what is to be sent is off ([`crate::configuration`]), so it sends from one buffer of zeros that is lent to it
//! again and again, as often as it says that it has room for ([`StreamEvent::IdealSendBufferSize`]).

use std::{
    collections::VecDeque,
    ffi::c_void,
    mem::ManuallyDrop,
    ptr,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow};
use msquic::{
    BufferRef, Connection, SendFlags, Status, Stream, StreamEvent, StreamOpenFlags, StreamRef, StreamShutdownFlags,
    StreamStartFlags, ffi::HQUIC,
};
use quiclab_contract::perf::{CHUNK, COUNTERS, Head, LATENCIES, Load, Path, Sizes, ZEROS, check};

use crate::chunk;

/// Bytes that the library has at a time before it says how many it wants: `QUIC_DEFAULT_IDEAL_SEND_BUFFER_SIZE` of its `quicdef.h`.
const FIRST_IDEAL: u64 = 0x20000;

/// Aborts a stream whose request has no head; the draft has no codes.
const NO_HEAD: u64 = 1;

/// The library's description of [`ZEROS`].
struct Zeros([BufferRef; 1]);

// SAFETY: it points to bytes that nobody changes.
unsafe impl Sync for Zeros {}

/// What one end still has to send on a stream.
struct Outgoing {
    left: u64,
    /// Bytes of each piece that the library has, in order.
    lent: VecDeque<u64>,
    /// How many bytes it should have.
    ideal: u64,
    zeros: Box<Zeros>,
}

impl Outgoing {
    fn new(bytes: u64) -> Self {
        let zeros = Box::new(Zeros([BufferRef::from(&ZEROS[..])]));
        Self { left: bytes, lent: VecDeque::new(), ideal: FIRST_IDEAL, zeros }
    }

    /// Hands over as much as the library should have, with the end of the stream behind the last byte.
    fn fill(&mut self, stream: &Stream) -> Result<(), Status> {
        while self.left > 0 && self.lent.iter().sum::<u64>() < self.ideal {
            let length = self.left.min(CHUNK as u64);
            let flags = if length == self.left { SendFlags::FIN } else { SendFlags::NONE };
            if length == CHUNK as u64 {
                // SAFETY: what is lent is as old as this, which lives as long as the stream's handler, and never changes.
                unsafe { stream.send(&self.zeros.0, flags, ptr::null()) }?;
            } else {
                chunk::send(stream, vec![0; length as usize], flags)?;
            }
            self.lent.push_back(length);
            self.left -= length;
            COUNTERS.sent(length);
        }
        Ok(())
    }

    /// The library gives back the oldest piece.
    fn take_back(&mut self, context: *const c_void) {
        self.lent.pop_front();
        if !context.is_null() {
            // SAFETY: `chunk::send` sent it, as all that have a context.
            unsafe { chunk::take_back(context) };
        }
    }
}

/// What the library knows of a connection's path, where a line of progress asks for that. It is called by the connection's own thread only.
fn report(connection: HQUIC) {
    COUNTERS.path(|| {
        // SAFETY: streams, and so their handlers, are closed before the connection, which is not closed here.
        let connection = ManuallyDrop::new(unsafe { Connection::from_raw(connection) });
        let found = connection.get_stats_v2().ok()?;
        let lost = found.SendSuspectedLostPackets.saturating_sub(found.SendSpuriousLostPackets);
        Some(Path { rtt: Duration::from_micros(found.Rtt.into()), window: found.SendCongestionWindow.into(), lost })
    });
}

/// Answers a request of a client. A stream of one direction is read and has no answer.
pub fn answer(stream: &StreamRef, connection: HQUIC, one_way: bool, close: impl Fn(Stream) + 'static) {
    let mut head = Head::default();
    let mut outgoing: Option<Outgoing> = None;
    stream.set_callback_handler(move |stream, event| {
        match event {
            StreamEvent::Receive { buffers, .. } => {
                buffers.iter().for_each(|buffer| head.take(buffer.as_bytes()));
                report(connection);
            }
            StreamEvent::PeerSendShutdown if one_way => {}
            StreamEvent::PeerSendShutdown => match head.response() {
                Some(0) => {
                    let _ = stream.shutdown(StreamShutdownFlags::GRACEFUL, 0);
                }
                Some(response) => send(&stream, outgoing.insert(Outgoing::new(response))),
                None => {
                    eprintln!("found a request of less than 8 bytes");
                    let _ = stream.shutdown(StreamShutdownFlags::ABORT_SEND, NO_HEAD);
                }
            },
            StreamEvent::IdealSendBufferSize { byte_count } => {
                if let Some(outgoing) = &mut outgoing {
                    outgoing.ideal = byte_count;
                    send(&stream, outgoing);
                }
            }
            StreamEvent::SendComplete { cancelled, client_context } => {
                if let Some(outgoing) = &mut outgoing {
                    outgoing.take_back(client_context);
                    if !cancelled {
                        send(&stream, outgoing);
                    }
                }
                report(connection);
            }
            StreamEvent::PeerReceiveAborted { .. } => {
                let _ = stream.shutdown(StreamShutdownFlags::ABORT_SEND, 0);
            }
            StreamEvent::SendShutdownComplete { graceful: true } if !one_way => COUNTERS.exchanged(),
            // SAFETY: this event makes the application the only owner of the handle.
            StreamEvent::ShutdownComplete { .. } => close(unsafe { Stream::from_raw(stream.as_raw()) }),
            _ => {}
        }
        Ok(())
    });
}

fn send(stream: &Stream, outgoing: &mut Outgoing) {
    if let Err(error) = outgoing.fill(stream) {
        eprintln!("StreamSend: {error}");
        let _ = stream.shutdown(StreamShutdownFlags::ABORT_SEND, NO_HEAD);
    }
}

/// What becomes of an exchange.
pub enum News {
    /// It is complete, or failed.
    Done(Result<()>),
    /// It is complete, and this is the stream of the next one.
    Followed(Stream),
    /// The library needs the stream with this handle no more.
    Over(Handle),
}

/// A handle that is only compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Handle(usize);

impl From<&Stream> for Handle {
    fn from(stream: &Stream) -> Self {
        // SAFETY: it is not closed here.
        Self(unsafe { stream.as_raw() } as usize)
    }
}

/// Takes the news, on the library's thread.
pub type Tell = Arc<dyn Fn(News) + Send + Sync>;

/// Begins an exchange. What becomes of it goes to `tell`. With [`Load::Requests`] it is followed by another one when it is complete, at once
/// and on the library's thread: the time until another thread runs is none of the library's.
///
/// # Errors
/// Where the library refuses.
pub fn ask(connection: &Connection, load: Load, sizes: Sizes, tell: Tell) -> Result<Stream> {
    // SAFETY: see `report`.
    let handle = unsafe { connection.as_raw() };
    // The head and what comes behind it leave together.
    let first = sizes.request.min(CHUNK as u64);
    let mut outgoing = Outgoing::new(sizes.request - first);
    let mut received = 0;
    let (mut has_ended, mut is_sent, mut is_done, mut is_shut) = (false, false, false, false);
    outgoing.lent.push_back(first);
    let mut began = Instant::now();
    let stream = Stream::open(connection, StreamOpenFlags::NONE, move |stream, event| {
        let mut outcome = Ok(());
        match event {
            StreamEvent::Receive { buffers, .. } => {
                let length: u64 = buffers.iter().map(|buffer| buffer.as_bytes().len() as u64).sum();
                COUNTERS.received(length);
                received += length;
                report(handle);
                if received > sizes.response {
                    outcome = check(received, sizes.response).map_err(anyhow::Error::from);
                }
            }
            StreamEvent::PeerSendShutdown => {
                has_ended = true;
                outcome = check(received, sizes.response).map_err(anyhow::Error::from);
            }
            StreamEvent::IdealSendBufferSize { byte_count } => {
                outgoing.ideal = byte_count;
                outcome = outgoing.fill(&stream).context("StreamSend");
            }
            StreamEvent::SendComplete { cancelled, client_context } => {
                outgoing.take_back(client_context);
                if !cancelled {
                    outcome = outgoing.fill(&stream).context("StreamSend");
                }
                report(handle);
            }
            StreamEvent::SendShutdownComplete { graceful: true } => is_sent = true,
            StreamEvent::PeerSendAborted { error_code } => {
                outcome = Err(anyhow!("the server reset the stream: error {error_code}"));
            }
            StreamEvent::PeerReceiveAborted { error_code } => {
                outcome = Err(anyhow!("the server takes no more of the request: error {error_code}"));
            }
            // It had to wait for the server to allow another stream.
            StreamEvent::PeerAccepted => began = Instant::now(),
            StreamEvent::ShutdownComplete { .. } => {
                is_shut = true;
                outcome = Err(anyhow!("the connection ended early"));
            }
            _ => {}
        }
        if !is_done && (outcome.is_err() || has_ended && is_sent) {
            is_done = true;
            if outcome.is_ok() {
                COUNTERS.exchanged();
            }
            tell(if outcome.is_ok() && load == Load::Requests {
                LATENCIES.since(began);
                // SAFETY: see `report`.
                let connection = ManuallyDrop::new(unsafe { Connection::from_raw(handle) });
                ask(&connection, load, sizes, Arc::clone(&tell))
                    .map_or_else(|error| News::Done(Err(error)), News::Followed)
            } else {
                News::Done(outcome)
            });
        }
        if is_shut {
            tell(News::Over(Handle::from(&*stream)));
        }
        Ok(())
    })
    .context("StreamOpen")?;
    stream.start(StreamStartFlags::INDICATE_PEER_ACCEPT).context("StreamStart")?;
    let mut bytes = vec![0; first as usize];
    let head = sizes.head();
    bytes[..head.len()].copy_from_slice(&head);
    COUNTERS.sent(first);
    let flags = if first == sizes.request { SendFlags::FIN } else { SendFlags::NONE };
    chunk::send(&stream, bytes, flags).context("StreamSend")?;
    Ok(stream)
}
