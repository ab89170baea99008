//! Images made like those of the QUIC Interop Runner: imported, and run as server and client.

use std::{
    env,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    process::Command,
};

use crate::common::{CommandOutput, REAL_STACKS, output_of, quiclab};
use quiclab_testing::has_program;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// What such images are built on, without their endpoint.
const BASE_PACKAGES: &str = "--include=iproute2,net-tools,ethtool";
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/images");

/// A cache of its own for what is imported; kernel and saved states are those of the other tests.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let set = |name| env::var_os(name).map(PathBuf::from);
        let shared = set("QUICLAB_CACHE").or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("quiclab")));
        let shared = shared.unwrap_or_else(|| set("HOME").unwrap().join(".cache/quiclab"));
        fs::create_dir(folder.path().join("cache")).unwrap();
        for name in ["kernel", "state"] {
            fs::create_dir_all(shared.join(name)).unwrap();
            std::os::unix::fs::symlink(shared.join(name), folder.path().join("cache").join(name)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn quiclab(&self, arguments: &[&str]) -> CommandOutput {
        let mut command = quiclab();
        command.env("QUICLAB_CACHE", self.path("cache")).current_dir(self.folder.path());
        output_of(command.args(arguments).args(["--stacks", REAL_STACKS]))
    }

    fn write(&self, name: &str, contents: &[u8]) -> String {
        fs::write(self.path(name), contents).unwrap();
        self.path(name).display().to_string()
    }
}

#[test]
fn an_image_is_imported_from_both_layouts_and_runs_as_server_and_client() {
    if !has_program("mmdebstrap", "mmdebstrap") {
        return;
    }
    if !has_program("go", "golang") {
        return;
    }
    let place = Place::new();
    let layers = [base_layer(), forgotten_layer(&place), endpoint_layer(&place)];
    docker_save(&layers, &place.path("saved.tar"));
    oci_archive(&layers, &place.path("oci.tar"));
    for (archive, name) in [("saved.tar", "saved"), ("oci.tar", "oci")] {
        let first = place.quiclab(&["stacks", "import", archive]);
        assert_eq!((first.status, first.output), (Some(0), format!("{name}: imported\n")), "{}", first.errors);
    }
    let again = place.quiclab(&["stacks", "import", "oci.tar", "--name", "oci"]);
    assert_eq!(again.output, "oci: imported before\n", "{}", again.errors);
    let digest = |name: &str| fs::read_to_string(place.path("cache/imported").join(name).join("sha256")).unwrap();
    assert_eq!(digest("saved"), digest("oci"), "the same image in both layouts");
    let listed = place.quiclab(&["stacks", "list", "oci"]);
    assert!(listed.output.contains("Imported from the image"), "{listed:?}");

    // The list has one that was never imported, and leaves all other stacks out.
    let list = json!({ "saved": { "image": "a", "url": "", "role": "server" }, "oci": { "image": "b", "url": "", "role": "both" },
        "other": { "image": "lab.invalid/other", "url": "", "role": "both" } });
    let list = place.write("implementations.json", list.to_string().as_bytes());
    let left_out = place.quiclab(&["stacks", "import", "--implementations", &list]);
    assert_eq!(left_out.status, Some(1), "{left_out:?}");
    assert!(
        left_out.output.contains("oci: imported before\nother: SKIPPED: lab.invalid/other could not be saved: docker "),
        "{left_out:?}"
    );
    assert!(left_out.output.contains("hint: on a machine with docker: docker pull lab.invalid/other"), "{left_out:?}");

    let cases = "handshake,transfer,ipv6,retry";
    let run = place.quiclab(&["interop", "--implementations", &list, "--case", cases, "--out", "out", "--json"]);
    assert!(run.errors.contains("skipping images that were not imported, as client: other"), "{}", run.errors);
    let matrix: Value = serde_json::from_str(&run.output).unwrap_or_else(|_| panic!("{run:?}"));
    let entries = matrix["entries"].as_array().unwrap();
    assert_eq!(run.status, Some(0), "{:#}\n{}", matrix["entries"], run.errors);
    assert_eq!(entries.len(), 2 * 4, "{entries:?}");
    let pairs: Vec<_> =
        entries.iter().map(|entry| (entry["server"].as_str().unwrap(), entry["client"].as_str().unwrap())).collect();
    assert!(pairs.iter().all(|(server, client)| ["oci", "saved"].contains(server) && *client == "oci"), "{pairs:?}");
}

#[test]
fn what_cannot_be_imported_says_why_and_what_to_do() {
    let place = Place::new();
    let nothing = place.write("nothing.tar", b"");
    for (arguments, expected) in [
        (vec!["stacks", "import", &nothing, "--name", "quic-go"], "hint: --name quic-go-image"),
        (vec!["stacks", "import", &nothing, "--name", "../x"], "name: found \"../x\""),
        (vec!["stacks", "import", &nothing], "nothing.tar"),
        (vec!["stacks", "import", &nothing, "--cases", "nonsense"], "--cases nonsense"),
        (vec!["stacks", "import"], "<ARCHIVE>"),
        (vec!["interop", "--implementations", &nothing], "nothing.tar"),
    ] {
        let result = place.quiclab(&arguments);
        assert_eq!(result.status, Some(125), "{result:?}");
        assert!(result.errors.contains(expected), "{result:?}");
    }
    assert_eq!(fs::read_dir(place.path("cache/imported")).map_or(0, Iterator::count), 0);
}

/// A small Debian, made once.
fn base_layer() -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("endpoint-base.tar");
    if !path.is_file() {
        let aside = path.with_extension("part");
        let mut mmdebstrap = Command::new("mmdebstrap");
        mmdebstrap.args(["--variant=essential", "--format=tar", BASE_PACKAGES]);
        mmdebstrap.args([
            "--dpkgopt=path-exclude=/usr/share/doc/*",
            "--dpkgopt=path-exclude=/usr/share/locale/*",
            "trixie",
        ]);
        let made = output_of(mmdebstrap.arg(&aside));
        assert_eq!(made.status, Some(0), "{}", made.errors);
        fs::rename(aside, &path).unwrap();
    }
    path
}

/// The scripts, and the endpoint of a stack that needs no libraries.
fn endpoint_layer(place: &Place) -> PathBuf {
    let program = place.path("quic-go");
    let mut build = Command::new("go");
    build.current_dir(Path::new(REAL_STACKS).join("quic-go")).env("CGO_ENABLED", "0");
    let built = output_of(build.args(["build", "-trimpath", "-ldflags=-s", "-o"]).arg(&program).arg("."));
    assert_eq!(built.status, Some(0), "{}", built.errors);
    let mut members = Vec::new();
    let mut add = |name: &str, contents: Vec<u8>| members.push((name.to_owned(), contents));
    for script in ["setup.sh", "wait-for-it.sh", "run_endpoint.sh"] {
        add(script, fs::read(Path::new(SCRIPTS).join(script)).unwrap());
    }
    add("endpoint/quic-go", fs::read(&program).unwrap());
    add("endpoint/.wh.gone", Vec::new());
    let path = place.path("endpoint.tar");
    pack(&members, &path);
    path
}

/// What the layer above it hides.
fn forgotten_layer(place: &Place) -> PathBuf {
    let path = place.path("forgotten.tar");
    pack(&[("endpoint/gone".to_owned(), b"forgotten".to_vec())], &path);
    path
}

fn bytes_of(layers: &[PathBuf]) -> Vec<Vec<u8>> {
    layers.iter().map(|layer| fs::read(layer).unwrap()).collect()
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn configuration(layers: &[Vec<u8>]) -> Vec<u8> {
    let ids: Vec<_> = layers.iter().map(|layer| format!("sha256:{}", digest(layer))).collect();
    let config = json!({
        "Entrypoint": ["/run_endpoint.sh"], "Cmd": ["from Cmd"], "WorkingDir": "/endpoint/here",
        "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "SAID_BY=the image", "ROLE=none"],
    });
    json!({ "architecture": "amd64", "os": "linux", "config": config, "rootfs": { "type": "layers", "diff_ids": ids } })
        .to_string()
        .into_bytes()
}

fn pack(members: &[(String, Vec<u8>)], to: &Path) {
    let mut tar = tar::Builder::new(File::create(to).unwrap());
    for (name, contents) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(contents.len() as u64);
        header.set_mode(0o755);
        header.set_uid(1000);
        tar.append_data(&mut header, name, &contents[..]).unwrap();
    }
    tar.finish().unwrap();
}

/// Writes an archive as `docker save` does before version 25.
fn docker_save(layers: &[PathBuf], to: &Path) {
    let layers = bytes_of(layers);
    let config = configuration(&layers);
    let names: Vec<_> = layers.iter().map(|layer| format!("{}/layer.tar", digest(layer))).collect();
    let manifest =
        json!([{ "Config": format!("{}.json", digest(&config)), "RepoTags": ["lab/saved:latest"], "Layers": names }]);
    let mut members = vec![(format!("{}.json", digest(&config)), config)];
    members.extend(names.into_iter().zip(layers));
    members.push(("manifest.json".to_owned(), manifest.to_string().into_bytes()));
    pack(&members, to);
}

/// Writes an archive as skopeo does: layers are compressed, everything is named by its digest.
fn oci_archive(layers: &[PathBuf], to: &Path) {
    let config = configuration(&bytes_of(layers));
    let layers: Vec<_> = bytes_of(layers).iter().map(|layer| gzip(layer)).collect();
    let describe = |kind: &str, bytes: &[u8]| json!({ "mediaType": format!("application/vnd.oci.image.{kind}"), "digest": format!("sha256:{}", digest(bytes)), "size": bytes.len() });
    let described: Vec<_> = layers.iter().map(|layer| describe("layer.v1.tar+gzip", layer)).collect();
    let manifest = json!({ "schemaVersion": 2, "config": describe("config.v1+json", &config), "layers": described });
    let manifest = manifest.to_string().into_bytes();
    let index = json!({ "schemaVersion": 2, "manifests": [describe("manifest.v1+json", &manifest)] });
    let blob = |bytes: Vec<u8>| (format!("blobs/sha256/{}", digest(&bytes)), bytes);
    let mut members: Vec<_> = [config, manifest].into_iter().chain(layers).map(blob).collect();
    members.push(("oci-layout".to_owned(), br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec()));
    members.push(("index.json".to_owned(), index.to_string().into_bytes()));
    pack(&members, to);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut compressed = Vec::new();
    flate2::read::GzEncoder::new(bytes, flate2::Compression::fast()).read_to_end(&mut compressed).unwrap();
    compressed
}
