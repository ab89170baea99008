//! HTTP/0.9 over QUIC: a line, the end of the stream; back come the file and the end of the stream.

use crate::request::Request;

/// Name in ALPN.
pub const ALPN: &[u8] = b"hq-interop";

/// What the client sends.
pub fn line(request: &Request) -> Vec<u8> {
    format!("GET {}\r\n", request.path).into_bytes()
}

/// The path in what a client has sent; `None`: that is no request.
pub fn path(line: &[u8]) -> Option<&[u8]> {
    line.trim_ascii_end().strip_prefix(b"GET ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_reads_what_a_client_writes() {
        let path_and_name = ("/a/b".to_owned(), "b".to_owned());
        let request =
            Request { host: "server".to_owned(), port: 443, path: path_and_name.0, file_name: path_and_name.1 };
        assert_eq!(line(&request), b"GET /a/b\r\n");
        assert_eq!(path(&line(&request)), Some(&b"/a/b"[..]));
        assert_eq!(path(b"GET /a"), Some(&b"/a"[..]));
    }

    #[test]
    fn other_lines_are_no_requests() {
        for text in ["", "GET", "GET ", "get /a\r\n", "POST /a\r\n", "/a\r\n"] {
            assert_eq!(path(text.as_bytes()), None, "{text:?}");
        }
    }
}
