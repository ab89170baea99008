use std::{
    os::unix::fs::{PermissionsExt, symlink},
    sync::atomic::AtomicBool,
    time::{Duration, SystemTime},
};

use super::*;

/// A stack in `folder` below a temporary one, with these lines in its `[build]`.
pub(crate) fn own_stack(root: &Path, build: &str) -> Source {
    let folder = root.join("mine");
    fs::create_dir_all(&folder).unwrap();
    let quinn = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stacks/quinn").join(MANIFEST);
    let mut manifest: toml::Table = fs::read_to_string(quinn).unwrap().parse().unwrap();
    manifest.insert("name".to_owned(), "mine".into());
    let mut table: toml::Table = build.parse().unwrap();
    for (key, value) in [
        ("profile", "release".into()),
        ("host_packages", toml::Value::Array(vec![])),
        ("host_tools", toml::Value::Array(vec![])),
    ] {
        table.insert(key.to_owned(), value);
    }
    manifest.insert("build".to_owned(), table.into());
    manifest["guest"]
        .as_table_mut()
        .unwrap()
        .insert("command".to_owned(), toml::Value::Array(vec!["/stack/endpoint".into()]));
    fs::write(folder.join(MANIFEST), manifest.to_string()).unwrap();
    source(&folder).unwrap()
}

const COPIES: &str = "command = \"cp ../elsewhere/endpoint $QUICLAB_STACK_OUT\"\n";

#[test]
fn an_input_outside_the_folder_is_part_of_what_a_build_is_made_of() {
    let root = tempfile::tempdir().unwrap();
    let elsewhere = root.path().join("elsewhere");
    fs::create_dir_all(elsewhere.join("src/target")).unwrap();
    for (file, text) in [("endpoint", "1"), ("src/a.c", "1"), ("src/a.h", "1"), ("src/target/a.o", "1")] {
        fs::write(elsewhere.join(file), text).unwrap();
    }
    let name_with = |inputs: &str| name(&own_stack(root.path(), &format!("{COPIES}{inputs}"))).unwrap();
    // For each list of inputs: what changes the build, and what does not.
    for (inputs, counts, does_not) in [
        ("", vec![], vec!["endpoint", "src/a.c"]),
        ("inputs = [\"../elsewhere/endpoint\"]", vec!["endpoint"], vec!["src/a.c"]),
        ("inputs = [\"../elsewhere/src\"]", vec!["src/a.c", "src/a.h"], vec!["endpoint", "src/target/a.o"]),
        ("inputs = [\"../elsewhere/src/*.c\"]", vec!["src/a.c"], vec!["src/a.h", "endpoint"]),
        ("inputs = [\"../elsewhere/**/*.h\", \"../elsewhere/endpoint\"]", vec!["src/a.h", "endpoint"], vec!["src/a.c"]),
    ] {
        for (files, is_input) in [(counts, true), (does_not, false)] {
            for file in files {
                let before = name_with(inputs);
                let path = elsewhere.join(file);
                let text = fs::read_to_string(&path).unwrap();
                fs::write(&path, format!("{text}x")).unwrap();
                assert_eq!(before != name_with(inputs), is_input, "{file} with {inputs}");
            }
        }
    }
    // A file that comes or goes changes it as well.
    let before = name_with("inputs = [\"../elsewhere/src\"]");
    fs::write(elsewhere.join("src/b.c"), "").unwrap();
    assert_ne!(before, name_with("inputs = [\"../elsewhere/src\"]"));
}

/// They would be read without end.
#[test]
fn an_input_that_is_a_device_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let error = name(&own_stack(root.path(), &format!("{COPIES}inputs = [\"/dev/zero\"]"))).unwrap_err();
    assert!(format!("{error:#}").contains("a device, a pipe or a socket"), "{error:#}");
    let source = own_stack(root.path(), COPIES);
    symlink("/dev/zero", source.folder.join("endless")).unwrap();
    assert!(format!("{:#}", name(&source).unwrap_err()).contains("endless"));
}

#[test]
fn an_input_that_is_not_there_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("empty")).unwrap();
    let refused = |input: &str| {
        let source = own_stack(root.path(), &format!("{COPIES}inputs = [{input:?}]"));
        format!("{:#}", name(&source).unwrap_err())
    };
    assert!(
        refused("../nothing").contains("stack.toml: build.inputs: found \"../nothing\", but "),
        "{}",
        refused("../nothing")
    );
    assert!(refused("../*.c").contains("which matches no file, expected at least one"), "{}", refused("../*.c"));
    assert!(refused("../empty").contains("which contains no file, expected at least one"), "{}", refused("../empty"));
    assert!(refused("../a**b").contains("build.inputs: found \"../a**b\""), "{}", refused("../a**b"));
    let circle = root.path().join("circle");
    fs::create_dir(&circle).unwrap();
    symlink(&circle, circle.join("again")).unwrap();
    assert!(refused("../circle").contains("again"), "{}", refused("../circle"));
}

#[test]
fn a_build_without_inputs_has_the_name_that_it_always_had() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("x");
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("a"), "1").unwrap();
    fs::write(folder.join("src/b"), "2").unwrap();
    let manifest = source(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stacks/quinn")).unwrap().manifest;
    let hasher = crate::hash::Hasher::default().part(b"3").part(b"a").part(b"1").part(b"src/b").part(b"2");
    let source = Source { manifest, folder, options: BTreeMap::new() };
    assert_eq!(name(&source).unwrap(), format!("stack/x-{}", hasher.short()));
}

fn compiled(build: &str) -> Result<()> {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("elsewhere")).unwrap();
    fs::write(root.path().join("elsewhere/endpoint"), "").unwrap();
    let source = own_stack(root.path(), build);
    let [objects, out] = ["objects", "out"].map(|name| root.path().join(name));
    compile(&source, &objects, &out, &[], &AtomicBool::new(false))
}

#[test]
fn a_build_that_leaves_nothing_is_an_error() {
    compiled(COPIES).unwrap();
    let nothing = format!("{:#}", compiled("command = \"true\"").unwrap_err());
    assert!(
        nothing.starts_with("building mine: the command succeeded but left no file in $QUICLAB_STACK_OUT"),
        "{nothing}"
    );
    let other = format!("{:#}", compiled("command = \"touch $QUICLAB_STACK_OUT/b $QUICLAB_STACK_OUT/a\"").unwrap_err());
    assert!(other.contains("guest.command needs /stack/endpoint, but the build left only a, b in"), "{other}");
    let failed = format!("{:#}", compiled("command = \"echo no such header; exit 3\"").unwrap_err());
    assert!(failed.contains("no such header"), "{failed}");
}

/// Compiles where the source is newer than what was made of it, as make does.
const LIKE_MAKE: &str = r#"command = "o=$CARGO_TARGET_DIR/endpoint; if ! [ -e $o ] || [ endpoint.c -nt $o ]; then cp endpoint.c $o; touch $o; fi; cp $o $QUICLAB_STACK_OUT/""#;

#[test]
fn objects_of_another_source_folder_are_not_linked() {
    let root = tempfile::tempdir().unwrap();
    let objects = root.path().join("build/mine-0.24");
    let built = |parent: &str, text: &str, age_s: u64| {
        let source = own_stack(&root.path().join(parent), LIKE_MAKE);
        fs::write(source.folder.join("endpoint.c"), text).unwrap();
        let file = fs::File::options().write(true).open(source.folder.join("endpoint.c")).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age_s)).unwrap();
        let out = root.path().join("out");
        compile(&source, &objects, &out, &[], &AtomicBool::new(false)).unwrap();
        fs::read_to_string(out.join("endpoint")).unwrap()
    };
    assert_eq!(built("main", "main", 7200), "main");
    // All files of a revision are as old as its commit, which is older than the objects of the other revision.
    assert_eq!(built("head", "head", 3600), "head");
    // In the same folder the objects stay and are used where they are newer than the source.
    fs::write(objects.join("endpoint"), "from objects").unwrap();
    assert_eq!(built("head", "head", 3600), "from objects");
}

/// The endpoint of a crate whose build script generates code, built in `root` below a workspace with settings of its own.
fn built_by_cargo(root: &Path, objects: &Path) -> Vec<u8> {
    const COMMAND: &str = r#"command = "cargo install --offline --path . --root $QUICLAB_STACK_OUT --no-track && mv $QUICLAB_STACK_OUT/bin/endpoint $QUICLAB_STACK_OUT && rmdir $QUICLAB_STACK_OUT/bin""#;
    let source = own_stack(root, COMMAND);
    fs::create_dir_all(source.folder.join("src")).unwrap();
    fs::create_dir(root.join(".cargo")).unwrap();
    for (file, text) in [
        ("Cargo.toml", "[package]\nname = \"endpoint\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n"),
        (
            "src/main.rs",
            "include!(concat!(env!(\"OUT_DIR\"), \"/place.rs\"));\nfn main() { println!(\"{}\", place()) }\n",
        ),
        (
            "build.rs",
            "fn main() {\n    let path = std::env::var(\"OUT_DIR\").unwrap() + \"/place.rs\";\n    \
             std::fs::write(path, \"fn place() -> &'static str { file!() }\").unwrap();\n}\n",
        ),
        ("../.cargo/config.toml", "[build]\nrustc-workspace-wrapper = \".cargo/wrapper\"\n"),
        ("../.cargo/wrapper", "#!/bin/sh\nexec \"$@\"\n"),
    ] {
        fs::write(source.folder.join(file), text).unwrap();
    }
    fs::set_permissions(root.join(".cargo/wrapper"), fs::Permissions::from_mode(0o755)).unwrap();
    let out = root.join("out");
    compile(&source, objects, &out, &[], &AtomicBool::new(false)).unwrap();
    fs::read(out.join("endpoint")).unwrap()
}

#[test]
fn an_endpoint_has_the_same_bytes_whatever_the_folders_and_links_to_its_source_and_objects() {
    let root = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other/folder"].map(|name| root.path().join(name));
    for folder in [&one, &other] {
        fs::create_dir_all(folder).unwrap();
    }
    symlink(&other, root.path().join("link")).unwrap();
    let first = built_by_cargo(&one, &one.join("objects"));
    let second = built_by_cargo(&other, &root.path().join("link/objects"));
    assert!(first == second, "{} and {} bytes", first.len(), second.len());
}

#[test]
fn a_build_is_made_again_only_where_that_is_asked_for() {
    let root = tempfile::tempdir().unwrap();
    let source = own_stack(root.path(), COPIES);
    let cache = Cache::at(root.path().join("cache"));
    let mut builds = 0;
    let mut made = |again: bool| {
        let write = |folder: &Path| {
            builds += 1;
            Ok(fs::write(folder.join("text"), builds.to_string())?)
        };
        let (folder, made) = make(&cache, "stack/mine", &source, again, write).unwrap();
        (fs::read_to_string(folder.join("text")).unwrap(), made)
    };
    assert_eq!(made(false), ("1".to_owned(), Made::Now));
    let (text, before) = made(false);
    let Made::Before { at: Some(_), from: Some(from), origin: None } = before else { panic!("{before:?}") };
    assert_eq!((text.as_str(), from), ("1", fs::canonicalize(&source.folder).unwrap()));
    assert_eq!(made(true), ("2".to_owned(), Made::Now));
    assert_eq!(made(false).0, "2");
}

#[test]
fn every_combination_of_options_is_a_variant_but_the_usual_one() {
    let stacks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stacks");
    let mut source = source(&stacks.join("quinn")).unwrap();
    assert!(source.variants().is_empty());
    let values = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    source.manifest.build.options = BTreeMap::from([
        ("profile".to_owned(), values(&["release", "dev"])),
        ("rollback".to_owned(), values(&["on", "off"])),
    ]);
    let variants = source.variants();
    let names: Vec<_> = variants.iter().map(|variant| variant.manifest.name.as_str()).collect();
    assert_eq!(names, ["quinn profile=dev", "quinn rollback=off", "quinn profile=dev rollback=off"]);
    let profiles: Vec<_> = variants.iter().map(|variant| variant.manifest.build.profile.as_str()).collect();
    assert_eq!(profiles, ["dev", "release", "dev"]);
    assert!(name(&variants[2]).unwrap().starts_with("stack/quinn-profile-dev-rollback-off-"));
}
