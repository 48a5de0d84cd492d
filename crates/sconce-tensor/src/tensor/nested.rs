use std::sync::Arc;

use crate::tensor::Body;
use crate::{DType, Dims, Error, Tensor};

/// The parts of a nested tensor: N components of d dimensions in one buffer.
#[derive(Debug, Clone)]
pub struct Nested {
    /// The elements of all components, 1-d.
    pub buffer: Tensor,
    /// N × d sizes, `int64`.
    pub sizes: Tensor,
    /// N × d strides, `int64`.
    pub strides: Tensor,
    /// N offsets into the buffer, `int64`.
    pub offsets: Tensor,
}

impl Nested {
    /// The number of components.
    pub fn len(&self) -> usize {
        self.sizes.sizes().first().map_or(0, |&n| n as usize)
    }

    /// Whether there are no components.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One component as a view of the buffer's storage.
    ///
    /// # Errors
    /// [`Error::BadIndex`] for an index the tensor does not have, and those of [`Tensor::strided`]
    /// where the component does not lie inside the buffer's storage.
    pub fn component(&self, index: usize) -> Result<Tensor, Error> {
        if index >= self.len() {
            return Err(Error::BadIndex(format!(
                "component {index} of a nested tensor that has {}",
                self.len()
            )));
        }
        let row = |table: &Tensor| table.select(0, index as i64)?.to_vec::<i64>();
        let (sizes, strides) = (row(&self.sizes)?, row(&self.strides)?);
        let offset = self.offsets.narrow(0, index as i64, 1)?.to_vec::<i64>()?[0];
        let Some(storage) = self.buffer.storage() else {
            return Err(Error::NoData("nested tensor"));
        };
        let base = self.buffer.storage_offset();
        let offset = offset.checked_add(base).filter(|_| offset >= 0).ok_or_else(|| {
            Error::InvalidNested(format!(
                "component {index} starts at element {offset} of the buffer"
            ))
        })?;
        let view = Tensor::strided(storage.clone(), self.buffer.dtype(), offset, &sizes, &strides)?;
        Ok(view.with_device(self.buffer.device().clone()))
    }
}

impl Tensor {
    /// A nested tensor: `torch._utils._rebuild_nested_tensor`. The tables of sizes, strides and
    /// offsets are read where they have data; the buffer is not.
    ///
    /// # Errors
    /// [`Error::InvalidNested`] where the parts do not fit together; those of reading the tables.
    pub fn nested(
        buffer: Tensor,
        sizes: Tensor,
        strides: Tensor,
        offsets: Tensor,
    ) -> Result<Tensor, Error> {
        let fail = |text: String| Err(Error::InvalidNested(text));
        let parts = [&buffer, &sizes, &strides, &offsets];
        if let Some(part) = parts.into_iter().find(|part| part.has_parts()) {
            return fail(format!("its parts must be strided tensors, got {part:?}"));
        }
        if buffer.ndim() != 1 || !buffer.is_contiguous() {
            return fail(format!("the buffer must be 1-d and contiguous, got {buffer:?}"));
        }
        // Without components PyTorch makes sizes and strides 0-d float tensors.
        let empty = sizes.ndim() == 0 || sizes.ndim() == 1 && sizes.numel() == 0;
        for (what, table) in [("sizes", &sizes), ("strides", &strides), ("offsets", &offsets)] {
            if table.dtype() != DType::Int64 && !empty {
                return fail(format!("{what} must be int64, got {}", table.dtype()));
            }
        }
        let shape = Dims::from_slice(sizes.sizes());
        if !empty && (shape.len() != 2 || strides.sizes() != &shape[..]) {
            return fail(format!(
                "sizes and strides must both be N x d, got {:?} and {:?}",
                sizes.sizes(),
                strides.sizes()
            ));
        }
        let components = if empty { 0 } else { shape[0] };
        if !(offsets.ndim() == 1 && offsets.numel() == components) {
            return fail(format!(
                "{components} components need as many offsets, got {:?}",
                offsets.sizes()
            ));
        }
        let dims = if empty { 0 } else { shape[1] as usize };
        if dims > 64 {
            return fail(format!("components of {dims} dimensions, more than 64"));
        }
        let mut common: Dims = smallvec::smallvec![-1; dims + 1];
        common[0] = components;
        let mut numel = buffer.numel();
        if sizes.has_data() && components > 0 {
            numel = 0;
            let rows = sizes.to_table::<i64>()?;
            if dims > 0 {
                common[1..].copy_from_slice(&rows[..dims]);
            }
            for row in 0..components as usize {
                let row = &rows[row * dims..(row + 1) * dims];
                numel += i128::from(crate::geometry::numel(row)?).min(i128::from(i64::MAX - numel))
                    as i64;
                for (shared, &size) in common[1..].iter_mut().zip(row) {
                    if *shared != size {
                        *shared = -1;
                    }
                }
            }
        }
        let dtype = buffer.dtype();
        let body = Body::Nested(Arc::new(Nested { buffer, sizes, strides, offsets }));
        Ok(Tensor::with_body(dtype, common, Dims::new(), numel, body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(values: &[i64], sizes: &[i64]) -> Tensor {
        Tensor::from_vec(values.to_vec(), sizes).unwrap()
    }

    #[test]
    fn components_are_views_of_the_buffer() {
        let buffer = Tensor::from_vec((0..11).map(|i| i as f32).collect(), &[11]).unwrap();
        let t = Tensor::nested(
            buffer.clone(),
            int(&[2, 3, 1, 5], &[2, 2]),
            int(&[3, 1, 5, 1], &[2, 2]),
            int(&[0, 6], &[2]),
        )
        .unwrap();
        assert_eq!((t.sizes(), t.numel()), (&[2, -1, -1][..], 11));
        let parts = t.nested_parts().unwrap();
        let second = parts.component(1).unwrap();
        assert_eq!(second.to_vec::<f32>().unwrap(), [6., 7., 8., 9., 10.]);
        assert!(second.storage().unwrap().ptr_eq(buffer.storage().unwrap()));
        assert!(parts.component(2).is_err());
    }

    #[test]
    fn parts_must_fit() {
        let buffer = || Tensor::from_vec(vec![0f32; 4], &[4]).unwrap();
        let cases = [
            (int(&[2, 2], &[2, 1]), int(&[1], &[1, 1]), int(&[0, 2], &[2])),
            (int(&[2, 2], &[2, 1]), int(&[1, 1], &[2, 1]), int(&[0], &[1])),
            (int(&[-2, 2], &[2, 1]), int(&[1, 1], &[2, 1]), int(&[0, 2], &[2])),
        ];
        for (sizes, strides, offsets) in cases {
            assert!(Tensor::nested(buffer(), sizes, strides, offsets).is_err());
        }
        let empty = || int(&[], &[1, 0]);
        let scalars = Tensor::nested(int(&[0], &[1]), empty(), empty(), int(&[0], &[1])).unwrap();
        assert_eq!(scalars.sizes(), [1]);
        let twice = Tensor::nested(int(&[0], &[1]), empty(), empty(), scalars);
        assert!(matches!(twice, Err(Error::InvalidNested(_))), "nested in nested");
        let beyond =
            Tensor::nested(buffer(), int(&[5], &[1, 1]), int(&[1], &[1, 1]), int(&[0], &[1]))
                .unwrap();
        let component = beyond.nested_parts().unwrap().component(0);
        assert!(matches!(component, Err(Error::OutOfBounds { .. })));
    }
}
