//! Writing pickles: the mirror of [`load`](crate::load).
//!
//! `encode` gives the bytes that CPython's C pickler (`_pickle`, 3.11) gives for the same objects:
//! [`walk`] goes over the values in its order and keeps its memo, [`stand_ins`] has what older
//! protocols write for what they have no opcode for, [`scalars`] the forms of numbers and texts,
//! [`output`] the frames, [`python2_names`] the names that Python 2 knows.

mod error;
mod output;
mod python2_names;
mod scalars;
mod stand_ins;
mod walk;

use std::io::Write;

pub use error::EncodeError;
use output::Output;
use walk::Encoder;

use crate::arena::{Arena, Value};
use crate::opcode::byte as op;

/// How to write a pickle.
///
/// ```
/// use sconce_pickle::EncodeOptions;
///
/// let options = EncodeOptions::default().with_protocol(4);
/// assert!(options.fix_imports);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EncodeOptions {
    /// The pickle protocol, 0 to 5.
    pub protocol: u8,
    /// Whether protocols 0 to 2 write the names that Python 2 knows, as CPython does unless told
    /// otherwise: `__builtin__ set` for `builtins set`. The names of an arena that was read from such
    /// a pickle are Python 2's already; with hardly an exception (module `dbm`) they stay as they are.
    pub fix_imports: bool,
}

impl Default for EncodeOptions {
    /// Protocol 2, as `torch.save` has it, with names of Python 2.
    fn default() -> Self {
        EncodeOptions { protocol: 2, fix_imports: true }
    }
}

impl EncodeOptions {
    /// The same options with another [`EncodeOptions::protocol`].
    pub fn with_protocol(mut self, protocol: u8) -> Self {
        self.protocol = protocol;
        self
    }

    /// The same options with another [`EncodeOptions::fix_imports`].
    pub fn with_fix_imports(mut self, fix_imports: bool) -> Self {
        self.fix_imports = fix_imports;
        self
    }
}

/// Writes a value and all that it reaches as a pickle: the bytes of CPython's
/// `pickle.dumps(root, protocol)` for the same objects.
///
/// Equal [`Value`]s are one object to the memo, and different ones are different objects, equal strs
/// too. Names and texts that the encoder adds for itself are no objects of the arena, save classes
/// and functions. The arguments of a call that is inside itself are taken to be made anew each time.
///
/// Takes time and memory in proportion to what is written, and no stack: values may be nested to any
/// depth, where CPython ends at about 1000. What is written may be much more than what was read:
/// numbers and persistent ids are written wherever they stand.
///
/// Values that a pickle's opcodes can make and no Python 3 pickler does are refused, save these:
/// several BUILDs of one object are all written, a key set twice is set twice, the argument of
/// REDUCE may be no tuple (TorchScript's enums), and what CPython would write by `copyreg` functions
/// of its own choice at protocols 0 and 1 is written by `copyreg.__newobj__` and `__newobj_ex__`.
///
/// # Errors
/// See [`EncodeError`].
///
/// # Panics
/// If `root` is of another, larger arena.
///
/// ```
/// use sconce_pickle::{ArenaBuilder, EncodeOptions, Limits, encode, load};
///
/// let mut values = ArenaBuilder::new();
/// let key = values.str("lr");
/// let rate = values.float(0.5);
/// let dict = values.dict(vec![(key, rate)])?;
/// let bytes = encode(values.arena(), dict, &EncodeOptions::default())?;
/// assert_eq!(bytes, b"\x80\x02}q\0X\x02\0\0\0lrq\x01G\x3f\xe0\0\0\0\0\0\0s.");
///
/// // What CPython wrote comes out as it was.
/// let loaded = load(&bytes, &Limits::default())?;
/// assert_eq!(encode(&loaded.arena, loaded.root, &EncodeOptions::default())?, bytes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn encode(
    arena: &Arena<'_>,
    root: Value,
    options: &EncodeOptions,
) -> Result<Vec<u8>, EncodeError> {
    // Checkpoints have about seven bytes for each value.
    write(arena, root, options, Output::new(arena.len().saturating_mul(8).min(1 << 24), None))
}

/// [`encode`] to a writer, which gets pieces of 64 KiB or more as they are done.
///
/// # Errors
/// See [`EncodeError`]. The writer may have got a part of the pickle then.
///
/// # Panics
/// If `root` is of another, larger arena.
///
/// ```
/// use sconce_pickle::{ArenaBuilder, EncodeOptions, encode_into};
///
/// let mut values = ArenaBuilder::new();
/// let list = values.list(vec![]);
/// let mut file = Vec::new();
/// encode_into(&mut file, values.arena(), list, &EncodeOptions::default().with_protocol(0))?;
/// assert_eq!(file, b"(lp0\n.");
/// # Ok::<(), sconce_pickle::EncodeError>(())
/// ```
pub fn encode_into(
    writer: &mut dyn Write,
    arena: &Arena<'_>,
    root: Value,
    options: &EncodeOptions,
) -> Result<(), EncodeError> {
    write(arena, root, options, Output::new(0, Some(writer))).map(drop)
}

fn write(
    arena: &Arena<'_>,
    root: Value,
    options: &EncodeOptions,
    mut out: Output<'_>,
) -> Result<Vec<u8>, EncodeError> {
    let protocol = options.protocol;
    if protocol > 5 {
        return Err(EncodeError::Protocol(protocol));
    }
    if protocol >= 2 {
        out.write(&[op::PROTO, protocol]);
    }
    if protocol >= 4 {
        out.start_framing();
    }
    let mut encoder = Encoder::new(arena, options, out);
    encoder.run(root)?;
    encoder.out.byte(op::STOP);
    Ok(encoder.out.finish()?)
}
