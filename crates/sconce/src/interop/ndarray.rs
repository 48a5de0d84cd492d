//! To and from `ndarray`'s arrays; needs the feature `ndarray`.

use ndarray::{Array, ArrayD, ArrayViewD, Dimension, IxDyn};
use sconce_tensor::{Element, Error, Tensor};

/// A view of a tensor's elements in place, without a copy: its memory map stays untouched until the
/// elements are read.
///
/// # Errors
/// When the tensor is not of type `T`, or not contiguous and aligned in native byte order (as
/// [`Tensor::as_slice`]); [`to_array`] copies then.
///
/// ```
/// let tensor = sconce::Tensor::from_vec(vec![1f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// let view = sconce::interop::ndarray::view::<f32>(&tensor)?;
/// assert_eq!(view[[1, 0]], 3.0);
/// # Ok::<(), sconce::tensor::Error>(())
/// ```
pub fn view<T: Element>(tensor: &Tensor) -> Result<ArrayViewD<'_, T>, Error> {
    let shape = shape(tensor);
    ArrayViewD::from_shape(shape, tensor.as_slice::<T>()?).map_err(mismatch)
}

/// A copy of a tensor's elements, row-major, whatever its strides.
///
/// # Errors
/// When the tensor is not of type `T`, or as [`Tensor::to_vec`].
pub fn to_array<T: Element>(tensor: &Tensor) -> Result<ArrayD<T>, Error> {
    ArrayD::from_shape_vec(shape(tensor), tensor.to_vec::<T>()?).map_err(mismatch)
}

/// A tensor that owns a copy of an array's elements, row-major.
///
/// # Errors
/// As [`Tensor::from_vec`].
///
/// ```
/// use sconce::interop::ndarray::from_array;
///
/// let weight = ndarray::array![[1f32, 2.0], [3.0, 4.0]];
/// let mut state = sconce::StateDict::new();
/// state.insert("fc.weight", from_array(&weight.t().to_owned())?);
/// let weight = state.get("fc.weight").expect("it was put there");
/// assert_eq!(weight.to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
/// # Ok::<(), sconce::tensor::Error>(())
/// ```
pub fn from_array<T: Element, D: Dimension>(array: &Array<T, D>) -> Result<Tensor, Error> {
    let sizes: Vec<i64> = array.shape().iter().map(|&size| size as i64).collect();
    Tensor::from_vec(array.iter().copied().collect(), &sizes)
}

fn shape(tensor: &Tensor) -> IxDyn {
    // Sizes are never negative: every constructor of a tensor checks.
    let sizes: Vec<usize> = tensor.sizes().iter().map(|&size| size as usize).collect();
    IxDyn(&sizes)
}

fn mismatch(error: ndarray::ShapeError) -> Error {
    Error::InvalidView(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_are_gathered_and_views_are_not_copied() {
        let tensor = Tensor::from_vec((0..6i64).collect(), &[2, 3]).unwrap();
        let turned = tensor.transpose(0, 1).unwrap();
        assert!(view::<i64>(&turned).is_err());
        let array = to_array::<i64>(&turned).unwrap();
        assert_eq!(array.shape(), [3, 2]);
        assert_eq!(array[[2, 1]], 5);
        let lent = view::<i64>(&tensor).unwrap();
        assert_eq!(lent.as_ptr(), tensor.as_slice::<i64>().unwrap().as_ptr());
        let back = from_array(&array).unwrap();
        assert_eq!(back.to_vec::<i64>().unwrap(), [0, 3, 1, 4, 2, 5]);
        assert!(view::<f32>(&tensor).is_err());
    }
}
