//! Scratch.
use quiclab_testbed::{
    cache::Cache,
    vm::{initramfs, kernel::Kernel},
};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let k = Kernel::find(&Cache::at("/tmp/qcache".into()), "6.1").unwrap();
    initramfs::write(a[1].as_ref(), &k, a[2].as_ref()).unwrap();
}
