//! See the package description.

mod allow_list;
mod allow_list_names;
mod identify;
mod location;
#[allow(dead_code, reason = "used by the reader of checkpoints")]
mod python2_names;
#[allow(dead_code, reason = "used by the reader of checkpoints")]
mod weights_only;

pub use allow_list::AllowList;
pub use identify::{FileKind, Identity, identify};
pub use location::{LocationRegistry, MapLocation, MapStorage, Tagger};
pub use weights_only::pytorch_message;
