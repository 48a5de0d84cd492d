//! `box_iou_rotated`: the overlap of rotated boxes.

use crate::{DType, Error, Result, Tensor};

type Point = [f64; 2];

/// What two boxes share over what both cover, for each box of the first tensor and each of the second.
/// A box is its centre, width, height and angle in degrees.
///
/// # Errors
/// Where boxes are no rows of five numbers.
pub fn box_iou_rotated(first: &Tensor, second: &Tensor) -> Result<Tensor> {
    let (&[rows, 5], &[columns, 5]) = (first.sizes(), second.sizes()) else {
        return Err(Error::runtime("boxes should be rows of 5 numbers"));
    };
    if first.dtype() != second.dtype() {
        return Err(Error::runtime("boxes should be of one dtype"));
    }
    if !matches!(first.dtype(), DType::Float32 | DType::Float64) {
        return Err(Error::no_kernel("box_iou_rotated", first.dtype()));
    }
    let result = Tensor::zeros(&[rows, columns], DType::Float64)?;
    let numbers = |boxes: &Tensor| boxes.to_dtype(DType::Float64)?.to_vec::<f64>();
    let (first, second) = (numbers(first)?, numbers(second)?);
    {
        let mut to = result.write::<f64>()?;
        let pairs = first.chunks_exact(5).flat_map(|a| second.chunks_exact(5).map(move |b| (a, b)));
        to.iter_mut().zip(pairs).for_each(|(to, (a, b))| *to = overlap(a, b));
    }
    // The result is of single precision whatever the boxes are.
    result.to_dtype(DType::Float32)
}

fn overlap(a: &[f64], b: &[f64]) -> f64 {
    let (area_a, area_b) = (a[2] * a[3], b[2] * b[3]);
    if area_a < 1e-14 || area_b < 1e-14 {
        return 0.0;
    }
    // Centres are moved together, which keeps digits.
    let middle = [(a[0] + b[0]) / 2.0, (a[1] + b[1]) / 2.0];
    let (a, b) = (corners(a, middle), corners(b, middle));
    let mut shared = a.to_vec();
    for side in 0..4 {
        shared = clip(&shared, b[side], b[(side + 1) % 4]);
    }
    let shared = area(&shared);
    shared / (area_a + area_b - shared)
}

/// The corners of a box, in an order in which the inside is at one side.
fn corners(of: &[f64], middle: Point) -> [Point; 4] {
    let (sin, cos) = of[4].to_radians().sin_cos();
    let (x, y) = (of[0] - middle[0], of[1] - middle[1]);
    let (across, down) =
        ([cos * of[2] / 2.0, -sin * of[2] / 2.0], [sin * of[3] / 2.0, cos * of[3] / 2.0]);
    let corner =
        |i: f64, j: f64| [x + i * across[0] + j * down[0], y + i * across[1] + j * down[1]];
    [corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)]
}

/// What of a polygon lies at the inner side of a line.
fn clip(polygon: &[Point], from: Point, to: Point) -> Vec<Point> {
    let side =
        |p: Point| (to[0] - from[0]) * (p[1] - from[1]) - (to[1] - from[1]) * (p[0] - from[0]);
    let mut kept = Vec::with_capacity(polygon.len() + 1);
    for (i, &point) in polygon.iter().enumerate() {
        let next = polygon[(i + 1) % polygon.len()];
        let (here, there) = (side(point), side(next));
        if here >= 0.0 {
            kept.push(point);
        }
        if (here > 0.0 && there < 0.0) || (here < 0.0 && there > 0.0) {
            let part = here / (here - there);
            let between = |dim: usize| point[dim] + part * (next[dim] - point[dim]);
            kept.push([between(0), between(1)]);
        }
    }
    kept
}

fn area(polygon: &[Point]) -> f64 {
    let Some(&last) = polygon.last() else { return 0.0 };
    let before = std::iter::once(&last).chain(polygon);
    let twice: f64 = before.zip(polygon).map(|(a, b)| a[0] * b[1] - a[1] * b[0]).sum();
    twice.abs() / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turned_square_shares_an_octagon() {
        let boxes = |angle: f64| Tensor::from_slice(&[5.0, 5.0, 2.0, 2.0, angle], &[1, 5]).unwrap();
        let at = |angle| {
            box_iou_rotated(&boxes(0.0), &boxes(angle)).unwrap().to_vec::<f32>().unwrap()[0]
        };
        assert_eq!(at(0.0), 1.0);
        assert_eq!(at(90.0), 1.0);
        let octagon = 8.0 * (2f32.sqrt() - 1.0);
        assert!((at(45.0) - octagon / (8.0 - octagon)).abs() < 1e-6);
    }
}
