//! What a program's inputs and outputs are for.

use super::argument::{Argument, CustomObjArgument, Nothing, TensorArgument, TokenArgument};
use super::macros::{structure, tagged};

tagged! {
    /// A constant that was passed when the program was exported.
    ConstantValue {
        /// Python's `None`.
        None "as_none": Nothing;
        /// An integer.
        Int "as_int": i64;
        /// A float.
        Float "as_float": f64;
        /// A text.
        String "as_string": String;
        /// A boolean.
        Bool "as_bool": bool;
    }
}

structure! {
    /// A value that the caller passes or is given.
    UserValueSpec {
        /// The value.
        arg "arg": Argument;
    }
}

structure! {
    /// A parameter of a module.
    ParameterSpec {
        /// The value.
        arg "arg": TensorArgument;
        /// The parameter's name.
        parameter_name "parameter_name": String;
    }
}

structure! {
    /// A buffer of a module.
    BufferSpec {
        /// The value.
        arg "arg": TensorArgument;
        /// The buffer's name.
        buffer_name "buffer_name": String;
        /// Whether it is in the state dict.
        persistent "persistent": bool;
    }
}

structure! {
    /// A tensor that is part of the program.
    TensorConstantSpec {
        /// The value.
        arg "arg": TensorArgument;
        /// Its name among the constants.
        tensor_constant_name "tensor_constant_name": String;
    }
}

structure! {
    /// An object of a registered class.
    CustomObjSpec {
        /// The value.
        arg "arg": CustomObjArgument;
        /// Its name among the constants.
        custom_obj_name "custom_obj_name": String;
    }
}

structure! {
    /// A token.
    TokenSpec {
        /// The token.
        arg "arg": TokenArgument;
    }
}

structure! {
    /// An argument that was a constant when the program was exported, and must be that again.
    ConstantInputSpec {
        /// The argument's name.
        name "name": String;
        /// The constant.
        value "value": ConstantValue;
    }
}

tagged! {
    /// What an input of a program is for.
    InputSpec {
        /// The caller passes it.
        UserInput "user_input": UserValueSpec;
        /// A parameter.
        Parameter "parameter": ParameterSpec;
        /// A buffer.
        Buffer "buffer": BufferSpec;
        /// A tensor of the program.
        TensorConstant "tensor_constant": TensorConstantSpec;
        /// An object of the program.
        CustomObj "custom_obj": CustomObjSpec;
        /// A token.
        Token "token": TokenSpec;
        /// An argument that was a constant.
        ConstantInput "constant_input": ConstantInputSpec;
    }
}

structure! {
    /// A tensor that is given.
    TensorOutputSpec {
        /// The value.
        arg "arg": TensorArgument;
    }
}

structure! {
    /// What a buffer holds after the call.
    BufferMutationSpec {
        /// The value.
        arg "arg": TensorArgument;
        /// The buffer's name.
        buffer_name "buffer_name": String;
    }
}

structure! {
    /// A parameter's gradient.
    GradientToParameterSpec {
        /// The value.
        arg "arg": TensorArgument;
        /// The parameter's name.
        parameter_name "parameter_name": String;
    }
}

structure! {
    /// An input's gradient.
    GradientToUserInputSpec {
        /// The value.
        arg "arg": TensorArgument;
        /// The input's name.
        user_input_name "user_input_name": String;
    }
}

structure! {
    /// What an input holds after the call.
    UserInputMutationSpec {
        /// The value.
        arg "arg": TensorArgument;
        /// The input's name.
        user_input_name "user_input_name": String;
    }
}

structure! {
    /// What a parameter holds after the call.
    ParameterMutationSpec {
        /// The value.
        arg "arg": TensorArgument;
        /// The parameter's name.
        parameter_name "parameter_name": String;
    }
}

tagged! {
    /// What an output of a program is for.
    OutputSpec {
        /// The caller is given it.
        UserOutput "user_output": UserValueSpec;
        /// The loss.
        LossOutput "loss_output": TensorOutputSpec;
        /// A buffer's new value.
        BufferMutation "buffer_mutation": BufferMutationSpec;
        /// A parameter's gradient.
        GradientToParameter "gradient_to_parameter": GradientToParameterSpec;
        /// An input's gradient.
        GradientToUserInput "gradient_to_user_input": GradientToUserInputSpec;
        /// An input's new value.
        UserInputMutation "user_input_mutation": UserInputMutationSpec;
        /// A token.
        Token "token": TokenSpec;
        /// A parameter's new value.
        ParameterMutation "parameter_mutation": ParameterMutationSpec;
    }
}

structure! {
    /// What a program's inputs and outputs are for, in the order of the graph's.
    GraphSignature {
        /// One for each input of the graph.
        input_specs "input_specs": Vec<InputSpec>;
        /// One for each output of the graph.
        output_specs "output_specs": Vec<OutputSpec>;
    }
}
