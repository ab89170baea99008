//! What the client does with its connection.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use quiclab_sans_io::http::{self, Fetches};
use quinn_proto::{Connection, Dir, Event, StreamEvent, StreamId};

use crate::{
    endpoint::Application,
    settings::Settings,
    streams::{self, Outgoing, Progress},
};

/// Fetches every file, at most as many at a time as server and settings allow.
pub struct Client {
    control: Option<&'static [u8]>,
    fetches: Fetches,
    /// Requests that could not be written at once.
    outgoing: BTreeMap<StreamId, Outgoing>,
}

impl Client {
    /// Nothing is asked for.
    pub fn new(settings: &Settings) -> Self {
        let control = http::control_stream(settings.http);
        Self { control, fetches: Fetches::new(settings), outgoing: BTreeMap::new() }
    }

    /// Asks for as much as can be asked for now.
    fn ask(&mut self, connection: &mut Connection) -> Result<()> {
        while let Some(request) = self.fetches.next() {
            let Some(stream) = connection.streams().open(Dir::Bi) else {
                return Ok(());
            };
            self.fetches.sent(stream.into())?;
            self.outgoing.insert(stream, Outgoing::bytes(request));
            self.write(connection, stream)?;
        }
        Ok(())
    }

    fn write(&mut self, connection: &mut Connection, stream: StreamId) -> Result<()> {
        let Some(outgoing) = self.outgoing.get_mut(&stream) else { return Ok(()) };
        match outgoing.write(connection, stream)? {
            Progress::Open => {}
            Progress::Ended => {
                self.outgoing.remove(&stream);
            }
            Progress::GivenUp(code) => bail!("{stream}: the server does not want the request: code {code}"),
        }
        Ok(())
    }

    fn read(&mut self, connection: &mut Connection, stream: StreamId) -> Result<()> {
        if stream.dir() == Dir::Uni {
            streams::read(connection, stream, |_| Ok(()))?;
            return Ok(());
        }
        let fetches = &mut self.fetches;
        match streams::read(connection, stream, |bytes| Ok(fetches.receive(stream.into(), bytes)?))? {
            Progress::Open => Ok(()),
            Progress::Ended => {
                self.fetches.finish(stream.into())?;
                self.ask(connection)
            }
            Progress::GivenUp(code) => bail!("{stream}: reset by the server: code {code}"),
        }
    }
}

impl Application for Client {
    fn on_event(&mut self, connection: &mut Connection, event: Event) -> Result<()> {
        match event {
            Event::Connected => {
                if let Some(bytes) = self.control {
                    streams::open_control(connection, bytes)?;
                }
                self.ask(connection)
            }
            Event::ConnectionLost { reason } => bail!("the connection was lost: {reason}"),
            Event::Stream(StreamEvent::Available { dir: Dir::Bi }) => self.ask(connection),
            Event::Stream(StreamEvent::Opened { dir }) => {
                while let Some(stream) = connection.streams().accept(dir) {
                    if dir == Dir::Bi {
                        bail!("{stream}: opened by the server, expected none");
                    }
                    self.read(connection, stream)?;
                }
                Ok(())
            }
            Event::Stream(StreamEvent::Readable { id }) => self.read(connection, id),
            Event::Stream(StreamEvent::Writable { id }) => self.write(connection, id),
            _ => Ok(()),
        }
    }

    fn is_done(&self) -> bool {
        self.fetches.are_complete()
    }
}
