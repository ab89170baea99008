//! Builds OpenSSL from the source in its crate, and declares its functions from its headers.

use std::{env, path::PathBuf};

fn main() {
    keep_paths_out();
    let openssl = openssl_src::Build::new().build();
    openssl.print_cargo_metadata();
    bindgen::Builder::default()
        .header_contents("openssl.h", "#include <openssl/err.h>\n#include <openssl/quic.h>\n#include <openssl/ssl.h>\n")
        .clang_arg(format!("-I{}", openssl.include_dir().display()))
        .allowlist_function("BIO_ADDR_.*|ERR_.*|OSSL_QUIC_.*|SSL_.*")
        .allowlist_var("OPENSSL_NPN_.*|SSL_.*|TLSEXT_.*")
        .prepend_enum_name(false)
        .generate_comments(false)
        .layout_tests(false)
        .generate()
        .expect("OpenSSL's headers")
        .write_to_file(PathBuf::from(env::var_os("OUT_DIR").expect("OUT_DIR")).join("openssl.rs"))
        .expect("writing the declarations");
}

/// OpenSSL writes its compiler's flags and the folder of its modules into itself: neither may name the folder of this build.
fn keep_paths_out() {
    let flags = env::var("CARGO_MAKEFLAGS").unwrap_or_default();
    // SAFETY: no other thread is running.
    unsafe {
        // Only prefix maps, which OpenSSL does not need: it compiles files by relative names, without debug information.
        env::remove_var("CFLAGS");
        // There are no modules. openssl-src passes this variable to make.
        env::set_var("CARGO_MAKEFLAGS", format!("{flags} MODULESDIR=/usr/local/ssl/modules"));
    }
}
