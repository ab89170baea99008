//! Opening files that somebody else may have made. In the place of a file there can be a FIFO that nobody writes to, a device, a link to a
//! file of the user, or a file of terabytes with holes. None of these functions waits for anything, and all of them refuse what is no
//! regular file.
//!
//! What a user names on the command line may be a pipe as well: the command opens that itself, so that a signal ends the wait.
//!
//! Read first: [`open_regular`], then [`open_below`].

use std::{
    fs::{self, File, FileType, OpenOptions},
    io,
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::{Component, Path, PathBuf},
};

use quiclab_units::{read_bounded, read_text_bounded};

/// The longest text that is read: an experiment, a resolved run, a list of implementations, an index of results.
pub const MOST_TEXT_BYTES: u64 = 16 << 20;
/// The longest list of planned send times, some 50 million of them, and the longest file of addresses or metrics.
pub const MOST_LIST_BYTES: u64 = 1 << 30;

/// Opens a regular file for reading; links are followed.
///
/// # Errors
/// Where there is none: for a FIFO, a device or a folder, [`io::ErrorKind::InvalidInput`].
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Opening alone changes the state of some devices.
    require_regular(fs::metadata(path)?.file_type())?;
    open(path, File::options().read(true), 0)
}

/// Opens a regular file for reading that is not a link: for files of a folder that an endpoint or somebody elsewhere has written.
///
/// # Errors
/// As [`open_regular`], and for a link.
pub fn open_unlinked(path: &Path) -> io::Result<File> {
    open_unlinked_with(path, File::options().read(true))
}

/// Opens the regular file `name`, which is relative to the folder `from`, if it is below the folder `root`. Links are followed, and
/// may not lead out of `root` either.
///
/// # Errors
/// Where there is none, and [`io::ErrorKind::PermissionDenied`] where it is outside.
pub fn open_below(root: &Path, from: &Path, name: &Path) -> io::Result<File> {
    let root = fs::canonicalize(or_here(root))?;
    let outside = || {
        let message = format!(
            "found a file outside of the folder {}, expected one below it, also behind links",
            quiclab_units::ShowPath::shown(root.as_path())
        );
        io::Error::new(io::ErrorKind::PermissionDenied, message)
    };
    // Not even looked at, so that the answer does not tell whether it is there.
    let path = fs::canonicalize(or_here(from))?;
    if !without_dots(&path.join(name)).starts_with(&root) {
        return Err(outside());
    }
    let path = fs::canonicalize(path.join(name))?;
    if !path.starts_with(&root) {
        return Err(outside());
    }
    open_unlinked(&path)
}

/// Opens a regular file as `options` say, such as for appending; it may be made. Links are followed.
///
/// # Errors
/// As [`open_regular`].
pub fn open_regular_with(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    match fs::metadata(path) {
        Ok(facts) => require_regular(facts.file_type())?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    open(path, options, 0)
}

/// Opens a regular file that is not a link as `options` say; it must be there.
///
/// # Errors
/// As [`open_unlinked`].
pub fn open_unlinked_with(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    require_regular(fs::symlink_metadata(path)?.file_type())?;
    open(path, options, libc::O_NOFOLLOW)
}

/// Reads a regular file of `most` bytes at most; a longer one is refused before anything is read.
///
/// # Errors
/// As [`open_regular`], and where it is longer or cannot be read.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_all(&open_regular(path)?, most)
}

/// The same, of a text.
///
/// # Errors
/// As [`read_regular`], and [`io::ErrorKind::InvalidData`] where it is not UTF-8.
pub fn read_regular_text(path: &Path, most: u64) -> io::Result<String> {
    read_all_text(&open_regular(path)?, most)
}

/// Reads a file as [`read_regular`] does, if it is not a link.
///
/// # Errors
/// As [`open_unlinked`], and where it is longer or cannot be read.
pub fn read_unlinked(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_all(&open_unlinked(path)?, most)
}

/// The same, of a text.
///
/// # Errors
/// As [`read_unlinked`], and [`io::ErrorKind::InvalidData`] where it is not UTF-8.
pub fn read_unlinked_text(path: &Path, most: u64) -> io::Result<String> {
    read_all_text(&open_unlinked(path)?, most)
}

/// Reads an open file as [`read_regular`] does.
///
/// # Errors
/// Where it is longer than `most` bytes or cannot be read.
pub fn read_all(file: &File, most: u64) -> io::Result<Vec<u8>> {
    check_length(file, most)?;
    read_bounded(file, most)
}

/// Reads an open file as [`read_regular_text`] does.
///
/// # Errors
/// As [`read_all`], and [`io::ErrorKind::InvalidData`] where it is not UTF-8.
pub fn read_all_text(file: &File, most: u64) -> io::Result<String> {
    check_length(file, most)?;
    read_text_bounded(file, most)
}

fn check_length(file: &File, most: u64) -> io::Result<()> {
    let length = file.metadata()?.len();
    if length > most {
        let hint = "hint: split the file, or name another one";
        return Err(io::Error::other(format!("found {length} bytes, expected at most {most}\n{hint}")));
    }
    Ok(())
}

fn open(path: &Path, options: &mut OpenOptions, more_flags: i32) -> io::Result<File> {
    // Something else may have taken its place since it was looked at.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY | more_flags;
    let file = options.custom_flags(flags).open(path)?;
    require_regular(file.metadata()?.file_type())?;
    Ok(file)
}

fn require_regular(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    let found = match () {
        () if kind.is_dir() => "a folder",
        () if kind.is_symlink() => "a symbolic link",
        () if kind.is_fifo() => "a FIFO",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("found {found}, expected a regular file")))
}

/// A path without a folder begins in the current one.
fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// An absolute path with `..` taken by name alone.
fn without_dots(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                whole.pop();
            }
            Component::CurDir => {}
            other => whole.push(other),
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use std::{io::Read, os::unix::fs::symlink};

    use super::*;

    fn refused(result: io::Result<File>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn only_regular_files_are_opened_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "abc").unwrap();
        symlink(at("file"), at("link")).unwrap();
        nix::unistd::mkfifo(&at("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        for open in [open_regular, open_unlinked] {
            assert!(open(&at("file")).is_ok());
            assert_eq!(refused(open(&at("fifo"))), "found a FIFO, expected a regular file");
            assert_eq!(refused(open(Path::new("/dev/zero"))), "found a device, expected a regular file");
            assert_eq!(refused(open(folder.path())), "found a folder, expected a regular file");
            assert_eq!(open(&at("nothing")).unwrap_err().kind(), io::ErrorKind::NotFound);
        }
        assert!(open_regular(&at("link")).is_ok());
        assert_eq!(refused(open_unlinked(&at("link"))), "found a symbolic link, expected a regular file");
    }

    #[test]
    fn a_file_to_append_to_may_be_made_and_is_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        nix::unistd::mkfifo(&at("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        symlink(at("new"), at("link")).unwrap();
        let append = |name: &str| open_regular_with(&at(name), File::options().append(true).create(true));
        assert!(append("new").is_ok());
        assert_eq!(refused(append("fifo")), "found a FIFO, expected a regular file");
        let update = |name: &str| open_unlinked_with(&at(name), File::options().read(true).write(true));
        assert!(update("new").is_ok());
        for (name, found) in [("fifo", "a FIFO"), ("link", "a symbolic link")] {
            assert_eq!(refused(update(name)), format!("found {found}, expected a regular file"));
        }
    }

    #[test]
    fn what_takes_the_place_of_a_file_after_it_was_looked_at_is_refused_too() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(refused(open(&fifo, File::options().read(true), 0)), "found a FIFO, expected a regular file");
    }

    #[test]
    fn nothing_outside_of_a_folder_is_opened() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("root");
        fs::create_dir_all(root.join("below")).unwrap();
        fs::write(outer.path().join("outside"), "secret").unwrap();
        fs::write(root.join("inside"), "abc").unwrap();
        symlink("../outside", root.join("out")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("inside", root.join("in")).unwrap();
        let open = |from: &str, name: &str| open_below(&root, &root.join(from), Path::new(name));
        for (from, name) in [("", "inside"), ("", "in"), ("below", "../inside"), ("", "below/../inside")] {
            let mut text = String::new();
            open(from, name).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "abc", "{name}");
        }
        let absolute = outer.path().join("outside").display().to_string();
        for (from, name) in [
            ("", "../outside"),
            ("below", "../../outside"),
            ("", "out"),
            ("", "up/outside"),
            ("", "up/root/../outside"),
            ("", absolute.as_str()),
            ("", "/proc/self/environ"),
            ("", "../no such file"),
        ] {
            let error = open(from, name).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{name}: {error}");
            assert!(error.to_string().starts_with("found a file outside of the folder "), "{error}");
        }
        // The folder's own name may be that of a link.
        symlink(&root, outer.path().join("other")).unwrap();
        let other = outer.path().join("other");
        assert!(open_below(&other, &other, Path::new("inside")).is_ok());
    }

    #[test]
    fn a_long_file_is_refused_before_it_is_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(10 << 30).unwrap();
        let error = read_regular(file.path(), 1 << 20).unwrap_err().to_string();
        assert!(error.starts_with("found 10737418240 bytes, expected at most 1048576\nhint: "), "{error}");
        file.as_file().set_len(3).unwrap();
        assert_eq!(read_regular(file.path(), 3).unwrap(), [0; 3]);
        assert_eq!(read_regular_text(file.path(), 3).unwrap(), "\0\0\0");
    }
}
