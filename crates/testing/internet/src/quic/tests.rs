use rand_chacha::rand_core::SeedableRng;
use rustls::{Side, quic::Version};

use super::*;

const CLIENT_CHOSE: [u8; 8] = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];

fn header(packet: &[u8]) -> LongHeader<'_> {
    long_header(packet).unwrap()
}

#[test]
fn the_retry_of_rfc_9001_has_its_tag() {
    // Appendix A.4 has this packet. Its connection ID and unused bits are fixed there, and random here.
    let asked = [&[0xc0, 0, 0, 0, 1, 8][..], &CLIENT_CHOSE, &[0]].concat();
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let packet = retry(&header(&asked), b"token", &mut random).unwrap();
    let answer = header(&packet);
    assert_eq!((answer.version, answer.destination, answer.source.len()), (1, &[][..], 8));
    assert_eq!(&answer.rest[..5], b"token");
    assert_eq!(answer.rest.len(), 5 + 16);
    // The key and nonce of RFC 9001 section 5.8, from the secret that it gives.
    let secret: [u8; 32] = [
        0xd9, 0xc9, 0x94, 0x3e, 0x61, 0x01, 0xfd, 0x20, 0x00, 0x21, 0x50, 0x6b, 0xcc, 0x02, 0x81, 0x4c, 0x73, 0x03,
        0x0f, 0x25, 0xc7, 0x9d, 0x71, 0xce, 0x87, 0x6e, 0xca, 0x87, 0x6e, 0x6f, 0xca, 0x8e,
    ];
    let prk = ring::hkdf::Prk::new_less_safe(ring::hkdf::HKDF_SHA256, &secret);
    struct Length(usize);
    impl ring::hkdf::KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    let expand = |label: &str, length: usize| {
        let full = format!("tls13 {label}");
        let info = [&[0, length as u8, full.len() as u8][..], full.as_bytes(), &[0]];
        let mut output = vec![0; length];
        prk.expand(&info, Length(length)).unwrap().fill(&mut output).unwrap();
        output
    };
    let key = aead::LessSafeKey::new(aead::UnboundKey::new(&aead::AES_128_GCM, &expand("quic key", 16)).unwrap());
    let nonce = aead::Nonce::try_assume_unique_for_key(&expand("quic iv", 12)).unwrap();
    let covered = [&[8][..], &CLIENT_CHOSE, &packet[..packet.len() - 16]].concat();
    let mut tag = packet[packet.len() - 16..].to_vec();
    assert!(key.open_in_place(nonce, aead::Aad::from(covered), &mut tag).is_ok());
}

#[test]
fn a_client_opens_an_initial_packet() {
    for (version, of_rustls) in [(VERSION_1, Version::V1), (VERSION_2, Version::V2)] {
        let frames = [ack_frame(3), close_frame(0x128, b"no")].concat();
        let keys = InitialKeys::new(version, &CLIENT_CHOSE).unwrap();
        for least_bytes in [0, SMALLEST_INITIAL] {
            let mut packet = keys.initial(b"client", b"server", 9, &frames, least_bytes).unwrap();
            assert!(packet.len() >= least_bytes && (least_bytes > 0 || packet.len() < 100));
            assert!(header(&packet).is_initial());
            assert_eq!((header(&packet).destination, header(&packet).source), (&b"client"[..], &b"server"[..]));
            let client = suite().unwrap().keys(&CLIENT_CHOSE, Side::Client, of_rustls);
            // First byte, version, two connection IDs, no token, length.
            let offset = 1 + 4 + 7 + 7 + 1 + 2;
            let (before, rest) = packet.split_at_mut(offset);
            let (number, sample) = rest.split_at_mut(4);
            client.remote.header.decrypt_in_place(&sample[..16], &mut before[0], number).unwrap();
            assert_eq!(number, [0, 0, 0, 9]);
            let (whole, payload) = packet.split_at_mut(offset + 4);
            let opened = client.remote.packet.decrypt_in_place(9, whole, payload).unwrap();
            assert_eq!(&opened[..frames.len()], frames);
            assert!(opened[frames.len()..].iter().all(|byte| *byte == 0));
        }
    }
    assert!(InitialKeys::new(0x1a2a_3a4a, &CLIENT_CHOSE).is_none());
}

#[test]
fn versions_are_listed_for_the_client_that_asked() {
    let asked = [&[0xc0, 0x1a, 0x2a, 0x3a, 0x4a, 8][..], &CLIENT_CHOSE, &[2, 5, 6]].concat();
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let packet = version_negotiation(&header(&asked), &[1, VERSION_2], &mut random);
    let answer = header(&packet);
    assert_eq!((answer.version, answer.destination, answer.source), (0, &[5, 6][..], &CLIENT_CHOSE[..]));
    assert_eq!(answer.rest, [0, 0, 0, 1, 0x6b, 0x33, 0x43, 0xcf]);
}

#[test]
fn no_bytes_of_a_client_are_too_strange() {
    let whole = [&[0xc0, 0, 0, 0, 1, 8][..], &CLIENT_CHOSE, &[2, 5, 6, 0, 0x44, 0x9e, 1, 2, 3]].concat();
    for bytes in 0..=whole.len() {
        if let Some(header) = long_header(&whole[..bytes]) {
            let keys = InitialKeys::new(header.version, header.destination).unwrap();
            assert_eq!(keys.packet_number(&header), None);
        }
    }
    let token_beyond_the_end = [&whole[..17], &[0xff; 8]].concat();
    let header = header(&token_beyond_the_end);
    assert_eq!(InitialKeys::new(1, &CLIENT_CHOSE).unwrap().packet_number(&header), None);
}

#[test]
fn integers_have_the_lengths_of_rfc_9000() {
    // RFC 9000 section 16 and appendix A.1.
    for (value, bytes) in [
        (37, &[0x25][..]),
        (15_293, &[0x7b, 0xbd]),
        (494_878_333, &[0x9d, 0x7f, 0x3e, 0x7d]),
        (151_288_809_941_952_652, &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c]),
    ] {
        let mut written = Vec::new();
        push_integer(&mut written, value);
        assert_eq!(written, bytes);
        assert_eq!(integer(&written), Some((value, &[][..])));
    }
    assert_eq!(integer(&[0x40]), None);
}
