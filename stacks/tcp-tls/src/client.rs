//! The client: a connection for each stream. Those that run at the same time have a thread each.

use std::{
    net::{SocketAddr, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use quiclab_contract::perf::{CHUNK, COUNTERS, HEAD, LATENCIES, Load, Sizes, ZEROS, check};
use rustls::ClientConfig;

use crate::{
    channel::Channel,
    settings::Settings,
    sockets::{abandon, connect, tell_congestion_control},
    tls,
};

/// How long after the end of the time threads may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// What threads tell the main thread.
enum Message {
    /// A handshake is complete.
    Connected,
    /// A thread has no more streams, or failed.
    Done(Result<()>),
}

/// What all threads share.
struct Work {
    settings: Settings,
    server: SocketAddr,
    config: Option<Arc<ClientConfig>>,
    /// What the streams carry.
    streams: Vec<Sizes>,
    /// True: whoever has ended a stream begins another one like it.
    repeats: bool,
    /// Streams that somebody has taken.
    taken: AtomicUsize,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    /// The connection of each thread.
    connections: Vec<Option<TcpStream>>,
    /// True: no more streams are to begin.
    is_over: bool,
}

/// Asks for a response on each stream, or until the time is over.
///
/// # Errors
/// Where a response is shorter or longer than asked for, or a connection ends early.
pub fn run(settings: Settings) -> Result<()> {
    let sizes = settings.perf.context("found no sizes")?;
    let (urls, load) = (settings.requests.len(), settings.perf_load);
    let most = settings.streams.unwrap_or(usize::MAX);
    let streams = match load {
        // A connection each, too.
        Load::Handshakes => vec![Sizes::SMALLEST; urls],
        _ => load.streams(sizes, urls, None),
    };
    let threads = streams.len().min(most);
    let duration = settings.perf_duration;
    let work = Arc::new(Work {
        server: settings.resolve()?,
        config: settings.has_tls.then(|| tls::client(&settings)).transpose()?,
        streams,
        repeats: load.has_latencies(),
        taken: AtomicUsize::new(0),
        open: Mutex::default(),
        settings,
    });
    let (sender, messages) = mpsc::channel();
    for thread in 0..threads {
        let (work, sender) = (Arc::clone(&work), sender.clone());
        thread::Builder::new()
            .spawn(move || {
                let outcome = work.exchange(thread, &sender);
                let _ = sender.send(Message::Done(outcome));
            })
            .context("starting a thread")?;
    }
    let mut deadline = None;
    let mut is_over = false;
    let mut running = threads;
    while running > 0 {
        let message = match deadline.map(|deadline: Instant| deadline.saturating_duration_since(Instant::now())) {
            None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            // There may be another message at any time.
            Some(Duration::ZERO) => Err(RecvTimeoutError::Timeout),
            Some(time) => messages.recv_timeout(time),
        };
        match message {
            Ok(Message::Connected) => {
                deadline = deadline.or_else(|| duration.map(|duration| Instant::now() + duration))
            }
            Ok(Message::Done(outcome)) => {
                // What is abandoned fails.
                if !is_over {
                    outcome?;
                }
                running -= 1;
            }
            Err(RecvTimeoutError::Timeout) if !is_over => {
                is_over = true;
                deadline = Some(Instant::now() + END_TIMEOUT);
                // A handshake is short enough to be completed.
                work.end(load != Load::Handshakes);
            }
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => bail!("found no thread that works"),
        }
    }
    Ok(())
}

impl Work {
    /// Takes streams until there are none, or the time is over.
    fn exchange(&self, thread: usize, sender: &Sender<Message>) -> Result<()> {
        while let Some(&sizes) = self.streams.get(self.taken.fetch_add(1, Relaxed)) {
            loop {
                let began = Instant::now();
                let stream = connect(&self.settings, self.server)?;
                tell_congestion_control(&stream);
                if !self.begin(thread, &stream)? {
                    return Ok(());
                }
                let host = self.settings.host();
                let tls = self.config.as_ref().map(|config| tls::connection_to(config, host)).transpose()?;
                let mut channel = Channel::open(stream, tls)?;
                if self.settings.perf_load == Load::Handshakes {
                    LATENCIES.since(began);
                }
                let _ = sender.send(Message::Connected);
                ask(&mut channel, sizes)?;
                let is_complete = self.complete(thread, began);
                if !(self.repeats && is_complete) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// A connection begins. False: it need not, the time is over.
    fn begin(&self, thread: usize, stream: &TcpStream) -> Result<bool> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let length = open.connections.len().max(thread + 1);
        open.connections.resize_with(length, || None);
        open.connections[thread] = Some(stream.try_clone()?);
        Ok(!open.is_over)
    }

    /// The stream of a thread is over in both directions, unless that was only because it was abandoned. True: another one may begin.
    fn complete(&self, thread: usize, began: Instant) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let is_abandoned = open.connections[thread].take().is_none();
        if !is_abandoned {
            COUNTERS.exchanged();
            if self.settings.perf_load == Load::Requests {
                LATENCIES.since(began);
            }
        }
        !open.is_over
    }

    /// The time is over. `abandons` what is not complete.
    fn end(&self, abandons: bool) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.is_over = true;
        if abandons {
            for stream in open.connections.iter_mut().filter_map(Option::take) {
                let _ = abandon(&stream);
            }
        }
    }
}

/// Makes one exchange.
fn ask(channel: &mut Channel, sizes: Sizes) -> Result<()> {
    let mut buffer = vec![0; CHUNK];
    buffer[..HEAD as usize].copy_from_slice(&sizes.head());
    // The head and what comes behind it leave together.
    let first = sizes.request.min(CHUNK as u64);
    channel.write(&buffer[..first as usize]).context("sending a request")?;
    let mut left = sizes.request - first;
    while left > 0 {
        let length = left.min(CHUNK as u64);
        channel.write(&ZEROS[..length as usize]).context("sending a request")?;
        left -= length;
    }
    channel.end().context("ending a request")?;
    let mut received = 0;
    loop {
        let length = channel.read(&mut buffer).context("reading a response")?;
        if length == 0 {
            break;
        }
        received += length as u64;
        if received > sizes.response {
            break;
        }
    }
    Ok(check(received, sizes.response)?)
}
