//! Groups of arguments that several verbs take. What one verb alone takes stands in the verb's own file.

pub mod assignments;
pub mod call;
pub mod method;
pub mod pickles;
pub mod positional;
pub mod python;
pub mod reading;
pub mod rename;
pub mod saving;
pub mod selection;
pub mod values;
