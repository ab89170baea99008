//! What an image says of itself, in both layouts: `manifest.json` of `docker save`, `index.json` of OCI.
//!
//! OCI: <https://github.com/opencontainers/image-spec/blob/v1.1.0/image-layout.md>. Docker:
//! <https://github.com/moby/docker-image-spec/blob/v1.3.1/spec.md>.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, de::DeserializeOwned};

use super::archive::Archive;
use crate::hash;

/// An index may lead to another one, as those of several machines do.
const MOST_INDEXES: usize = 4;

/// An image.
#[derive(Clone, Debug)]
pub struct Image {
    /// SHA-256 of its configuration, in hexadecimal, which is the identity of the image.
    pub id: String,
    /// What it was called, where the archive says so.
    pub tag: Option<String>,
    /// What it starts.
    pub command: Vec<String>,
    /// Variables of its environment.
    pub environment: BTreeMap<String, String>,
    /// Folder in which it starts, an absolute path.
    pub folder: String,
    /// User as whom it starts; empty is root.
    pub user: String,
    /// Its layers, the lowest first.
    pub layers: Vec<Layer>,
}

/// A layer of it.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Name of its member in the archive.
    pub member: String,
    /// SHA-256 of the layer without compression, in hexadecimal.
    pub digest: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Saved {
    config: String,
    repo_tags: Option<Vec<String>>,
    layers: Vec<String>,
}

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Descriptor>,
}

#[derive(Deserialize)]
struct Manifest {
    config: Descriptor,
    layers: Vec<Descriptor>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    #[serde(default)]
    media_type: String,
    digest: String,
    platform: Option<Platform>,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Clone, Deserialize)]
struct Platform {
    architecture: String,
    os: String,
}

#[derive(Deserialize)]
struct Configuration {
    architecture: String,
    os: String,
    #[serde(default)]
    config: Option<Execution>,
    rootfs: RootFs,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Execution {
    entrypoint: Option<Vec<String>>,
    cmd: Option<Vec<String>>,
    env: Option<Vec<String>>,
    working_dir: Option<String>,
    user: Option<String>,
}

#[derive(Deserialize)]
struct RootFs {
    diff_ids: Vec<String>,
}

/// The only image in `archive`.
///
/// # Errors
/// None or several, one of another machine, or documents that make no sense.
pub fn find(archive: &Archive) -> Result<Image> {
    // Newer versions of Docker write both; this one has the name.
    let (config, tag, members) = if archive.has("manifest.json") {
        let saved: Vec<Saved> = parse(archive, "manifest.json")?;
        let [image] = &saved[..] else {
            bail!(
                "manifest.json: found {} images, expected 1\nhint: save each image to a separate archive",
                saved.len()
            );
        };
        (image.config.clone(), image.repo_tags.iter().flatten().next().cloned(), image.layers.clone())
    } else if archive.has("index.json") {
        let descriptor = choose(archive, "index.json".to_owned(), MOST_INDEXES)?;
        let tag = descriptor.annotations.as_ref().and_then(|all| all.get("org.opencontainers.image.ref.name").cloned());
        let manifest: Manifest = parse(archive, &blob(&descriptor.digest)?)?;
        let layers = manifest.layers.iter().map(|layer| blob(&layer.digest)).collect::<Result<_>>()?;
        (blob(&manifest.config.digest)?, tag, layers)
    } else {
        bail!(
            "found neither manifest.json nor index.json, expected an image saved by `docker save` or by \
             `skopeo copy ... oci-archive:FILE`\nhint: `docker export` writes a container without its command"
        );
    };
    image(archive, &config, tag, members)
}

fn image(archive: &Archive, name: &str, tag: Option<String>, members: Vec<String>) -> Result<Image> {
    let bytes = checked(archive, name)?;
    let configuration: Configuration = serde_json::from_slice(&bytes).with_context(|| name.to_owned())?;
    let Configuration { architecture, os, config, rootfs } = configuration;
    if (os.as_str(), architecture.as_str()) != ("linux", "amd64") {
        bail!(
            "{name}: found an image for {os}/{architecture}, expected linux/amd64\nhint: pull it with --platform linux/amd64"
        );
    }
    if rootfs.diff_ids.len() != members.len() {
        bail!(
            "{name}: found {} layers but digests of {}, expected equal numbers",
            members.len(),
            rootfs.diff_ids.len()
        );
    }
    let layers = members.into_iter().zip(&rootfs.diff_ids);
    let layers =
        layers.map(|(member, id)| Ok(Layer { member, digest: digits(id)?.to_owned() })).collect::<Result<_>>()?;
    let execution = config.unwrap_or_default();
    let command: Vec<_> = execution.entrypoint.into_iter().chain(execution.cmd).flatten().collect();
    if command.first().is_none_or(String::is_empty) {
        bail!("{name}: found neither Entrypoint nor Cmd, expected a command to start");
    }
    let variables = execution.env.into_iter().flatten();
    let environment = variables
        .filter_map(|line| line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())))
        .collect();
    let folder = execution.working_dir.filter(|folder| !folder.is_empty()).unwrap_or_else(|| "/".to_owned());
    if !folder.starts_with('/') {
        bail!("{name}: WorkingDir: found {folder:?}, expected an absolute path");
    }
    Ok(Image {
        id: hash::of_reader(&mut &bytes[..])?,
        tag,
        command,
        environment,
        folder,
        user: execution.user.unwrap_or_default(),
        layers,
    })
}

/// The image for this machine that the index `name` leads to.
fn choose(archive: &Archive, name: String, most: usize) -> Result<Descriptor> {
    let index: Index = parse(archive, &name)?;
    let fits = |descriptor: &&Descriptor| {
        let platform = descriptor.platform.as_ref();
        platform.is_none_or(|platform| platform.architecture == "amd64" && platform.os == "linux")
    };
    let images: Vec<_> = index.manifests.iter().filter(fits).collect();
    let [image] = images[..] else {
        bail!(
            "{name}: found {} images for linux/amd64 among {}, expected 1\nhint: save one image, with --platform linux/amd64",
            images.len(),
            index.manifests.len()
        );
    };
    let is_index =
        image.media_type.ends_with("image.index.v1+json") || image.media_type.ends_with("manifest.list.v2+json");
    if !is_index {
        return Ok(image.clone());
    }
    if most == 0 {
        bail!("{name}: found an index in an index in an index, expected an image");
    }
    let mut inner = choose(archive, blob(&image.digest)?, most - 1)?;
    inner.annotations = inner.annotations.or_else(|| image.annotations.clone());
    Ok(inner)
}

fn parse<T: DeserializeOwned>(archive: &Archive, name: &str) -> Result<T> {
    serde_json::from_slice(&checked(archive, name)?).with_context(|| name.to_owned())
}

/// The document `name`, which is what its name says where that is a digest.
fn checked(archive: &Archive, name: &str) -> Result<Vec<u8>> {
    let bytes = archive.document(name)?;
    let last = name.rsplit('/').next().unwrap_or(name);
    if let Ok(expected) = digits(&format!("sha256:{}", last.trim_end_matches(".json"))) {
        let found = hash::of_reader(&mut &bytes[..])?;
        if found != expected {
            bail!(
                "{name}: found SHA-256 {found}, expected {expected}\nhint: the archive is damaged; save the image again"
            );
        }
    }
    Ok(bytes)
}

/// The member in which a blob lies.
fn blob(digest: &str) -> Result<String> {
    Ok(format!("blobs/sha256/{}", digits(digest)?))
}

fn digits(digest: &str) -> Result<&str> {
    let digits = digest.strip_prefix("sha256:").unwrap_or_default();
    if digits.len() != 64 || !digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        bail!("found digest {digest:?}, expected sha256: and 64 hexadecimal digits");
    }
    Ok(digits)
}
