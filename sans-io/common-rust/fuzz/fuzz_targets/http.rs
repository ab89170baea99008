//! Both sides of HTTP/0.9 and HTTP/3, with streams that come in pieces: a server that is asked for anything, and a client that is answered anything.
//! Neither reads or writes a file outside of its folder.

#![no_main]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use quiclab_sans_io::{
    contract::{Extras, Gso, Http, IpVersion, Pacing, Settings, Support, TestCase, no_rules},
    http::{Fetches, RequestReader},
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
/// What the server has beside its folder, and must not send.
const SECRET: &[u8] = b"this is nobody's business";

fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new("/dev/shm").join(format!("quiclab-fuzz-http-{}", std::process::id()));
        for name in ["www", "downloads"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        fs::write(folder.join("www/file"), "what is served").unwrap();
        fs::write(folder.join("secret"), SECRET).unwrap();
        folder
    })
}

/// The input in two pieces, cut where its first byte says.
fn pieces(input: &[u8]) -> [&[u8]; 2] {
    let Some((cut, rest)) = input.split_first() else { return [input, input] };
    let (first, second) = rest.split_at(usize::from(*cut).min(rest.len()));
    [first, second]
}

fn serve(http: Http, input: &[u8]) {
    let mut reader = RequestReader::new(http);
    for piece in pieces(input) {
        if reader.receive(piece).is_err() {
            return;
        }
    }
    let Ok(mut response) = reader.answer(&folder().join("www")) else { return };
    let mut sent = Vec::new();
    while let Ok(Some(chunk)) = response.next_chunk() {
        assert!(!chunk.is_empty());
        sent.extend(chunk);
    }
    assert!(!sent.windows(SECRET.len()).any(|window| window == SECRET));
}

fn fetch(http: &str, input: &[u8]) {
    let downloads = folder().join("downloads").display().to_string();
    let variables = [
        ("ROLE", "client"),
        ("TESTCASE", "transfer"),
        ("QUICLAB_HTTP", http),
        ("DOWNLOADS", downloads.as_str()),
        ("REQUESTS", "https://server/file"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let settings = Settings::parse(&SUPPORT, variables).unwrap();
    let mut fetches = Fetches::new(&settings);
    fetches.sent(0).unwrap();
    for piece in pieces(input) {
        if fetches.receive(0, piece).is_err() {
            return;
        }
    }
    let _ = fetches.finish(0);
    assert!(fs::read_dir(folder()).unwrap().count() == 3, "nothing is written elsewhere");
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((kind, input)) = input.split_first() else { return };
    match kind % 4 {
        0 => serve(Http::H3, input),
        1 => serve(Http::Hq, input),
        2 => fetch("h3", input),
        _ => fetch("hq", input),
    }
});
