//! The verbs, a file each: its arguments, its help and what it does. A verb reads, prints to `Out` and gives back a
//! verdict; it neither exits nor touches the standard streams itself.

pub mod ast;
pub mod bench;
pub mod clean;
pub mod code;
pub mod compare;
pub mod completions;
pub mod convert;
pub mod diff;
pub mod dis;
pub mod edit;
pub mod extract;
pub mod globals;
pub mod graph;
#[cfg(feature = "hub")]
pub mod hub;
pub mod identify;
pub mod info;
pub mod ls;
pub mod man;
pub mod merge;
pub mod ops;
pub mod pickle;
pub mod resave;
pub mod run;
pub mod scan;
pub mod script;
pub mod shard;
pub mod show;
pub mod stat;
pub mod trace;
pub mod tree;
pub mod verify;
