use std::sync::Arc;

use sconce_source::{Limits, MapMode};
use sconce_tensor::ByteOrder;

use crate::allow_list::AllowList;
use crate::location::{LocationRegistry, MapLocation};
use crate::observe::{self, Observer};
use crate::rebuild::Encoding;

/// Which files are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// Anything opens: classes that are not known become inert objects. Nothing runs, ever.
    #[default]
    Inspect,
    /// Exactly what `torch.load(weights_only=True)` accepts, with its wording of refusal.
    WeightsOnly,
}

/// How to open a checkpoint: the arguments of `torch.load` and the options of
/// `torch.serialization`, as a builder.
///
/// ```
/// use sconce_checkpoint::{AllowList, LoadOptions, Policy};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits.ckpt");
/// let mut allow_list = AllowList::default();
/// allow_list.allow("argparse.Namespace");
/// let checkpoint = LoadOptions::new()
///     .policy(Policy::WeightsOnly)
///     .allow_list(allow_list)
///     .open(path)?;
/// # Ok::<(), sconce_checkpoint::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    pub(crate) policy: Policy,
    pub(crate) allow_list: AllowList,
    pub(crate) map_location: MapLocation,
    pub(crate) locations: LocationRegistry,
    pub(crate) skip_data: bool,
    pub(crate) default_byte_order: Option<ByteOrder>,
    pub(crate) map_mode: MapMode,
    pub(crate) encoding: Encoding,
    pub(crate) limits: Limits,
    pub(crate) keep_going: bool,
    pub(crate) observer: Option<observe::Shared>,
    pub(crate) model: Option<String>,
}

impl LoadOptions {
    /// Opens anything, maps files privately, keeps each storage where its tag says.
    pub fn new() -> Self {
        LoadOptions::default()
    }

    /// Which files are opened.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// What [`Policy::WeightsOnly`] admits: `torch.serialization.add_safe_globals`, for these
    /// options only.
    pub fn allow_list(mut self, allow_list: AllowList) -> Self {
        self.allow_list = allow_list;
        self
    }

    /// `map_location` of `torch.load`.
    pub fn map_location(mut self, map_location: MapLocation) -> Self {
        self.map_location = map_location;
        self
    }

    /// Who reads location tags: `torch.serialization.register_package`.
    pub fn locations(mut self, locations: LocationRegistry) -> Self {
        self.locations = locations;
        self
    }

    /// Gives tensors their shapes but no values: `torch.serialization.skip_data`.
    pub fn skip_data(mut self, skip_data: bool) -> Self {
        self.skip_data = skip_data;
        self
    }

    /// Byte order of archives that do not state one; little-endian when this is not called, as
    /// `torch.serialization.set_default_load_endianness`.
    pub fn default_byte_order(mut self, order: ByteOrder) -> Self {
        self.default_byte_order = Some(order);
        self
    }

    /// How the file is mapped: `torch.serialization.set_default_mmap_options`.
    pub fn map_mode(mut self, mode: MapMode) -> Self {
        self.map_mode = mode;
        self
    }

    /// How Python 2 strings are decoded: `encoding` of `torch.load`.
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        self.encoding = encoding;
        self
    }

    /// What the file may make the reader spend.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Keeps tensors that cannot be rebuilt as plain objects, and says so in
    /// [`Checkpoint::problems`](crate::Checkpoint::problems), instead of failing.
    pub fn keep_going(mut self, keep_going: bool) -> Self {
        self.keep_going = keep_going;
        self
    }

    /// Which model of a `.pt2` archive is meant, where it has several.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Tells `observer` every pickle that is read.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    pub(crate) fn is_meta(&self) -> bool {
        matches!(&self.map_location, MapLocation::Device(device) if device.is_meta())
    }
}
