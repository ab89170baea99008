//! Reading that can be stopped, and reading ahead in a thread of its own.

use std::{
    io::{self, Read},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, sync_channel},
    },
    thread,
    time::Duration,
};

/// Bytes read at a time.
const CHUNK_BYTES: usize = 1 << 20;
/// Chunks that wait to be taken.
const CHUNKS_AHEAD: usize = 4;
/// How often a reader that has nothing to take looks whether it is to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What is read until somebody stops it.
pub struct Stoppable<R> {
    input: R,
    stop: Arc<AtomicBool>,
}

/// Reads `input` until `stop` is set: then it ends with an error.
pub fn until<R: Read>(input: R, stop: Arc<AtomicBool>) -> Stoppable<R> {
    Stoppable { input, stop }
}

impl<R: Read> Read for Stoppable<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("stopped"));
        }
        self.input.read(buffer)
    }
}

/// What another thread reads.
pub struct Pipe {
    chunks: Receiver<io::Result<Vec<u8>>>,
    current: Vec<u8>,
    position: usize,
    stop: Arc<AtomicBool>,
}

/// Reads `input` to its end in a thread, a few chunks ahead, until `stop` is set: then it ends with an error. Errors come
/// where they occurred.
pub fn in_background(mut input: impl Read + Send + 'static, stop: Arc<AtomicBool>) -> Pipe {
    let (sender, chunks) = sync_channel(CHUNKS_AHEAD);
    let stopped = stop.clone();
    thread::spawn(move || {
        loop {
            if stopped.load(Ordering::Relaxed) {
                let _ = sender.send(Err(io::Error::other("stopped")));
                return;
            }
            let mut chunk = vec![0; CHUNK_BYTES];
            let mut length = 0;
            let end = loop {
                match input.read(&mut chunk[length..]) {
                    Ok(0) => break Some(None),
                    Ok(bytes) => length += bytes,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => break Some(Some(error)),
                }
                if length == CHUNK_BYTES {
                    break None;
                }
            };
            chunk.truncate(length);
            // Whoever reads may have seen enough.
            if length > 0 && sender.send(Ok(chunk)).is_err() {
                return;
            }
            match end {
                Some(Some(error)) => {
                    let _ = sender.send(Err(error));
                    return;
                }
                Some(None) => return,
                None => {}
            }
        }
    });
    Pipe { chunks, current: Vec::new(), position: 0, stop }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.position == self.current.len() {
            // The thread may wait for a pipe that says nothing: it is left behind then.
            if self.stop.load(Ordering::Relaxed) {
                return Err(io::Error::other("stopped"));
            }
            match self.chunks.recv_timeout(POLL_INTERVAL) {
                Ok(chunk) => {
                    self.current = chunk?;
                    self.position = 0;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
        let length = buffer.len().min(self.current.len() - self.position);
        buffer[..length].copy_from_slice(&self.current[self.position..self.position + length]);
        self.position += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a byte at a time, and fails at the end.
    struct Failing(u32);

    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.0 -= 1;
            buffer[0] = self.0 as u8;
            Ok(1)
        }
    }

    #[test]
    fn what_comes_before_an_error_is_read() {
        let mut pipe = in_background(Failing(1_000), Arc::default());
        let mut bytes = Vec::new();
        let error = pipe.read_to_end(&mut bytes).unwrap_err();
        assert_eq!((bytes.len(), error.kind()), (1_000, io::ErrorKind::UnexpectedEof));
    }

    #[test]
    fn a_silent_input_is_left_when_it_is_to_stop() {
        let (silent, _writer) = io::pipe().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let mut pipe = in_background(silent, stop.clone());
        let reading = thread::spawn(move || pipe.read(&mut [0]).unwrap_err().to_string());
        thread::sleep(Duration::from_millis(100));
        assert!(!reading.is_finished());
        stop.store(true, Ordering::Relaxed);
        // The input stays silent for ever, so that only the stop can end this.
        assert_eq!(reading.join().unwrap(), "stopped");
    }

    #[test]
    fn many_chunks_come_in_order() {
        let bytes: Vec<u8> = (0..5 * CHUNK_BYTES + 3).map(|place| (place / 1_000) as u8).collect();
        let mut read = Vec::new();
        in_background(io::Cursor::new(bytes.clone()), Arc::default()).read_to_end(&mut read).unwrap();
        assert!(read == bytes);
    }
}
