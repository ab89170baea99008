//! An endpoint under test of which there are two builds, for gates.

use std::{fs, path::Path};

use super::TEST_STACKS;

/// Writes the endpoint `my-endpoint` into a folder; `change` makes its program another one.
pub fn write_endpoint(folder: &Path, change: impl Fn(String) -> String) {
    let source = Path::new(TEST_STACKS).join("misbehaving");
    fs::create_dir_all(folder).unwrap();
    let manifest = fs::read_to_string(source.join("stack.toml")).unwrap();
    fs::write(folder.join("stack.toml"), manifest.replace("name = \"misbehaving\"", "name = \"my-endpoint\"")).unwrap();
    let program = fs::read_to_string(source.join("endpoint.pl")).unwrap();
    fs::write(folder.join("endpoint.pl"), change(program)).unwrap();
}

/// What a pull request may do by mistake: all that is left to send leaves at once, after a pause.
pub fn regressed(program: String) -> String {
    const SEND: &str = "    print $connection scalar <$file>;\n";
    assert!(program.contains(SEND), "the endpoint sends in another way now");
    let pause = "    my $bytes = <$file>;\n    $connection->autoflush(1);\n    print $connection substr $bytes, 0, 500_000;\n    \
                 select undef, undef, undef, 0.1;\n    print $connection substr $bytes, 500_000;\n";
    program.replace(SEND, pause)
}
