//! Register code: what a graph is lowered to.

use std::rc::Rc;
use std::sync::Arc;

use sconce_ir::{ClassId, FunctionId, Type};
use sconce_syntax::SourceRange;

use crate::registry::Builtin;
use crate::value::IValue;

/// A function in register code.
#[derive(Debug)]
pub(crate) struct Code {
    /// The function's name, without its class: what tracebacks show.
    pub(crate) name: Arc<str>,
    /// How many registers a call needs. The first hold the arguments.
    pub(crate) registers: u32,
    pub(crate) instructions: Vec<Instruction>,
    /// For each instruction, where it comes from.
    pub(crate) ranges: Vec<Option<SourceRange>>,
    /// For each instruction, whether the node of the function's own block that it is in gives
    /// anything; `None` for a call that stands there itself. Tracebacks depend on it.
    pub(crate) gives: Vec<Option<bool>>,
    /// Operands and targets of all instructions.
    pub(crate) operands: Vec<Operand>,
    pub(crate) targets: Vec<Register>,
    pub(crate) constants: Vec<IValue>,
    /// Functions it calls directly.
    pub(crate) callees: Vec<FunctionId>,
    /// What it needs and is not here, with the place.
    pub(crate) missing: Vec<(String, Option<SourceRange>)>,
}

/// A register of a call.
pub(crate) type Register = u32;

/// Where an instruction takes a value from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Operand {
    /// A register that is read again later.
    Copy(Register),
    /// A register that is not read again.
    Move(Register),
    /// A constant of the function.
    Constant(u32),
}

/// A stretch of [`Code::operands`] or [`Code::targets`].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// An instruction.
#[derive(Debug)]
pub(crate) enum Instruction {
    /// An operator of the registry.
    Operator {
        builtin: Builtin,
        from: Span,
        to: Span,
    },
    /// An instruction of the language.
    Primitive {
        primitive: Box<Primitive>,
        from: Span,
        to: Span,
    },
    /// All at once.
    Assign {
        from: Span,
        to: Span,
    },
    /// Forgets values.
    Drop {
        registers: Span,
    },
    Jump {
        to: u32,
    },
    JumpUnless {
        condition: Operand,
        to: u32,
    },
    /// Leaves a loop, or gives its body the number of the round.
    Loop {
        limit: Register,
        condition: Register,
        counter: Register,
        index: Register,
        exit: u32,
    },
    Call {
        function: FunctionId,
        from: Span,
        to: Span,
    },
    /// A method of the first operand's class.
    CallMethod {
        method: Arc<str>,
        from: Span,
        to: Span,
    },
    /// `__enter__`: the object's exit is run whatever happens.
    Enter {
        from: Span,
        to: Span,
    },
    /// `__exit__`.
    Exit {
        from: Span,
        to: Span,
    },
    /// Runs a function of its own and holds what it gives in a future.
    Fork {
        code: Rc<Code>,
        from: Span,
        to: Span,
    },
    Return {
        from: Span,
    },
}

/// What the language itself does with values.
#[derive(Debug)]
pub(crate) enum Primitive {
    Tuple(Option<Type>),
    List(Type),
    Dict(Type, Type),
    TupleUnpack,
    TupleIndex,
    TupleSlice(i64, i64),
    ListUnpack(usize),
    CreateObject(ClassId, usize),
    GetAttribute(usize, Arc<str>),
    SetAttribute(usize, Arc<str>),
    ContainerIndex,
    Isinstance(Vec<Type>),
    /// What `prim::Uninitialized` gives: nothing that is read.
    Uninitialized,
    Cast,
    UnwrapOptional,
    Raise,
    Print,
    ToList,
    EnumName,
    EnumValue,
    /// Something that is not here, when a session runs programs that need it in places.
    Missing(String),
}
