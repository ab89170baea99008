//! What a server's connection does with streams, as in the endpoint for virtual machines.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use quiche::h3;

use crate::{http::Http, response::Response, settings::Settings};

/// Longest HTTP/0.9 request.
const MAX_REQUEST_LINE: usize = 8192;

/// The requests and responses of a connection.
#[derive(Default)]
pub struct Streams {
    /// `None` until requests can come.
    http: Option<Http>,
    /// Beginnings of HTTP/0.9 requests, by stream.
    requests: BTreeMap<u64, Vec<u8>>,
    /// By stream.
    responses: BTreeMap<u64, Response>,
}

impl Streams {
    /// Starts HTTP once requests can come, takes requests, hands over responses.
    pub fn advance(&mut self, quic: &mut quiche::Connection, settings: &Settings, buffer: &mut [u8]) {
        if !quic.is_established() || quic.is_draining() || quic.is_closed() {
            return;
        }
        let Self { http, requests, responses } = self;
        let http = match http {
            Some(http) => http,
            none => match Http::start(settings, quic) {
                Ok(http) => none.insert(http),
                Err(error) => return report(quic, &error),
            },
        };
        let taken = match http {
            Http::H3(http) => take_h3(quic, http, responses, settings, buffer),
            Http::Hq => take_hq(quic, requests, responses, settings, buffer),
        };
        if let Err(error) = taken {
            return report(quic, &error);
        }
        responses.retain(|&stream, response| match response.advance(quic, http, stream) {
            Ok(done) => !done,
            Err(error) => {
                report(quic, &error);
                false
            }
        });
    }
}

/// Takes HTTP/3 requests. After an error HTTP/3 has closed the connection with the right code.
fn take_h3(
    quic: &mut quiche::Connection,
    http: &mut h3::Connection,
    responses: &mut BTreeMap<u64, Response>,
    settings: &Settings,
    unused: &mut [u8],
) -> Result<()> {
    loop {
        match http.poll(quic) {
            Ok((stream, h3::Event::Headers { list, .. })) => {
                responses.insert(stream, Response::to_headers(&list, &settings.www));
            }
            Ok((stream, h3::Event::Reset(_))) => {
                responses.remove(&stream);
            }
            Ok((stream, h3::Event::Data)) => {
                // A GET has no use for a body, but its flow control must not stall.
                while http.recv_body(quic, stream, unused).is_ok() {}
            }
            Ok(_) => {}
            Err(h3::Error::Done) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Takes HTTP/0.9 requests: one line, and the end of the stream.
fn take_hq(
    quic: &mut quiche::Connection,
    requests: &mut BTreeMap<u64, Vec<u8>>,
    responses: &mut BTreeMap<u64, Response>,
    settings: &Settings,
    buffer: &mut [u8],
) -> Result<()> {
    // Client-initiated and bidirectional: RFC 9000, section 2.1.
    for stream in quic.readable().filter(|stream| stream % 4 == 0) {
        while let Ok((length, finished)) = quic.stream_recv(stream, buffer) {
            let line = requests.entry(stream).or_default();
            line.extend_from_slice(&buffer[..length]);
            ensure!(line.len() <= MAX_REQUEST_LINE, "stream {stream}: found no end of the request line");
            if finished {
                responses.insert(stream, Response::to_line(line, &settings.www));
                requests.remove(&stream);
            }
        }
    }
    Ok(())
}

fn report(quic: &quiche::Connection, error: &anyhow::Error) {
    eprintln!("connection {}: {error:#}", quic.trace_id());
}
