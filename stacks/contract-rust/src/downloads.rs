//! The requests of one connection and what has come of them, for stacks that are asked what has happened.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::{
    download::{Download, DownloadError},
    request::Request,
    settings::Settings,
};

/// The requests of one connection. At most as many run as the settings say.
#[derive(Debug)]
pub struct Downloads {
    /// Not sent yet, last one first.
    waiting: Vec<Request>,
    /// By stream.
    running: BTreeMap<u64, Download>,
    /// Most requests at the same time, beside what the server allows.
    most: usize,
    folder: PathBuf,
    /// Bytes that are collected before they are written to a file.
    buffer: usize,
}

impl Downloads {
    /// None of `requests` is sent yet. `buffer`: see [`Download::new`].
    pub fn new<C>(requests: &[Request], settings: &Settings<C>, buffer: usize) -> Self {
        Self {
            waiting: requests.iter().rev().cloned().collect(),
            running: BTreeMap::new(),
            most: settings.streams.unwrap_or(usize::MAX),
            folder: settings.downloads.clone(),
            buffer,
        }
    }

    /// True where every file is stored.
    pub fn are_complete(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// The request to send next; `None`: there is none, or too many run.
    pub fn next(&self) -> Option<&Request> {
        self.waiting.last().filter(|_| self.running.len() < self.most)
    }

    /// [`Self::next`] was sent on this stream.
    pub fn sent(&mut self, stream: u64) {
        if let Some(request) = self.waiting.pop() {
            self.running.insert(stream, Download::new(request, self.buffer));
        }
    }

    /// What runs on this stream, and the folder to store it in.
    pub fn running(&mut self, stream: u64) -> Option<(&mut Download, &Path)> {
        self.running.get_mut(&stream).map(|download| (download, self.folder.as_path()))
    }

    /// What came on this stream is over.
    ///
    /// # Errors
    /// Those of [`Download::finish`].
    pub fn finish(&mut self, stream: u64) -> Result<(), DownloadError> {
        self.running.remove(&stream).map_or(Ok(()), Download::finish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn no_more_requests_run_than_the_settings_say() {
        let folder = testing::Folder::new("most");
        let urls = "https://server/a https://server/b https://server/c";
        let changes = [("REQUESTS", urls), ("QUICLAB_STREAMS", "2"), ("DOWNLOADS", folder.0.to_str().unwrap())];
        let settings = testing::parse(&testing::support(), &changes).unwrap();
        let mut downloads = Downloads::new(&settings.requests, &settings, 0);
        let next = |downloads: &Downloads| downloads.next().map(|request| request.path.clone());
        for (stream, path) in [(0, "/a"), (4, "/b")] {
            assert_eq!(next(&downloads).as_deref(), Some(path));
            downloads.sent(stream);
        }
        assert_eq!(next(&downloads), None);
        assert!(downloads.finish(4).is_err(), "nothing came");
        assert_eq!(next(&downloads).as_deref(), Some("/c"));
        downloads.sent(8);
        for stream in [0, 8] {
            let (download, folder) = downloads.running(stream).unwrap();
            download.create(folder).unwrap();
            assert!(!downloads.are_complete());
            downloads.finish(stream).unwrap();
        }
        assert!(downloads.are_complete());
        assert!(folder.0.join("a").exists() && folder.0.join("c").exists());
    }

    #[test]
    fn without_a_setting_all_run() {
        let settings = testing::parse(&testing::support(), &[]).unwrap();
        let requests = vec![testing::request("/a"); 300];
        let mut downloads = Downloads::new(&requests, &settings, 0);
        for stream in 0..300 {
            assert!(downloads.next().is_some());
            downloads.sent(stream);
        }
        assert!(downloads.next().is_none() && !downloads.are_complete());
    }
}
