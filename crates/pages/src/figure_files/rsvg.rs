//! PDF and PNG files of SVG files, by the program `rsvg-convert` of librsvg. It gets a figure on its standard input and answers on its standard
//! output: it sees no name of a file and writes none.

use std::{
    io::{self, ErrorKind, Read, Write},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail};

/// The program.
pub const PROGRAM: &str = "rsvg-convert";
/// The program's Debian package.
pub const PACKAGE: &str = "librsvg2-bin";
/// Converting the largest figure takes about a second.
const TIMEOUT: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Most bytes of output that are accepted: more than a figure of any size has.
const LONGEST_OUTPUT: u64 = 256 << 20;
const LONGEST_ERROR: u64 = 4 << 10;

/// Selects the format that a figure is converted to.
#[derive(Clone, Copy, Debug)]
pub enum Format {
    /// One page of the same size, a point for each pixel. Text stays text.
    Pdf,
    /// Two pixels for each of the figure: sharp in a comment and on dense screens.
    Png,
}

impl Format {
    /// The end of a file's name.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Pdf => "pdf",
            Self::Png => "png",
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Pdf => &["--format", "pdf", "--dpi-x", "72", "--dpi-y", "72"],
            Self::Png => &["--format", "png", "--zoom", "2"],
        }
    }
}

/// Converts a figure. The same figure gives the same bytes on a machine: fonts and their rendering are those of the machine.
///
/// # Errors
/// Where the program is missing, fails, or does not end.
pub fn convert(svg: &str, format: Format) -> Result<Vec<u8>> {
    convert_by(PROGRAM, svg, format, TIMEOUT)
}

fn convert_by(program: &str, svg: &str, format: Format, timeout: Duration) -> Result<Vec<u8>> {
    let mut command = Command::new(program);
    // Without the first, a PDF file has the time in it. The others keep messages and numbers from depending on the reader's language.
    command.env("SOURCE_DATE_EPOCH", "0").env("LC_ALL", "C.UTF-8").env_remove("LANGUAGE");
    // The figure is quiclab's own, so its length is no danger.
    command.arg("--unlimited").args(format.arguments());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(
            "{program}: not found; PDF and PNG files of figures need it\nhint: apt-get install {PACKAGE}; the SVG files are written without it"
        ),
        spawned => spawned.with_context(|| program.to_owned())?,
    };
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (status, output, errors) = thread::scope(|scope| {
        // A program that ends early does not read everything; its status says why.
        scope.spawn(move || input.map(|mut input| input.write_all(svg.as_bytes())));
        let output = scope.spawn(|| read(output, LONGEST_OUTPUT));
        let errors = scope.spawn(|| read(errors, LONGEST_ERROR));
        let status = wait(&mut child, timeout);
        (status, output.join(), errors.join())
    });
    let output_tail = errors.ok().and_then(Result::ok).unwrap_or_default();
    let output_tail = String::from_utf8_lossy(&output_tail).trim().to_owned();
    let Some(status) = status? else {
        bail!("{program} did not end within {} s and was killed", timeout.as_secs_f64());
    };
    if !status.success() {
        bail!("{program}: {status}: {output_tail}");
    }
    let output = output.map_err(|_| anyhow!("{program}: its output could not be read"))??;
    if output.is_empty() {
        bail!("{program}: found no output, expected a {} file", format.ending());
    }
    Ok(output)
}

/// Reads up to so many bytes. A program that writes more finds its pipe closed.
fn read(pipe: Option<impl Read>, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(most).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// The status of a program that ends in time; another one is killed.
fn wait(child: &mut Child, timeout: Duration) -> io::Result<Option<std::process::ExitStatus>> {
    let deadline = Instant::now() + timeout;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    const SMALL: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 200 100\" width=\"200\" height=\"100\" \
                         font-family=\"system-ui, sans-serif\"><rect width=\"200\" height=\"100\" fill=\"#ffffff\"/>\
                         <text x=\"10\" y=\"50\">goodput</text><g color=\"#ff0000\"><rect width=\"9\" height=\"9\" \
                         fill=\"currentColor\" fill-opacity=\"0.3\"/></g></svg>";

    /// Whether the program is there; says that a test is skipped otherwise.
    fn is_installed() -> bool {
        let is_there = Command::new(PROGRAM).arg("--version").output().is_ok();
        if !is_there {
            eprintln!("skipped: no {PROGRAM}; apt-get install {PACKAGE}");
        }
        is_there
    }

    /// A script in the place of the program.
    fn script(text: &str) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let path = path.to_str().unwrap().to_owned();
        (folder, path)
    }

    #[test]
    fn an_image_has_twice_the_size_of_the_figure() {
        if !is_installed() {
            return;
        }
        let png = convert(SMALL, Format::Png).unwrap();
        // PNG: eight bytes, then the header's length and name, then width and height.
        assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert_eq!((number(16), number(20)), (400, 200));
    }

    #[test]
    fn a_page_has_the_size_of_the_figure() {
        if !is_installed() {
            return;
        }
        let pdf = convert(SMALL, Format::Pdf).unwrap();
        assert!(pdf.starts_with(b"%PDF-"));
        let text = String::from_utf8_lossy(&pdf);
        // cairo 1.18 and later pack this part of the file.
        let Some(page) = text.split("/MediaBox [").nth(1).and_then(|rest| rest.split(']').next()) else { return };
        let sides: Vec<f64> = page.split_whitespace().map(|side| side.parse().unwrap()).collect();
        assert_eq!(sides, [0.0, 0.0, 200.0, 100.0]);
    }

    #[test]
    fn equal_figures_give_equal_bytes() {
        if !is_installed() {
            return;
        }
        for format in [Format::Pdf, Format::Png] {
            let first = convert(SMALL, format).unwrap();
            // The time in a PDF file would be that of the next second.
            thread::sleep(Duration::from_millis(1100));
            assert!(convert(SMALL, format).unwrap() == first, "{format:?}");
        }
    }

    #[test]
    fn what_is_no_figure_is_refused_with_the_words_of_the_program() {
        if !is_installed() {
            return;
        }
        let error = convert("no figure", Format::Pdf).unwrap_err().to_string();
        assert!(error.starts_with(PROGRAM) && error.len() > PROGRAM.len() + 20, "{error}");
    }

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let error = convert_by("rsvg-convert-of-nobody", SMALL, Format::Png, TIMEOUT).unwrap_err().to_string();
        assert!(error.contains("not found") && error.contains("apt-get install librsvg2-bin"), "{error}");
    }

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        let (_folder, program) = script("exec sleep 60");
        let begin = Instant::now();
        let error = convert_by(&program, &SMALL.repeat(10_000), Format::Pdf, Duration::from_millis(300)).unwrap_err();
        assert!(error.to_string().contains("did not end within 0.3 s"), "{error}");
        assert!(begin.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn a_program_that_fails_or_says_nothing_is_an_error() {
        let (_folder, program) = script("echo 'no memory' >&2; exit 3");
        let error = convert_by(&program, SMALL, Format::Pdf, TIMEOUT).unwrap_err().to_string();
        assert!(error.contains("exit status: 3: no memory"), "{error}");
        let (_folder, program) = script("cat > /dev/null");
        let error = convert_by(&program, SMALL, Format::Pdf, TIMEOUT).unwrap_err().to_string();
        assert!(error.contains("found no output, expected a pdf file"), "{error}");
    }
}
