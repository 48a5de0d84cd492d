//! `torch.hub` without PyTorch, and files on web servers without downloading them.
//!
//! [`Hub`] has PyTorch's cache: the same folders, names and list of trusted repositories, so that both programs share
//! it. [`Hub::download_url_to_file`] and [`Hub::load_state_dict_from_url`] are PyTorch's functions of those names;
//! [`Hub::fetch`] gets a repository as `torch.hub.load` does.
//!
//! [`remote::open`] gives a [`Source`](sconce_source::Source) over `https://` or `hf://`: a checkpoint's directory and
//! pickle are read in a few ranges, tensors when they are asked for.
//!
//! Architecture invariant: the only crate that opens sockets, and only to servers that the caller or a redirect
//! names. Nothing is sent but requests for files.

#[cfg(feature = "buckets")]
mod buckets;
mod cache;
mod client;
mod download;
mod environment;
mod error;
mod fetch;
mod hasher;
mod http_date;
mod hub;
mod hugging_face;
mod partial;
pub mod remote;
mod repository;
mod state_dict;
mod trust;
mod url;
mod watch;
mod zipball;

pub use cache::{CacheItem, CacheKind};
pub use client::Patience;
pub use download::Downloaded;
pub use environment::Environment;
pub use error::{Error, ErrorKind};
pub use fetch::{FetchOptions, Fetched};
pub use hub::{DownloadOptions, Hub, StateDictOptions};
pub use repository::Repository;
pub use state_dict::hash_prefix_of;
pub use trust::Trust;
pub use watch::{Silent, Watch};
