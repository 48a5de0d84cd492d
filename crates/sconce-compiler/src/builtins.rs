//! Functions written in TorchScript that stand beside the operators: `builtin_functions` in PyTorch.
//!
//! Calls are inlined where they are met. Lines and columns of the sources show in graphs.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use sconce_ir::{Graph, Schema, Unit};
use sconce_syntax::Source;

use crate::compile::{Definition, Options};
use crate::native::NativeResolver;
use crate::{Error, compile};

/// One function.
pub(crate) struct Builtin {
    pub(crate) schema: Schema,
    pub(crate) graph: Graph,
}

/// The functions by qualified name.
#[derive(Default)]
pub(crate) struct Builtins {
    functions: FxHashMap<String, Vec<Builtin>>,
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





def _assert(condition : bool, message : str):
  assert condition, message


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
    /// All of them, compiled when they are first asked for.
    pub(crate) fn get() -> &'static Self {
        static BUILTINS: OnceLock<Builtins> = OnceLock::new();
        BUILTINS.get_or_init(Self::compile)
    }

    /// The functions of a qualified name, in order of definition.
    pub(crate) fn named(&self, symbol: &str) -> &[Builtin] {
        self.functions.get(symbol).map_or(&[], Vec::as_slice)
    }

    fn compile() -> Self {
        let mut builtins = Self::default();
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
        let result = self.define_all(namespace, &source);
        debug_assert!(result.is_ok(), "{result:?}");
    }

    fn define_all(&mut self, namespace: &str, source: &Arc<Source>) -> Result<(), Error> {
        let mut unit = Unit::new();
        let mut resolver = NativeResolver::default();
        for def in sconce_syntax::parse_defs(source)? {
            let name = Arc::clone(&def.name.name);
            let definition = Definition::new(Arc::new(def), Arc::clone(source));
            let declared =
                compile::declare(&mut unit, &mut resolver, &definition, None, Arc::clone(&name))?;
            let options = Options { without_builtins: true, ..Options::default() };
            let graph =
                compile::compile(&mut unit, &mut resolver, &definition, &declared, &options)?;
            let schema = compile::completed(&declared, &graph);
            let functions = self.functions.entry(format!("{namespace}::{name}")).or_default();
            functions.push(Builtin { schema, graph });
        }
        Ok(())
    }
}
