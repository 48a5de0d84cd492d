use std::path::Path;

use sconce_source::Source;
use sconce_tensor::Tensor;

use crate::formats::{self, Parts};
use crate::globals::GlobalUse;
use crate::identify::FileKind;
use crate::info::{Info, StorageRecord};
use crate::object::{NamedArray, NamedTensor, Node, Object, Walk};
use crate::{Error, LoadOptions};

/// An open checkpoint: its objects and its tensors, whose data stays in the file until it is used.
///
/// ```
/// use sconce_checkpoint::Checkpoint;
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits.ckpt");
/// let checkpoint = Checkpoint::open(path)?;
/// for named in checkpoint.tensors() {
///     println!("{} {} {:?}", named.name, named.tensor.dtype().name(), named.tensor.sizes());
/// }
/// let weight = checkpoint.tensor("state_dict.conv1.weight").expect("a convolution");
/// let values: &[f32] = weight.as_slice().expect("contiguous float32");
/// # assert_eq!(values.len(), 72);
/// # Ok::<(), sconce_checkpoint::Error>(())
/// ```
#[derive(Debug)]
pub struct Checkpoint {
    source: Source,
    parts: Parts,
}

impl LoadOptions {
    /// Opens a file. Reads its directory and pickle, and no tensor data.
    ///
    /// # Errors
    /// When the file cannot be read, is something else, or the policy refuses it.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Checkpoint, Error> {
        self.open_source(Source::open_with(path, self.map_mode)?)
    }

    /// Opens bytes from anywhere.
    ///
    /// # Errors
    /// As [`LoadOptions::open`].
    pub fn open_source(&self, source: Source) -> Result<Checkpoint, Error> {
        formats::open(&source, self).map(|parts| Checkpoint { source, parts })
    }
}

impl Checkpoint {
    /// Opens a file with the default options: anything opens and nothing runs.
    ///
    /// # Errors
    /// As [`LoadOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Checkpoint, Error> {
        LoadOptions::new().open(path)
    }

    /// Opens bytes from anywhere with the default options.
    ///
    /// # Errors
    /// As [`LoadOptions::open`].
    pub fn from_source(source: Source) -> Result<Checkpoint, Error> {
        LoadOptions::new().open_source(source)
    }

    /// The object that was saved.
    pub fn root(&self) -> Object<'_> {
        self.parts.root()
    }

    /// Which container it came in.
    pub fn format(&self) -> FileKind {
        self.parts.format
    }

    /// What the container says of itself.
    pub fn info(&self) -> &Info {
        &self.parts.info
    }

    /// The storages that the object names, by first appearance.
    pub fn storages(&self) -> &[StorageRecord] {
        &self.parts.storages
    }

    /// What is odd about the file but no obstacle.
    pub fn warnings(&self) -> &[String] {
        &self.parts.warnings
    }

    /// What could not be rebuilt, with [`LoadOptions::keep_going`].
    pub fn problems(&self) -> &[Error] {
        &self.parts.problems
    }

    /// The classes and functions that the file names.
    pub fn globals(&self) -> &[GlobalUse] {
        &self.parts.globals
    }

    /// The file.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Calls `visit` with the dotted name of every path to an object that holds no others, tensors
    /// and arrays included, depth first.
    ///
    /// Dict keys that are str or int stand for themselves, other keys as Python's `repr`; elements of
    /// lists, tuples and sets by index; members of an `nn.Module` (parameters, buffers, submodules)
    /// and attributes of other objects by name. The root itself is "".
    ///
    /// Gives `false` when objects are nested or shared so deeply (beyond anything a real checkpoint
    /// does) that some paths were left out.
    pub fn visit<'c>(&'c self, visit: impl FnMut(&str, Object<'c>)) -> bool {
        let mut walk = Walk::new(&self.parts.graph);
        walk.run(self.parts.root, visit);
        !walk.cut
    }

    /// Every tensor under every one of its names, depth first; see [`Checkpoint::visit`].
    pub fn tensors(&self) -> Vec<NamedTensor<'_>> {
        self.parts.tensors()
    }

    /// Every numpy array and scalar under every one of its names; see [`Checkpoint::visit`].
    pub fn arrays(&self) -> Vec<NamedArray<'_>> {
        let mut out = Vec::new();
        self.visit(|name, object| {
            if let Node::Array(array) | Node::Scalar(array) = object.data() {
                out.push(NamedArray { name: name.to_owned(), array, object });
            }
        });
        out
    }

    /// The tensor of a dotted name.
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        if let Some(direct) = self.root().get(name).and_then(Object::as_tensor) {
            return Some(direct);
        }
        let mut found = None;
        self.visit(|path, object| {
            if found.is_none() && path == name {
                found = object.as_tensor();
            }
        });
        found
    }
}
