//! Operators over regions of interest: `nms`, `roi_align`, `roi_pool`, `ps_roi_align`, `ps_roi_pool`.

use num_traits::Float;
use sconce_kernel_core::tensor::promotion::compute_dtype;

use crate::{DType, Error, PodElement, Result, Tensor};

/// `torchvision.ops.nms`: the boxes that overlap no better one by more than `threshold`, best first.
///
/// # Errors
/// Where boxes are no rows of four numbers, or there are not as many scores.
pub fn nms(boxes: &Tensor, scores: &Tensor, threshold: f64) -> Result<Tensor> {
    if boxes.dim() != 2 {
        let message = format!("boxes should be a 2d tensor, got {}D", boxes.dim());
        return Err(Error::runtime(message));
    }
    if boxes.sizes()[1] != 4 {
        return Err(Error::runtime(format!(
            "boxes should have 4 elements in dimension 1, got {}",
            boxes.sizes()[1]
        )));
    }
    if scores.dim() != 1 {
        let message = format!("scores should be a 1d tensor, got {}D", scores.dim());
        return Err(Error::runtime(message));
    }
    if boxes.sizes()[0] != scores.sizes()[0] {
        return Err(Error::runtime(format!(
            "boxes and scores should have same number of elements in dimension 0, got {} and {}",
            boxes.sizes()[0],
            scores.sizes()[0]
        )));
    }
    if boxes.dtype() != scores.dtype() {
        return Err(Error::runtime("dets should have the same type as scores"));
    }
    let (_, order) = crate::sort(scores, 0, true, true)?;
    let order = order.to_vec::<i64>()?;
    let kept = match boxes.dtype() {
        DType::Float32 => suppress(&boxes.to_vec::<f32>()?, &order, threshold as f32),
        DType::Float64 => suppress(&boxes.to_vec::<f64>()?, &order, threshold),
        other => return Err(Error::no_kernel("nms_kernel", other)),
    };
    Tensor::from_slice(&kept, &[kept.len() as i64])
}

fn suppress<F: Float>(boxes: &[F], order: &[i64], threshold: F) -> Vec<i64> {
    let corners = |at: i64| {
        let row = &boxes[at as usize * 4..at as usize * 4 + 4];
        (row[0], row[1], row[2], row[3])
    };
    let area = |(left, top, right, bottom): (F, F, F, F)| (right - left) * (bottom - top);
    let mut gone = vec![false; order.len()];
    let mut kept = Vec::new();
    for (i, &best) in order.iter().enumerate() {
        if gone[i] {
            continue;
        }
        kept.push(best);
        let a = corners(best);
        for (gone, &other) in gone[i + 1..].iter_mut().zip(&order[i + 1..]) {
            let b = corners(other);
            let width = (a.2.min(b.2) - a.0.max(b.0)).max(F::zero());
            let height = (a.3.min(b.3) - a.1.max(b.1)).max(F::zero());
            let shared = width * height;
            *gone |= shared / (area(a) + area(b) - shared) > threshold;
        }
    }
    kept
}

/// How regions are pooled.
#[derive(Debug, Clone, Copy)]
pub struct RoiOptions {
    /// Elements of the input for a unit of the boxes.
    pub spatial_scale: f64,
    /// Height and width of a region's result.
    pub output: [i64; 2],
    /// Samples in each direction of a bin; as many as it has elements where it is not positive.
    pub sampling_ratio: i64,
    /// Whether boxes are half an element to the left and above.
    pub aligned: bool,
}

/// Input, boxes, and sizes that every pool of regions starts from.
struct RoiGrid<F> {
    input: Vec<F>,
    /// Index of the image, and the box's corners, scaled.
    boxes: Vec<(usize, [F; 4])>,
    channels: usize,
    height: usize,
    width: usize,
    bins: [usize; 2],
}

impl<F: Float + PodElement> RoiGrid<F> {
    fn new(input: &Tensor, rois: &Tensor, output: [i64; 2]) -> Result<RoiGrid<F>> {
        let (&[batch, channels, height, width], &[_, 5]) = (input.sizes(), rois.sizes()) else {
            return Err(Error::runtime("rois must have shape as Tensor[K, 5]"));
        };
        if input.dtype() != rois.dtype() {
            return Err(Error::runtime(format!(
                "Expected tensor for argument #1 'input' to have the same type as tensor for \
                 argument #2 'rois'; but type torch.{}Tensor does not equal torch.{}Tensor",
                input.dtype().scalar_type_name(),
                rois.dtype().scalar_type_name()
            )));
        }
        if output.iter().any(|&n| n <= 0) {
            return Err(Error::not_implemented("pooling of regions to nothing"));
        }
        let number = |i: usize, row: &[F]| {
            let batch_of = row[0].to_i64().filter(|at| (0..batch).contains(at));
            let at = batch_of.filter(|_| row[0] >= F::zero()).ok_or_else(|| {
                Error::runtime(format!("rois batch index must be in [0, batch_size): region {i}"))
            })?;
            Ok((at as usize, [row[1], row[2], row[3], row[4]]))
        };
        let rows = rois.to_dtype(F::DTYPE)?.to_vec::<F>()?;
        let boxes = rows.chunks_exact(5).enumerate().map(|(i, row)| number(i, row));
        Ok(RoiGrid {
            boxes: boxes.collect::<Result<_>>()?,
            input: input.to_dtype(F::DTYPE)?.to_vec::<F>()?,
            channels: channels as usize,
            height: height as usize,
            width: width as usize,
            bins: [output[0] as usize, output[1] as usize],
        })
    }

    fn plane(&self, image: usize, channel: usize) -> &[F] {
        let len = self.height * self.width;
        let start = (image * self.channels + channel) * len;
        &self.input[start..start + len]
    }

    fn result(&self, channels: usize) -> Result<Tensor> {
        let [rows, columns] = self.bins.map(|n| n as i64);
        Tensor::zeros(&[self.boxes.len() as i64, channels as i64, rows, columns], F::DTYPE)
    }

    /// Four neighbours of a position and their weights; none more than an element outside.
    fn neighbours(&self, mut y: F, mut x: F) -> Option<[(usize, F); 4]> {
        let (height, width) = (cast::<F>(self.height as f64), cast::<F>(self.width as f64));
        let inside = y >= -F::one() && y <= height && x >= -F::one() && x <= width;
        if !inside || self.height == 0 || self.width == 0 {
            return None;
        }
        let line = |at: &mut F, size: usize| {
            *at = at.max(F::zero());
            let low = at.to_usize().unwrap_or(0);
            if low >= size - 1 {
                *at = cast((size - 1) as f64);
                return (size - 1, size - 1);
            }
            (low, low + 1)
        };
        let (top, bottom) = line(&mut y, self.height);
        let (left, right) = line(&mut x, self.width);
        let (down, across) = (y - cast(top as f64), x - cast(left as f64));
        let (up, back) = (F::one() - down, F::one() - across);
        Some([
            (top * self.width + left, up * back),
            (top * self.width + right, up * across),
            (bottom * self.width + left, down * back),
            (bottom * self.width + right, down * across),
        ])
    }

    fn at(&self, plane: &[F], y: F, x: F) -> F {
        let Some(neighbours) = self.neighbours(y, x) else { return F::zero() };
        neighbours.iter().fold(F::zero(), |sum, &(at, weight)| sum + plane[at] * weight)
    }
}

fn cast<F: Float>(x: f64) -> F {
    F::from(x).unwrap_or_else(F::nan)
}

/// The largest number of samples in one direction of a bin that a region may ask for.
const MOST_SAMPLES: i64 = 1 << 12;

/// The samples of a bin in one direction: how many, and how far apart.
fn samples<F: Float>(size: F, bins: usize, ratio: i64) -> Result<(i64, F)> {
    let bin = size / cast(bins as f64);
    let count = if ratio > 0 { Some(ratio) } else { bin.ceil().to_i64() };
    let Some(count) = count.filter(|&count| count <= MOST_SAMPLES) else {
        return Err(Error::not_implemented("a region of this size"));
    };
    Ok((count, bin / cast(count.max(1) as f64)))
}

/// Runs `$f::<T>` for the floating type that an input is computed in, and gives its dtype back.
macro_rules! by_float {
    ($input:expr, $name:expr, $f:ident ( $($arg:expr),* )) => {
        match compute_dtype($input.dtype()) {
            DType::Float32 => $f::<f32>($($arg),*),
            DType::Float64 => $f::<f64>($($arg),*),
            other => Err(Error::no_kernel($name, other)),
        }
    };
}

/// `torchvision.ops.roi_align`: averages of samples in the bins of each box.
///
/// # Errors
/// Where boxes are no rows of five numbers.
pub fn roi_align(input: &Tensor, rois: &Tensor, options: &RoiOptions) -> Result<Tensor> {
    by_float!(input, "roi_align_forward_kernel", align(input, rois, options))?
        .to_dtype(input.dtype())
}

fn align<F: Float + PodElement>(input: &Tensor, rois: &Tensor, o: &RoiOptions) -> Result<Tensor> {
    let regions = RoiGrid::<F>::new(input, rois, o.output)?;
    let result = regions.result(regions.channels)?;
    let [rows, columns] = regions.bins;
    let offset = if o.aligned { cast::<F>(0.5) } else { F::zero() };
    let mut to = result.write::<F>()?;
    let scale = cast::<F>(o.spatial_scale);
    for (region, &(image, corners)) in regions.boxes.iter().enumerate() {
        let [left, top, right, bottom] = corners.map(|x| x * scale - offset);
        let (mut width, mut height) = (right - left, bottom - top);
        if !o.aligned {
            (width, height) = (width.max(F::one()), height.max(F::one()));
        }
        let (bin_height, bin_width) = (height / cast(rows as f64), width / cast(columns as f64));
        let (down, step_y) = samples(height, rows, o.sampling_ratio)?;
        let (across, step_x) = samples(width, columns, o.sampling_ratio)?;
        let count = cast::<F>((down * across).max(1) as f64);
        for row in 0..rows {
            for column in 0..columns {
                let mut taps = Vec::new();
                for i in 0..down {
                    let y = top
                        + cast::<F>(row as f64) * bin_height
                        + cast::<F>(i as f64 + 0.5) * step_y;
                    for j in 0..across {
                        let x = left
                            + cast::<F>(column as f64) * bin_width
                            + cast::<F>(j as f64 + 0.5) * step_x;
                        taps.extend(regions.neighbours(y, x).into_iter().flatten());
                    }
                }
                for channel in 0..regions.channels {
                    let plane = regions.plane(image, channel);
                    let sum = taps.iter().fold(F::zero(), |sum, &(at, w)| sum + w * plane[at]);
                    let at = (region * regions.channels + channel) * rows + row;
                    to[at * columns + column] = sum / count;
                }
            }
        }
    }
    drop(to);
    Ok(result)
}

/// A number as a C program on x86 converts it to `int`: the least one where it is none or does not fit.
fn c_int<F: Float>(x: F) -> i32 {
    x.to_i32().unwrap_or(i32::MIN)
}

/// How long a side is, at least 1: from integers that go round.
fn side<F: Float>(from: i32, to: i32, more: i32) -> F {
    cast(f64::from(to.wrapping_sub(from).wrapping_add(more).max(1)))
}

/// The elements of a bin in one direction: from the first to before the last.
fn bin<F: Float>(step: F, at: usize, start: i32, size: usize) -> (usize, usize) {
    let size = i32::try_from(size).unwrap_or(i32::MAX);
    let edge = |x: F| c_int(x).wrapping_add(start).clamp(0, size) as usize;
    let low = (cast::<F>(at as f64) * step).floor();
    let high = (cast::<F>(at as f64 + 1.0) * step).ceil();
    (edge(low), edge(high))
}

/// `torchvision.ops.roi_pool`: the largest elements in the bins of each box, and where they stand in
/// their plane (-1 in empty bins).
///
/// # Errors
/// Where boxes are no rows of five numbers.
pub fn roi_pool(input: &Tensor, rois: &Tensor, options: &RoiOptions) -> Result<(Tensor, Tensor)> {
    let (values, positions) =
        by_float!(input, "roi_pool_forward_kernel", max_regions(input, rois, options))?;
    Ok((values.to_dtype(input.dtype())?, positions))
}

fn max_regions<F: Float + PodElement>(
    input: &Tensor,
    rois: &Tensor,
    o: &RoiOptions,
) -> Result<(Tensor, Tensor)> {
    let regions = RoiGrid::<F>::new(input, rois, o.output)?;
    let result = regions.result(regions.channels)?;
    let positions = Tensor::zeros(result.sizes(), DType::Int32)?;
    let [rows, columns] = regions.bins;
    let scale = cast::<F>(o.spatial_scale);
    let (mut to, mut argmax) = (result.write::<F>()?, positions.write::<i32>()?);
    let mut out = to.iter_mut().zip(argmax.iter_mut());
    for &(image, corners) in &regions.boxes {
        let [left, top, right, bottom] = corners.map(|x| c_int((x * scale).round()));
        let (width, height): (F, F) = (side(left, right, 1), side(top, bottom, 1));
        let (step_y, step_x) = (height / cast(rows as f64), width / cast(columns as f64));
        for channel in 0..regions.channels {
            let plane = regions.plane(image, channel);
            for row in 0..rows {
                let (first, last) = bin(step_y, row, top, regions.height);
                for column in 0..columns {
                    let (from, end) = bin(step_x, column, left, regions.width);
                    let empty = last <= first || end <= from;
                    let mut best = (if empty { F::zero() } else { F::min_value() }, -1);
                    for y in first..last {
                        for x in from..end {
                            let at = y * regions.width + x;
                            if plane[at] > best.0 {
                                best = (plane[at], at as i32);
                            }
                        }
                    }
                    if let Some((value, position)) = out.next() {
                        (*value, *position) = best;
                    }
                }
            }
        }
    }
    drop((to, argmax));
    Ok((result, positions))
}

/// The channels that position-sensitive pooling gives: each bin has its own.
fn divided(channels: i64, [rows, columns]: [i64; 2]) -> Result<usize> {
    match rows.checked_mul(columns) {
        Some(bins) if bins > 0 && channels % bins == 0 => Ok((channels / bins) as usize),
        _ => Err(Error::runtime(
            "input channels must be a multiple of pooling height * pooling width",
        )),
    }
}

/// `torchvision.ops.ps_roi_align`: each bin from channels of its own. Which ones is the second
/// result.
///
/// # Errors
/// Where boxes are no rows of five numbers, or the channels cannot be divided among the bins.
pub fn ps_roi_align(input: &Tensor, rois: &Tensor, o: &RoiOptions) -> Result<(Tensor, Tensor)> {
    let (values, channels) =
        by_float!(input, "ps_roi_align_forward_kernel", position_sensitive(input, rois, o, true))?;
    Ok((values.to_dtype(input.dtype())?, channels))
}

/// `torchvision.ops.ps_roi_pool`: as [`ps_roi_align`], averages of whole elements.
///
/// # Errors
/// As [`ps_roi_align`].
pub fn ps_roi_pool(input: &Tensor, rois: &Tensor, o: &RoiOptions) -> Result<(Tensor, Tensor)> {
    let (values, channels) =
        by_float!(input, "ps_roi_pool_forward_kernel", position_sensitive(input, rois, o, false))?;
    Ok((values.to_dtype(input.dtype())?, channels))
}

fn position_sensitive<F: Float + PodElement>(
    input: &Tensor,
    rois: &Tensor,
    o: &RoiOptions,
    sampled: bool,
) -> Result<(Tensor, Tensor)> {
    let regions = RoiGrid::<F>::new(input, rois, o.output)?;
    let channels = divided(regions.channels as i64, o.output)?;
    let result = regions.result(channels)?;
    let mapping = Tensor::zeros(result.sizes(), DType::Int32)?;
    let [rows, columns] = regions.bins;
    let scale = cast::<F>(o.spatial_scale);
    let (mut to, mut from) = (result.write::<F>()?, mapping.write::<i32>()?);
    let mut out = to.iter_mut().zip(from.iter_mut());
    for &(image, corners) in &regions.boxes {
        let sampled_area = corners.map(|x| x * scale - cast(0.5));
        let area = corners.map(|x| c_int((x * scale).round()));
        for channel in 0..channels {
            for row in 0..rows {
                for column in 0..columns {
                    let source = (channel * rows + row) * columns + column;
                    let plane = regions.plane(image, source);
                    let value = match sampled {
                        true => regions.sampled_bin(plane, sampled_area, [row, column], o)?,
                        false => regions.average_bin(plane, area, [row, column]),
                    };
                    if let Some((to, from)) = out.next() {
                        (*to, *from) = (value, source as i32);
                    }
                }
            }
        }
    }
    drop((to, from));
    Ok((result, mapping))
}

impl<F: Float + PodElement> RoiGrid<F> {
    /// The average of samples in a bin.
    fn sampled_bin(
        &self,
        plane: &[F],
        [left, top, right, bottom]: [F; 4],
        [row, column]: [usize; 2],
        o: &RoiOptions,
    ) -> Result<F> {
        let [rows, columns] = self.bins;
        let (height, width) = (bottom - top, right - left);
        let (down, step_y) = samples(height, rows, o.sampling_ratio)?;
        let (across, step_x) = samples(width, columns, o.sampling_ratio)?;
        let y0 = top + cast::<F>(row as f64) * (height / cast(rows as f64));
        let x0 = left + cast::<F>(column as f64) * (width / cast(columns as f64));
        let mut sum = F::zero();
        for i in 0..down {
            let y = y0 + cast::<F>(i as f64 + 0.5) * step_y;
            for j in 0..across {
                sum = sum + self.at(plane, y, x0 + cast::<F>(j as f64 + 0.5) * step_x);
            }
        }
        Ok(sum / cast((down * across) as f64))
    }

    /// The average of the elements in a bin.
    fn average_bin(
        &self,
        plane: &[F],
        [left, top, right, bottom]: [i32; 4],
        [row, column]: [usize; 2],
    ) -> F {
        let step_y = side::<F>(top, bottom, 0) / cast(self.bins[0] as f64);
        let step_x = side::<F>(left, right, 0) / cast(self.bins[1] as f64);
        // The last row and column are never looked at.
        let (first, last) = bin(step_y, row, top, self.height.saturating_sub(1));
        let (from, end) = bin(step_x, column, left, self.width.saturating_sub(1));
        if last <= first || end <= from {
            return F::zero();
        }
        let rows = (first..last).flat_map(|y| &plane[y * self.width + from..y * self.width + end]);
        let sum = rows.fold(F::zero(), |sum, &x| sum + x);
        sum / cast(((last - first) * (end - from)) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_overlapping_boxes_stays() {
        let boxes = [0f32, 0., 10., 10., 1., 1., 10., 10., 20., 20., 30., 30.];
        let boxes = Tensor::from_slice(&boxes, &[3, 4]).unwrap();
        let scores = Tensor::from_slice(&[0.5f32, 0.9, 0.1], &[3]).unwrap();
        assert_eq!(nms(&boxes, &scores, 0.5).unwrap().to_vec::<i64>().unwrap(), [1, 2]);
        assert_eq!(nms(&boxes, &scores, 0.9).unwrap().to_vec::<i64>().unwrap(), [1, 0, 2]);
    }

    #[test]
    fn a_region_without_end_is_refused() {
        let image = Tensor::zeros(&[1, 1, 4, 4], DType::Float32).unwrap();
        let rois = Tensor::from_slice(&[0f32, 0., 0., 1e30, 1e30], &[1, 5]).unwrap();
        let options =
            RoiOptions { spatial_scale: 1.0, output: [1, 1], sampling_ratio: 0, aligned: true };
        assert!(roi_align(&image, &rois, &options).is_err());
    }
}
