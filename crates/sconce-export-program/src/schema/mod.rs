//! PyTorch's structures for exported programs (`torch/_export/serde/schema.py`), schema 8.
//!
//! A structure has PyTorch's fields in PyTorch's order. What a field holds that has no place here is refused with its
//! path in the JSON; a key that is not known is kept in `extra`, for newer minor versions add some. Unions are enums:
//! in the JSON, an object with exactly one key. Names of values are strings, as they are in the file.

mod argument;
mod enums;
mod graph;
mod macros;
mod payload;
mod program;
mod read;
mod signature;
mod symbolic;

pub use argument::{
    Argument, ComplexValue, CustomObjArgument, Device, GraphArgument, Nothing,
    OptionalTensorArgument, SymBoolArgument, SymFloatArgument, SymIntArgument, TensorArgument,
    TokenArgument,
};
pub use enums::{ArgumentKind, Layout, MemoryFormat, ScalarType};
pub use graph::{Graph, NamedArgument, Node, TensorMeta};
pub use payload::{ExternKernelNode, ExternKernelNodes, PayloadConfig, PayloadMeta};
pub use program::{
    ExportedProgram, GraphModule, ModuleCallEntry, ModuleCallSignature, NamedTupleDef,
    RangeConstraint, SchemaVersion,
};
pub use read::{Extra, Map};
pub use signature::{
    BufferMutationSpec, BufferSpec, ConstantInputSpec, ConstantValue, CustomObjSpec,
    GradientToParameterSpec, GradientToUserInputSpec, GraphSignature, InputSpec, OutputSpec,
    ParameterMutationSpec, ParameterSpec, TensorConstantSpec, TensorOutputSpec, TokenSpec,
    UserInputMutationSpec, UserValueSpec,
};
pub use symbolic::{SymBool, SymExpr, SymExprHint, SymFloat, SymInt};
