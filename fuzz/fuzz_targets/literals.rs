//! What the command line takes for values: Python's literals, and calls that make tensors.
#![no_main]

#[path = "../../crates/sconce-cli/src/call/input/constructor.rs"]
#[allow(unreachable_pub, reason = "a part of the command")]
mod constructor;
#[path = "../../crates/sconce-cli/src/arguments/values.rs"]
#[allow(unreachable_pub, dead_code, reason = "a part of the command")]
mod values;

#[allow(unreachable_pub, reason = "a part of the command")]
mod arguments {
    pub(crate) use crate::values;
}

use libfuzzer_sys::fuzz_target;
use sconce::checkpoint::{Draft, Value};
use sconce::run::{Generator, from_object};

fuzz_target!(|text: &str| {
    if let Ok(value) = Value::parse(text) {
        let draft = Draft::from(value);
        assert!(draft.root().repr(200).chars().count() <= 200);
        if let Err(error) = from_object(draft.root()) {
            assert!(!error.to_string().is_empty());
        }
    }
    // Sizes that are asked for are made, so large ones are left out.
    let digits = text.split(|c: char| !c.is_ascii_digit()).map(str::len).max().unwrap_or(0);
    if digits < 3
        && text.len() < 60
        && let Some(Err(why)) = constructor::read(text, &mut Generator::new(7))
    {
        assert!(!why.is_empty());
    }
});
