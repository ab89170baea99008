//! The functions.

#![allow(clippy::too_many_arguments)]

use std::ffi::{c_char, c_int, c_void};

use super::*;

#[rustfmt::skip] // one line for each
unsafe extern "C" {
    pub fn ngtcp2_strerror(liberr: c_int) -> *const c_char;
    pub fn ngtcp2_settings_default_versioned(version: c_int, settings: *mut ngtcp2_settings);
    pub fn ngtcp2_transport_params_default_versioned(version: c_int, params: *mut ngtcp2_transport_params);
    pub fn ngtcp2_accept(dest: *mut ngtcp2_pkt_hd, pkt: *const u8, pktlen: usize) -> c_int;
    pub fn ngtcp2_is_bidi_stream(stream_id: i64) -> c_int;

    pub fn ngtcp2_conn_client_new_versioned(
        pconn: *mut *mut ngtcp2_conn, dcid: *const ngtcp2_cid, scid: *const ngtcp2_cid, path: *const ngtcp2_path,
        client_chosen_version: u32, callbacks_version: c_int, callbacks: *const ngtcp2_callbacks, settings_version: c_int,
        settings: *const ngtcp2_settings, params_version: c_int, params: *const ngtcp2_transport_params,
        mem: *const c_void, user_data: *mut c_void,
    ) -> c_int;
    pub fn ngtcp2_conn_server_new_versioned(
        pconn: *mut *mut ngtcp2_conn, dcid: *const ngtcp2_cid, scid: *const ngtcp2_cid, path: *const ngtcp2_path,
        client_chosen_version: u32, callbacks_version: c_int, callbacks: *const ngtcp2_callbacks, settings_version: c_int,
        settings: *const ngtcp2_settings, params_version: c_int, params: *const ngtcp2_transport_params,
        mem: *const c_void, user_data: *mut c_void,
    ) -> c_int;
    pub fn ngtcp2_conn_del(conn: *mut ngtcp2_conn);
    pub fn ngtcp2_conn_is_server2(conn: *const ngtcp2_conn) -> c_int;
    pub fn ngtcp2_conn_get_dcid2(conn: *const ngtcp2_conn) -> *const ngtcp2_cid;

    pub fn ngtcp2_conn_read_pkt_versioned(
        conn: *mut ngtcp2_conn, path: *const ngtcp2_path, pkt_info_version: c_int, pi: *const ngtcp2_pkt_info,
        pkt: *const u8, pktlen: usize, ts: ngtcp2_tstamp,
    ) -> c_int;
    pub fn ngtcp2_conn_get_expiry2(conn: *const ngtcp2_conn) -> ngtcp2_tstamp;
    pub fn ngtcp2_conn_handle_expiry(conn: *mut ngtcp2_conn, ts: ngtcp2_tstamp) -> c_int;
    pub fn ngtcp2_conn_write_aggregate_pkt_versioned(
        conn: *mut ngtcp2_conn, path: *mut ngtcp2_path, pkt_info_version: c_int, pi: *mut ngtcp2_pkt_info,
        buf: *mut u8, buflen: usize, pgsolen: *mut usize, write_pkt: ngtcp2_write_pkt, ts: ngtcp2_tstamp,
    ) -> ngtcp2_ssize;
    pub fn ngtcp2_conn_writev_stream_versioned(
        conn: *mut ngtcp2_conn, path: *mut ngtcp2_path, pkt_info_version: c_int, pi: *mut ngtcp2_pkt_info,
        dest: *mut u8, destlen: usize, pdatalen: *mut ngtcp2_ssize, flags: u32, stream_id: i64,
        datav: *const ngtcp2_vec, datavcnt: usize, ts: ngtcp2_tstamp,
    ) -> ngtcp2_ssize;
    pub fn ngtcp2_conn_write_connection_close_versioned(
        conn: *mut ngtcp2_conn, path: *mut ngtcp2_path, pkt_info_version: c_int, pi: *mut ngtcp2_pkt_info,
        dest: *mut u8, destlen: usize, ccerr: *const ngtcp2_ccerr, ts: ngtcp2_tstamp,
    ) -> ngtcp2_ssize;
    pub fn ngtcp2_ccerr_set_liberr(ccerr: *mut ngtcp2_ccerr, liberr: c_int, reason: *const u8, reasonlen: usize);
    pub fn ngtcp2_ccerr_set_tls_alert(ccerr: *mut ngtcp2_ccerr, tls_alert: u8, reason: *const u8, reasonlen: usize);
    pub fn ngtcp2_ccerr_set_application_error(ccerr: *mut ngtcp2_ccerr, code: u64, reason: *const u8, reasonlen: usize);

    pub fn ngtcp2_conn_open_bidi_stream(conn: *mut ngtcp2_conn, stream_id: *mut i64, user_data: *mut c_void) -> c_int;
    pub fn ngtcp2_conn_open_uni_stream(conn: *mut ngtcp2_conn, stream_id: *mut i64, user_data: *mut c_void) -> c_int;
    pub fn ngtcp2_conn_shutdown_stream_write(conn: *mut ngtcp2_conn, flags: u32, stream_id: i64, code: u64) -> c_int;
    pub fn ngtcp2_conn_extend_max_stream_offset(conn: *mut ngtcp2_conn, stream_id: i64, datalen: u64) -> c_int;
    pub fn ngtcp2_conn_extend_max_offset(conn: *mut ngtcp2_conn, datalen: u64);
    pub fn ngtcp2_conn_extend_max_streams_bidi(conn: *mut ngtcp2_conn, n: usize);

    pub fn ngtcp2_transport_params_encode_versioned(
        dest: *mut u8, destlen: usize, version: c_int, params: *const ngtcp2_transport_params,
    ) -> ngtcp2_ssize;
    pub fn ngtcp2_conn_get_local_transport_params2(conn: *const ngtcp2_conn) -> *const ngtcp2_transport_params;
    pub fn ngtcp2_conn_decode_and_set_remote_transport_params(conn: *mut ngtcp2_conn, data: *const u8, datalen: usize) -> c_int;
    pub fn ngtcp2_conn_set_initial_crypto_ctx(conn: *mut ngtcp2_conn, ctx: *const ngtcp2_crypto_ctx);
    pub fn ngtcp2_conn_set_crypto_ctx(conn: *mut ngtcp2_conn, ctx: *const ngtcp2_crypto_ctx);
    pub fn ngtcp2_conn_install_initial_key(
        conn: *mut ngtcp2_conn, rx_aead_ctx: *const Handle, rx_iv: *const u8, rx_hp_ctx: *const Handle,
        tx_aead_ctx: *const Handle, tx_iv: *const u8, tx_hp_ctx: *const Handle, ivlen: usize,
    ) -> c_int;
    pub fn ngtcp2_conn_install_rx_handshake_key(
        conn: *mut ngtcp2_conn, aead_ctx: *const Handle, iv: *const u8, ivlen: usize, hp_ctx: *const Handle,
    ) -> c_int;
    pub fn ngtcp2_conn_install_tx_handshake_key(
        conn: *mut ngtcp2_conn, aead_ctx: *const Handle, iv: *const u8, ivlen: usize, hp_ctx: *const Handle,
    ) -> c_int;
    pub fn ngtcp2_conn_install_rx_key(
        conn: *mut ngtcp2_conn, secret: *const u8, secretlen: usize, aead_ctx: *const Handle, iv: *const u8, ivlen: usize,
        hp_ctx: *const Handle,
    ) -> c_int;
    pub fn ngtcp2_conn_install_tx_key(
        conn: *mut ngtcp2_conn, secret: *const u8, secretlen: usize, aead_ctx: *const Handle, iv: *const u8, ivlen: usize,
        hp_ctx: *const Handle,
    ) -> c_int;
    pub fn ngtcp2_conn_submit_crypto_data(
        conn: *mut ngtcp2_conn, level: ngtcp2_encryption_level, data: *const u8, datalen: usize,
    ) -> c_int;
    pub fn ngtcp2_conn_tls_handshake_completed(conn: *mut ngtcp2_conn);
    pub fn ngtcp2_conn_set_tls_alert(conn: *mut ngtcp2_conn, alert: u8);
    pub fn ngtcp2_conn_get_tls_alert2(conn: *const ngtcp2_conn) -> u8;
}
