//! What a foreign program may take of the machine's memory where no cgroup bounds it.

use std::{fs, io};

/// A process can write to one part of so many of the machine's memory: others need some, too.
const MEMORY_SHARE: u64 = 2;

/// When memory runs out, the kernel ends the calling process, and what it starts, before others. A program in a user namespace of its own can take
/// that back only where this process lacks `CAP_SYS_RESOURCE`, as without root. Makes system calls only, so it may be called between fork and exec; `/proc` must show the calling process.
///
/// # Errors
/// Where the kernel refuses it.
pub fn end_first() -> io::Result<()> {
    let (path, score) = (c"/proc/self/oom_score_adj", b"1000");
    // SAFETY: plain system calls with pointers to live values, and a length that is theirs.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        let written = libc::write(file, score.as_ptr().cast(), score.len());
        let error = io::Error::last_os_error();
        libc::close(file);
        if written < 0 { Err(error) } else { Ok(()) }
    }
}

/// Bytes of memory that a process of a foreign program may write to: half of what the machine has.
///
/// # Errors
/// Where the machine does not say how much it has.
pub fn most_memory() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let memory = memory_bytes(&text).ok_or_else(|| io::Error::other("/proc/meminfo: found no MemTotal"))?;
    Ok(memory / MEMORY_SHARE)
}

fn memory_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_the_machine_is_found() {
        assert_eq!(memory_bytes("MemTotal:       16 kB\nMemFree: 1 kB\n"), Some(16 << 10));
        assert_eq!(memory_bytes("MemFree: 1 kB\n"), None);
    }
}
