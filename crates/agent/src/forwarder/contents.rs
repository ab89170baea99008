//! What datagrams hold, for stages that ask for it. Keys come from the logs that the endpoints write while they run.

use std::{
    fs::File,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    rc::Rc,
};

use quiclab_content::{Classifier, KeyLogLines};
use quiclab_path::{
    content::{Content, Direction, Payload},
    edits::Translation,
};
use quiclab_units::Time;

use super::frame::Frame;

/// A frame on the path, with what it holds where somebody asks for it.
#[derive(Clone, Debug)]
pub struct Carried {
    /// The frame.
    pub frame: Frame,
    /// What was read of it where it entered.
    pub content: Option<Rc<Content>>,
    /// What an address translator has to do with it.
    pub translation: Translation,
}

impl Payload for Carried {
    fn content(&self) -> Option<&Content> {
        self.content.as_deref()
    }

    fn bytes_to_corrupt(&self) -> Option<u32> {
        self.frame.bytes_to_corrupt()
    }

    fn is_control_message(&self) -> bool {
        self.frame.is_control_message()
    }

    fn translation(&self) -> Translation {
        self.translation
    }
}

/// Reads frames with the keys that are known by then.
pub struct Reader {
    classifier: Classifier,
    key_logs: Vec<KeyLog>,
}

impl Reader {
    /// Makes a reader of connections to servers on this port, whose endpoints log their keys at `key_logs`.
    pub fn new(server_port: u16, key_logs: &[PathBuf]) -> Self {
        let key_logs = key_logs.iter().map(|path| KeyLog::new(path)).collect();
        Self { classifier: Classifier::new(server_port), key_logs }
    }

    /// What a frame holds that enters the path now.
    pub fn on_frame(&mut self, time: Time, to: Direction, frame: &Frame) -> Option<Rc<Content>> {
        for key_log in &mut self.key_logs {
            if let Some(lines) = key_log.new_lines() {
                self.classifier.add_keys(&lines);
            }
        }
        self.classifier.on_frame(time, to, frame.bytes()).map(Rc::new)
    }

    /// A frame leaves the path whole.
    pub fn on_delivered(&mut self, content: &Content) {
        self.classifier.on_delivered(content);
    }
}

/// A key log that grows. An endpoint writes it, and can put anything in its place.
struct KeyLog {
    path: PathBuf,
    file: Option<File>,
    lines: KeyLogLines,
}

impl KeyLog {
    fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), file: None, lines: KeyLogLines::default() }
    }

    /// The whole lines that were added since it was asked last.
    fn new_lines(&mut self) -> Option<Vec<u8>> {
        if self.file.is_none() {
            self.file = open(&self.path);
        }
        self.lines.read(self.file.as_mut()?)
    }
}

/// Opens a file, and nothing else that may be there: a link leads the agent elsewhere, and a pipe keeps it waiting.
fn open(path: &Path) -> Option<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    file.metadata().is_ok_and(|facts| facts.is_file()).then_some(file)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn links_folders_and_pipes_are_no_key_logs() {
        let folder = tempfile::tempdir().unwrap();
        let [target, link, pipe] = ["target", "link", "pipe"].map(|name| folder.path().join(name));
        fs::write(&target, "one\n").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for path in [link, pipe, folder.path().to_owned()] {
            assert_eq!(KeyLog::new(&path).new_lines(), None, "{}", path.display());
        }
        assert!(KeyLog::new(&target).new_lines().is_some());
    }
}
