//! What this program needs of ngtcp2's C interface (`ngtcp2/ngtcp2.h` of the release that `build.rs` names), under the names
//! that it has there. What stands for nothing here, as the callbacks that are not set, has a type that only fills its place.

#![allow(non_camel_case_types, missing_docs)]

mod functions;
#[cfg(test)]
mod tests;

use std::ffi::{c_int, c_void};

pub use functions::*;

pub type ngtcp2_ssize = isize;
pub type ngtcp2_tstamp = u64;
pub type ngtcp2_duration = u64;
pub type ngtcp2_cc_algo = u32;
pub type ngtcp2_encryption_level = u32;

pub const NGTCP2_PKT_INFO_VERSION: c_int = 1;
pub const NGTCP2_TRANSPORT_PARAMS_VERSION: c_int = 1;
pub const NGTCP2_SETTINGS_VERSION: c_int = 4;
pub const NGTCP2_CALLBACKS_VERSION: c_int = 5;

pub const NGTCP2_ERR_STREAM_ID_BLOCKED: c_int = -206;
pub const NGTCP2_ERR_STREAM_DATA_BLOCKED: c_int = -208;
pub const NGTCP2_ERR_CRYPTO: c_int = -213;
pub const NGTCP2_ERR_DECRYPT: c_int = -218;
pub const NGTCP2_ERR_STREAM_SHUT_WR: c_int = -219;
pub const NGTCP2_ERR_STREAM_NOT_FOUND: c_int = -220;
pub const NGTCP2_ERR_CLOSING: c_int = -223;
pub const NGTCP2_ERR_DRAINING: c_int = -224;
pub const NGTCP2_ERR_WRITE_MORE: c_int = -230;
pub const NGTCP2_ERR_DROP_CONN: c_int = -232;
pub const NGTCP2_ERR_HANDSHAKE_TIMEOUT: c_int = -236;
pub const NGTCP2_ERR_IDLE_CLOSE: c_int = -238;
pub const NGTCP2_ERR_CALLBACK_FAILURE: c_int = -502;

pub const NGTCP2_STREAM_DATA_FLAG_FIN: u32 = 1;
pub const NGTCP2_WRITE_STREAM_FLAG_MORE: u32 = 1;
pub const NGTCP2_WRITE_STREAM_FLAG_FIN: u32 = 2;

pub const NGTCP2_CC_ALGO_RENO: ngtcp2_cc_algo = 0;
pub const NGTCP2_CC_ALGO_CUBIC: ngtcp2_cc_algo = 1;
pub const NGTCP2_CC_ALGO_BBR: ngtcp2_cc_algo = 2;

pub const NGTCP2_ENCRYPTION_LEVEL_INITIAL: ngtcp2_encryption_level = 0;
pub const NGTCP2_ENCRYPTION_LEVEL_HANDSHAKE: ngtcp2_encryption_level = 1;
pub const NGTCP2_ENCRYPTION_LEVEL_1RTT: ngtcp2_encryption_level = 2;

/// A callback that is never set.
type Unset = Option<unsafe extern "C" fn()>;

/// ngtcp2's object of a connection.
#[repr(C)]
pub struct ngtcp2_conn {
    _unused: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ngtcp2_cid {
    pub datalen: usize,
    pub data: [u8; 20],
}

#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub struct ngtcp2_pkt_info {
    pub ecn: u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ngtcp2_vec {
    pub base: *mut u8,
    pub len: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ngtcp2_pkt_hd {
    pub dcid: ngtcp2_cid,
    pub scid: ngtcp2_cid,
    pub pkt_num: i64,
    pub token: *const u8,
    pub tokenlen: usize,
    pub pkt_numlen: usize,
    pub len: usize,
    pub version: u32,
    pub type_: u8,
    pub flags: u8,
}

/// `sockaddr_in` of Linux, the only kind of address here.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sockaddr_in {
    pub sin_family: u16,
    /// In the order of the network, as the address.
    pub sin_port: [u8; 2],
    pub sin_addr: [u8; 4],
    pub sin_zero: [u8; 8],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ngtcp2_addr {
    pub addr: *mut sockaddr_in,
    pub addrlen: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ngtcp2_path {
    pub local: ngtcp2_addr,
    pub remote: ngtcp2_addr,
    pub user_data: *mut c_void,
}

/// The beginning of it: `sockaddr_in6` is not declared here.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ngtcp2_preferred_addr {
    pub cid: ngtcp2_cid,
    pub ipv4: sockaddr_in,
    pub ipv6: [u32; 7],
    pub ipv4_present: u8,
    pub ipv6_present: u8,
    pub stateless_reset_token: [u8; 16],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ngtcp2_version_info {
    pub chosen_version: u32,
    pub available_versions: *const u8,
    pub available_versionslen: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ngtcp2_transport_params {
    pub preferred_addr: ngtcp2_preferred_addr,
    pub original_dcid: ngtcp2_cid,
    pub initial_scid: ngtcp2_cid,
    pub retry_scid: ngtcp2_cid,
    pub initial_max_stream_data_bidi_local: u64,
    pub initial_max_stream_data_bidi_remote: u64,
    pub initial_max_stream_data_uni: u64,
    pub initial_max_data: u64,
    pub initial_max_streams_bidi: u64,
    pub initial_max_streams_uni: u64,
    pub max_idle_timeout: ngtcp2_duration,
    pub max_udp_payload_size: u64,
    pub active_connection_id_limit: u64,
    pub ack_delay_exponent: u64,
    pub max_ack_delay: ngtcp2_duration,
    pub max_datagram_frame_size: u64,
    pub stateless_reset_token_present: u8,
    pub disable_active_migration: u8,
    pub original_dcid_present: u8,
    pub initial_scid_present: u8,
    pub retry_scid_present: u8,
    pub preferred_addr_present: u8,
    pub stateless_reset_token: [u8; 16],
    pub grease_quic_bit: u8,
    pub version_info: ngtcp2_version_info,
    pub version_info_present: u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ngtcp2_rand_ctx {
    pub native_handle: *mut c_void,
}

pub type ngtcp2_qlog_write =
    Option<unsafe extern "C" fn(user_data: *mut c_void, flags: u32, data: *const c_void, datalen: usize)>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ngtcp2_settings {
    pub qlog_write: ngtcp2_qlog_write,
    pub cc_algo: ngtcp2_cc_algo,
    pub initial_ts: ngtcp2_tstamp,
    pub initial_rtt: ngtcp2_duration,
    pub log_printf: Unset,
    pub max_tx_udp_payload_size: usize,
    pub token: *const u8,
    pub tokenlen: usize,
    pub token_type: u32,
    pub rand_ctx: ngtcp2_rand_ctx,
    pub max_window: u64,
    pub max_stream_window: u64,
    pub ack_thresh: usize,
    pub no_tx_udp_payload_size_shaping: u8,
    pub handshake_timeout: ngtcp2_duration,
    pub preferred_versions: *const u32,
    pub preferred_versionslen: usize,
    pub available_versions: *const u32,
    pub available_versionslen: usize,
    pub original_version: u32,
    pub no_pmtud: u8,
    pub initial_pkt_num: u32,
    pub pmtud_probes: *const u16,
    pub pmtud_probeslen: usize,
    pub glitch_ratelim_burst: u64,
    pub glitch_ratelim_rate: u64,
    pub log_write: Unset,
}

/// ngtcp2_crypto_md, ngtcp2_crypto_cipher, ngtcp2_crypto_aead_ctx and ngtcp2_crypto_cipher_ctx: all of them are one pointer
/// that ngtcp2 hands back.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Handle {
    pub native_handle: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ngtcp2_crypto_aead {
    pub native_handle: *mut c_void,
    pub max_overhead: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ngtcp2_crypto_ctx {
    pub aead: ngtcp2_crypto_aead,
    pub md: Handle,
    pub hp: Handle,
    pub max_encryption: u64,
    pub max_decryption_failure: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ngtcp2_stateless_reset_token {
    pub data: [u8; 16],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ngtcp2_path_challenge_data {
    pub data: [u8; 8],
}

/// ngtcp2_encrypt and ngtcp2_decrypt.
pub type Protect = unsafe extern "C" fn(
    dest: *mut u8,
    aead: *const ngtcp2_crypto_aead,
    aead_ctx: *const Handle,
    text: *const u8,
    textlen: usize,
    nonce: *const u8,
    noncelen: usize,
    aad: *const u8,
    aadlen: usize,
) -> c_int;

pub type RecvCryptoData = unsafe extern "C" fn(
    conn: *mut ngtcp2_conn,
    level: ngtcp2_encryption_level,
    offset: u64,
    data: *const u8,
    datalen: usize,
    user_data: *mut c_void,
) -> c_int;

pub type RecvStreamData = unsafe extern "C" fn(
    conn: *mut ngtcp2_conn,
    flags: u32,
    stream_id: i64,
    offset: u64,
    data: *const u8,
    datalen: usize,
    user_data: *mut c_void,
    stream_user_data: *mut c_void,
) -> c_int;

/// Callbacks with a stream and two numbers: ngtcp2_acked_stream_data_offset and ngtcp2_stream_reset.
pub type StreamNumbers = unsafe extern "C" fn(
    *mut ngtcp2_conn,
    i64,
    u64,
    u64,
    user_data: *mut c_void,
    stream_user_data: *mut c_void,
) -> c_int;

pub type UpdateKey = unsafe extern "C" fn(
    conn: *mut ngtcp2_conn,
    rx_secret: *mut u8,
    tx_secret: *mut u8,
    rx_aead_ctx: *mut Handle,
    rx_iv: *mut u8,
    tx_aead_ctx: *mut Handle,
    tx_iv: *mut u8,
    current_rx_secret: *const u8,
    current_tx_secret: *const u8,
    secretlen: usize,
    user_data: *mut c_void,
) -> c_int;

pub type GetNewConnectionId2 = unsafe extern "C" fn(
    conn: *mut ngtcp2_conn,
    cid: *mut ngtcp2_cid,
    token: *mut ngtcp2_stateless_reset_token,
    cidlen: usize,
    user_data: *mut c_void,
) -> c_int;

pub type StreamClose2 = unsafe extern "C" fn(
    conn: *mut ngtcp2_conn,
    flags: u32,
    stream_id: i64,
    rx_app_error_code: u64,
    tx_app_error_code: u64,
    user_data: *mut c_void,
    stream_user_data: *mut c_void,
) -> c_int;

#[repr(C)]
pub struct ngtcp2_callbacks {
    pub client_initial: Option<unsafe extern "C" fn(*mut ngtcp2_conn, user_data: *mut c_void) -> c_int>,
    pub recv_client_initial:
        Option<unsafe extern "C" fn(*mut ngtcp2_conn, dcid: *const ngtcp2_cid, user_data: *mut c_void) -> c_int>,
    pub recv_crypto_data: Option<RecvCryptoData>,
    pub handshake_completed: Unset,
    pub recv_version_negotiation: Unset,
    pub encrypt: Option<Protect>,
    pub decrypt: Option<Protect>,
    pub hp_mask: Option<
        unsafe extern "C" fn(dest: *mut u8, hp: *const Handle, hp_ctx: *const Handle, sample: *const u8) -> c_int,
    >,
    pub recv_stream_data: Option<RecvStreamData>,
    pub acked_stream_data_offset: Option<StreamNumbers>,
    pub stream_open: Unset,
    pub stream_close: Unset,
    pub recv_stateless_reset: Unset,
    pub recv_retry:
        Option<unsafe extern "C" fn(*mut ngtcp2_conn, *const ngtcp2_pkt_hd, user_data: *mut c_void) -> c_int>,
    pub extend_max_local_streams_bidi: Unset,
    pub extend_max_local_streams_uni: Unset,
    pub rand: Option<unsafe extern "C" fn(dest: *mut u8, destlen: usize, rand_ctx: *const ngtcp2_rand_ctx)>,
    pub get_new_connection_id: Unset,
    pub remove_connection_id: Unset,
    pub update_key: Option<UpdateKey>,
    pub path_validation: Unset,
    pub select_preferred_addr: Unset,
    pub stream_reset: Option<StreamNumbers>,
    pub extend_max_remote_streams_bidi: Unset,
    pub extend_max_remote_streams_uni: Unset,
    pub extend_max_stream_data: Option<
        unsafe extern "C" fn(
            *mut ngtcp2_conn,
            i64,
            u64,
            user_data: *mut c_void,
            stream_user_data: *mut c_void,
        ) -> c_int,
    >,
    pub dcid_status: Unset,
    pub handshake_confirmed: Unset,
    pub recv_new_token: Unset,
    pub delete_crypto_aead_ctx:
        Option<unsafe extern "C" fn(*mut ngtcp2_conn, aead_ctx: *mut Handle, user_data: *mut c_void)>,
    pub delete_crypto_cipher_ctx:
        Option<unsafe extern "C" fn(*mut ngtcp2_conn, cipher_ctx: *mut Handle, user_data: *mut c_void)>,
    pub recv_datagram: Unset,
    pub ack_datagram: Unset,
    pub lost_datagram: Unset,
    pub get_path_challenge_data: Unset,
    pub stream_stop_sending: Unset,
    pub version_negotiation: Unset,
    pub recv_rx_key: Unset,
    pub recv_tx_key: Unset,
    pub tls_early_data_rejected: Unset,
    pub begin_path_validation: Unset,
    pub recv_stateless_reset2: Unset,
    pub get_new_connection_id2: Option<GetNewConnectionId2>,
    pub dcid_status2: Unset,
    pub get_path_challenge_data2: Option<
        unsafe extern "C" fn(*mut ngtcp2_conn, *mut ngtcp2_path_challenge_data, user_data: *mut c_void) -> c_int,
    >,
    pub recv_stop_sending: Unset,
    pub stream_close2: Option<StreamClose2>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ngtcp2_ccerr {
    pub type_: u32,
    pub error_code: u64,
    pub frame_type: u64,
    pub reason: *const u8,
    pub reasonlen: usize,
}

pub type ngtcp2_write_pkt = unsafe extern "C" fn(
    conn: *mut ngtcp2_conn,
    path: *mut ngtcp2_path,
    pi: *mut ngtcp2_pkt_info,
    dest: *mut u8,
    destlen: usize,
    ts: ngtcp2_tstamp,
    user_data: *mut c_void,
) -> ngtcp2_ssize;

/// ngtcp2_conn_client_new and ngtcp2_conn_server_new.
pub type NewConnection = unsafe extern "C" fn(
    conn: *mut *mut ngtcp2_conn,
    dcid: *const ngtcp2_cid,
    scid: *const ngtcp2_cid,
    path: *const ngtcp2_path,
    client_chosen_version: u32,
    callbacks_version: c_int,
    callbacks: *const ngtcp2_callbacks,
    settings_version: c_int,
    settings: *const ngtcp2_settings,
    params_version: c_int,
    params: *const ngtcp2_transport_params,
    mem: *const c_void,
    user_data: *mut c_void,
) -> c_int;
