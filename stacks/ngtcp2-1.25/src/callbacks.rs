//! What ngtcp2 calls.

use std::{
    ffi::{c_int, c_void},
    io::Write,
    mem, ptr, slice,
};

use anyhow::anyhow;
use ngtcp2_sys::*;

use crate::{application::Quic, glue::fill_random, shared::Shared};

/// ngtcp2's glue to the TLS library, and this program's own below.
pub fn table() -> ngtcp2_callbacks {
    // SAFETY: a structure of optional function pointers: zeros are "none".
    let none: ngtcp2_callbacks = unsafe { mem::zeroed() };
    ngtcp2_callbacks {
        client_initial: Some(ngtcp2_crypto_client_initial_cb),
        recv_client_initial: Some(ngtcp2_crypto_recv_client_initial_cb),
        recv_crypto_data: Some(ngtcp2_crypto_recv_crypto_data_cb),
        recv_retry: Some(ngtcp2_crypto_recv_retry_cb),
        encrypt: Some(ngtcp2_crypto_encrypt_cb),
        decrypt: Some(ngtcp2_crypto_decrypt_cb),
        hp_mask: Some(ngtcp2_crypto_hp_mask_cb),
        update_key: Some(ngtcp2_crypto_update_key_cb),
        delete_crypto_aead_ctx: Some(ngtcp2_crypto_delete_crypto_aead_ctx_cb),
        delete_crypto_cipher_ctx: Some(ngtcp2_crypto_delete_crypto_cipher_ctx_cb),
        get_path_challenge_data2: Some(ngtcp2_crypto_get_path_challenge_data2_cb),
        version_negotiation: Some(ngtcp2_crypto_version_negotiation_cb),
        rand: Some(on_random),
        get_new_connection_id2: Some(on_new_cid),
        remove_connection_id: Some(on_cid_retired),
        recv_stream_data: Some(on_stream_data),
        acked_stream_data_offset: Some(on_acked),
        stream_reset: Some(on_reset),
        stream_close2: Some(on_closed),
        extend_max_stream_data: Some(on_unblocked),
        recv_tx_key: Some(on_key),
        handshake_completed: Some(on_completed),
        handshake_confirmed: Some(on_confirmed),
        tls_early_data_rejected: Some(on_early_data_rejected),
        ..none
    }
}

/// # Safety
/// `state` must be what `Connection::new` gave.
unsafe fn shared<'a>(state: *mut c_void) -> &'a Shared {
    // SAFETY: the state outlives ngtcp2's object.
    unsafe { &*state.cast::<Shared>() }
}

/// How AWS-LC's callbacks find their connection.
pub unsafe extern "C" fn quic_of(reference: *mut ngtcp2_crypto_conn_ref) -> *mut ngtcp2_conn {
    // SAFETY: `Connection::new` has made the reference.
    unsafe { shared((*reference).user_data) }.quic.get()
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
        // With no stream, what ngtcp2 itself has to say, and the end of the packet.
        let (stream, parts, count, flags) = match &piece {
            Some(piece) => {
                let end = if piece.fin { NGTCP2_WRITE_STREAM_FLAG_FIN } else { 0 };
                (piece.stream, piece.parts.as_ptr(), piece.count, NGTCP2_WRITE_STREAM_FLAG_MORE | end)
            }
            None => (-1, ptr::null(), 0, 0),
        };
        let mut taken = -1;
        // SAFETY: the pointers are ngtcp2's own and the piece's, whose bytes stay until its stream is closed.
        let length = unsafe {
            ngtcp2_conn_writev_stream_versioned(
                quic,
                path,
                NGTCP2_PKT_INFO_VERSION as c_int,
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
        let mut application = shared.application.borrow_mut();
        let Some(piece) = piece else { return length };
        match length as c_int {
            NGTCP2_ERR_STREAM_DATA_BLOCKED if length < 0 => {
                application.on_blocked(stream);
                continue;
            }
            NGTCP2_ERR_STREAM_SHUT_WR | NGTCP2_ERR_STREAM_NOT_FOUND if length < 0 => {
                application.on_shut(stream);
                continue;
            }
            _ => {}
        }
        if let Ok(bytes) = usize::try_from(taken)
            && let Err(error) = application.on_written(&piece, bytes)
        {
            return shared.note(Err(error)) as ngtcp2_ssize;
        }
        if length != NGTCP2_ERR_WRITE_MORE as ngtcp2_ssize {
            return length;
        }
    }
}

/// ngtcp2's qlog.
pub unsafe extern "C" fn on_qlog(state: *mut c_void, _flags: u32, data: *const c_void, length: usize) {
    // SAFETY: see `shared`; ngtcp2 gives `length` bytes.
    let (shared, data) = unsafe { (shared(state), slice::from_raw_parts(data.cast::<u8>(), length)) };
    if let Some(file) = &mut *shared.qlog.borrow_mut() {
        // Nobody to tell.
        let _ = file.write_all(data);
    }
}

unsafe extern "C" fn on_random(room: *mut u8, length: usize, _context: *const ngtcp2_rand_ctx) {
    // SAFETY: ngtcp2 gives room for `length` bytes.
    let room = unsafe { slice::from_raw_parts_mut(room, length) };
    // Not for secrets: ngtcp2 can live without it.
    let _ = fill_random(room);
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
    cid.datalen = length;
    let outcome = fill_random(&mut cid.data[..length]).and_then(|()| fill_random(&mut token.data));
    shared.routes.borrow_mut().push((*cid, true));
    shared.note(outcome)
}

unsafe extern "C" fn on_cid_retired(_quic: *mut ngtcp2_conn, cid: *const ngtcp2_cid, state: *mut c_void) -> c_int {
    // SAFETY: see `shared`.
    let (shared, cid) = unsafe { (shared(state), *cid) };
    shared.routes.borrow_mut().push((cid, false));
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
    // SAFETY: see `shared`; ngtcp2 gives `length` bytes, and a null pointer only for none.
    let (shared, data) = unsafe {
        let data = if length == 0 { &[][..] } else { slice::from_raw_parts(data, length) };
        (shared(state), data)
    };
    // What is read makes room for as much.
    // SAFETY: allowed within this callback.
    unsafe {
        ngtcp2_conn_extend_max_stream_offset(quic, stream, length as u64);
        ngtcp2_conn_extend_max_offset(quic, length as u64);
    }
    let fin = flags & NGTCP2_STREAM_DATA_FLAG_FIN != 0;
    let outcome = shared.application.borrow_mut().on_data(Quic(quic), stream, data, fin);
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
    let shared = unsafe { shared(state) };
    let outcome = shared.application.borrow_mut().on_acked(stream, length);
    shared.note(outcome)
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
    // SAFETY: see `shared`; both calls are allowed within this callback.
    let shared = unsafe {
        // A finished request makes room for another.
        if ngtcp2_conn_is_server2(quic) != 0 && ngtcp2_is_bidi_stream(stream) != 0 {
            ngtcp2_conn_extend_max_streams_bidi(quic, 1);
        }
        shared(state)
    };
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
    unsafe { shared(state) }.application.borrow_mut().on_unblocked(stream);
    0
}

unsafe extern "C" fn on_key(_quic: *mut ngtcp2_conn, level: ngtcp2_encryption_level, state: *mut c_void) -> c_int {
    // SAFETY: see `shared`.
    let shared = unsafe { shared(state) };
    // Keys of the handshake follow from the ServerHello.
    if let (Some(hold), ngtcp2_encryption_level_NGTCP2_ENCRYPTION_LEVEL_HANDSHAKE) = (&shared.hold, level) {
        hold.on_answered();
    }
    0
}

unsafe extern "C" fn on_completed(_quic: *mut ngtcp2_conn, state: *mut c_void) -> c_int {
    // SAFETY: see `shared`.
    unsafe { shared(state) }.application.borrow_mut().on_completed();
    0
}

unsafe extern "C" fn on_confirmed(_quic: *mut ngtcp2_conn, state: *mut c_void) -> c_int {
    // SAFETY: see `shared`.
    unsafe { shared(state) }.confirmed.set(true);
    0
}

unsafe extern "C" fn on_early_data_rejected(_quic: *mut ngtcp2_conn, state: *mut c_void) -> c_int {
    // SAFETY: see `shared`.
    unsafe { shared(state) }.note(Err(anyhow!("the server refused the early data")))
}
