//! The traits of the crate h3 for noq. Names and behaviour are those of the crate h3-quinn, so that a program can be
//! built with either: begin with [`Connection::new`].

mod error;
mod stream;

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Buf;
use h3::{
    error::Code,
    quic::{self, ConnectionErrorIncoming, StreamErrorIncoming},
};
use noq::{ConnectionError, VarInt};

pub use stream::{BidiStream, RecvStream, SendStream};

/// Streams that are being accepted or opened.
type Pending<T> = Option<Pin<Box<dyn Future<Output = Result<T, ConnectionError>> + Send + Sync>>>;

/// Both directions of a stream, as noq has them.
type Bidirectional = (noq::SendStream, noq::RecvStream);

/// A connection of noq as h3 wants it.
pub struct Connection {
    open: OpenStreams,
    accept_bi: Pending<Bidirectional>,
    accept_uni: Pending<noq::RecvStream>,
}

impl Connection {
    /// Wraps a connection.
    pub fn new(connection: noq::Connection) -> Self {
        Self { open: OpenStreams { connection, bi: None, uni: None }, accept_bi: None, accept_uni: None }
    }
}

impl<B: Buf> quic::Connection<B> for Connection {
    type RecvStream = RecvStream;
    type OpenStreams = OpenStreams;

    fn poll_accept_recv(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::RecvStream, ConnectionErrorIncoming>> {
        let connection = &self.open.connection;
        let stream = poll(&mut self.accept_uni, cx, || {
            let connection = connection.clone();
            Box::pin(async move { connection.accept_uni().await })
        });
        Poll::Ready(ready!(stream).map(RecvStream::new).map_err(error::of_connection))
    }

    fn poll_accept_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::BidiStream, ConnectionErrorIncoming>> {
        let connection = &self.open.connection;
        let stream = poll(&mut self.accept_bi, cx, || {
            let connection = connection.clone();
            Box::pin(async move { connection.accept_bi().await })
        });
        Poll::Ready(ready!(stream).map(BidiStream::new).map_err(error::of_connection))
    }

    fn opener(&self) -> Self::OpenStreams {
        self.open.clone()
    }
}

impl<B: Buf> quic::OpenStreams<B> for Connection {
    type BidiStream = BidiStream<B>;
    type SendStream = SendStream<B>;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::BidiStream, StreamErrorIncoming>> {
        self.open.poll_open_bidi(cx)
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::SendStream, StreamErrorIncoming>> {
        self.open.poll_open_send(cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        quic::OpenStreams::<B>::close(&mut self.open, code, reason);
    }
}

/// What opens streams of a connection.
pub struct OpenStreams {
    connection: noq::Connection,
    bi: Pending<Bidirectional>,
    uni: Pending<noq::SendStream>,
}

impl Clone for OpenStreams {
    /// The copy has no stream that is being opened.
    fn clone(&self) -> Self {
        Self { connection: self.connection.clone(), bi: None, uni: None }
    }
}

impl<B: Buf> quic::OpenStreams<B> for OpenStreams {
    type BidiStream = BidiStream<B>;
    type SendStream = SendStream<B>;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::BidiStream, StreamErrorIncoming>> {
        let connection = &self.connection;
        let stream = poll(&mut self.bi, cx, || {
            let connection = connection.clone();
            Box::pin(async move { connection.open_bi().await })
        });
        Poll::Ready(ready!(stream).map(BidiStream::new).map_err(error::of_stream))
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::SendStream, StreamErrorIncoming>> {
        let connection = &self.connection;
        let stream = poll(&mut self.uni, cx, || {
            let connection = connection.clone();
            Box::pin(async move { connection.open_uni().await })
        });
        Poll::Ready(ready!(stream).map(SendStream::new).map_err(error::of_stream))
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.connection.close(VarInt::from_u64(code.value()).unwrap_or(VarInt::MAX), reason);
    }
}

/// Goes on with what is pending, or begins it.
fn poll<T>(
    pending: &mut Pending<T>,
    cx: &mut Context<'_>,
    begin: impl FnOnce() -> Pin<Box<dyn Future<Output = Result<T, ConnectionError>> + Send + Sync>>,
) -> Poll<Result<T, ConnectionError>> {
    let outcome = ready!(pending.get_or_insert_with(begin).as_mut().poll(cx));
    *pending = None;
    Poll::Ready(outcome)
}
