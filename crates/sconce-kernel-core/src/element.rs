//! The Rust types that kernels compute with.

use std::fmt::Debug;

use bytemuck::Pod;
use sconce_tensor::Element;

/// An [`Element`] that is nothing but its bytes, so that kernels can make it of any bytes: all but `bool`, in whose
/// place is [`sconce_tensor::Bool`].
pub trait PodElement: Element + Pod + PartialEq + Debug {}

impl<T: Element + Pod + PartialEq + Debug> PodElement for T {}
