//! The first file system of the guest: the agent and the modules it loads.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::Path,
};

use anyhow::{Context, Result};
use cpio::newc::{Builder, ModeFileType, trailer};

use crate::kernel::Kernel;

/// Folders the agent mounts things on.
const FOLDERS: &[&str] = &["dev", "proc", "sys", "modules"];

/// Writes it, uncompressed: the guest would have to spend virtual instructions on unpacking.
///
/// # Errors
/// Where a part cannot be read or the file not written.
pub fn write(agent: &Path, kernel: &Kernel, path: &Path) -> Result<()> {
    let mut output = BufWriter::new(File::create(path).with_context(|| path.display().to_string())?);
    for folder in FOLDERS {
        let entry = Builder::new(folder).mode(0o755).nlink(2).set_mode_file_type(ModeFileType::Directory);
        entry.write(&mut output, 0).finish()?;
    }
    add(&mut output, "init", 0o755, &fs::read(agent).with_context(|| agent.display().to_string())?)?;
    let mut list = String::new();
    for module in kernel.modules()? {
        let name = module.file_name().context("module name")?.to_string_lossy().into_owned();
        add(&mut output, &format!("modules/{name}"), 0o644, &fs::read(&module)?)?;
        list.push_str(&format!("/modules/{name}\n"));
    }
    add(&mut output, "modules/list", 0o644, list.as_bytes())?;
    trailer(&mut output)?;
    output.flush().with_context(|| path.display().to_string())
}

fn add(output: &mut impl Write, name: &str, mode: u32, bytes: &[u8]) -> Result<()> {
    let length = u32::try_from(bytes.len()).with_context(|| format!("{name} is too long for an initramfs"))?;
    let entry = Builder::new(name).mode(mode).nlink(1).set_mode_file_type(ModeFileType::Regular);
    let mut writer = entry.write(output, length);
    writer.write_all(bytes)?;
    writer.finish()?;
    Ok(())
}
