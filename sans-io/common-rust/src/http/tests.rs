//! Both sides against each other.

use std::{fs, path::PathBuf};

use super::*;
use crate::{
    contract::{Extras, Gso, IpVersion, Pacing, Settings, Support, TestCase, no_rules, testing},
    http::Fetches,
};

const SUPPORT: Support<()> = Support {
    server: &[TestCase::Transfer],
    client: &[TestCase::Transfer],
    http: &[Http::H3, Http::Hq],
    congestion_control: &[("cubic", ())],
    gso: &[Gso::Off],
    pacing: &[Pacing::User],
    ip: &[IpVersion::V4],
    certificate_delay: false,
    extras: Extras::NONE,
    rules: no_rules,
};

/// A folder with a file to serve, `www/file`, and one for what is fetched; until it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, content: &[u8]) -> Self {
        let folder = std::env::temp_dir().join(format!("quiclab-sans-io-{}-{name}", std::process::id()));
        fs::create_dir_all(folder.join("www")).unwrap();
        fs::write(folder.join("www/file"), content).unwrap();
        Self(folder)
    }

    fn settings(&self, http: &str) -> Settings<()> {
        let changes = [
            ("QUICLAB_HTTP", http),
            ("DOWNLOADS", self.0.to_str().unwrap()),
            ("REQUESTS", "https://server/file https://server/other"),
            ("QUICLAB_STREAMS", "1"),
        ];
        testing::parse(&SUPPORT, &changes).unwrap()
    }

    fn www(&self) -> PathBuf {
        self.0.join("www")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What the server says to `request`, which comes in two pieces.
fn answer(http: Http, request: &[u8], cut: usize, www: &Path) -> Result<Vec<u8>, HttpError> {
    let mut reader = RequestReader::new(http);
    reader.receive(&request[..cut])?;
    reader.receive(&request[cut..])?;
    let mut response = reader.answer(www)?;
    let mut bytes = Vec::new();
    while let Some(chunk) = response.next_chunk().unwrap() {
        assert!(!chunk.is_empty());
        bytes.extend(chunk);
    }
    Ok(bytes)
}

/// Hands the client an answer in two pieces.
fn fetch(settings: &Settings<()>, response: &[u8], cut: usize) -> Result<(), HttpError> {
    let mut fetches = Fetches::new(settings);
    fetches.sent(0)?;
    assert!(fetches.next().is_none(), "one stream at a time");
    fetches.receive(0, &response[..cut])?;
    fetches.receive(0, &response[cut..])?;
    fetches.finish(0)?;
    assert!(!fetches.are_complete() && fetches.next().is_some());
    Ok(())
}

#[test]
fn a_file_arrives_wherever_request_and_answer_are_cut() {
    for (name, http) in [("hq", Http::Hq), ("h3", Http::H3)] {
        for content in [&b""[..], b"x", &[5; 300]] {
            let folder = Folder::new(&format!("cut-{name}-{}", content.len()), content);
            let settings = folder.settings(name);
            let request = Fetches::new(&settings).next().unwrap();
            let response = answer(http, &request, 0, &folder.www()).unwrap();
            for cut in 0..=request.len() {
                assert_eq!(answer(http, &request, cut, &folder.www()).unwrap(), response, "{name} {cut}");
            }
            for cut in 0..=response.len() {
                fetch(&settings, &response, cut).unwrap();
                assert_eq!(fs::read(folder.0.join("file")).unwrap(), content, "{name} {cut}");
            }
        }
    }
}

#[test]
fn an_answer_that_ends_early_is_an_error_with_http_3() {
    let folder = Folder::new("early", &[5; 300]);
    let settings = folder.settings("h3");
    let request = Fetches::new(&settings).next().unwrap();
    let response = answer(Http::H3, &request, 0, &folder.www()).unwrap();
    for end in 0..response.len() {
        assert!(fetch(&settings, &response[..end], 0).is_err(), "{end}");
    }
}

#[test]
fn a_file_that_is_not_there_is_an_error_at_both_ends() {
    let folder = Folder::new("missing", b"x");
    fs::remove_file(folder.www().join("file")).unwrap();
    let settings = folder.settings("h3");
    let request = Fetches::new(&settings).next().unwrap();
    let response = answer(Http::H3, &request, 0, &folder.www()).unwrap();
    let error = fetch(&settings, &response, 0).unwrap_err();
    assert_eq!(error.to_string(), "/file: found status 404, expected 200");
    let error = answer(Http::Hq, b"GET /file\r\n", 0, &folder.www()).unwrap_err();
    assert!(matches!(error, HttpError::File { .. }));
}

#[test]
fn other_requests_have_no_file_in_answer() {
    let folder = Folder::new("other", b"x");
    for line in [&b""[..], b"POST /file\r\n", b"GET /../www/file"] {
        assert!(answer(Http::Hq, line, 0, &folder.www()).is_err(), "{line:?}");
    }
    assert!(matches!(answer(Http::Hq, &[b'x'; 5000], 0, &folder.www()), Err(HttpError::Long { .. })));
    // POST: entry 20 of the static table.
    let post = frames::headers(b"\x00\x00\xd4\xd7\x51\x05/file");
    assert_eq!(answer(Http::H3, &post, 0, &folder.www()).unwrap(), frames::headers(&qpack::response(405, 0)));
    for fields in [&b""[..], b"\x00\x00", b"\x00\x00\xd1", b"\x00\x00\x51\x05/file"] {
        assert!(answer(Http::H3, &frames::headers(fields), 0, &folder.www()).is_err(), "{fields:?}");
    }
    assert!(matches!(answer(Http::H3, b"", 0, &folder.www()), Err(HttpError::Request)));
}

#[test]
fn foreign_bytes_are_no_panics() {
    let folder = Folder::new("foreign", b"x");
    let settings = folder.settings("h3");
    let mut fetches = Fetches::new(&settings);
    assert!(matches!(fetches.receive(3, b"x"), Err(HttpError::Stream(3))));
    fetches.sent(0).unwrap();
    assert!(fetches.receive(0, b"\x00\x01x").is_err(), "DATA before HEADERS");
    for first in 0..=255u8 {
        for second in 0..=255u8 {
            let bytes = [first, second, 0, 0, 0xd9, 0xff, first, second, 0xff];
            let _ = fetch_any(&settings, &bytes);
            let _ = answer(Http::H3, &bytes, 3, &folder.www());
        }
    }
}

fn fetch_any(settings: &Settings<()>, bytes: &[u8]) -> Result<(), HttpError> {
    let mut fetches = Fetches::new(settings);
    fetches.sent(0)?;
    fetches.receive(0, bytes)?;
    fetches.finish(0)
}
