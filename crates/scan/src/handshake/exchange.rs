//! The request behind a handshake, over the stack's streams.

use std::net::SocketAddr;

use quinn_proto::crypto::rustls::HandshakeData;
use quinn_proto::{Connection, Dir, ReadError, StreamId};

use crate::answer::HttpAnswer;
use crate::http3::{self, Http3Error, ResponseReader};
use crate::settings::HttpSettings;

/// Application protocols whose frames this client speaks.
const HTTP3: [&str; 2] = ["h3", "h3-29"];

/// A request that was sent.
pub struct Exchange {
    stream: StreamId,
    reader: ResponseReader,
    is_over: bool,
}

impl Exchange {
    /// Sends the request.
    ///
    /// # Errors
    /// Why that is not possible, for people.
    pub fn begin(
        connection: &mut Connection,
        settings: &HttpSettings,
        server_name: Option<&str>,
        address: SocketAddr,
    ) -> Result<Self, String> {
        match application_protocol(connection) {
            Some(protocol) if HTTP3.contains(&protocol.as_str()) => {}
            Some(protocol) => return Err(format!("no HTTP/3: the server chose {protocol}")),
            None => return Err("no HTTP/3: the server chose no application protocol".into()),
        }
        let control = open(connection, Dir::Uni)?;
        write(connection, control, &http3::control_stream())?;
        let stream = open(connection, Dir::Bi)?;
        write(connection, stream, &http3::request(settings, server_name, address))?;
        connection.send_stream(stream).finish().map_err(|error| format!("HTTP/3: {error}"))?;
        Ok(Exchange { stream, reader: ResponseReader::default(), is_over: false })
    }

    /// Whether the response is there, or will not come.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Reads what has come. `None`: the response is not complete, or was there before.
    ///
    /// # Errors
    /// Why there is no response, for people.
    pub fn read(&mut self, connection: &mut Connection, settings: &HttpSettings) -> Result<Option<HttpAnswer>, String> {
        if self.is_over {
            return Ok(None);
        }
        let read = self.read_stream(connection, settings);
        self.is_over = !matches!(read, Ok(None));
        read
    }

    fn read_stream(
        &mut self,
        connection: &mut Connection,
        settings: &HttpSettings,
    ) -> Result<Option<HttpAnswer>, String> {
        let mut stream = connection.recv_stream(self.stream);
        let mut chunks = stream.read(true).map_err(|error| format!("HTTP/3: {error}"))?;
        let result = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => match self.reader.on_bytes(&chunk.bytes, settings) {
                    Ok(None) => {}
                    Ok(Some(answer)) => break Ok(Some(answer)),
                    Err(error) => break Err(format!("HTTP/3: {error}")),
                },
                Ok(None) => break Err(format!("HTTP/3: {}", Http3Error::Truncated)),
                Err(ReadError::Blocked) => break Ok(None),
                Err(ReadError::Reset(code)) => {
                    break Err(format!(
                        "HTTP/3: the server reset the request with {code:#x}",
                        code = code.into_inner()
                    ));
                }
            }
        };
        _ = chunks.finalize();
        result
    }
}

fn open(connection: &mut Connection, direction: Dir) -> Result<StreamId, String> {
    let limit = || "HTTP/3: the server allows no stream for it (RFC 9114 section 6)".to_owned();
    connection.streams().open(direction).ok_or_else(limit)
}

fn write(connection: &mut Connection, stream: StreamId, bytes: &[u8]) -> Result<(), String> {
    match connection.send_stream(stream).write(bytes) {
        Ok(written) if written == bytes.len() => Ok(()),
        Ok(written) => {
            Err(format!("HTTP/3: the server allows {written} bytes on a stream, a request has {}", bytes.len()))
        }
        Err(error) => Err(format!("HTTP/3: {error}")),
    }
}

/// What the server chose. `None` before the handshake says it.
pub fn application_protocol(connection: &Connection) -> Option<String> {
    let data = connection.crypto_session().handshake_data()?.downcast::<HandshakeData>().ok()?;
    Some(String::from_utf8_lossy(&data.protocol?).into_owned())
}
