//! Where the source of a kernel comes from.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::Build;
use crate::{
    cache::Cache,
    command,
    kernel::{Kernel, PackageLists, find_one},
    process::Interrupted,
};

/// The package with the source of a kernel.
#[derive(Debug)]
pub(super) enum Origin {
    /// A package of the same version as the stock kernel `kernel` in the cache, from the system's own archives.
    Stock {
        /// Name of the stock kernel.
        kernel: &'static str,
        /// Name of the package.
        package: &'static str,
    },
    /// The newest `linux-source-` of this series that Debian's suite sid has. It moves on, so nothing is asked where there is a build.
    Sid {
        /// What the version begins with, such as `7.`.
        series: &'static str,
    },
}

impl Origin {
    /// Name and version of the package that a build must be of; `None` where any will do.
    ///
    /// # Errors
    /// Where the stock kernel cannot be had.
    pub(super) fn wanted(&self, cache: &Cache, say: &dyn Fn(&str)) -> Result<Option<String>> {
        let Self::Stock { kernel, package } = self else { return Ok(None) };
        if Kernel::find(cache, kernel).is_none() {
            say(&format!("fetching kernel {kernel}, to use its version"));
        }
        let stock = Kernel::prepare(cache, kernel)?.version()?;
        let (_, version) = stock.split_once(' ').context("the kernel's version has no package name")?;
        Ok(Some(format!("{package} {version}")))
    }
}

impl Build<'_> {
    /// Downloads the source: of the version that is `wanted`, or else the newest that the archives have. Returns the package, and its name
    /// and version.
    pub(super) fn download(&self, origin: &Origin, wanted: Option<&str>) -> Result<(PathBuf, String)> {
        let (lists, package) = match origin {
            Origin::Stock { package, .. } => (PackageLists::fetch(self.work)?, (*package).to_owned()),
            Origin::Sid { series } => {
                (self.say)("asking Debian's suite sid for its newest source");
                let lists = PackageLists::fetch_suite(self.work, "sid")?;
                let package = newest(&lists.names_with("linux-source-")?, series).with_context(|| {
                    format!("sid: found no linux-source-{series}*; the patches of this version of quiclab need one")
                })?;
                (lists, package)
            }
        };
        let version = wanted.and_then(|wanted| wanted.split_once(' ')).map(|(_, version)| version);
        (self.say)(&format!("downloading {} (some 150 MB)", wanted.unwrap_or(&package)));
        let get = |what: &str| {
            self.run(lists.command("apt-get").args(["download", what]).current_dir(self.work), "apt")
                .with_context(|| format!("downloading {what}"))
        };
        match version.map(|version| get(&format!("{package}={version}"))) {
            Some(Ok(())) => {}
            Some(Err(error)) if error.downcast_ref() == Some(&Interrupted::ByRequest) => return Err(error),
            Some(Err(_)) => {
                (self.say)("the package archives do not have this version; using the newest one");
                get(&package)?;
            }
            None => get(&package)?,
        }
        let archive = find_one(self.work, |name| name.ends_with(".deb"))?;
        let found = command::run("dpkg-deb", &["-f".as_ref(), archive.as_os_str(), "Version".as_ref()], "dpkg")?;
        Ok((archive, format!("{package} {}", found.trim())))
    }
}

/// The package of the newest version of a series, among names such as `linux-source-7.2`.
fn newest(names: &[String], series: &str) -> Option<String> {
    let minor = |name: &String| name.strip_prefix("linux-source-")?.strip_prefix(series)?.parse::<u32>().ok();
    names.iter().filter(|name| minor(name).is_some()).max_by_key(|name| minor(name)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_source_is_that_of_the_largest_number() {
        let names =
            ["linux-source-7.9", "linux-source-7.10", "linux-source-6.12", "linux-source-7.2-rt", "linux-source"];
        let names = names.map(str::to_owned);
        assert_eq!(newest(&names, "7.").as_deref(), Some("linux-source-7.10"));
        assert_eq!(newest(&names, "8."), None);
    }
}
