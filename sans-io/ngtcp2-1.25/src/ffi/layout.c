/* What the compiler of C makes of the structures that mod.rs declares: tests.rs compares. */

#include <stddef.h>

#include <ngtcp2/ngtcp2.h>

const size_t quiclab_layout[] = {
  sizeof(ngtcp2_pkt_info),
  sizeof(ngtcp2_cid),
  sizeof(ngtcp2_vec),
  sizeof(ngtcp2_pkt_hd),
  offsetof(ngtcp2_pkt_hd, version),
  sizeof(ngtcp2_transport_params),
  offsetof(ngtcp2_transport_params, original_dcid),
  offsetof(ngtcp2_transport_params, initial_max_data),
  offsetof(ngtcp2_transport_params, original_dcid_present),
  offsetof(ngtcp2_transport_params, version_info),
  sizeof(ngtcp2_settings),
  offsetof(ngtcp2_settings, rand_ctx),
  offsetof(ngtcp2_settings, handshake_timeout),
  offsetof(ngtcp2_settings, log_write),
  sizeof(ngtcp2_path),
  sizeof(ngtcp2_crypto_ctx),
  offsetof(ngtcp2_crypto_ctx, max_encryption),
  sizeof(ngtcp2_callbacks),
  offsetof(ngtcp2_callbacks, encrypt),
  offsetof(ngtcp2_callbacks, rand),
  offsetof(ngtcp2_callbacks, update_key),
  offsetof(ngtcp2_callbacks, extend_max_stream_data),
  offsetof(ngtcp2_callbacks, delete_crypto_cipher_ctx),
  offsetof(ngtcp2_callbacks, get_new_connection_id2),
  offsetof(ngtcp2_callbacks, get_path_challenge_data2),
  offsetof(ngtcp2_callbacks, stream_close2),
  sizeof(ngtcp2_ccerr),
  0,
};
