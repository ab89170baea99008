//! Which answers are right, and what is stored of them.

use super::*;
use crate::testing::{Folder, request};

fn headers(
    download: &mut Download,
    folder: &Folder,
    list: &'static [(&'static str, &'static str)],
) -> Result<(), DownloadError> {
    let value = |name: &str| list.iter().find(|header| header.0 == name).map(|header| header.1.as_bytes());
    download.on_headers(value, &folder.0)
}

#[test]
fn a_body_of_the_announced_length_is_stored() {
    let folder = Folder::new("right");
    for buffer in [0, 3, 1024] {
        let mut download = Download::new(request("/a/file"), buffer);
        headers(&mut download, &folder, &[(":status", "103")]).unwrap();
        assert!(download.file.is_none());
        headers(&mut download, &folder, &[(":status", "200"), ("content-length", "5")]).unwrap();
        download.store(b"123").unwrap();
        download.store(b"45").unwrap();
        headers(&mut download, &folder, &[("trailer", "x")]).unwrap();
        download.finish().unwrap();
        assert_eq!(std::fs::read(folder.0.join("file")).unwrap(), b"12345", "{buffer}");
    }
}

#[test]
fn without_headers_any_length_is_right() {
    let folder = Folder::new("hq");
    let mut download = Download::new(request("/file"), 0);
    download.create(&folder.0).unwrap();
    download.store(b"123").unwrap();
    download.create(&folder.0).unwrap();
    download.finish().unwrap();
    assert_eq!(std::fs::read(folder.0.join("file")).unwrap(), b"123");
}

#[test]
fn any_other_answer_is_wrong() {
    let folder = Folder::new("wrong");
    let new = || Download::new(request("/file"), 16);
    let found = headers(&mut new(), &folder, &[(":status", "404")]).unwrap_err();
    assert_eq!(found.to_string(), "/file: found status 404, expected 200");
    let found = headers(&mut new(), &folder, &[(":status", "200"), ("content-length", "x")]).unwrap_err();
    assert_eq!(found.to_string(), "/file: content-length \"x\"");
    for (body, is_right) in [(&b"1"[..], false), (b"12", true), (b"123", false)] {
        let mut download = new();
        headers(&mut download, &folder, &[(":status", "200"), ("content-length", "2")]).unwrap();
        download.store(body).unwrap();
        assert_eq!(download.finish().is_ok(), is_right, "{body:?}");
    }
    assert!(matches!(new().store(b"1"), Err(DownloadError::Early { .. })));
    assert!(matches!(new().finish(), Err(DownloadError::Nothing { .. })));
    assert!(matches!(new().create(&folder.0.join("none")), Err(DownloadError::Storing { .. })));
}
