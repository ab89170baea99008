//! Keys of rustls in the hands of ngtcp2.
//!
//! ngtcp2 forms the nonce of a packet from an IV and the packet number, rustls does that by itself: it is told the number. So
//! ngtcp2 gets an IV of zeros, and the nonce that it makes is the number (RFC 9001, section 5.3).

use std::{
    cell::RefCell,
    ffi::{c_int, c_void},
    ptr, slice,
};

use rustls::quic::{HeaderProtectionKey, PacketKey};

use crate::ffi::*;

/// The IV of every key: its length is that of a nonce in every suite of TLS 1.3.
pub const IV: [u8; 12] = [0; 12];

/// Bytes that every suite of TLS 1.3 adds to a packet.
const TAG: usize = 16;

/// Bytes of a mask, and of the sample that it is made from (RFC 9001, section 5.4).
const MASK: usize = 5;
const SAMPLE: usize = 16;

/// What a handle of a packet key points to.
struct Packet {
    key: Box<dyn PacketKey>,
    /// rustls wants text and tag in one place, which ngtcp2 does not promise where it wants the text.
    room: RefCell<Vec<u8>>,
}

/// What a handle of a key of header protection points to.
struct Header(Box<dyn HeaderProtectionKey>);

/// A handle that [`delete_packet_key`] frees.
pub fn packet_handle(key: Box<dyn PacketKey>) -> Handle {
    let packet = Box::new(Packet { key, room: RefCell::default() });
    Handle { native_handle: Box::into_raw(packet).cast() }
}

/// A handle that [`delete_header_key`] frees.
pub fn header_handle(key: Box<dyn HeaderProtectionKey>) -> Handle {
    Handle { native_handle: Box::into_raw(Box::new(Header(key))).cast() }
}

/// What ngtcp2 wants to know about the suite of a key.
pub fn crypto_context(key: &dyn PacketKey) -> ngtcp2_crypto_ctx {
    let none = Handle { native_handle: ptr::null_mut() };
    ngtcp2_crypto_ctx {
        aead: ngtcp2_crypto_aead { native_handle: ptr::null_mut(), max_overhead: key.tag_len() },
        md: none,
        hp: none,
        max_encryption: key.confidentiality_limit(),
        max_decryption_failure: key.integrity_limit(),
    }
}

/// The bytes at a pointer, which C may leave null where there are none.
///
/// # Safety
/// Where `length` is not zero, they are there as long as `'a`, and nobody changes them.
pub unsafe fn bytes<'a>(start: *const u8, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: as promised.
    unsafe { slice::from_raw_parts(start, length) }
}

/// The packet number that a nonce stands for: it is XORed into the end of an IV of zeros.
fn packet_number(nonce: &[u8]) -> Option<u64> {
    let number = nonce.last_chunk::<8>()?;
    Some(u64::from_be_bytes(*number))
}

/// ngtcp2's callback `encrypt`: `dest`, which may be the text, has room for the tag.
pub unsafe extern "C" fn encrypt(
    dest: *mut u8,
    _aead: *const ngtcp2_crypto_aead,
    handle: *const Handle,
    text: *const u8,
    length: usize,
    nonce: *const u8,
    nonce_length: usize,
    header: *const u8,
    header_length: usize,
) -> c_int {
    // SAFETY: the handle is that of `packet_handle`; ngtcp2 gives as many bytes as it says, and the header is not in `dest`.
    unsafe {
        let packet = &*(*handle).native_handle.cast::<Packet>();
        let (nonce, header) = (bytes(nonce, nonce_length), bytes(header, header_length));
        if length > 0 {
            ptr::copy(text, dest, length);
        }
        let payload = slice::from_raw_parts_mut(dest, length);
        let Some(number) = packet_number(nonce) else { return NGTCP2_ERR_CALLBACK_FAILURE };
        let Ok(tag) = packet.key.encrypt_in_place(number, header, payload) else { return NGTCP2_ERR_CALLBACK_FAILURE };
        let tag = tag.as_ref();
        if tag.len() != TAG {
            return NGTCP2_ERR_CALLBACK_FAILURE;
        }
        ptr::copy_nonoverlapping(tag.as_ptr(), dest.add(length), TAG);
    }
    0
}

/// ngtcp2's callback `decrypt`: `dest` has room for the text without its tag.
pub unsafe extern "C" fn decrypt(
    dest: *mut u8,
    _aead: *const ngtcp2_crypto_aead,
    handle: *const Handle,
    text: *const u8,
    length: usize,
    nonce: *const u8,
    nonce_length: usize,
    header: *const u8,
    header_length: usize,
) -> c_int {
    // SAFETY: as in `encrypt`.
    let (packet, text, nonce, header) = unsafe {
        let packet = &*(*handle).native_handle.cast::<Packet>();
        (packet, bytes(text, length), bytes(nonce, nonce_length), bytes(header, header_length))
    };
    let mut room = packet.room.borrow_mut();
    room.clear();
    room.extend_from_slice(text);
    let Some(number) = packet_number(nonce) else { return NGTCP2_ERR_CALLBACK_FAILURE };
    let Ok(plain) = packet.key.decrypt_in_place(number, header, &mut room) else { return NGTCP2_ERR_DECRYPT };
    // SAFETY: `dest` has room for a text of `length` without its tag, and this is one.
    unsafe { ptr::copy_nonoverlapping(plain.as_ptr(), dest, plain.len()) };
    0
}

/// The mask that a key of header protection makes of a sample: rustls only applies masks, so it applies one to zeros. 3 in the
/// first byte says that the packet number has four bytes and the header is short, which masks five bits (RFC 9001, section
/// 5.4.1); ngtcp2 looks at no more.
fn mask(key: &dyn HeaderProtectionKey, sample: &[u8]) -> Result<[u8; MASK], rustls::Error> {
    const FOUR_BYTES: u8 = 3;
    let (mut first, mut number) = (FOUR_BYTES, [0; 4]);
    key.encrypt_in_place(sample, &mut first, &mut number)?;
    let [a, b, c, d] = number;
    Ok([first ^ FOUR_BYTES, a, b, c, d])
}

/// ngtcp2's callback `hp_mask`.
pub unsafe extern "C" fn header_mask(
    dest: *mut u8,
    _cipher: *const Handle,
    handle: *const Handle,
    sample: *const u8,
) -> c_int {
    // SAFETY: the handle is that of `header_handle`; ngtcp2 gives a whole sample.
    let (header, sample) = unsafe { (&*(*handle).native_handle.cast::<Header>(), bytes(sample, SAMPLE)) };
    let Ok(mask) = mask(&*header.0, sample) else { return NGTCP2_ERR_CALLBACK_FAILURE };
    // SAFETY: ngtcp2 has room for a mask.
    unsafe { ptr::copy_nonoverlapping(mask.as_ptr(), dest, MASK) };
    0
}

/// ngtcp2's callback `delete_crypto_aead_ctx`.
pub unsafe extern "C" fn delete_packet_key(_quic: *mut ngtcp2_conn, handle: *mut Handle, _state: *mut c_void) {
    // SAFETY: the handle is that of `packet_handle`, and ngtcp2 gives it back once.
    drop(unsafe { Box::from_raw((*handle).native_handle.cast::<Packet>()) });
}

/// ngtcp2's callback `delete_crypto_cipher_ctx`.
pub unsafe extern "C" fn delete_header_key(_quic: *mut ngtcp2_conn, handle: *mut Handle, _state: *mut c_void) {
    // SAFETY: the handle is that of `header_handle`, and ngtcp2 gives it back once.
    drop(unsafe { Box::from_raw((*handle).native_handle.cast::<Header>()) });
}

#[cfg(test)]
mod tests {
    use quiclab_sans_io::tls::initial_suite;
    use rustls::{Side, quic::Version};

    use super::*;

    /// RFC 9001, appendix A.1 and A.2: the client's first Initial.
    #[test]
    fn the_mask_is_that_of_the_rfc() {
        let destination = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];
        let keys = initial_suite().unwrap().keys(&destination, Side::Client, Version::V1);
        let sample = 0xd1b1_c98d_d768_9fb8_ec11_d242_b123_dc9b_u128.to_be_bytes();
        let found = mask(&*keys.local.header, &sample).unwrap();
        // 437b9aec36, but for the bits of the first byte that no header uses.
        assert_eq!(found, [0x43 & 0x1f, 0x7b, 0x9a, 0xec, 0x36]);
    }

    #[test]
    fn what_is_encrypted_is_decrypted_in_another_place() {
        let suite = initial_suite().unwrap();
        let (client, server) =
            (suite.keys(&[1; 8], Side::Client, Version::V1), suite.keys(&[1; 8], Side::Server, Version::V1));
        let (mut tx, mut rx) = (packet_handle(client.local.packet), packet_handle(server.remote.packet));
        let mut nonce = IV;
        nonce[11] = 7;
        let (text, header) = (*b"hello", *b"header");
        let (mut sealed, mut opened) = ([0; 5 + TAG], [0; 5]);
        let none = ptr::null();
        // SAFETY: the lengths are those of the arrays, and the handles are freed once.
        unsafe {
            let (n, h) = (nonce.as_ptr(), header.as_ptr());
            assert_eq!(encrypt(sealed.as_mut_ptr(), none, &tx, text.as_ptr(), 5, n, 12, h, 6), 0);
            assert_eq!(decrypt(opened.as_mut_ptr(), none, &rx, sealed.as_ptr(), sealed.len(), n, 12, h, 6), 0);
            let wrong = decrypt(opened.as_mut_ptr(), none, &rx, sealed.as_ptr(), sealed.len(), n, 12, h, 5);
            assert_eq!(wrong, NGTCP2_ERR_DECRYPT);
            delete_packet_key(ptr::null_mut(), &mut tx, ptr::null_mut());
            delete_packet_key(ptr::null_mut(), &mut rx, ptr::null_mut());
        }
        assert_eq!(opened, text);
    }
}
