//! `quiclab-agent`: process 1 of the virtual testbed's guest.

mod init;

fn main() {
    init::main();
}
