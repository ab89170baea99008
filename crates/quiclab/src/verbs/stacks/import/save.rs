//! Gets an image as an archive, by whichever program of this machine can.

use std::{fs, path::Path, process::Command, sync::atomic::AtomicBool};

use anyhow::{Result, bail};
use quiclab_testbed::command;

use crate::session::signals;

/// Saves `image` as `archive`.
///
/// # Errors
/// Where no program of this machine can, with what each said, and what to do for the stack `name`; or an interruption.
pub fn save(image: &str, archive: &Path, name: &str, stop: &AtomicBool) -> Result<()> {
    if image.starts_with('-') || image.is_empty() || image.chars().any(char::is_whitespace) {
        bail!("image: found {image:?}, expected the name of an image");
    }
    let file = archive.display();
    let ways = [
        (
            "docker",
            vec!["image".to_owned(), "save".to_owned(), "--output".to_owned(), file.to_string(), image.to_owned()],
        ),
        ("podman", vec!["save".to_owned(), "--output".to_owned(), file.to_string(), image.to_owned()]),
        ("skopeo", vec!["copy".to_owned(), format!("docker://{image}"), format!("oci-archive:{file}")]),
    ];
    let log = archive.with_extension("log");
    let mut output_tail = Vec::new();
    for (program, arguments) in ways {
        let output = fs::File::create(&log)?;
        let mut save = Command::new(program);
        save.args(arguments).stdout(output.try_clone()?).stderr(output);
        match command::supervise(&mut save, program, stop) {
            Ok(status) if status.success() && archive.is_file() => return Ok(()),
            Ok(status) => {
                let text = fs::read_to_string(&log).unwrap_or_default();
                let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
                output_tail.push(format!("{program} failed with {status}: {}", last.trim()));
            }
            Err(error) if signals::is_interruption(&error) => return Err(error),
            Err(_) => output_tail.push(format!("{program} is not installed")),
        }
        // What it left would be in the next one's way.
        let _ = fs::remove_file(archive);
    }
    bail!(
        "{image} could not be saved: {}\nhint: on a machine with docker: docker pull {image} && docker save {image} \
         -o {name}.tar; then here: quiclab stacks import {name}.tar --name {name}",
        output_tail.join("; ")
    )
}
