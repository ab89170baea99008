//! Images for tests, made member by member.

use std::io::Write;

use serde_json::json;
use tar::{EntryType, Header};

use crate::hash;

/// A tar that says whatever a test wants.
#[derive(Clone, Default)]
pub struct Tar(Vec<u8>);

impl Tar {
    pub fn add(mut self, kind: EntryType, path: &str, link: &str, mode: u32, contents: &[u8]) -> Self {
        let mut header = Header::new_gnu();
        // Not by the library's own way, which refuses the paths that are of interest here.
        let old = header.as_old_mut();
        old.name[..path.len()].copy_from_slice(path.as_bytes());
        old.linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(contents.len() as u64);
        header.set_cksum();
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(contents);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    pub fn file(self, path: &str, contents: &str) -> Self {
        self.add(EntryType::Regular, path, "", 0o644, contents.as_bytes())
    }

    pub fn folder(self, path: &str) -> Self {
        self.add(EntryType::Directory, path, "", 0o755, b"")
    }

    pub fn symlink(self, path: &str, target: &str) -> Self {
        self.add(EntryType::Symlink, path, target, 0o777, b"")
    }

    pub fn hard_link(self, path: &str, target: &str) -> Self {
        self.add(EntryType::Link, path, target, 0o644, b"")
    }

    pub fn bytes(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1024, 0);
        self.0
    }
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

pub fn sha256(bytes: &[u8]) -> String {
    hash::of_reader(&mut &bytes[..]).unwrap()
}

pub fn configuration(layers: &[Vec<u8>]) -> Vec<u8> {
    let ids: Vec<_> = layers.iter().map(|layer| format!("sha256:{}", sha256(layer))).collect();
    let text = json!({
        "architecture": "amd64", "os": "linux", "rootfs": { "type": "layers", "diff_ids": ids },
        "config": { "Entrypoint": ["/run.sh"], "Cmd": ["--now"], "Env": ["PATH=/bin", "EMPTY="], "WorkingDir": "/work", "User": "" },
    });
    text.to_string().into_bytes()
}

/// Makes an archive as `docker save` wrote it before version 25.
pub fn docker_save(layers: &[Vec<u8>]) -> Vec<u8> {
    let config = configuration(layers);
    let name = format!("{}.json", sha256(&config));
    let members: Vec<_> = (0..layers.len()).map(|number| format!("{number}/layer.tar")).collect();
    let manifest = json!([{ "Config": name, "RepoTags": ["lab/endpoint:latest"], "Layers": members }]).to_string();
    let mut tar = Tar::default().add(EntryType::Regular, &name, "", 0o644, &config);
    for (member, layer) in members.iter().zip(layers) {
        tar = tar.add(EntryType::Regular, member, "", 0o644, layer);
    }
    tar.file("manifest.json", &manifest).bytes()
}

/// Makes an archive as skopeo writes it, each layer through `compress`.
pub fn oci_layout(layers: &[Vec<u8>], compress: fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let config = configuration(layers);
    let blob = |bytes: &[u8]| format!("blobs/sha256/{}", sha256(bytes));
    let descriptor =
        |bytes: &[u8]| json!({ "mediaType": "", "digest": format!("sha256:{}", sha256(bytes)), "size": bytes.len() });
    let layers: Vec<_> = layers.iter().map(|layer| compress(layer)).collect();
    let described: Vec<_> = layers.iter().map(|layer| descriptor(layer)).collect();
    let manifest =
        json!({ "schemaVersion": 2, "config": descriptor(&config), "layers": described }).to_string().into_bytes();
    let mut first = descriptor(&manifest);
    first["annotations"] = json!({ "org.opencontainers.image.ref.name": "endpoint" });
    first["platform"] = json!({ "architecture": "amd64", "os": "linux" });
    let attestation =
        json!({ "mediaType": "", "digest": "sha256:none", "platform": { "architecture": "unknown", "os": "unknown" } });
    let index = json!({ "schemaVersion": 2, "manifests": [first, attestation] }).to_string();
    let mut tar = Tar::default().file("oci-layout", "{\"imageLayoutVersion\":\"1.0.0\"}").file("index.json", &index);
    for bytes in [config, manifest].iter().chain(&layers) {
        let name = blob(bytes);
        tar = tar.add(EntryType::Regular, &name, "", 0o644, bytes);
    }
    tar.bytes()
}
