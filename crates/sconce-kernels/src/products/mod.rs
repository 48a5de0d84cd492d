//! Products beyond `matmul`: of vectors, of several matrices, over any dimensions, by an equation.

pub(crate) mod einsum;
pub(crate) mod tensor_products;
