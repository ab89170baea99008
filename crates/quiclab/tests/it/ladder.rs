//! `quiclab analyze --ladder`

use std::fs;

use crate::common::{output_of, quiclab};
use quiclab_testing::files::capture;

fn captures(name: &str) -> String {
    capture(name).display().to_string()
}

/// The page of a capture's handshakes.
fn ladder(name: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("ladder.html");
    let result = output_of(quiclab().arg("analyze").arg(captures(name)).arg("--ladder").arg(&page));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    fs::read_to_string(page).unwrap()
}

/// Where each of these is in the text, which must be in this order.
fn in_order(page: &str, parts: &[&str]) {
    let mut rest = page;
    for part in parts {
        let Some(place) = rest.find(part) else { panic!("no {part:?} after the parts before it in {page}") };
        rest = &rest[place + part.len()..];
    }
}

#[test]
fn a_handshake_with_retry_has_its_steps_in_order() {
    let page = ladder("retry");
    in_order(
        &page,
        &[
            ">ClientHello (1200 bytes)",
            ">Retry (148 bytes)",
            "ClientHello (1200 bytes)",
            ">ServerHello, EncryptedExtensions to Finished (1200 bytes)",
            ">Handshake 1700815244: CRYPTO 0+958",
            ">Finished of the client, request (1200 bytes)",
            ">HANDSHAKE_DONE, session ticket, first byte of the answer (1200 bytes)",
            "Captured in one place",
        ],
    );
    assert!(!page.contains(">lost<"));
}

#[test]
fn every_stack_s_handshake_is_drawn_to_its_first_byte() {
    for name in ["quiche", "ngtcp2", "quic-go", "lsquic", "version-2", "ipv6"] {
        let page = ladder(name);
        in_order(&page, &["ClientHello", "ServerHello"]);
        in_order(&page, &["Finished of the client"]);
        for part in ["HANDSHAKE_DONE", "first byte of the answer"] {
            assert!(page.contains(part), "{name}: no {part}");
        }
    }
}

#[test]
fn a_ladder_is_of_one_file() {
    let result = output_of(quiclab().args(["analyze", "-", "--ladder", "x.html"]));
    assert!(result.errors.contains("--ladder: found standard input, expected the name of a file"), "{}", result.errors);
    let result = output_of(quiclab().args(["analyze", &captures("retry"), &captures("ipv6"), "--ladder", "x.html"]));
    assert!(result.errors.contains("--ladder: found 2 captures, expected one"), "{}", result.errors);
}
