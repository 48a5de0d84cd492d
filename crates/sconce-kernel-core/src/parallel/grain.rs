//! Grain sizes: the numbers of elements from which several threads pay.

/// Elements of an element-wise operator below which other threads cost more than they bring.
pub const ELEMENTWISE: usize = 1 << 16;

/// Elements of operators that take longer for each one, such as a softmax, below which other threads cost
/// more than they bring.
pub const ROWS: usize = 1 << 14;
