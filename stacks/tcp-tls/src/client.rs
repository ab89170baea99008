//! The client: a connection for each stream, in a thread of its own.

use std::{
    net::TcpStream,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread,
    time::Instant,
};

use anyhow::{Context, Result, bail};
use quiclab_contract::perf::{CHUNK, COUNTERS, HEAD, Sizes, ZEROS, check};
use rustls::ClientConfig;

use crate::{
    channel::Channel,
    settings::Settings,
    sockets::{congestion_control, connect, reset_at_end},
    tls,
};

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
    config: Option<Arc<ClientConfig>>,
    sizes: Sizes,
    /// Streams that nobody has taken yet.
    left: AtomicUsize,
    /// The connection of each thread.
    open: Mutex<Vec<Option<TcpStream>>>,
}

/// Asks for a response on each stream, or until the time is over.
///
/// # Errors
/// Where a response is shorter or longer than asked for, or a connection ends early.
pub fn run(settings: Settings) -> Result<()> {
    let sizes = settings.perf.context("found no sizes")?;
    let streams = settings.requests.len();
    let threads = streams.min(settings.streams.unwrap_or(usize::MAX));
    let (duration, config) = (settings.perf_duration, settings.has_tls.then(|| tls::client(&settings)).transpose()?);
    let work = Arc::new(Work { settings, config, sizes, left: AtomicUsize::new(streams), open: Mutex::new(vec![]) });
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
    let mut running = threads;
    while running > 0 {
        let message = match deadline {
            None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(deadline) => messages.recv_timeout(Instant::saturating_duration_since(&deadline, Instant::now())),
        };
        match message {
            Ok(Message::Connected) => {
                deadline = deadline.or_else(|| duration.map(|duration| Instant::now() + duration))
            }
            Ok(Message::Done(outcome)) => {
                outcome?;
                running -= 1;
            }
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => bail!("found no thread that works"),
        }
    }
    if running > 0 {
        // The end of this process ends the connections.
        for stream in work.open.lock().iter().flat_map(|open| open.iter().flatten()) {
            let _ = reset_at_end(stream);
        }
    }
    Ok(())
}

impl Work {
    /// Takes streams until there are none.
    fn exchange(&self, thread: usize, sender: &Sender<Message>) -> Result<()> {
        let take = |left: usize| left.checked_sub(1);
        while self.left.fetch_update(Relaxed, Relaxed, take).is_ok() {
            let stream = connect(&self.settings)?;
            eprintln!("congestion control: {}", congestion_control(&stream));
            if let Ok(mut open) = self.open.lock() {
                let length = open.len().max(thread + 1);
                open.resize_with(length, || None);
                open[thread] = Some(stream.try_clone()?);
            }
            let host = self.settings.host();
            let tls = self.config.as_ref().map(|config| tls::connection_to(config, host)).transpose()?;
            let mut channel = Channel::open(stream, tls)?;
            let _ = sender.send(Message::Connected);
            ask(&mut channel, self.sizes)?;
        }
        Ok(())
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
    check(received, sizes.response)?;
    COUNTERS.exchanged();
    Ok(())
}
