//! What runs need and is made once: kernels, guest images and builds of stacks, in a cache.
//!
//! [`cache`] keeps them; [`kernel`], [`kernel_build`], [`kernel_module`], [`image`] and [`stack`] make them, with the host's programs, which
//! [`command`] starts. [`ahead`] makes what of it needs no compiler, before the command that runs it is there.
//! Knows processes and files, and what a stack's manifest says; does not know what a run does with these things.

pub mod ahead;
pub mod cache;
pub mod command;
pub mod erofs;
pub mod hash;
pub mod image;
pub mod kernel;
pub mod kernel_build;
pub mod kernel_module;
pub mod process;
pub mod shell;
pub mod siblings;
pub mod stack;
