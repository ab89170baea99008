//! Reading and writing of streams as far as it goes.

use anyhow::{Result, bail};
use bytes::Bytes;
use quiclab_sans_io::http::Response;
use quinn_proto::{Connection, Dir, ReadError, StreamId, VarInt, WriteError};

/// How far a stream has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More is to come.
    Open,
    /// The peer has ended it, or all is written.
    Ended,
    /// The peer has given it up, with this code of the application.
    GivenUp(VarInt),
}

/// Hands what has come on a stream to `take`, in order.
///
/// # Errors
/// Those of `take`.
pub fn read(
    connection: &mut Connection,
    stream: StreamId,
    mut take: impl FnMut(&[u8]) -> Result<()>,
) -> Result<Progress> {
    let mut receive = connection.recv_stream(stream);
    let Ok(mut chunks) = receive.read(true) else {
        // Two events of one stream, and its end came with the first one.
        return Ok(Progress::Open);
    };
    let progress = loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => take(&chunk.bytes)?,
            Ok(None) => break Progress::Ended,
            Err(ReadError::Blocked) => break Progress::Open,
            Err(ReadError::Reset(code)) => break Progress::GivenUp(code),
        }
    };
    // Whether there is something to send is found out soon, anyway.
    let _ = chunks.finalize();
    Ok(progress)
}

/// What is to be sent on a stream, before it ends.
pub struct Outgoing {
    chunk: Bytes,
    rest: Option<Response>,
}

impl Outgoing {
    /// These bytes, and the end.
    pub fn bytes(bytes: Vec<u8>) -> Self {
        Self { chunk: bytes.into(), rest: None }
    }

    /// All of the response, and the end.
    pub fn response(response: Response) -> Self {
        Self { chunk: Bytes::new(), rest: Some(response) }
    }

    /// Writes as much as the connection takes.
    ///
    /// # Errors
    /// Where a file cannot be read.
    pub fn write(&mut self, connection: &mut Connection, stream: StreamId) -> Result<Progress> {
        loop {
            if self.chunk.is_empty() {
                match self.rest.as_mut().map_or(Ok(None), Response::next_chunk)? {
                    Some(chunk) => self.chunk = chunk.into(),
                    None => break,
                }
                continue;
            }
            match connection.send_stream(stream).write_chunks(std::slice::from_mut(&mut self.chunk)) {
                Ok(_) => {}
                Err(WriteError::Blocked) => return Ok(Progress::Open),
                Err(WriteError::Stopped(code)) => return Ok(Progress::GivenUp(code)),
                Err(WriteError::ClosedStream) => bail!("{stream}: written after its end"),
            }
        }
        if connection.send_stream(stream).finish().is_err() {
            bail!("{stream}: ended twice");
        }
        Ok(Progress::Ended)
    }
}

/// Opens HTTP/3's stream of this side, which never ends.
///
/// # Errors
/// Where the peer does not allow that.
pub fn open_control(connection: &mut Connection, bytes: &[u8]) -> Result<()> {
    let Some(stream) = connection.streams().open(Dir::Uni) else {
        bail!("the peer allows no unidirectional stream, expected at least one for HTTP/3");
    };
    match connection.send_stream(stream).write(bytes) {
        Ok(written) if written == bytes.len() => Ok(()),
        _ => bail!("the peer has no room for the control stream of HTTP/3"),
    }
}
