//! Whether the declarations are those of the header.

use std::mem::{offset_of, size_of};

use super::*;

unsafe extern "C" {
    /// See layout.c, which ends it with a zero.
    static quiclab_layout: [usize; 28];
}

#[test]
fn structures_are_those_of_the_c_compiler() {
    let found = [
        size_of::<ngtcp2_pkt_info>(),
        size_of::<ngtcp2_cid>(),
        size_of::<ngtcp2_vec>(),
        size_of::<ngtcp2_pkt_hd>(),
        offset_of!(ngtcp2_pkt_hd, version),
        size_of::<ngtcp2_transport_params>(),
        offset_of!(ngtcp2_transport_params, original_dcid),
        offset_of!(ngtcp2_transport_params, initial_max_data),
        offset_of!(ngtcp2_transport_params, original_dcid_present),
        offset_of!(ngtcp2_transport_params, version_info),
        size_of::<ngtcp2_settings>(),
        offset_of!(ngtcp2_settings, rand_ctx),
        offset_of!(ngtcp2_settings, handshake_timeout),
        offset_of!(ngtcp2_settings, log_write),
        size_of::<ngtcp2_path>(),
        size_of::<ngtcp2_crypto_ctx>(),
        offset_of!(ngtcp2_crypto_ctx, max_encryption),
        size_of::<ngtcp2_callbacks>(),
        offset_of!(ngtcp2_callbacks, encrypt),
        offset_of!(ngtcp2_callbacks, rand),
        offset_of!(ngtcp2_callbacks, update_key),
        offset_of!(ngtcp2_callbacks, extend_max_stream_data),
        offset_of!(ngtcp2_callbacks, delete_crypto_cipher_ctx),
        offset_of!(ngtcp2_callbacks, get_new_connection_id2),
        offset_of!(ngtcp2_callbacks, get_path_challenge_data2),
        offset_of!(ngtcp2_callbacks, stream_close2),
        size_of::<ngtcp2_ccerr>(),
        0,
    ];
    // SAFETY: a constant of layout.c.
    assert_eq!(found, unsafe { quiclab_layout });
}
