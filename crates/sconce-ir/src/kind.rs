//! What a node does.

use std::fmt;
use std::sync::{Arc, LazyLock};

use rustc_hash::FxHashMap;

/// What a node does: one of the instructions the compiler knows, or an operator by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An instruction of the language itself.
    Prim(Prim),
    /// An operator by qualified name, such as `aten::add` or `prim::dtype`.
    Op(Arc<str>),
}

/// The instructions that the compiler and the passes know by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is PyTorch's prim:: symbol of the same name")]
pub enum Prim {
    Param,
    Return,
    Constant,
    If,
    Loop,
    Load,
    Store,
    BreakStmt,
    ContinueStmt,
    ReturnStmt,
    LoopContinuation,
    TupleConstruct,
    TupleUnpack,
    TupleIndex,
    TupleSlice,
    ListConstruct,
    ListUnpack,
    DictConstruct,
    EmptyListLiteral,
    CreateObject,
    GetAttr,
    SetAttr,
    HasAttr,
    CallFunction,
    CallMethod,
    Uninitialized,
    UncheckedCast,
    UncheckedUnwrapOptional,
    Isinstance,
    RaiseException,
    Print,
    Fork,
    ForkClosure,
    Awaitable,
    AwaitableClosure,
    Closure,
    ComprehensionScope,
    With,
    Enter,
    Exit,
    ToList,
    EnumName,
    EnumValue,
    ModuleContainerIndex,
    PythonOp,
    RpcAsync,
    RpcSync,
    RpcRemote,
    Drop,
}

/// Each instruction with its symbol, in the order of [`Prim`].
const SYMBOLS: &[(Prim, &str)] = &[
    (Prim::Param, "prim::Param"),
    (Prim::Return, "prim::Return"),
    (Prim::Constant, "prim::Constant"),
    (Prim::If, "prim::If"),
    (Prim::Loop, "prim::Loop"),
    (Prim::Load, "prim::Load"),
    (Prim::Store, "prim::Store"),
    (Prim::BreakStmt, "prim::BreakStmt"),
    (Prim::ContinueStmt, "prim::ContinueStmt"),
    (Prim::ReturnStmt, "prim::ReturnStmt"),
    (Prim::LoopContinuation, "prim::LoopContinuation"),
    (Prim::TupleConstruct, "prim::TupleConstruct"),
    (Prim::TupleUnpack, "prim::TupleUnpack"),
    (Prim::TupleIndex, "prim::TupleIndex"),
    (Prim::TupleSlice, "prim::TupleSlice"),
    (Prim::ListConstruct, "prim::ListConstruct"),
    (Prim::ListUnpack, "prim::ListUnpack"),
    (Prim::DictConstruct, "prim::DictConstruct"),
    (Prim::EmptyListLiteral, "prim::EmptyListLiteral"),
    (Prim::CreateObject, "prim::CreateObject"),
    (Prim::GetAttr, "prim::GetAttr"),
    (Prim::SetAttr, "prim::SetAttr"),
    (Prim::HasAttr, "prim::HasAttr"),
    (Prim::CallFunction, "prim::CallFunction"),
    (Prim::CallMethod, "prim::CallMethod"),
    (Prim::Uninitialized, "prim::Uninitialized"),
    (Prim::UncheckedCast, "prim::unchecked_cast"),
    (Prim::UncheckedUnwrapOptional, "prim::unchecked_unwrap_optional"),
    (Prim::Isinstance, "prim::isinstance"),
    (Prim::RaiseException, "prim::RaiseException"),
    (Prim::Print, "prim::Print"),
    (Prim::Fork, "prim::fork"),
    (Prim::ForkClosure, "prim::forkClosure"),
    (Prim::Awaitable, "prim::awaitable"),
    (Prim::AwaitableClosure, "prim::awaitableClosure"),
    (Prim::Closure, "prim::Closure"),
    (Prim::ComprehensionScope, "prim::ComprehensionScope"),
    (Prim::With, "prim::With"),
    (Prim::Enter, "prim::Enter"),
    (Prim::Exit, "prim::Exit"),
    (Prim::ToList, "prim::tolist"),
    (Prim::EnumName, "prim::EnumName"),
    (Prim::EnumValue, "prim::EnumValue"),
    (Prim::ModuleContainerIndex, "prim::ModuleContainerIndex"),
    (Prim::PythonOp, "prim::PythonOp"),
    (Prim::RpcAsync, "prim::rpc_async"),
    (Prim::RpcSync, "prim::rpc_sync"),
    (Prim::RpcRemote, "prim::rpc_remote"),
    (Prim::Drop, "prim::Drop"),
];

/// Instructions by symbol.
static PRIMS: LazyLock<FxHashMap<&str, Prim>> =
    LazyLock::new(|| SYMBOLS.iter().map(|&(prim, symbol)| (symbol, prim)).collect());

impl Prim {
    /// The symbol, such as `prim::If`.
    pub fn symbol(self) -> &'static str {
        SYMBOLS[self as usize].1
    }

    /// The instruction of a symbol.
    pub fn from_symbol(symbol: &str) -> Option<Self> {
        PRIMS.get(symbol).copied()
    }
}

impl Kind {
    /// The kind of a symbol such as `prim::If` or `aten::add`.
    pub fn from_symbol(symbol: &str) -> Self {
        Prim::from_symbol(symbol).map_or_else(|| Self::Op(symbol.into()), Self::Prim)
    }

    /// Whether it is an operator that passes put in the place of PyTorch's: `sconce::…`. These only
    /// compute: they write to nothing, and what they give is memory of its own.
    pub fn is_private(&self) -> bool {
        matches!(self, Self::Op(symbol) if symbol.starts_with("sconce::"))
    }

    /// Whether it is a private operator that checks something and gives nothing: `sconce::assert_…`. Programs
    /// that were exported have them, and no pass removes them.
    pub fn is_assertion(&self) -> bool {
        matches!(self, Self::Op(symbol) if symbol.starts_with("sconce::assert_"))
    }

    /// The symbol.
    pub fn symbol(&self) -> &str {
        match self {
            Self::Prim(prim) => prim.symbol(),
            Self::Op(name) => name,
        }
    }
}

impl From<Prim> for Kind {
    fn from(prim: Prim) -> Self {
        Self::Prim(prim)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.symbol())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_stand_in_the_order_of_the_enum() {
        for (index, &(prim, symbol)) in SYMBOLS.iter().enumerate() {
            assert_eq!(prim as usize, index, "{symbol}");
            assert_eq!(prim.symbol(), symbol);
            assert_eq!(Prim::from_symbol(symbol), Some(prim));
        }
        assert_eq!(SYMBOLS.len(), Prim::Drop as usize + 1);
    }

    #[test]
    fn other_symbols_are_operators() {
        assert_eq!(Kind::from_symbol("prim::dtype"), Kind::Op("prim::dtype".into()));
        assert_eq!(Kind::from_symbol("prim::If"), Kind::Prim(Prim::If));
        assert_eq!(Kind::from_symbol("aten::If").symbol(), "aten::If");
    }
}
