//! `im2col` and `col2im`: patches of images as columns, and columns summed back into images.

use crate::{DType, Error, Result, Tensor};

/// How patches lie in an image; pairs are height and width.
#[derive(Debug, Clone, Copy)]
pub struct PatchOptions {
    /// Sizes of a patch.
    pub kernel: [i64; 2],
    /// Steps between elements of a patch.
    pub dilation: [i64; 2],
    /// Zeros around the image.
    pub padding: [i64; 2],
    /// Steps between patches.
    pub stride: [i64; 2],
}

impl PatchOptions {
    fn check(&self) -> Result<()> {
        let named = [
            ("kernel size", self.kernel, 1),
            ("dilation", self.dilation, 1),
            ("padding", self.padding, 0),
            ("stride", self.stride, 1),
        ];
        for (what, [height, width], least) in named {
            if height < least || width < least {
                let limit = if least == 1 { "greater than zero" } else { "non-negative" };
                return Err(Error::runtime(format!(
                    "{what} should be {limit}, but got {} height: {height} {} width: {width}",
                    what.replace(' ', "_"),
                    what.replace(' ', "_")
                )));
            }
        }
        Ok(())
    }

    /// How many patches there are in each direction.
    fn blocks(&self, image: [i64; 2]) -> Result<[i64; 2]> {
        let mut blocks = [0; 2];
        for dim in 0..2 {
            let count = || {
                let reach = self.dilation[dim].checked_mul(self.kernel[dim] - 1)?.checked_add(1)?;
                let padded = image[dim].checked_add(self.padding[dim].checked_mul(2)?)?;
                Some((padded - reach).div_euclid(self.stride[dim]) + 1)
            };
            blocks[dim] = count()
                .ok_or_else(|| Error::runtime("integer overflow in the sizes of patches"))?;
        }
        if blocks.iter().any(|&n| n < 1) {
            return Err(Error::runtime(format!(
                "Given input with spatial size ({}, {}), kernel_size=({}, {}), dilation=({}, {}), \
                 padding=({}, {}), calculated shape of the array of sliding blocks as ({}, {}), but \
                 its components must be at least one.",
                image[0],
                image[1],
                self.kernel[0],
                self.kernel[1],
                self.dilation[0],
                self.dilation[1],
                self.padding[0],
                self.padding[1],
                blocks[0],
                blocks[1]
            )));
        }
        Ok(blocks)
    }

    /// The padded image's patches: a view of sizes batch, channels, kernel, blocks.
    fn view(&self, padded: &Tensor, blocks: [i64; 2]) -> Result<Tensor> {
        let (sizes, strides) = (padded.sizes(), padded.strides());
        let sizes = [sizes[0], sizes[1], self.kernel[0], self.kernel[1], blocks[0], blocks[1]];
        let strides = [
            strides[0],
            strides[1],
            strides[2].saturating_mul(self.dilation[0]),
            strides[3].saturating_mul(self.dilation[1]),
            strides[2].saturating_mul(self.stride[0]),
            strides[3].saturating_mul(self.stride[1]),
        ];
        padded.as_strided(&sizes, &strides, None)
    }
}

/// A batch of images, and whether it was made of one.
fn batched(input: &Tensor, rank: usize) -> Result<(Tensor, bool)> {
    match input.dim() {
        n if n + 1 == rank => Ok((input.unsqueeze(0)?, true)),
        _ => Ok((input.clone(), false)),
    }
}

/// `torch.nn.functional.unfold` (`aten::im2col`): sizes batch, channels × patch, number of patches.
///
/// # Errors
/// For inputs of other ranks and patches that do not fit.
pub fn im2col(input: &Tensor, options: &PatchOptions) -> Result<Tensor> {
    options.check()?;
    let n = input.dim();
    if !matches!(n, 3 | 4) || input.sizes()[n - 3..].contains(&0) {
        return Err(Error::runtime(format!(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero \
             dimensions for input, but got: {:?}",
            input.sizes()
        )));
    }
    if input.dtype().is_integral() {
        return Err(Error::no_kernel("im2col_out_cpu", input.dtype()));
    }
    let (images, single) = batched(input, 4)?;
    let blocks = options.blocks([images.sizes()[2], images.sizes()[3]])?;
    let [down, across] = options.padding;
    let zero = crate::PadMode::Constant(0.into());
    let padded = crate::pad(&images, &[across, across, down, down], zero)?;
    let columns = options.view(&padded, blocks)?.reshape(&[
        images.sizes()[0],
        images.sizes()[1] * options.kernel[0] * options.kernel[1],
        blocks[0] * blocks[1],
    ])?;
    if single { columns.select(0, 0) } else { Ok(columns) }
}

/// `torch.nn.functional.fold` (`aten::col2im`): patches summed where they overlap.
///
/// # Errors
/// For inputs of other ranks, and where the columns do not belong to such an image.
pub fn col2im(input: &Tensor, output: [i64; 2], options: &PatchOptions) -> Result<Tensor> {
    options.check()?;
    if output.iter().any(|&n| n < 1) {
        return Err(Error::runtime(format!(
            "output size should be greater than zero, but got output_height: {} output_width: {}",
            output[0], output[1]
        )));
    }
    let n = input.dim();
    if !matches!(n, 2 | 3) || input.sizes()[n - 2..].contains(&0) {
        return Err(Error::runtime(format!(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero \
             dimensions for input, but got: {:?}",
            input.sizes()
        )));
    }
    if input.dtype().is_integral() {
        return Err(Error::no_kernel("col2im_out_cpu", input.dtype()));
    }
    let (columns, single) = batched(input, 3)?;
    let patch = options.kernel[0].saturating_mul(options.kernel[1]);
    let (planes, count) = (columns.sizes()[1], columns.sizes()[2]);
    if planes % patch != 0 {
        return Err(Error::runtime(format!(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but \
             got input.size(1)={planes} and kernel_size=({}, {}).",
            options.kernel[0], options.kernel[1]
        )));
    }
    let blocks = options.blocks(output)?;
    if blocks[0].saturating_mul(blocks[1]) != count {
        return Err(Error::runtime(format!(
            "Given output_size=({}, {}), kernel_size=({}, {}), dilation=({}, {}), padding=({}, {}), \
             stride=({}, {}), expected size of input's dimension 2 to match the calculated number of \
             sliding blocks {} * {} = {}, but got input.size(2)={count}.",
            output[0],
            output[1],
            options.kernel[0],
            options.kernel[1],
            options.dilation[0],
            options.dilation[1],
            options.padding[0],
            options.padding[1],
            options.stride[0],
            options.stride[1],
            blocks[0],
            blocks[1],
            blocks[0].saturating_mul(blocks[1])
        )));
    }
    let (batch, channels) = (columns.sizes()[0], planes / patch);
    let [down, across] = options.padding;
    let compute = sconce_kernel_core::tensor::promotion::compute_dtype(input.dtype());
    let compute = if compute == DType::Bool { DType::Int64 } else { compute };
    let padded =
        Tensor::zeros(&[batch, channels, output[0] + 2 * down, output[1] + 2 * across], compute)?;
    let into = options.view(&padded, blocks)?;
    let columns = columns.to_dtype(compute)?.reshape(into.sizes())?;
    // One element of the patch at a time: its positions do not overlap one another.
    for row in 0..options.kernel[0] {
        for column in 0..options.kernel[1] {
            let pick = |t: &Tensor| t.select(2, row)?.select(2, column);
            crate::binary_in_place(crate::BinaryOp::Add, &pick(&into)?, (&pick(&columns)?).into())?;
        }
    }
    let image = padded.narrow(2, down, output[0])?.narrow(3, across, output[1])?;
    let image = image.to_dtype(input.dtype())?.contiguous()?;
    if single { image.select(0, 0) } else { Ok(image) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_counts_how_often_a_place_was_taken() {
        let image = Tensor::full(&[1, 1, 3, 3], 1.into(), DType::Float32).unwrap();
        let options =
            PatchOptions { kernel: [2, 2], dilation: [1, 1], padding: [0, 0], stride: [1, 1] };
        let columns = im2col(&image, &options).unwrap();
        assert_eq!(columns.sizes(), [1, 4, 4]);
        let back = col2im(&columns, [3, 3], &options).unwrap();
        assert_eq!(back.to_vec::<f32>().unwrap(), [1., 2., 1., 2., 4., 2., 1., 2., 1.]);
    }
}
