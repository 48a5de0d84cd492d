//! Objects that Python's constructors made: modules with their parameters, and what those hold.

use std::sync::Arc;

use sconce_tensor::{DType, Tensor};

use crate::loader::{PyClass, PyFunction};

/// A value of Python, as constructors make them. What can be changed, or is the same object in two
/// places, is in the [`Heap`].
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// `None`
    None,
    /// A bool.
    Bool(bool),
    /// An int.
    Int(i64),
    /// A float.
    Float(f64),
    /// A complex number: real and imaginary part.
    Complex(f64, f64),
    /// A string.
    Str(Arc<str>),
    /// A tuple, with the class that it is a NamedTuple of.
    Tuple(Arc<[Value]>, Option<PyClass>),
    /// A list.
    List(Id),
    /// A dict, in order.
    Dict(Id),
    /// A tensor.
    Tensor(Id),
    /// An `nn.Module`.
    Module(Id),
    /// An object of another class of a file.
    Object(Id),
    /// A member of an enum: the class and the member's name.
    Enum(PyClass, Arc<str>),
    /// A member of an enum that is a number or a string, too, with that: one to PyTorch unless an
    /// annotation names the enum.
    MixedEnum(PyClass, Arc<str>, Box<Value>),
    /// A function, or a method bound to its object.
    Function(Function),
    /// A class of a file.
    Class(PyClass),
    /// A member of a library, by its dotted name.
    Library(Arc<str>),
    /// `torch.float32`
    DType(DType),
    /// `torch.device("cpu")`
    Device(Arc<str>),
    /// What only Python can use, by what it is.
    Opaque(Arc<str>),
}

/// An object of the [`Heap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id(u32);

/// A function as a value.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    /// With the variables of the functions around it, where it is defined in one.
    pub(crate) function: PyFunction,
    /// What it is bound to, if it is a method.
    pub(crate) bound: Option<Arc<Value>>,
}

/// A tensor as constructors make them.
#[derive(Debug, Clone)]
pub(crate) struct TensorObject {
    pub(crate) tensor: Tensor,
    pub(crate) requires_grad: bool,
    /// Whether it was wrapped in `nn.Parameter`.
    #[cfg_attr(not(test), expect(dead_code, reason = "programs do not tell the two apart"))]
    pub(crate) is_parameter: bool,
    /// Whether its numbers are known: those of `torch.empty` and of random initialisation are not,
    /// and have to come from a state dict.
    pub(crate) is_known: bool,
}

/// An `nn.Module`: its `__dict__`, sorted as `nn.Module.__setattr__` sorts it.
#[derive(Debug, Clone)]
pub(crate) struct ModuleObject {
    pub(crate) class: PyClass,
    pub(crate) training: bool,
    /// `_parameters`: tensors or `None`.
    pub(crate) parameters: Vec<(Arc<str>, Value)>,
    /// `_buffers`: tensors or `None`.
    pub(crate) buffers: Vec<Buffer>,
    /// `_modules`: modules or `None`.
    pub(crate) modules: Vec<(Arc<str>, Value)>,
    /// Everything else that was assigned, in order.
    pub(crate) attributes: Vec<(Arc<str>, Value)>,
    /// How many of those were assigned before `nn.Module.__init__` was called.
    pub(crate) early: usize,
    /// What runs before `forward`.
    pub(crate) forward_pre_hooks: Vec<PyFunction>,
    /// What runs after it.
    pub(crate) forward_hooks: Vec<PyFunction>,
}

/// A buffer of a module.
#[derive(Debug, Clone)]
pub(crate) struct Buffer {
    pub(crate) name: Arc<str>,
    /// A tensor or `None`.
    pub(crate) value: Value,
    /// Whether state dicts have it.
    pub(crate) is_persistent: bool,
}

/// An object of a class that is not a module.
#[derive(Debug, Clone)]
pub(crate) struct PlainObject {
    pub(crate) class: PyClass,
    pub(crate) attributes: Vec<(Arc<str>, Value)>,
}

/// All objects that were made.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heap {
    cells: Vec<Cell>,
}

#[derive(Debug, Clone)]
enum Cell {
    List(Vec<Value>),
    Dict(Vec<(Value, Value)>),
    Tensor(TensorObject),
    Module(ModuleObject),
    Object(PlainObject),
}

/// Makes the functions that add, read and change cells of one kind.
macro_rules! cells {
    ($($variant:ident($of:ty): $new:ident, $get:ident, $get_mut:ident;)*) => {
        impl Heap {
            $(
                pub(crate) fn $new(&mut self, cell: $of) -> Value {
                    let id = Id(self.cells.len() as u32);
                    self.cells.push(Cell::$variant(cell));
                    Value::$variant(id)
                }

                pub(crate) fn $get(&self, id: Id) -> Option<&$of> {
                    match self.cells.get(id.0 as usize) {
                        Some(Cell::$variant(cell)) => Some(cell),
                        _ => None,
                    }
                }

                #[allow(dead_code, reason = "made for all kinds alike")]
                pub(crate) fn $get_mut(&mut self, id: Id) -> Option<&mut $of> {
                    match self.cells.get_mut(id.0 as usize) {
                        Some(Cell::$variant(cell)) => Some(cell),
                        _ => None,
                    }
                }
            )*
        }
    };
}

cells! {
    List(Vec<Value>): new_list, list, list_mut;
    Dict(Vec<(Value, Value)>): new_dict, dict, dict_mut;
    Tensor(TensorObject): new_tensor, tensor, tensor_mut;
    Module(ModuleObject): new_module, module, module_mut;
    Object(PlainObject): new_object, object, object_mut;
}
