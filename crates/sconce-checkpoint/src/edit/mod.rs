//! Changing what a checkpoint holds, and making checkpoints from nothing.
//!
//! A [`Draft`] is an owned copy of a checkpoint's objects: of the objects only, tensor data stays
//! where it is. Its methods change entries and tensors and say what they changed; tensors whose data
//! changes are computed when they are written, one storage at a time. A [`StateDict`] makes a draft
//! of tensors, a [`Value`] one of anything.

mod builder;
mod change;
mod entries;
mod literal;
mod optimizer;
mod pieces;
mod set;
mod state_dict;
mod tensors;
mod value;

pub use builder::Builder;
pub use change::{CastOverflow, Change, ChangeKind};
pub use state_dict::StateDict;
pub use value::{Made, Value};

use crate::object::{Graph, Object, ObjectId, Walk};
use crate::{Error, ErrorKind};

/// An owned copy of objects, to be changed and saved.
///
/// Names are those of [`Checkpoint::visit`](crate::Checkpoint::visit). An object with several names
/// is one object: what is changed under one name is changed under all, and what a shared dict or
/// list holds goes by its first name.
///
/// ```no_run
/// use sconce_checkpoint::{Checkpoint, Draft, SaveOptions};
/// use sconce_tensor::DType;
///
/// let checkpoint = Checkpoint::open("training.ckpt")?;
/// let mut draft = Draft::new(checkpoint.root());
/// draft.take("state_dict")?;
/// draft.rename(|name| name.strip_prefix("model.").map(str::to_owned))?;
/// draft.cast(DType::BFloat16, |name| name.ends_with(".weight"))?;
/// SaveOptions::new().save(draft.root(), "weights.pt")?;
/// # Ok::<(), sconce_checkpoint::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Draft {
    graph: Graph,
    root: ObjectId,
}

impl Draft {
    /// Copies an object and all that it reaches. No tensor data is read.
    pub fn new(object: Object<'_>) -> Draft {
        Draft { graph: object.graph().clone(), root: object.id() }
    }

    /// The object, as it is now.
    pub fn root(&self) -> Object<'_> {
        Object::new(&self.graph, self.root)
    }

    /// Calls `visit` with every dotted name and what stands there, as
    /// [`Checkpoint::visit`](crate::Checkpoint::visit) does.
    pub fn visit<'d>(&'d self, visit: impl FnMut(&str, Object<'d>)) -> bool {
        let mut walk = Walk::new(&self.graph);
        walk.run(self.root, visit);
        !walk.cut
    }

    /// Makes the object of a dotted name the root: `state_dict` of a training checkpoint. Elements of
    /// lists may be written `layers.0` or `layers[0]`.
    ///
    /// # Errors
    /// When nothing has that name.
    pub fn take(&mut self, name: &str) -> Result<(), Error> {
        let taken = self.find(name).or_else(|error| self.find(&dotted(name)).map_err(|_| error))?;
        self.root = taken;
        Ok(())
    }

    fn find(&self, name: &str) -> Result<ObjectId, Error> {
        let mut object = self.root();
        let mut rest = name;
        while !rest.is_empty() {
            // Keys may hold dots themselves: the longest that is there is meant.
            let dots = rest.rmatch_indices('.').map(|(at, _)| at);
            let step = std::iter::once(rest.len()).chain(dots).find_map(|end| {
                let part = &rest[..end];
                let found = object.get(part).or_else(|| object.at(part.parse().ok()?));
                Some((found?, end))
            });
            let Some((found, end)) = step else {
                let message = format!("nothing is called '{}'", name.escape_debug());
                return Err(Error::new(ErrorKind::Caller, message));
            };
            object = found;
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        Ok(object.id())
    }
}

/// `layers[0].weight` as `layers.0.weight`.
fn dotted(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, behind)) = rest.split_once('[') {
        let Some((index, after)) = behind.split_once(']') else { break };
        if index.is_empty() || !index.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        out.push_str(before);
        if !out.is_empty() {
            out.push('.');
        }
        out.push_str(index);
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_becomes_the_root() {
        let draft = entries::tests::training();
        let taken = |name: &str| {
            let mut draft = draft.clone();
            draft.take(name).map(|()| draft.root().repr(40)).map_err(|error| error.to_string())
        };
        assert_eq!(taken("epoch"), Ok("3".to_owned()));
        assert_eq!(taken("optimizers.0.lr"), Ok("0.5".to_owned()));
        assert_eq!(taken("model.a.b.x"), Err("nothing is called 'model.a.b.x'".to_owned()));
        assert!(taken("").unwrap().starts_with("OrderedDict"));
        assert_eq!(taken("optimizers[0].lr"), Ok("0.5".to_owned()));
    }

    #[test]
    fn indexes_in_brackets_are_parts_of_names() {
        let cases = [
            ("layers[0].weight", "layers.0.weight"),
            ("[1][2]", "1.2"),
            ("a[x].b[0]", "a[x].b[0]"),
            ("a[0", "a[0"),
            ("a.b", "a.b"),
        ];
        for (name, want) in cases {
            assert_eq!(dotted(name), want);
        }
    }
}
