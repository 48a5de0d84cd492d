//! temporary
#![allow(missing_docs)]
use crate::AllowList;
pub struct WeightsOnly<'a> {
    pub a: &'a AllowList,
    pub warnings: Vec<String>,
}
impl<'a> WeightsOnly<'a> {
    pub fn new(a: &'a AllowList) -> Self {
        WeightsOnly { a, warnings: vec![] }
    }
}
impl sconce_pickle::Policy for WeightsOnly<'_> {}
pub const UNSAFE_MESSAGE: &str = "x";
pub fn pytorch_message(m: &str) -> String {
    m.to_owned()
}
