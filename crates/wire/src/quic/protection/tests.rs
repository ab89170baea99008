//! The test vectors of RFC 9001 appendix A and RFC 9369 appendix A, and header protection against its pseudocode.

use proptest::prelude::*;

use super::*;
use crate::quic::header::VERSION_1;

fn bytes(hexadecimal: &str) -> Vec<u8> {
    (0..hexadecimal.len()).step_by(2).map(|at| u8::from_str_radix(&hexadecimal[at..at + 2], 16).unwrap()).collect()
}

const CONNECTION_ID: [u8; 8] = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];

fn assert_derived(secret: &Secret, expected: &str, key: &str, iv: &str, header_protection: &str) {
    assert_eq!(secret.bytes, bytes(expected));
    let derivation = secret.derivation();
    let [mut output, mut shorter] = [[0; 16]; 2];
    assert_eq!(derivation.expand("quic key", "quicv2 key", &mut output).unwrap(), bytes(key));
    assert_eq!(derivation.expand("quic iv", "quicv2 iv", &mut shorter[..12]).unwrap(), bytes(iv));
    assert_eq!(derivation.expand("quic hp", "quicv2 hp", &mut output).unwrap(), bytes(header_protection));
}

#[test]
fn initial_keys_are_those_of_rfc_9001_appendix_a_1() {
    // RFC 9001 section 5.2.
    let [client, server] = Role::BOTH.map(|sender| initial_secret(VERSION_1, &CONNECTION_ID, sender).unwrap());
    assert_derived(
        &client,
        "c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea",
        "1f369613dd76d5467730efcbe3b1a22d",
        "fa044b2f42a3fd3b46fb255c",
        "9f50449e04a0e810283a1e9933adedd2",
    );
    assert_derived(
        &server,
        "3c199828fd139efd216c155ad844cc81fb82fa8d7446fa7d78be803acdda951b",
        "cf3a5331653c364c88f0f379b6067e37",
        "0ac1493ca1905853b0bba03e",
        "c206b8d9b9f0f37644430b490eeaa314",
    );
}

#[test]
fn initial_keys_of_version_2_are_those_of_rfc_9369_appendix_a_1() {
    // RFC 9369 sections 3.3.1 and 3.3.2.
    let client = initial_secret(VERSION_2, &CONNECTION_ID, Role::Client).unwrap();
    assert_derived(
        &client,
        "14ec9d6eb9fd7af83bf5a668bc17a7e283766aade7ecd0891f70f9ff7f4bf47b",
        "8b1a0bc121284290a29e0971b5cd045d",
        "91f73e2351d8fa91660e909f",
        "45b95e15235d6f45a6b19cbcb0294ba9",
    );
}

/// Removes all protection: packet number, then payload.
fn opened(secret: &Secret, packet: &str, packet_number_offset: usize, high: u64) -> (u64, Vec<u8>) {
    let mut packet = bytes(packet);
    let unmasked = secret.keys().unwrap().0.unmask(&packet, packet_number_offset).unwrap();
    let number = high | unmasked.truncated_packet_number;
    let payload = secret.packet_key().unwrap().open(&mut packet, packet_number_offset, &unmasked, number).unwrap();
    (number, packet[payload].to_vec())
}

#[test]
fn the_server_initial_of_rfc_9001_appendix_a_3_opens() {
    let server = initial_secret(VERSION_1, &CONNECTION_ID, Role::Server).unwrap();
    let packet = "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a5816b6394100f37a1c69797554780bb38cc5a99f5e\
                  de4cf73c3ec2493a1839b3dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562bfb19fb84022f8ef4cdd93795d77d\
                  06edbb7aaf2f58891850abbdca3d20398c276456cbc42158407dd074ee";
    let (number, payload) = opened(&server, packet, 18, 0);
    assert_eq!(number, 1);
    let expected = "02000000000600405a020000560303eefce7f7b37ba1d1632e96677825ddf73988cfc79825df566dc5430b9a045a120013010000\
                    2e00330024001d00209d3c940d89690b84d08a60993c144eca684d1081287c834d5311bcf32bb9da1a002b00020304";
    assert_eq!(payload, bytes(expected));
}

const CHACHA20_SECRET: &str = "9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b";

#[test]
fn the_chacha20_packets_of_both_versions_open() {
    // RFC 9001 appendix A.5; RFC 9369 appendix A.5: a PING.
    for (version, packet) in [
        (VERSION_1, "4cfe4189655e5cd55c41f69080575d7999c25a5bfb"),
        (VERSION_2, "5558b1c60ae7b6b932bc27d786f4bc2bb20f2162ba"),
    ] {
        let secret = Secret::new(CipherSuite::ChaCha20Poly1305, version, &bytes(CHACHA20_SECRET)).unwrap();
        assert_eq!(opened(&secret, packet, 1, 654_360_564 & !0xff_ffff), (654_360_564, vec![1]));
    }
}

#[test]
fn the_secret_behind_a_key_update_is_that_of_rfc_9001_appendix_a_5() {
    // RFC 9001 section 6.1.
    let secret = Secret::new(CipherSuite::ChaCha20Poly1305, VERSION_1, &bytes(CHACHA20_SECRET)).unwrap();
    assert_eq!(secret.next().unwrap().bytes, bytes("1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9"));
}

#[test]
fn the_retry_packets_of_both_versions_are_genuine() {
    // RFC 9001 section 5.8; RFC 9369 section 3.3.3.
    // RFC 9001 appendix A.4; RFC 9369 appendix A.4.
    for (version, packet) in [
        (VERSION_1, "ff000000010008f067a5502a4262b5746f6b656e04a265ba2eff4d829058fb3f0f2496ba"),
        (VERSION_2, "cf6b3343cf0008f067a5502a4262b5746f6b656ec8646ce8bfe33952d955543665dcc7b6"),
    ] {
        let mut packet = bytes(packet);
        assert!(retry_is_genuine(&packet, version, &CONNECTION_ID));
        assert!(!retry_is_genuine(&packet, version, &CONNECTION_ID[1..]));
        packet[20] ^= 1;
        assert!(!retry_is_genuine(&packet, version, &CONNECTION_ID));
    }
}

#[test]
fn a_changed_packet_does_not_open() {
    // RFC 9001 section 5.3: the header is authenticated as well.
    let secret = Secret::new(CipherSuite::ChaCha20Poly1305, VERSION_1, &bytes(CHACHA20_SECRET)).unwrap();
    let original = bytes("4cfe4189655e5cd55c41f69080575d7999c25a5bfb");
    for position in 0..original.len() {
        let mut packet = original.clone();
        packet[position] ^= 0x20;
        let unmasked = secret.keys().unwrap().0.unmask(&packet, 1).unwrap();
        let number = (654_360_564 & !0xff_ffff) | unmasked.truncated_packet_number;
        assert_eq!(secret.packet_key().unwrap().open(&mut packet, 1, &unmasked, number), None, "byte {position}");
    }
}

/// RFC 9001 section 5.4.1, figure 6, word by word: applies header protection to `packet`.
fn apply_header_protection(packet: &mut [u8], pn_offset: usize, mask: [u8; 5]) {
    let pn_length = usize::from(packet[0] & 0x03) + 1;
    if (packet[0] & 0x80) == 0x80 {
        packet[0] ^= mask[0] & 0x0f;
    } else {
        packet[0] ^= mask[0] & 0x1f;
    }
    for (byte, mask) in packet[pn_offset..pn_offset + pn_length].iter_mut().zip(&mask[1..1 + pn_length]) {
        *byte ^= mask;
    }
}

proptest! {
    #[test]
    fn header_protection_is_removed_as_it_was_applied(
        suite in prop::sample::select(vec![CipherSuite::Aes128Gcm, CipherSuite::Aes256Gcm, CipherSuite::ChaCha20Poly1305]),
        secret in prop::collection::vec(any::<u8>(), 48),
        packet in prop::collection::vec(any::<u8>(), 60),
        packet_number_offset in 1_usize..30,
    ) {
        // RFC 9001 section 5.4.1.
        let secret = Secret::new(suite, VERSION_1, &secret[..suite.secret_bytes()]).unwrap();
        let key = secret.keys().unwrap().0;
        let sample = &packet[packet_number_offset + 4..packet_number_offset + 20];
        let mask = key.key.new_mask(sample).unwrap();
        let mut protected = packet.clone();
        apply_header_protection(&mut protected, packet_number_offset, mask);
        let unmasked = key.unmask(&protected, packet_number_offset).unwrap();
        prop_assert_eq!(unmasked.first_byte, packet[0]);
        let length = usize::from(packet[0] & 0x03) + 1;
        prop_assert_eq!(unmasked.packet_number_bytes, length);
        let number = packet[packet_number_offset..packet_number_offset + length].iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        prop_assert_eq!(unmasked.truncated_packet_number, number);
    }
}
