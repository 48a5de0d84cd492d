//! The caller's veto: asked before each step that means something.

use crate::arena::{Arena, CallKind, Value};
use crate::opcode::OpcodeInfo;

/// A policy's "no": the text becomes the `Display` of [`Error::Refused`](crate::Error::Refused).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal(
    /// Why, in words for the user.
    pub String,
);

/// Decides what a pickle may contain.
///
/// Each method is asked **before** its step is done, in stream order; the first refusal stops the
/// load. All say yes by default. Nothing is ever called or imported, whatever a policy allows: it can
/// only make the machine stricter, for example as strict as `torch.load(weights_only=True)`.
#[allow(unused_variables)]
pub trait Policy {
    /// An opcode was read (its argument was not yet). Asked for every opcode.
    #[inline]
    fn opcode(&mut self, info: &'static OpcodeInfo, at: u64) -> Result<(), Refusal> {
        Ok(())
    }

    /// PROTO: the pickle says which protocol it is written in (0 to 5 here).
    #[inline]
    fn protocol(&mut self, version: u8, at: u64) -> Result<(), Refusal> {
        Ok(())
    }

    /// GLOBAL, STACK_GLOBAL or INST names a class or function.
    #[inline]
    fn global(&mut self, module: &str, name: &str, at: u64) -> Result<(), Refusal> {
        Ok(())
    }

    /// REDUCE, NEWOBJ, NEWOBJ_EX, INST or OBJ would call something.
    #[inline]
    fn call(
        &mut self,
        arena: &Arena<'_>,
        kind: CallKind,
        callable: Value,
        args: Value,
        at: u64,
    ) -> Result<(), Refusal> {
        Ok(())
    }

    /// BUILD gives `target` its `state`.
    #[inline]
    fn build(
        &mut self,
        arena: &Arena<'_>,
        target: Value,
        state: Value,
        at: u64,
    ) -> Result<(), Refusal> {
        Ok(())
    }

    /// APPEND (`many` is false), or APPENDS or ADDITEMS (`many` is true), add to `target`.
    #[inline]
    fn append(
        &mut self,
        arena: &Arena<'_>,
        target: Value,
        many: bool,
        at: u64,
    ) -> Result<(), Refusal> {
        Ok(())
    }

    /// SETITEM or SETITEMS put entries into `target`.
    #[inline]
    fn set_items(&mut self, arena: &Arena<'_>, target: Value, at: u64) -> Result<(), Refusal> {
        Ok(())
    }

    /// PERSID or BINPERSID refer to an object outside the pickle.
    #[inline]
    fn persistent_id(&mut self, arena: &Arena<'_>, pid: Value, at: u64) -> Result<(), Refusal> {
        Ok(())
    }
}

/// Allows everything: what [`load`](crate::load) uses.
#[derive(Clone, Copy, Default, Debug)]
pub struct AllowAll;

impl Policy for AllowAll {}
