//! Bytes lent to the library until it has sent them.

use std::ffi::c_void;

use msquic::{BufferRef, SendFlags, Status, Stream};

/// Bytes and the library's description of them, at one place while the library has them.
struct Chunk {
    /// Never read again: `buffers` points into it.
    _bytes: Vec<u8>,
    buffers: [BufferRef; 1],
}

/// Lends bytes to the library. It gives them back as the context of a `SendComplete`, for [`take_back`].
///
/// # Errors
/// Where the stream takes no more.
pub fn send(stream: &Stream, bytes: Vec<u8>, flags: SendFlags) -> Result<(), Status> {
    let buffers = [BufferRef::from(bytes.as_slice())];
    let chunk = Box::into_raw(Box::new(Chunk { _bytes: bytes, buffers }));
    // SAFETY: the chunk stays where it is until `take_back`.
    let outcome = unsafe { stream.send(&(*chunk).buffers, flags, chunk.cast::<c_void>()) };
    if outcome.is_err() {
        // SAFETY: the library did not take it, and there will be no `SendComplete`.
        drop(unsafe { Box::from_raw(chunk) });
    }
    outcome
}

/// Frees bytes that the library gives back.
///
/// # Safety
/// `context` is that of a `SendComplete` of a stream on which only [`send`] sends, and comes here once.
pub unsafe fn take_back(context: *const c_void) {
    // SAFETY: `send` made it of a `Box<Chunk>`.
    drop(unsafe { Box::from_raw(context.cast_mut().cast::<Chunk>()) });
}
