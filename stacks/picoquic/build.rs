//! Declares picoquic's functions from its headers, and links what `build.sh` has built of it.

use std::{env, path::PathBuf};

fn main() {
    // Both are set by build.sh.
    let source =
        PathBuf::from(env::var_os("PICOQUIC_SOURCE").expect("PICOQUIC_SOURCE: the folder of picoquic's source"));
    let build = PathBuf::from(env::var_os("PICOQUIC_BUILD").expect("PICOQUIC_BUILD: the folder of its libraries"));
    println!("cargo::rerun-if-env-changed=PICOQUIC_SOURCE");
    println!("cargo::rerun-if-env-changed=PICOQUIC_BUILD");
    for folder in ["picoquic", "picotls"] {
        println!("cargo::rustc-link-search=native={}", build.join(folder).display());
    }
    println!("cargo::rustc-link-search=native=/usr/lib/x86_64-linux-gnu");
    for library in [
        "picohttp-core",
        "picoquic-log",
        "picoquic-core",
        "picotls-openssl",
        "picotls-minicrypto",
        "picotls-core",
        "ssl",
        "crypto",
    ] {
        println!("cargo::rustc-link-lib=static={library}");
    }
    let headers = [
        "picoquic/picoquic.h",
        // Has the probe timeout before the first round-trip time, for which picoquic has no function.
        "picoquic/picoquic_internal.h",
        "picoquic/picoquic_packet_loop.h",
        "loglib/autoqlog.h",
        "picohttp/h3zero_common.h",
    ];
    let bindings = headers
        .iter()
        .fold(bindgen::Builder::default(), |builder, header| builder.header(source.join(header).display().to_string()));
    bindings
        .clang_arg(format!("-I{}", source.join("picoquic").display()))
        .allowlist_item("picoquic_.*|PICOQUIC_.*|h3zero_.*")
        .prepend_enum_name(false)
        .generate_comments(false)
        .layout_tests(false)
        .generate()
        .expect("picoquic's headers")
        .write_to_file(PathBuf::from(env::var_os("OUT_DIR").expect("OUT_DIR")).join("picoquic.rs"))
        .expect("writing the declarations");
}
