//! The repository as text: its words, doc comments, pages, and what may use what. Nothing of it is run, and no crate is compiled.

mod circles;
mod dependencies;
mod doc_comments;
mod forbidden;
mod layers;
mod modules;
mod pages;
mod parts;
mod paths;
mod rfc;
mod source;
mod words;
