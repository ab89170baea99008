//! What the server does with a connection.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Result;
use quiclab_sans_io::http::{self, HttpError, RequestReader};
use quinn_proto::{Connection, Dir, Event, StreamEvent, StreamId, VarInt};

use crate::{
    endpoint::Application,
    settings::Settings,
    streams::{self, Outgoing, Progress},
};

/// Answers every request.
pub struct Server {
    settings: Arc<Settings>,
    streams: BTreeMap<StreamId, Exchange>,
}

enum Exchange {
    Request(RequestReader),
    Response(Outgoing),
}

impl Server {
    /// Nothing was asked for.
    pub fn new(settings: Arc<Settings>) -> Self {
        Self { settings, streams: BTreeMap::new() }
    }

    fn read(&mut self, connection: &mut Connection, stream: StreamId) -> Result<()> {
        if stream.dir() == Dir::Uni {
            streams::read(connection, stream, |_| Ok(()))?;
            return Ok(());
        }
        let Some(Exchange::Request(reader)) = self.streams.get_mut(&stream) else { return Ok(()) };
        match streams::read(connection, stream, |bytes| Ok(reader.receive(bytes)?)) {
            Ok(Progress::Open) => Ok(()),
            Ok(Progress::Ended) => self.answer(connection, stream),
            Ok(Progress::GivenUp(code)) => {
                eprintln!("{stream}: reset by the client: code {code}");
                self.give_up(connection, stream, code);
                Ok(())
            }
            Err(error) => {
                self.refuse(connection, stream, &error);
                Ok(())
            }
        }
    }

    /// The request is there.
    fn answer(&mut self, connection: &mut Connection, stream: StreamId) -> Result<()> {
        let Some(Exchange::Request(reader)) = self.streams.remove(&stream) else { return Ok(()) };
        match reader.answer(&self.settings.www) {
            Ok(response) => {
                self.streams.insert(stream, Exchange::Response(Outgoing::response(response)));
                self.write(connection, stream)
            }
            Err(error) => {
                self.refuse(connection, stream, &error.into());
                Ok(())
            }
        }
    }

    fn write(&mut self, connection: &mut Connection, stream: StreamId) -> Result<()> {
        let Some(Exchange::Response(outgoing)) = self.streams.get_mut(&stream) else { return Ok(()) };
        match outgoing.write(connection, stream)? {
            Progress::Open => {}
            Progress::Ended => {
                self.streams.remove(&stream);
            }
            Progress::GivenUp(code) => {
                eprintln!("{stream}: the client does not want the file: code {code}");
                self.give_up(connection, stream, code);
            }
        }
        Ok(())
    }

    /// What came is no request, or there is no file. The connection goes on.
    fn refuse(&mut self, connection: &mut Connection, stream: StreamId, error: &anyhow::Error) {
        eprintln!("{stream}: {error:#}");
        let is_general = !matches!(error.downcast_ref(), Some(HttpError::File { .. }));
        // H3_GENERAL_PROTOCOL_ERROR (RFC 9114, section 8.1) would mean nothing to HTTP/0.9, and the other code nothing to HTTP/3.
        let code = if is_general && http::no_error(self.settings.http) != 0 { 0x101 } else { http::NO_FILE as u32 };
        self.give_up(connection, stream, VarInt::from_u32(code));
    }

    fn give_up(&mut self, connection: &mut Connection, stream: StreamId, code: VarInt) {
        self.streams.remove(&stream);
        // Each half may have ended by itself.
        let _ = connection.send_stream(stream).reset(code);
        let _ = connection.recv_stream(stream).stop(code);
    }
}

impl Application for Server {
    fn on_event(&mut self, connection: &mut Connection, event: Event) -> Result<()> {
        match event {
            Event::Connected => http::control_stream(self.settings.http)
                .map_or(Ok(()), |bytes| streams::open_control(connection, bytes)),
            Event::ConnectionLost { reason } => {
                eprintln!("the connection is over: {reason}");
                self.streams.clear();
                Ok(())
            }
            Event::Stream(StreamEvent::Opened { dir }) => {
                while let Some(stream) = connection.streams().accept(dir) {
                    if dir == Dir::Bi {
                        let reader = RequestReader::new(self.settings.http);
                        self.streams.insert(stream, Exchange::Request(reader));
                    }
                    self.read(connection, stream)?;
                }
                Ok(())
            }
            Event::Stream(StreamEvent::Readable { id }) => self.read(connection, id),
            Event::Stream(StreamEvent::Writable { id } | StreamEvent::Stopped { id, .. }) => self.write(connection, id),
            _ => Ok(()),
        }
    }

    fn is_done(&self) -> bool {
        false
    }
}
