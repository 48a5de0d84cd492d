//! Names of unary operators, and how each treats dtypes.

/// How an operator treats dtypes.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Class {
    /// Integers become `float32`.
    Float,
    /// Floating types only.
    FloatOnly,
    /// Integers come back as they are.
    Rounding,
    /// Every number has its own kernel.
    Number,
}

macro_rules! unary_ops {
    ($($name:ident $class:ident $kernel:literal;)*) => {
        /// An operator of one operand, by the name of its `aten` operator.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "named like the operators of torch")]
        pub enum UnaryOp { $($name,)* }

        impl UnaryOp {
            pub(crate) fn class(self) -> Class {
                match self { $(UnaryOp::$name => Class::$class,)* }
            }

            /// The name that PyTorch's "not implemented for" errors give the kernel.
            pub(crate) fn kernel(self) -> &'static str {
                match self { $(UnaryOp::$name => $kernel,)* }
            }
        }
    };
}

unary_ops! {
    Neg Number "neg_cpu";
    Abs Number "abs_cpu";
    Relu Number "relu";
    Relu6 Number "hardtanh";
    Sign Number "sign_cpu";
    Square Number "square";
    Exp Float "exp_vml_cpu";
    Exp2 Float "exp2";
    Expm1 Float "expm1_vml_cpu";
    Log Float "log_vml_cpu";
    Log2 Float "log2_vml_cpu";
    Log10 Float "log10_vml_cpu";
    Log1p Float "log1p_vml_cpu";
    Sqrt Float "sqrt_vml_cpu";
    Rsqrt Float "rsqrt_cpu";
    Reciprocal Float "reciprocal_cpu";
    Sin Float "sin_vml_cpu";
    Cos Float "cos_vml_cpu";
    Tan Float "tan_vml_cpu";
    Asin Float "asin_vml_cpu";
    Acos Float "acos_vml_cpu";
    Atan Float "atan_vml_cpu";
    Sinh Float "sinh_vml_cpu";
    Cosh Float "cosh_vml_cpu";
    Tanh Float "tanh_vml_cpu";
    Asinh Float "asinh_vml_cpu";
    Acosh Float "acosh_vml_cpu";
    Atanh Float "atanh_vml_cpu";
    Sigmoid Float "sigmoid_cpu";
    Erf Float "erf_vml_cpu";
    Erfc Float "erfc_vml_cpu";
    Gelu FloatOnly "GeluKernelImpl";
    GeluTanh FloatOnly "GeluKernelImpl";
    Silu FloatOnly "silu_cpu";
    Mish FloatOnly "mish_cpu";
    Hardsigmoid FloatOnly "hardsigmoid_cpu";
    Hardswish FloatOnly "hardswish_cpu";
    Frac FloatOnly "frac_cpu";
    Floor Rounding "floor_vml_cpu";
    Ceil Rounding "ceil_vml_cpu";
    Round Rounding "round_vml_cpu";
    Trunc Rounding "trunc_vml_cpu";
}
