//! How the integers of a quantized tensor stand for real numbers.

use std::rc::Rc;

use crate::{Error, Result};

/// How integers stand for real numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Quantizer {
    /// One scale and zero point: `torch.per_tensor_affine`.
    PerTensor {
        /// The size of a step.
        scale: f64,
        /// What stands for 0.
        zero_point: i64,
    },
    /// One of each for every index of a dimension: `torch.per_channel_affine`.
    PerChannel {
        /// The sizes of a step.
        scales: Vec<f64>,
        /// What stands for 0.
        zero_points: Vec<i64>,
        /// The dimension.
        axis: usize,
    },
    /// One of each for every index of a dimension, of which the zero points are no integers:
    /// `torch.per_channel_affine_float_qparams`.
    PerChannelFloat {
        /// The sizes of a step.
        scales: Vec<f32>,
        /// What stands for 0.
        zero_points: Vec<f32>,
        /// The dimension.
        axis: usize,
    },
}

impl Quantizer {
    /// The scale and zero point of every channel, and the dimension of channels, if there is one.
    ///
    /// # Errors
    /// For zero points that are no integers.
    pub fn channels(&self) -> Result<(Vec<f64>, Vec<i64>, Option<usize>)> {
        match self {
            Quantizer::PerTensor { scale, zero_point } => {
                Ok((vec![*scale], vec![*zero_point], None))
            }
            Quantizer::PerChannel { scales, zero_points, axis } => {
                Ok((scales.clone(), zero_points.clone(), Some(*axis)))
            }
            Quantizer::PerChannelFloat { .. } => Err(Error::not_implemented(
                "this of a tensor quantized per_channel_affine_float_qparams",
            )),
        }
    }

    /// The dimension of channels, how many scales there are and how many zero points.
    pub fn extent(&self) -> Option<(usize, [usize; 2])> {
        match self {
            Quantizer::PerTensor { .. } => None,
            Quantizer::PerChannel { scales, zero_points, axis } => {
                Some((*axis, [scales.len(), zero_points.len()]))
            }
            Quantizer::PerChannelFloat { scales, zero_points, axis } => {
                Some((*axis, [scales.len(), zero_points.len()]))
            }
        }
    }
}

/// What a storage knows of its integers.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantization {
    /// The parameters.
    pub quantizer: Rc<Quantizer>,
    /// The stride of the dimension of channels. A view that has another one there has turned its
    /// dimensions.
    pub channel_step: Option<i64>,
}
