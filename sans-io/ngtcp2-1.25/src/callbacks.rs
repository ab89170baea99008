//! What ngtcp2 calls. Nothing unwinds into C: what can fail is a `Result` that [`Shared::note`] makes a number of, and a
//! panic ends the process at the border, as `extern "C"` has it.

use std::{
    ffi::{c_int, c_void},
    mem, ptr, slice,
};

use crate::{
    ffi::*,
    keys::{IV, bytes, decrypt, delete_header_key, delete_packet_key, encrypt, header_mask, packet_handle},
    outbox::MAX_SLICES,
    quic::{Quic, QuicError, QuicResult},
    shared::Shared,
};

/// All callbacks that this program has.
pub fn table() -> ngtcp2_callbacks {
    // SAFETY: a structure of optional function pointers: zeros are "none".
    let none: ngtcp2_callbacks = unsafe { mem::zeroed() };
    ngtcp2_callbacks {
        client_initial: Some(on_client_initial),
        recv_client_initial: Some(on_first_initial),
        recv_crypto_data: Some(on_crypto_data),
        recv_retry: Some(on_retry),
        encrypt: Some(encrypt),
        decrypt: Some(decrypt),
        hp_mask: Some(header_mask),
        update_key: Some(on_key_update),
        delete_crypto_aead_ctx: Some(delete_packet_key),
        delete_crypto_cipher_ctx: Some(delete_header_key),
        rand: Some(on_random),
        get_new_connection_id2: Some(on_new_cid),
        get_path_challenge_data2: Some(on_path_challenge),
        recv_stream_data: Some(on_stream_data),
        acked_stream_data_offset: Some(on_acked),
        stream_reset: Some(on_reset),
        stream_close2: Some(on_closed),
        extend_max_stream_data: Some(on_unblocked),
        ..none
    }
}

/// # Safety
/// `state` must be what `Connection::new` gave.
unsafe fn shared<'a>(state: *mut c_void) -> &'a Shared {
    // SAFETY: the state outlives ngtcp2's object.
    unsafe { &*state.cast::<Shared>() }
}

fn code(outcome: QuicResult<()>) -> c_int {
    outcome.map_or_else(|QuicError(code)| code, |()| 0)
}

/// Lets TLS begin, with keys that follow from `destination`.
fn begin(shared: &Shared, quic: Quic, destination: &ngtcp2_cid) -> c_int {
    let mut handshake = shared.handshake.borrow_mut();
    let Some(handshake) = &mut *handshake else { return NGTCP2_ERR_CALLBACK_FAILURE };
    code(handshake.begin(quic, &destination.data[..destination.datalen]))
}

unsafe extern "C" fn on_client_initial(quic: *mut ngtcp2_conn, state: *mut c_void) -> c_int {
    // SAFETY: see `shared`; the object lives during its callback.
    let (shared, quic) = unsafe { (shared(state), Quic::new(quic)) };
    begin(shared, quic, &quic.destination())
}

unsafe extern "C" fn on_first_initial(quic: *mut ngtcp2_conn, cid: *const ngtcp2_cid, state: *mut c_void) -> c_int {
    // SAFETY: as above.
    let (shared, quic, cid) = unsafe { (shared(state), Quic::new(quic), &*cid) };
    begin(shared, quic, cid)
}

/// No server here sends a Retry packet.
unsafe extern "C" fn on_retry(_quic: *mut ngtcp2_conn, _header: *const ngtcp2_pkt_hd, _state: *mut c_void) -> c_int {
    NGTCP2_ERR_CALLBACK_FAILURE
}

unsafe extern "C" fn on_crypto_data(
    quic: *mut ngtcp2_conn,
    _level: ngtcp2_encryption_level,
    _offset: u64,
    data: *const u8,
    length: usize,
    state: *mut c_void,
) -> c_int {
    // SAFETY: as above; ngtcp2 gives `length` bytes.
    let (shared, quic, data) = unsafe { (shared(state), Quic::new(quic), bytes(data, length)) };
    let mut handshake = shared.handshake.borrow_mut();
    let Some(handshake) = &mut *handshake else { return NGTCP2_ERR_CALLBACK_FAILURE };
    code(handshake.read(quic, data))
}

unsafe extern "C" fn on_key_update(
    _quic: *mut ngtcp2_conn,
    _rx_secret: *mut u8,
    _tx_secret: *mut u8,
    rx: *mut Handle,
    rx_iv: *mut u8,
    tx: *mut Handle,
    tx_iv: *mut u8,
    _current_rx_secret: *const u8,
    _current_tx_secret: *const u8,
    _secret_length: usize,
    state: *mut c_void,
) -> c_int {
    // SAFETY: see `shared`.
    let shared = unsafe { shared(state) };
    let keys = shared.handshake.borrow_mut().as_mut().and_then(|handshake| handshake.next_keys());
    let Some(keys) = keys else { return NGTCP2_ERR_CALLBACK_FAILURE };
    // SAFETY: ngtcp2 gives room for the handles, and for IVs as long as those that it has.
    unsafe {
        *rx = packet_handle(keys.remote);
        *tx = packet_handle(keys.local);
        ptr::copy_nonoverlapping(IV.as_ptr(), rx_iv, IV.len());
        ptr::copy_nonoverlapping(IV.as_ptr(), tx_iv, IV.len());
    }
    0
}

unsafe extern "C" fn on_random(room: *mut u8, length: usize, context: *const ngtcp2_rand_ctx) {
    // SAFETY: the context is what `Connection::new` gave, the state; ngtcp2 gives room for `length` bytes.
    let (shared, room) = unsafe { (shared((*context).native_handle), slice::from_raw_parts_mut(room, length)) };
    shared.fill_random(room);
}

unsafe extern "C" fn on_new_cid(
    _quic: *mut ngtcp2_conn,
    cid: *mut ngtcp2_cid,
    token: *mut ngtcp2_stateless_reset_token,
    length: usize,
    state: *mut c_void,
) -> c_int {
    // SAFETY: see `shared`; ngtcp2 gives room for both.
    let (shared, cid, token) = unsafe { (shared(state), &mut *cid, &mut *token) };
    let Some(room) = cid.data.get_mut(..length) else { return NGTCP2_ERR_CALLBACK_FAILURE };
    shared.fill_random(room);
    cid.datalen = length;
    shared.fill_random(&mut token.data);
    0
}

unsafe extern "C" fn on_path_challenge(
    _quic: *mut ngtcp2_conn,
    challenge: *mut ngtcp2_path_challenge_data,
    state: *mut c_void,
) -> c_int {
    // SAFETY: as above.
    let (shared, challenge) = unsafe { (shared(state), &mut *challenge) };
    shared.fill_random(&mut challenge.data);
    0
}

unsafe extern "C" fn on_stream_data(
    quic: *mut ngtcp2_conn,
    flags: u32,
    stream: i64,
    _offset: u64,
    data: *const u8,
    length: usize,
    state: *mut c_void,
    _stream_state: *mut c_void,
) -> c_int {
    // SAFETY: see `shared`; the object lives during its callback, and ngtcp2 gives `length` bytes.
    let (shared, quic, data) = unsafe { (shared(state), Quic::new(quic), bytes(data, length)) };
    // What is read makes room for as much.
    quic.extend(stream, data.len());
    let fin = flags & NGTCP2_STREAM_DATA_FLAG_FIN != 0;
    let outcome = shared.application.borrow_mut().on_data(quic, stream, data, fin);
    shared.note(outcome)
}

unsafe extern "C" fn on_acked(
    _quic: *mut ngtcp2_conn,
    stream: i64,
    _offset: u64,
    length: u64,
    state: *mut c_void,
    _stream_state: *mut c_void,
) -> c_int {
    // SAFETY: see `shared`.
    unsafe { shared(state) }.application.borrow_mut().outbox.on_acked(stream, length as usize);
    0
}

unsafe extern "C" fn on_reset(
    _quic: *mut ngtcp2_conn,
    stream: i64,
    _final_size: u64,
    code: u64,
    state: *mut c_void,
    _stream_state: *mut c_void,
) -> c_int {
    // SAFETY: see `shared`.
    let shared = unsafe { shared(state) };
    let outcome = shared.application.borrow_mut().on_reset(stream, code);
    shared.note(outcome)
}

unsafe extern "C" fn on_closed(
    quic: *mut ngtcp2_conn,
    _flags: u32,
    stream: i64,
    _read_code: u64,
    _write_code: u64,
    state: *mut c_void,
    _stream_state: *mut c_void,
) -> c_int {
    // SAFETY: see `shared`; the object lives during its callback.
    let (shared, quic) = unsafe { (shared(state), Quic::new(quic)) };
    quic.extend_requests(stream);
    let outcome = shared.application.borrow_mut().on_closed(stream);
    shared.note(outcome)
}

unsafe extern "C" fn on_unblocked(
    _quic: *mut ngtcp2_conn,
    stream: i64,
    _most: u64,
    state: *mut c_void,
    _stream_state: *mut c_void,
) -> c_int {
    // SAFETY: see `shared`.
    unsafe { shared(state) }.application.borrow_mut().outbox.on_unblocked(stream);
    0
}

/// ngtcp2's qlog.
pub unsafe extern "C" fn on_qlog(state: *mut c_void, _flags: u32, data: *const c_void, length: usize) {
    // SAFETY: see `shared`; ngtcp2 gives `length` bytes.
    let (shared, data) = unsafe { (shared(state), bytes(data.cast(), length)) };
    shared.write_qlog(data);
}

/// Writes one packet with as much of the application's data as fits.
pub unsafe extern "C" fn write_packet(
    quic: *mut ngtcp2_conn,
    path: *mut ngtcp2_path,
    info: *mut ngtcp2_pkt_info,
    room: *mut u8,
    room_length: usize,
    time: ngtcp2_tstamp,
    state: *mut c_void,
) -> ngtcp2_ssize {
    // SAFETY: see `shared`.
    let shared = unsafe { shared(state) };
    loop {
        let piece = match shared.application.borrow_mut().poll_piece() {
            Ok(piece) => piece,
            Err(error) => return shared.note(Err(error)) as ngtcp2_ssize,
        };
        let mut parts = [ngtcp2_vec { base: ptr::null_mut(), len: 0 }; MAX_SLICES];
        // With no stream, what ngtcp2 itself has to say, and the end of the packet.
        let (stream, count, flags) = match &piece {
            Some(piece) => {
                for (part, &(start, len)) in parts.iter_mut().zip(&piece.slices) {
                    *part = ngtcp2_vec { base: start.cast_mut(), len };
                }
                let end = if piece.fin { NGTCP2_WRITE_STREAM_FLAG_FIN } else { 0 };
                (piece.stream, piece.slices.len(), NGTCP2_WRITE_STREAM_FLAG_MORE | end)
            }
            None => (-1, 0, 0),
        };
        let (version, parts) = (NGTCP2_PKT_INFO_VERSION, parts.as_ptr());
        let mut taken = -1;
        // SAFETY: the pointers are ngtcp2's own and the piece's, whose bytes stay until they are acknowledged.
        let length = unsafe {
            ngtcp2_conn_writev_stream_versioned(
                quic,
                path,
                version,
                info,
                room,
                room_length,
                &mut taken,
                flags,
                stream,
                parts,
                count,
                time,
            )
        };
        let Some(piece) = piece else { return length };
        let outbox = &mut shared.application.borrow_mut().outbox;
        if matches!(
            length as c_int,
            NGTCP2_ERR_STREAM_DATA_BLOCKED | NGTCP2_ERR_STREAM_SHUT_WR | NGTCP2_ERR_STREAM_NOT_FOUND
        ) {
            outbox.on_blocked(stream);
            continue;
        }
        if let Ok(bytes) = usize::try_from(taken) {
            outbox.on_written(&piece, bytes);
        }
        if length != NGTCP2_ERR_WRITE_MORE as ngtcp2_ssize {
            return length;
        }
    }
}
