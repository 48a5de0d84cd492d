//! Register code: what a graph is lowered to.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use sconce_ir::{ClassId, FunctionId, Type};
use sconce_syntax::SourceRange;

use crate::bytecode::number::NumberOp;
use crate::ops::Builtin;
use crate::profile::ProfileEntry;
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
    /// For each instruction, the operator it computes.
    pub(crate) operators: Vec<Option<Rc<OperatorName>>>,
    /// Whether it, or what it forks, asks for gradients.
    pub(crate) asks_for_gradients: bool,
    /// For each instruction, what it has taken; empty where nobody asks.
    pub(crate) spent: RefCell<Vec<Spent>>,
}

/// How tracebacks and profiles call an operator.
#[derive(Debug)]
pub(crate) struct OperatorName {
    /// Such as `aten::add.Tensor`.
    pub(crate) full: Rc<str>,
    /// For a fused operator, what it computes one after the other.
    pub(crate) steps: Box<[&'static str]>,
}

/// What an instruction has taken so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spent {
    pub(crate) calls: u64,
    pub(crate) time: Duration,
    pub(crate) implementation: Option<&'static str>,
}

impl Code {
    /// Lets what instructions take be counted.
    pub(crate) fn count_time(&self) {
        *self.spent.borrow_mut() = vec![Spent::default(); self.instructions.len()];
        self.forked().for_each(|code| code.count_time());
    }

    /// The code that it runs as functions of their own.
    pub(crate) fn forked(&self) -> impl Iterator<Item = &Rc<Code>> {
        self.instructions.iter().filter_map(|instruction| match instruction {
            Instruction::Fork { code, .. } => Some(code),
            _ => None,
        })
    }

    /// What the instructions have taken that have run.
    pub(crate) fn profile(&self) -> Vec<ProfileEntry> {
        let spent = self.spent.borrow();
        let all = spent.iter().zip(&self.instructions).zip(&self.ranges).zip(&self.operators);
        all.filter(|(((spent, _), _), _)| spent.calls > 0)
            .map(|(((spent, instruction), range), operator)| ProfileEntry {
                operator: match operator {
                    Some(operator) => operator.full.to_string(),
                    None => instruction.name().to_owned(),
                },
                steps: operator
                    .as_ref()
                    .map(|operator| operator.steps.to_vec())
                    .unwrap_or_default(),
                function: self.name.to_string(),
                range: range.clone(),
                implementation: spent.implementation,
                calls: spent.calls,
                nanoseconds: u64::try_from(spent.time.as_nanos()).unwrap_or(u64::MAX),
            })
            .collect()
    }
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
    /// An operator of two numbers of one kind.
    Numbers {
        op: NumberOp,
        a: Operand,
        b: Operand,
        to: Register,
    },
    /// The opposite of a bool.
    Not {
        from: Operand,
        to: Register,
    },
    /// An attribute of an object.
    Attribute {
        object: Operand,
        slot: u32,
        to: Register,
    },
    /// An instruction of the language.
    Primitive {
        primitive: Box<Primitive>,
        from: Span,
        to: Span,
    },
    /// One value to another place.
    Move {
        from: Operand,
        to: Register,
    },
    /// Several values, all at once.
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
    /// Leaves a loop, or gives its body the number of the next round.
    Loop {
        limit: Register,
        /// `None` where it always holds.
        condition: Option<Register>,
        counter: Register,
        index: Register,
        body: u32,
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
    /// An operator that is an expression in the table of derivatives.
    Expression(Rc<str>),
    /// Something that is not here, when a session runs programs that need it in places.
    Missing(String),
}

impl Instruction {
    /// What a profile calls an instruction that is not an operator.
    fn name(&self) -> &'static str {
        match self {
            Instruction::Operator { .. } | Instruction::Numbers { .. } => "operator",
            Instruction::Not { .. } => "aten::__not__",
            Instruction::Attribute { .. } => "prim::GetAttr",
            Instruction::Primitive { primitive, .. } => primitive.name(),
            Instruction::Move { .. } | Instruction::Assign { .. } => "move",
            Instruction::Drop { .. } => "drop",
            Instruction::Jump { .. } | Instruction::JumpUnless { .. } => "prim::If",
            Instruction::Loop { .. } => "prim::Loop",
            Instruction::Call { .. } => "prim::CallFunction",
            Instruction::CallMethod { .. } => "prim::CallMethod",
            Instruction::Enter { .. } => "prim::Enter",
            Instruction::Exit { .. } => "prim::Exit",
            Instruction::Fork { .. } => "prim::fork",
            Instruction::Return { .. } => "prim::Return",
        }
    }
}

impl Primitive {
    fn name(&self) -> &'static str {
        match self {
            Primitive::Tuple(_) => "prim::TupleConstruct",
            Primitive::List(_) => "prim::ListConstruct",
            Primitive::Dict(..) => "prim::DictConstruct",
            Primitive::TupleUnpack => "prim::TupleUnpack",
            Primitive::TupleIndex => "prim::TupleIndex",
            Primitive::TupleSlice(..) => "prim::TupleSlice",
            Primitive::ListUnpack(_) => "prim::ListUnpack",
            Primitive::CreateObject(..) => "prim::CreateObject",
            Primitive::SetAttribute(..) => "prim::SetAttr",
            Primitive::ContainerIndex => "prim::ModuleContainerIndex",
            Primitive::Isinstance(_) => "prim::isinstance",
            Primitive::Uninitialized => "prim::Uninitialized",
            Primitive::Cast => "prim::unchecked_cast",
            Primitive::UnwrapOptional => "prim::unchecked_unwrap_optional",
            Primitive::Raise => "prim::RaiseException",
            Primitive::Print => "prim::Print",
            Primitive::ToList => "prim::tolist",
            Primitive::EnumName => "prim::EnumName",
            Primitive::EnumValue => "prim::EnumValue",
            Primitive::Expression(_) => "operator",
            Primitive::Missing(_) => "missing",
        }
    }
}
