//! Planes of pictures at another size: bilinear with antialiasing, as `PIL.Image.resize` has it.

use super::pixels::Pixels;

/// The picture at another height and width. Columns are resampled first, then rows.
pub fn resize(picture: Pixels, height: usize, width: usize) -> Pixels {
    if (picture.height, picture.width) == (height, width) || picture.planes[0].is_empty() {
        return picture;
    }
    let (rows, columns) = (windows(picture.height, height), windows(picture.width, width));
    let resize = |plane: &Vec<f32>| {
        let tall = resample_columns(plane, picture.width, &rows);
        resample_rows(&tall, picture.width, &columns)
    };
    Pixels { width, height, planes: picture.planes.iter().map(resize).collect() }
}

/// The inputs that one output is a weighted sum of.
struct Window {
    first: usize,
    weights: Vec<f32>,
}

/// A triangle filter, as wide as an output pixel where the picture shrinks.
fn windows(from: usize, to: usize) -> Vec<Window> {
    let ratio = from as f32 / to as f32;
    let support = ratio.max(1.0);
    let window = |at: usize| {
        let centre = (at as f32 + 0.5) * ratio;
        let first = ((centre - support).floor().max(0.0) as usize).min(from - 1);
        let end = ((centre + support).ceil() as usize).clamp(first + 1, from);
        // Pixels are weighed by where their centre is.
        let triangle = |at: usize| (1.0 - ((at as f32 - (centre - 0.5)) / support).abs()).max(0.0);
        let mut weights: Vec<f32> = (first..end).map(triangle).collect();
        let sum: f32 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= sum);
        Window { first, weights }
    };
    (0..to).map(window).collect()
}

fn resample_columns(plane: &[f32], width: usize, rows: &[Window]) -> Vec<f32> {
    let mut out = vec![0.0f32; rows.len() * width];
    for (out, window) in out.chunks_exact_mut(width).zip(rows) {
        let inputs = plane.chunks_exact(width).skip(window.first);
        for (input, weight) in inputs.zip(&window.weights) {
            out.iter_mut().zip(input).for_each(|(sum, x)| *sum += x * weight);
        }
    }
    out
}

fn resample_rows(plane: &[f32], width: usize, columns: &[Window]) -> Vec<f32> {
    let row = |row: &[f32]| -> Vec<f32> {
        let sum = |window: &Window| {
            let inputs = row[window.first..].iter().zip(&window.weights);
            inputs.fold(0.0, |sum, (x, weight)| sum + x * weight).clamp(0.0, 1.0)
        };
        columns.iter().map(sum).collect()
    };
    plane.chunks_exact(width).flat_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resized(plane: &[f32], from: (usize, usize), to: (usize, usize)) -> Vec<f32> {
        let picture = Pixels { height: from.0, width: from.1, planes: vec![plane.to_vec()] };
        resize(picture, to.0, to.1).planes.remove(0)
    }

    #[test]
    fn a_shrinking_picture_is_averaged() {
        // PIL.Image.fromarray(x).resize((2, 1), PIL.Image.BILINEAR) of float32 [[0, 0.25, 0.5, 0.75]]
        let small = resized(&[0.0, 0.25, 0.5, 0.75], (1, 4), (1, 2));
        assert!(
            (small[0] - 0.178_571_43).abs() < 1e-6 && (small[1] - 0.571_428_6).abs() < 1e-6,
            "{small:?}"
        );
    }

    #[test]
    fn a_growing_picture_is_interpolated() {
        assert_eq!(resized(&[0.0, 1.0], (1, 2), (1, 4)), [0.0, 0.25, 0.75, 1.0]);
        assert_eq!(resized(&[0.0, 1.0], (2, 1), (4, 1)), [0.0, 0.25, 0.75, 1.0]);
        assert_eq!(resized(&[0.5], (1, 1), (2, 2)), [0.5; 4]);
    }
}
