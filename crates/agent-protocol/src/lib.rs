//! What the agent is told and what it answers: types, and the formats in which they travel.
//!
//! It knows nothing of experiment files, settings or records: values are plain numbers with their unit in the name, and stages of the
//! path, so that the agent's executable changes only when what it does changes.
//!
//! Read first: [`orders`] and [`network`] (what the agent is told), [`report`] (what it answers), [`slot`] (how both travel
//! in and out of a virtual machine), [`results`] (how the host reads what comes out).

pub mod activity;
pub mod addresses;
pub mod contents;
pub mod cross_traffic;
pub mod forwarder;
pub mod hosts;
pub mod network;
pub mod orders;
pub mod places;
pub mod probe;
pub mod profile;
pub mod report;
pub mod results;
pub mod ring;
pub mod slot;
pub mod stage;
