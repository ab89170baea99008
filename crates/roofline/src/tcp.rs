//! TCP of the kernel over this machine's loopback, as iperf3 uses it: one connection, a thread for each end.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use crate::{Cost, Unmeasured, clock::Watch};

/// Bytes of a write and of a read: iperf3's.
const BLOCK: usize = 128 << 10;

/// The cost of sending and receiving.
///
/// # Errors
/// Where the kernel refuses a socket or a thread.
pub fn measure(time: Duration) -> Result<Cost, Unmeasured> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut sender = TcpStream::connect(listener.local_addr()?)?;
    let (mut receiver, _) = listener.accept()?;
    let reading = thread::Builder::new().spawn(move || -> Result<(Watch, u64), Unmeasured> {
        let mut buffer = vec![0; BLOCK];
        let (mut watch, mut bytes) = (Watch::default(), 0);
        watch.during(|| {
            loop {
                match receiver.read(&mut buffer)? {
                    0 => return Ok(()),
                    length => bytes += length as u64,
                }
            }
        })?;
        Ok((watch, bytes))
    })?;
    let zeros = vec![0; BLOCK];
    let mut watch = Watch::default();
    let mut sent = 0;
    let end = Instant::now() + time;
    watch.during(|| {
        while Instant::now() < end {
            sender.write_all(&zeros)?;
            sent += BLOCK as u64;
        }
        Ok(())
    })?;
    drop(sender);
    let (received_watch, found) = reading.join().map_err(|_| Unmeasured::Ring)??;
    if found != sent {
        return Err(Unmeasured::Lost { found, sent });
    }
    Ok(Cost { send_ns_per_byte: watch.ns_per_byte(sent), receive_ns_per_byte: received_watch.ns_per_byte(found) })
}
