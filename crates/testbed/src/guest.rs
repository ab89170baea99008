//! Guests with a kernel of their own: what virtual machines of QEMU and User-Mode Linux have in common.
//!
//! [`machine`] is a guest's size and files, [`kernels`] finds its kernel, [`initramfs`] is what it boots into, [`orders`], [`disciplines`] and
//! [`path`] what its [`agent`] is told to do, [`results`] what it left, and [`slot`] how both get in and out.

pub mod agent;
mod captured;
pub mod disciplines;
mod forwarded;
pub mod initramfs;
pub mod kernels;
pub mod machine;
pub mod observed;
pub mod orders;
pub mod path;
pub mod results;
pub(crate) mod slot;
