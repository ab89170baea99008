use super::*;

/// A ServerHello with cipher suite 0x1303.
fn server_hello_message() -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0x13, 0x03, 0, 0, 0]);
    [&[SERVER_HELLO, 0, 0, body.len() as u8], body.as_slice()].concat()
}

#[test]
fn a_hello_in_pieces_that_arrive_backwards_is_read_once() {
    let message = server_hello_message();
    let mut stream = CryptoStream::default();
    for begin in (1..message.len()).rev() {
        assert_eq!(stream.on_data(begin as u64, &message[begin..begin + 1]), []);
    }
    let choice = ServerChoice { cipher_suite: 0x1303, pre_shared_key: false };
    let expected = [Hello::Server { suite: Some(CipherSuite::ChaCha20Poly1305), choice }];
    assert_eq!(stream.on_data(0, &message[..1]), expected);
    assert_eq!(stream.on_data(0, &message), []);
}

#[test]
fn offsets_beyond_the_buffer_are_ignored() {
    let mut stream = CryptoStream::default();
    assert_eq!(stream.on_data(u64::MAX, &[1]), []);
    assert_eq!(stream.on_data(MAXIMUM_BUFFERED_BYTES as u64 - 1, &[1; 500]), []);
    assert_eq!(stream.pieces.values().map(Vec::len).sum::<usize>(), 1);
}

#[test]
fn memory_grows_with_what_was_captured_and_not_with_offsets() {
    let mut stream = CryptoStream::default();
    stream.on_data(60_000, &[1; 10]);
    assert!(stream.bytes.capacity() + stream.pieces[&60_000].capacity() < 100);
}

#[test]
fn a_hello_is_read_behind_more_pieces_than_are_kept() {
    let mut stream = CryptoStream::default();
    for offset in 0..2 * MAXIMUM_PIECES {
        assert_eq!(stream.on_data(1_000 + 2 * offset as u64, &[1]), []);
    }
    assert_eq!(stream.pieces.len(), MAXIMUM_PIECES);
    assert_eq!(stream.on_data(0, &server_hello_message()).len(), 1);
}

/// Any message.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind, 0, 0, body.len() as u8], body].concat()
}

#[test]
fn a_server_hello_says_whether_a_session_is_resumed() {
    for (extensions, expected) in [
        (vec![], false),
        (vec![0, 6, 0, 41, 0, 2, 0, 0], true),
        (vec![0, 6, 0, 43, 0, 2, 3, 4], false),
        // Cut in the middle of the extension behind.
        (vec![0, 9, 0, 41, 0, 2, 0, 0, 0, 43, 0], true),
    ] {
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0x13, 0x01, 0]);
        body.extend(&extensions);
        let found = CryptoStream::default().on_data(0, &message(SERVER_HELLO, &body));
        let choice = ServerChoice { cipher_suite: 0x1301, pre_shared_key: expected };
        assert_eq!(found, [Hello::Server { suite: Some(CipherSuite::Aes128Gcm), choice }], "{extensions:?}");
    }
}

#[test]
fn a_client_hello_says_what_it_offers() {
    let mut body = vec![3, 3];
    body.extend([9; 32]);
    body.extend([0, 0, 4, 0x1a, 0x1a, 0x13, 0x03, 1, 0]);
    body.extend([0, 18, 0, 10, 0, 6, 0, 4, 0x11, 0xec, 0, 0x1d, 0, 42, 0, 0, 0, 41, 0, 0]);
    let found = CryptoStream::default().on_data(0, &message(CLIENT_HELLO, &body));
    let offer = ClientOffer {
        cipher_suites: vec![0x1a1a, 0x1303],
        groups: vec![0x11ec, 0x1d],
        pre_shared_key: true,
        early_data: true,
    };
    assert_eq!(found, [Hello::Client { random: [9; 32], server_name: None, parameters: None, offer }]);
}

#[test]
fn a_certificate_is_announced_by_its_header_and_ends_what_is_kept() {
    let extensions = message(ENCRYPTED_EXTENSIONS, &[0, 4, 0, 42, 0, 0]);
    let request = message(13, &[0, 0, 0]);
    let stream = &mut CryptoStream::default();
    let data = [extensions.as_slice(), &request, &[CERTIFICATE, 0x00, 0x23, 0x28]].concat();
    let found = stream.on_data(0, &data);
    let first = Hello::EncryptedExtensions {
        parameters: None,
        parameter_numbers: vec![],
        preferred_address: None,
        accepts_early_data: true,
        application_protocol: None,
    };
    assert_eq!(found, [first, Hello::Certificate { length: 0x2328 }]);
    assert_eq!(stream.on_data(data.len() as u64, &[1; 500]), []);
    assert!(stream.bytes.is_empty());
}

#[test]
fn a_resumed_session_has_no_certificate() {
    let extensions = message(ENCRYPTED_EXTENSIONS, &[0, 0]);
    let data = [extensions.as_slice(), &[FINISHED, 0, 0, 32]].concat();
    let mut stream = CryptoStream::default();
    assert_eq!(stream.on_data(0, &data).len(), 1);
    assert!(stream.finished);
}

#[test]
fn transport_parameters_are_found_among_others() {
    let data = [0x01, 0x02, 0x40, 0x50, 0x0a, 0x01, 0x05, 0x1b, 0x00, 0x08, 0x02, 0x40, 0x64];
    assert_eq!(transport_parameters(&data).ack_delay_exponent, 5);
    assert_eq!(transport_parameters(&data).initial_max_streams_bidi, Some(100));
    assert_eq!(transport_parameters(&data).loss_bits, None);
    assert!(!transport_parameters(&data).disables_active_migration);
    assert!(transport_parameters(&[0x0c, 0x00, 0x0b, 0x01, 20]).disables_active_migration);
    assert_eq!(transport_parameters(&data).max_ack_delay_ms, 25);
    assert_eq!(transport_parameters(&[0x0b, 0x01, 20]).max_ack_delay_ms, 20);
    assert_eq!(transport_parameters(&[0x0b, 0x04, 0x80, 0, 0x40, 0]).max_ack_delay_ms, 25);
    assert_eq!(transport_parameters(&[0x50, 0x57, 0x01, 0x01]).loss_bits, Some(1));
    assert_eq!(transport_parameters(&[0x0a, 0x01, 21]).ack_delay_exponent, DEFAULT_ACK_DELAY_EXPONENT);
}

/// A `preferred_address` with an ID of these bytes, whose length is told as `length`.
fn preferred_address(length: u8, id: &[u8]) -> Vec<u8> {
    let addresses = [&[203, 0, 113, 1, 0x11, 0x51][..], &[0x20; 16], &[0x11, 0x51]].concat();
    let value = [&addresses[..], &[length], id, &[7; 16]].concat();
    [&[0x0d, value.len() as u8], value.as_slice()].concat()
}

#[test]
fn a_preferred_address_has_a_connection_id_and_a_reset_token() {
    for id in [&[9_u8][..], b"8 bytes.", &[9; 20]] {
        let data = [&[0x0a, 0x01, 0x05][..], &preferred_address(id.len() as u8, id), &[0x0b, 0x01, 20]].concat();
        let connection_id = ConnectionId::new(id).unwrap();
        let expected = PreferredAddress { connection_id, stateless_reset_token: [7; 16] };
        assert_eq!(find_preferred_address(&data), Some(expected));
        assert_eq!(transport_parameters(&data).max_ack_delay_ms, 20);
    }
}

#[test]
fn a_preferred_address_without_an_id_or_of_another_length_is_ignored() {
    let whole = preferred_address(8, b"8 bytes.");
    let longer = [&[0x0d, whole[1] + 1][..], &whole[2..], &[0]].concat();
    let shorter = [&[0x0d, whole[1] - 1][..], &whole[2..whole.len() - 1]].concat();
    for data in [preferred_address(0, b""), preferred_address(21, &[9; 21]), longer, shorter, vec![0x0d, 0]] {
        assert_eq!(find_preferred_address(&data), None, "{data:02x?}");
    }
    assert!(find_preferred_address(&whole).is_some());
}

#[test]
fn encrypted_extensions_say_the_application_protocol() {
    for (data, expected) in [
        (&[0, 16, 0, 7, 0, 5, 4, b'p', b'e', b'r', b'f'][..], Some("perf")),
        // Cut, no text, and nothing that a terminal should be sent.
        (&[0, 16, 0, 4, 0, 5, 4, b'p'], None),
        (&[0, 16, 0, 5, 0, 3, 2, 0xff, 0xfe], None),
        (&[0, 16, 0, 4, 0, 2, 1, 27], None),
        (&[], None),
    ] {
        let body = [&[0, data.len() as u8], data].concat();
        let found = CryptoStream::default().on_data(0, &message(ENCRYPTED_EXTENSIONS, &body));
        let [Hello::EncryptedExtensions { application_protocol, .. }] = &found[..] else { panic!("{found:?}") };
        assert_eq!(application_protocol.as_deref(), expected, "{data:?}");
    }
}
