//! Exact versions of the libraries that a result follows from.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use crate::{FingerprintError, Rooms, read};

/// Name, version, and checksum of each library that `rooms` compute with, and of those that these use, in order. Adds the manifests that
/// were read to `files`.
///
/// # Errors
/// Where a file cannot be read, a room uses a library that is in neither list, or the lock file does not have one.
pub fn of(
    rooms: &Rooms,
    workspace: &Path,
    lock: &Path,
    files: &mut Vec<PathBuf>,
) -> Result<Vec<(String, String, String)>, FingerprintError> {
    let locked = Locked::read(lock)?;
    let mut wanted = Vec::new();
    for folder in rooms.folders {
        let manifest = workspace.join(folder).join("Cargo.toml");
        let table = parse(&manifest)?;
        let dependencies = table.get("dependencies").and_then(toml::Value::as_table);
        for name in dependencies.into_iter().flat_map(|table| table.keys()) {
            // Those of this workspace are rooms themselves.
            let is_room = rooms.folders.iter().any(|room| name.strip_prefix("quiclab-") == room.rsplit('/').next());
            if is_room || rooms.other.contains(&name.as_str()) {
                continue;
            }
            if !rooms.computing.contains(&name.as_str()) {
                return Err(FingerprintError::Content {
                    path: manifest,
                    what: format!(
                        "found the dependency {name:?}, of which nobody has said whether results follow from it\nhint: add it to \
                         `computing` or `other` in crates/fingerprint/src/lib.rs"
                    ),
                });
            }
            // The lock file of this package says which version of it, where there are several.
            let package = table.get("package").and_then(|package| package.get("name")).and_then(toml::Value::as_str);
            wanted.push(locked.dependency(package.unwrap_or_default(), name)?);
        }
        files.push(manifest);
    }
    let mut seen = BTreeSet::new();
    while let Some(key) = wanted.pop() {
        let package = locked.package(&key)?;
        if seen.insert(key) {
            for name in &package.dependencies {
                wanted.push(locked.resolve(name)?);
            }
        }
    }
    let facts = |key: (String, String)| {
        let checksum = locked.package(&key)?.checksum.clone();
        Ok((key.0, key.1, checksum))
    };
    seen.into_iter().map(facts).collect()
}

/// `Cargo.lock`: packages by name and version.
struct Locked {
    path: PathBuf,
    packages: BTreeMap<(String, String), Package>,
}

struct Package {
    checksum: String,
    /// Names, with versions where there are several of a name.
    dependencies: Vec<String>,
}

impl Locked {
    fn read(path: &Path) -> Result<Self, FingerprintError> {
        let table = parse(path)?;
        let text = |value: &toml::Value, key: &str| {
            value.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned()
        };
        let mut packages = BTreeMap::new();
        for value in table.get("package").and_then(toml::Value::as_array).into_iter().flatten() {
            let dependencies = value.get("dependencies").and_then(toml::Value::as_array).into_iter().flatten();
            let dependencies = dependencies.filter_map(|name| name.as_str().map(str::to_owned)).collect();
            let key = (text(value, "name"), text(value, "version"));
            packages.insert(key, Package { checksum: text(value, "checksum"), dependencies });
        }
        Ok(Self { path: path.to_owned(), packages })
    }

    fn error(&self, what: String) -> FingerprintError {
        FingerprintError::Content { path: self.path.clone(), what }
    }

    fn package(&self, key: &(String, String)) -> Result<&Package, FingerprintError> {
        self.packages.get(key).ok_or_else(|| self.error(format!("found no package {} {}", key.0, key.1)))
    }

    /// Which `name` it is that the package `of` depends on.
    fn dependency(&self, of: &str, name: &str) -> Result<(String, String), FingerprintError> {
        let package = self.packages.iter().find(|((found, _), _)| found == of);
        let (_, package) = package.ok_or_else(|| self.error(format!("found no package {of}")))?;
        let listed = package.dependencies.iter().find(|listed| listed.split(' ').next() == Some(name));
        self.resolve(listed.ok_or_else(|| self.error(format!("found no {name} among the dependencies of {of}")))?)
    }

    /// Name and version of what the lock file calls `name` or `name version`.
    fn resolve(&self, listed: &str) -> Result<(String, String), FingerprintError> {
        let mut words = listed.split(' ');
        let (name, version) = (words.next().unwrap_or_default(), words.next());
        let mut fitting =
            self.packages.keys().filter(|key| key.0 == name && version.is_none_or(|version| key.1 == version));
        match (fitting.next(), fitting.next()) {
            (Some(key), None) => Ok(key.clone()),
            (found, _) => Err(self.error(format!(
                "found {} packages {listed}, expected one",
                if found.is_some() { "several" } else { "no" }
            ))),
        }
    }
}

fn parse(path: &Path) -> Result<toml::Table, FingerprintError> {
    read(path)?
        .parse()
        .map_err(|error| FingerprintError::Content { path: path.to_owned(), what: format!("is no TOML: {error}") })
}
