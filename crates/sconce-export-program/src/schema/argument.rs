//! What nodes take and give.

use super::enums::{Layout, MemoryFormat, ScalarType};
use super::graph::Graph;
use super::macros::{structure, tagged};
use super::read::{Map, Place, Value};
use crate::Error;
use crate::json::{Json, Writer};

structure! {
    /// A device.
    Device {
        /// `cpu`, `cuda`, ….
        kind "type": String;
        /// Which of them.
        index "index": Option<i64> = None;
    }
}

tagged! {
    /// An integer, or the name of a value that is one.
    SymIntArgument {
        /// A value of the graph.
        Name "as_name": String;
        /// A number.
        Int "as_int": i64;
    }
}

tagged! {
    /// A float, or the name of a value that is one.
    SymFloatArgument {
        /// A value of the graph.
        Name "as_name": String;
        /// A number.
        Float "as_float": f64;
    }
}

tagged! {
    /// A boolean, or the name of a value that is one.
    SymBoolArgument {
        /// A value of the graph.
        Name "as_name": String;
        /// True or false.
        Bool "as_bool": bool;
    }
}

structure! {
    /// A tensor, by the name of its value. In lists of operands, also the name of a number.
    TensorArgument {
        /// The value's name.
        name "name": String;
    }
}

structure! {
    /// A token, by its name: what orders effects.
    TokenArgument {
        /// The token's name.
        name "name": String;
    }
}

tagged! {
    /// A tensor or nothing.
    OptionalTensorArgument {
        /// A tensor.
        Tensor "as_tensor": TensorArgument;
        /// Nothing.
        None "as_none": Nothing;
    }
}

structure! {
    /// A graph as an argument of a higher-order operator.
    GraphArgument {
        /// Its name, by which the module that holds it knows it.
        name "name": String;
        /// The graph.
        graph "graph": Box<Graph>;
    }
}

structure! {
    /// An object of a class that was registered with PyTorch.
    CustomObjArgument {
        /// The value's name.
        name "name": String;
        /// Its class.
        class_fqn "class_fqn": String;
    }
}

structure! {
    /// A complex number.
    ComplexValue {
        /// Its real part.
        real "real": f64;
        /// Its imaginary part.
        imag "imag": f64;
    }
}

/// What stands behind `as_none`: `true`, or an empty list in schema 8.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Nothing;

impl Value for Nothing {
    fn read(_: Json, _: &Place<'_>) -> Result<Self, Error> {
        Ok(Nothing)
    }

    fn write(&self, out: &mut Writer) {
        out.raw("true");
    }
}

tagged! {
    /// What a node takes or gives.
    Argument {
        /// Python's `None`.
        None "as_none": Nothing;
        /// A tensor.
        Tensor "as_tensor": TensorArgument;
        /// A list of tensors. In lists of operands of higher-order operators, names of numbers stand among them.
        Tensors "as_tensors": Vec<TensorArgument>;
        /// An integer.
        Int "as_int": i64;
        /// A list of integers.
        Ints "as_ints": Vec<i64>;
        /// A float.
        Float "as_float": f64;
        /// A list of floats.
        Floats "as_floats": Vec<f64>;
        /// A text.
        String "as_string": String;
        /// A list of texts.
        Strings "as_strings": Vec<String>;
        /// A symbolic integer.
        SymInt "as_sym_int": SymIntArgument;
        /// A list of integers, some symbolic.
        SymInts "as_sym_ints": Vec<SymIntArgument>;
        /// A dtype.
        ScalarType "as_scalar_type": ScalarType;
        /// A memory format.
        MemoryFormat "as_memory_format": MemoryFormat;
        /// A layout.
        Layout "as_layout": Layout;
        /// A device.
        Device "as_device": Device;
        /// A boolean.
        Bool "as_bool": bool;
        /// A list of booleans.
        Bools "as_bools": Vec<bool>;
        /// A symbolic boolean.
        SymBool "as_sym_bool": SymBoolArgument;
        /// A list of booleans, some symbolic.
        SymBools "as_sym_bools": Vec<SymBoolArgument>;
        /// A graph.
        Graph "as_graph": GraphArgument;
        /// A list of tensors, some absent.
        OptionalTensors "as_optional_tensors": Vec<OptionalTensorArgument>;
        /// An object of a registered class.
        CustomObj "as_custom_obj": CustomObjArgument;
        /// An operator.
        Operator "as_operator": String;
        /// A symbolic float.
        SymFloat "as_sym_float": SymFloatArgument;
        /// A list of floats, some symbolic.
        SymFloats "as_sym_floats": Vec<SymFloatArgument>;
        /// A tensor or nothing.
        OptionalTensor "as_optional_tensor": OptionalTensorArgument;
        /// A complex number.
        Complex "as_complex": ComplexValue;
        /// Lists of tensors.
        NestedTensors "as_nested_tensors": Vec<Vec<TensorArgument>>;
        /// Lists of integers.
        IntLists "as_int_lists": Vec<Vec<i64>>;
        /// A dict with texts as keys.
        StringToArgument "as_string_to_argument": Map<Argument>;
        /// Lists of floats.
        FloatLists "as_float_lists": Vec<Vec<f64>>;
    }
}

impl Argument {
    /// The name of the one value of the graph that it stands for, where it stands for one.
    pub fn name(&self) -> Option<&str> {
        match self {
            Argument::Tensor(value) => Some(&value.name),
            Argument::OptionalTensor(OptionalTensorArgument::Tensor(value)) => Some(&value.name),
            Argument::CustomObj(value) => Some(&value.name),
            Argument::SymInt(SymIntArgument::Name(name))
            | Argument::SymFloat(SymFloatArgument::Name(name))
            | Argument::SymBool(SymBoolArgument::Name(name)) => Some(name),
            _ => None,
        }
    }
}
