//! Compiles the C library of ngtcp2 from the source that the crate ngtcp2-sys carries, without its cryptography: `lib/` only.
//!
//! ngtcp2-sys itself is not built: it always compiles AWS-LC. Cargo knows where its source is.

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Release of ngtcp2 that ngtcp2-sys 0.2.0 carries; its CMakeLists.txt has to say the same.
const VERSION: &str = "1.25.0";
/// The same as ngtcp2 has it in NGTCP2_VERSION_NUM: a byte each.
const VERSION_NUMBER: &str = "0x011900";

fn main() -> Result<(), Box<dyn Error>> {
    for path in ["build.rs", "Cargo.lock", "src/ffi/layout.c"] {
        println!("cargo:rerun-if-changed={path}");
    }
    let source = source_of("ngtcp2-sys")?.join("deps/ngtcp2");
    let cmake = fs::read_to_string(source.join("CMakeLists.txt"))?;
    if !cmake.contains(&format!("project(ngtcp2 VERSION {VERSION} ")) {
        return Err(format!("{}: expected version {VERSION}", source.display()).into());
    }
    let generated = PathBuf::from(env::var("OUT_DIR")?).join("include");
    write_version_header(&source, &generated)?;

    let mut files = Vec::new();
    for entry in fs::read_dir(source.join("lib"))? {
        files.push(entry?.path());
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    // The order of the folder is that of the file system.
    files.sort();
    cc::Build::new()
        .files(files)
        .file("src/ffi/layout.c")
        .include(source.join("lib/includes"))
        .include(source.join("lib"))
        .include(generated)
        .std("c11")
        .opt_level(2)
        .define("NGTCP2_STATICLIB", None)
        .define("BUILDING_NGTCP2", None)
        // What its CMake build finds on Linux with glibc.
        .define("_GNU_SOURCE", None)
        .define("HAVE_ARPA_INET_H", None)
        .define("HAVE_NETINET_IN_H", None)
        .define("HAVE_UNISTD_H", None)
        .define("HAVE_ENDIAN_H", None)
        .define("HAVE_BYTESWAP_H", None)
        .define("HAVE_DECL_BE64TOH", "1")
        .define("HAVE_DECL_BSWAP_64", "1")
        .define("HAVE_EXPLICIT_BZERO", None)
        .warnings(false)
        .try_compile("ngtcp2")?;
    Ok(())
}

/// What CMake would make of version.h.in.
fn write_version_header(source: &Path, generated: &Path) -> Result<(), Box<dyn Error>> {
    let template = fs::read_to_string(source.join("lib/includes/ngtcp2/version.h.in"))?;
    let header = template.replace("@PACKAGE_VERSION@", VERSION).replace("@PACKAGE_VERSION_NUM@", VERSION_NUMBER);
    let folder = generated.join("ngtcp2");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("version.h"), header)?;
    Ok(())
}

/// Where Cargo keeps the source of a package of Cargo.lock, which it fetches if it has to.
fn source_of(package: &str) -> Result<PathBuf, Box<dyn Error>> {
    let output = Command::new(env::var("CARGO")?)
        .args(["metadata", "--format-version=1", "--locked", "--manifest-path"])
        .arg(PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("Cargo.toml"))
        .output()?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let metadata = String::from_utf8(output.stdout)?;
    // One path in a long line of JSON: `"manifest_path":".../ngtcp2-sys-0.2.0/Cargo.toml"`.
    let end = format!("/{package}-0.2.0/Cargo.toml\"");
    let path =
        metadata.split("\"manifest_path\":\"").find_map(|text| text.split_inclusive('"').next()?.strip_suffix(&end));
    let path = path.ok_or_else(|| format!("cargo metadata: found no {package} 0.2.0"))?;
    Ok(PathBuf::from(format!("{path}/{package}-0.2.0")))
}
