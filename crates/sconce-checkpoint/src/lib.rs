//! See the package description.

mod allow_list;
mod allow_list_names;
mod location;
mod python2_names;

pub use allow_list::AllowList;
pub use location::{LocationRegistry, MapLocation, MapStorage, Tagger};
