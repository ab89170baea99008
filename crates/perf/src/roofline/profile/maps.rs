//! Files whose code a process runs.

use std::{
    fs::{self, File},
    os::unix::fs::MetadataExt,
    path::Path,
    time::{Duration, Instant},
};

use quiclab_inputs::open_regular;

use super::names::Code;

/// The second look at a process comes so long after the first one, each further one after twice the time: most of what a process maps, it
/// maps when it starts.
const FIRST_INTERVAL: Duration = Duration::from_millis(40);

/// Executable memory of a process.
pub struct Process {
    number: u32,
    maps: Vec<Map>,
    next: Instant,
    interval: Duration,
}

struct Map {
    start: u64,
    end: u64,
    /// Offset of `start` in the file.
    offset: u64,
    code: usize,
}

impl Process {
    pub fn new(number: u32) -> Self {
        Self { number, maps: Vec::new(), next: Instant::now(), interval: FIRST_INTERVAL }
    }

    /// Looks what it has mapped, if it is time to. Files are opened, because their process may end, and read later.
    pub fn look(&mut self, code: &mut Vec<Code>) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        (self.next, self.interval) = (now + self.interval, 2 * self.interval);
        let Ok(text) = fs::read_to_string(format!("/proc/{}/maps", self.number)) else { return };
        let maps: Vec<_> = text.lines().filter_map(parse).collect();
        // A process that is ending has none.
        if maps.is_empty() {
            return;
        }
        let number = self.number;
        self.maps = maps
            .into_iter()
            .filter_map(|line| {
                let Line { start, end, offset, .. } = line;
                let known = code.iter().position(|code| code.identity == line.identity);
                let code = known.or_else(|| {
                    let file = line.open(number)?;
                    code.push(Code::new(line.identity, line.path, file));
                    Some(code.len() - 1)
                })?;
                Some(Map { start, end, offset, code })
            })
            .collect();
    }

    /// The file at an address, as its place in the list of all, and the offset there.
    pub fn place(&self, address: u64) -> Option<(usize, u64)> {
        let map = self.maps.iter().find(|map| (map.start..map.end).contains(&address))?;
        Some((map.code, address - map.start + map.offset))
    }
}

#[derive(Debug, PartialEq)]
struct Line {
    start: u64,
    end: u64,
    offset: u64,
    /// Device and inode.
    identity: (String, u64),
    path: String,
}

impl Line {
    /// The file of a process. Its name is one of this process's view, or of the other's, or of neither.
    fn open(&self, process: u32) -> Option<File> {
        let names = [
            format!("/proc/{process}/map_files/{:x}-{:x}", self.start, self.end),
            self.path.clone(),
            format!("/proc/{process}/root{}", self.path),
        ];
        names.iter().filter_map(|name| open_regular(Path::new(name)).ok()).find(|file| {
            let found = file.metadata();
            found.is_ok_and(|found| found.ino() == self.identity.1)
        })
    }
}

/// A line of /proc/PID/maps (proc_pid_maps(5)); `None`: it is not the code of a file.
fn parse(line: &str) -> Option<Line> {
    // The path is the rest, after blanks: it can hold some itself.
    let mut rest = line;
    let mut field = || {
        let (first, after) = rest.trim_start().split_once(' ')?;
        rest = after;
        Some(first)
    };
    let (range, access, offset, device, inode) = (field()?, field()?, field()?, field()?, field()?);
    let path = rest.trim_start();
    let (start, end) = range.split_once('-')?;
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    (access.contains('x') && path.starts_with('/')).then_some(())?;
    Some(Line {
        start: hexadecimal(start)?,
        end: hexadecimal(end)?,
        offset: hexadecimal(offset)?,
        identity: (device.to_owned(), inode.parse().ok()?),
        path: path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_code_of_files_counts() {
        let line = "7f10a000-7f10f000 r-xp 00002000 08:01 4711                      /usr/lib/a library.so";
        let found = parse(line).unwrap();
        assert_eq!((found.start, found.end, found.offset), (0x7f10_a000, 0x7f10_f000, 0x2000));
        assert_eq!((found.identity, found.path.as_str()), (("08:01".to_owned(), 4711), "/usr/lib/a library.so"));
        for other in [
            "7f10a000-7f10f000 rw-p 00002000 08:01 4711                      /usr/lib/library.so",
            "7f10a000-7f10f000 r-xp 00000000 00:00 0                         [vdso]",
            "7f10a000-7f10f000 rwxp 00000000 00:00 0 ",
            "nonsense",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
