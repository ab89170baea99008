//! When quiche wanted each packet to leave: `planned.csv`, which an analysis compares with the capture.

use std::{fs::File, io::Write, path::Path};

use anyhow::{Context, Result};

/// Planned send times, kept in memory until [`PlannedTimes::write`].
pub struct PlannedTimes {
    file: File,
    /// Checksum of the UDP payload, and nanoseconds of the clock.
    packets: Vec<(u32, u64)>,
}

impl PlannedTimes {
    /// Creates the file with its first line.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn create(path: &Path) -> Result<Self> {
        let mut file = File::create(path).with_context(|| format!("creating {}", path.display()))?;
        file.write_all(b"crc32c,planned_ns\n")?;
        Ok(Self { file, packets: Vec::new() })
    }

    /// Notes one packet by its checksum.
    pub fn push(&mut self, checksum: u32, planned_ns: u64) {
        self.packets.push((checksum, planned_ns));
    }

    /// Writes what has been noted since the last time.
    ///
    /// # Errors
    /// What the file system answers.
    pub fn write(&mut self) -> Result<()> {
        let mut lines = Vec::with_capacity(self.packets.len() * 32);
        for (checksum, planned_ns) in self.packets.drain(..) {
            writeln!(lines, "{checksum:08x},{planned_ns}")?;
        }
        self.file.write_all(&lines).context("writing planned.csv")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_checksum_and_a_time_and_is_written_once() {
        let path = std::env::temp_dir().join(format!("planned-{}.csv", std::process::id()));
        let mut planned = PlannedTimes::create(&path).unwrap();
        // The check value of CRC-32C, RFC 3720, appendix B.4: 32 bytes of zeros.
        planned.push(crc32c::crc32c(&[0; 32]), 5_000_000_000);
        planned.write().unwrap();
        planned.write().unwrap();
        let found = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(found, "crc32c,planned_ns\n8a9136aa,5000000000\n");
    }
}
