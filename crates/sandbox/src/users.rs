//! Who is there to be.

use std::{fs, io};

/// Whether this process is in a user namespace with all users of the machine, as it is outside of containers: then there are numbers that nobody
/// else has, for users of foreign programs.
///
/// # Errors
/// Where the kernel does not say.
pub fn has_all_users() -> io::Result<bool> {
    Ok(maps_all(&fs::read_to_string("/proc/self/uid_map")?))
}

fn maps_all(map: &str) -> bool {
    map.split_ascii_whitespace().eq(["0", "0", "4294967295"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_namespace_has_all_users() {
        assert!(maps_all("         0          0 4294967295\n"));
        for part in ["", "0 1000 1\n", "0 100000 65536\n", "0 0 4294967295\n1 2 3\n"] {
            assert!(!maps_all(part), "{part:?}");
        }
    }
}
