//! A connection, plain or with TLS.

use std::{
    io::{self, BufReader, Read, Write},
    net::{Shutdown, TcpStream},
};

use anyhow::{Context, Result};
use quiclab_contract::perf::{CHUNK, COUNTERS};
use rustls::Connection;

use crate::information::Number;

/// Reads and writes of one TCP connection. Both block.
pub struct Channel {
    stream: TcpStream,
    number: Number,
    tls: Option<Tls>,
}

struct Tls {
    connection: Connection,
    /// rustls asks for 4 KiB at a time; the kernel is asked for more.
    input: BufReader<TcpStream>,
}

impl Channel {
    /// Shakes hands, where there is TLS.
    ///
    /// # Errors
    /// Where that fails.
    pub fn open(stream: TcpStream, connection: Option<Connection>) -> Result<Self> {
        let mut tls = None;
        if let Some(connection) = connection {
            let input = BufReader::with_capacity(CHUNK, stream.try_clone()?);
            let mut made = Tls { connection, input };
            made.shake_hands(&stream).context("TLS handshake")?;
            tls = Some(made);
        }
        Ok(Self { stream, number: Number::next(), tls })
    }

    /// Reads what is there, at least a byte. 0: the other end has ended its direction.
    ///
    /// # Errors
    /// Where the connection ends otherwise.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = match &mut self.tls {
            None => retried(|| self.stream.read(buffer))?,
            Some(tls) => tls.read(&mut self.stream, buffer)?,
        };
        COUNTERS.received(length as u64);
        self.number.report(&self.stream);
        Ok(length)
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// Where the connection ends before.
    pub fn write(&mut self, data: &[u8]) -> io::Result<()> {
        match &mut self.tls {
            None => self.stream.write_all(data)?,
            Some(tls) => tls.write(&mut self.stream, data)?,
        }
        COUNTERS.sent(data.len() as u64);
        self.number.report(&self.stream);
        Ok(())
    }

    /// Ends this direction.
    ///
    /// # Errors
    /// Where the connection has ended before.
    pub fn end(&mut self) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            tls.connection.send_close_notify();
            tls.flush(&mut self.stream)?;
        }
        self.stream.shutdown(Shutdown::Write)
    }
}

impl Tls {
    fn shake_hands(&mut self, mut output: &TcpStream) -> io::Result<()> {
        while self.connection.is_handshaking() {
            self.flush(&mut output)?;
            if self.connection.is_handshaking() {
                self.take(&mut output)?;
            }
        }
        // The client's last message.
        self.flush(&mut output)
    }

    fn read(&mut self, output: &mut impl Write, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.take(output)?,
                outcome => return outcome,
            }
        }
    }

    /// Takes what has arrived, at least a byte.
    fn take(&mut self, output: &mut impl Write) -> io::Result<()> {
        if retried(|| self.connection.read_tls(&mut self.input))? == 0 && self.connection.is_handshaking() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Err(error) = self.connection.process_new_packets() {
            // Says why.
            let _ = self.flush(output);
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        self.flush(output)
    }

    fn write(&mut self, output: &mut impl Write, mut data: &[u8]) -> io::Result<()> {
        while !data.is_empty() {
            let taken = self.connection.writer().write(data)?;
            self.flush(output)?;
            data = &data[taken..];
        }
        Ok(())
    }

    fn flush(&mut self, output: &mut impl Write) -> io::Result<()> {
        while self.connection.wants_write() {
            retried(|| self.connection.write_tls(output))?;
        }
        Ok(())
    }
}

/// A signal is no reason to end. A time that is over is told as what it is.
fn retried(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the other end is silent"));
            }
            outcome => return outcome,
        }
    }
}
