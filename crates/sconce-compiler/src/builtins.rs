//! Functions written in TorchScript that stand beside the operators: `builtin_functions` in PyTorch.
//!
//! Calls are inlined where they are met. Lines and columns of the sources show in graphs.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use sconce_ir::{Graph, Schema};
use sconce_syntax::Source;

use crate::Error;
use crate::definition::Definition;

/// One function.
pub(crate) struct Builtin {
    pub(crate) schema: Schema,
    pub(crate) graph: Graph,
}

/// One function, compiled or not yet.
struct Function {
    definition: Definition,
    /// `None` if its text were wrong.
    compiled: OnceLock<Option<Builtin>>,
}

/// Compiles a function that stands beside the operators.
pub(crate) type Compile = fn(&Definition) -> Result<Builtin, Error>;

/// The functions by qualified name.
pub(crate) struct Builtins {
    functions: FxHashMap<String, Vec<Function>>,
    compile: Compile,
}

/// A scalar and a tensor the other way round, for every kind of scalar.
const SCALAR_FIRST: &str = "
def mul(a : SCALAR, b : Tensor) -> Tensor:
  return b * a
def add(a : SCALAR, b : Tensor) -> Tensor:
  return b + a
def ne(a : SCALAR, b : Tensor) -> Tensor:
  return b != a
def eq(a : SCALAR, b : Tensor) -> Tensor:
  return b == a
def sub(a : SCALAR, b : Tensor) -> Tensor:
  return torch.neg(b) + a
def div(a : SCALAR, b : Tensor) -> Tensor:
  return torch.reciprocal(b) * a
";

/// The same for scalars that have an order.
const ORDERED_SCALAR_FIRST: &str = "
def lt(a : SCALAR, b : Tensor) -> Tensor:
  return b > a
def le(a : SCALAR, b : Tensor) -> Tensor:
  return b >= a
def gt(a : SCALAR, b : Tensor) -> Tensor:
  return b < a
def ge(a : SCALAR, b : Tensor) -> Tensor:
  return b <= a
";

const NTUPLE: &str = "
def _NAME(x: BroadcastingListLENGTH[SCALAR]) -> List[SCALAR]:
  return x
";

const FLOORDIV: &str = "
def floordiv(self : Tensor, other : RIGHT) -> Tensor:
  return torch.floor_divide(self, other)
";

// `device` takes the argument that the operator calls `a` by its Python name. The empty lines put
// functions on the lines where PyTorch has them.
const ATEN: &str = "
def _assert_int_or_pair(vals: List[int], name: str, message: str):
  pass
def list_with_default(out_size: List[int], defaults: List[int]):
  assert len(defaults) > len(out_size)
  return out_size
def _assert(condition : bool, message : str):
  assert condition, message
# existing device operator is registered with input name `a`, which prevents
# torch.device(type=\"cuda\") from working. add shim-layer here
def device(type: str):
  return torch.device(type)
def type(self: Tensor, dtype: int, non_blocking: bool=False, copy: bool=False) -> Tensor:
  return self.to(dtype, non_blocking, copy)
";

const ATEN_MORE: &str = "
def _assert(condition : Tensor, message : str):
  assert bool(condition), message
def __contains__(self: str, key: str):
    return self.find(key, 0, len(self)) != -1
";

const TENSOR_PROPERTIES: &str = "
def ndim(a : Tensor) -> int:
  return a.dim()
def T(a : Tensor) -> Tensor:
  return a.numpy_T()
def H(a : Tensor) -> Tensor:
  return a.matrix_H()
def mT(a : Tensor) -> Tensor:
  return a.mT
def mH(a : Tensor) -> Tensor:
  return a.mH
def shape(a : Tensor) -> List[int]:
  return a.size()
";

impl Builtins {
    /// All of them. Each is compiled when it is first asked for, by `compile`.
    pub(crate) fn get(compile: Compile) -> &'static Self {
        static BUILTINS: OnceLock<Builtins> = OnceLock::new();
        BUILTINS.get_or_init(|| Self::parse(compile))
    }

    /// The functions of a qualified name, in order of definition.
    pub(crate) fn named(&self, symbol: &str) -> impl Iterator<Item = &Builtin> {
        let definitions = self.functions.get(symbol).map_or(&[][..], Vec::as_slice);
        definitions.iter().filter_map(|function| function.compiled(self.compile))
    }

    fn parse(compile: Compile) -> Self {
        let mut builtins = Self { functions: FxHashMap::default(), compile };
        for scalar in ["float", "int", "complex"] {
            builtins.define("aten", &SCALAR_FIRST.replace("SCALAR", scalar));
        }
        for scalar in ["float", "int"] {
            builtins.define("aten", &ORDERED_SCALAR_FIRST.replace("SCALAR", scalar));
        }
        for scalar in ["float", "int"] {
            let lengths = [("single", "1"), ("pair", "2"), ("triple", "3"), ("quadruple", "4")];
            for (name, length) in lengths {
                let source = NTUPLE.replace("NAME", name).replace("LENGTH", length);
                builtins.define("aten", &source.replace("SCALAR", scalar));
            }
        }
        for right in ["number", "Tensor"] {
            builtins.define("aten", &FLOORDIV.replace("RIGHT", right));
        }
        builtins.define("aten", ATEN);
        builtins.define("aten", ATEN_MORE);
        builtins.define("prim", TENSOR_PROPERTIES);
        builtins
    }

    fn define(&mut self, namespace: &str, source: &str) {
        let source = Arc::new(Source::new(source).with_filename("<string>").with_starting_line(1));
        let definitions = sconce_syntax::parse_defs(&source);
        debug_assert!(definitions.is_ok(), "{definitions:?}");
        for def in definitions.unwrap_or_default() {
            let name = format!("{namespace}::{}", def.name.name);
            let definition = Definition::new(Arc::new(def), Arc::clone(&source));
            let function = Function { definition, compiled: OnceLock::new() };
            self.functions.entry(name).or_default().push(function);
        }
    }
}

impl Function {
    fn compiled(&self, compile: Compile) -> Option<&Builtin> {
        let compiled = self.compiled.get_or_init(|| {
            let compiled = compile(&self.definition);
            debug_assert!(compiled.is_ok(), "{:?}", compiled.err());
            compiled.ok()
        });
        compiled.as_ref()
    }
}

#[cfg(test)]
impl Builtins {
    /// The definitions, by name.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = (&str, &Definition)> {
        let functions = self.functions.iter();
        functions
            .flat_map(|(name, all)| all.iter().map(move |one| (name.as_str(), &one.definition)))
    }
}
