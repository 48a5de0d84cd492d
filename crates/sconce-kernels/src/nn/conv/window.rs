//! The geometry of a convolution: which inputs each element of the window reads.

use std::ops::Range;

/// The sizes of one convolution, always with three spatial dimensions; the padding is what comes
/// before the input.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Geometry {
    pub(crate) input: [usize; 3],
    pub(crate) kernel: [usize; 3],
    pub(crate) output: [usize; 3],
    pub(crate) stride: [usize; 3],
    pub(crate) padding: [usize; 3],
    pub(crate) dilation: [usize; 3],
}

/// The outputs along one dimension whose window element `tap` lies inside the input, and where the
/// first of them reads.
fn inside(geometry: &Geometry, dim: usize, tap: usize) -> (Range<usize>, usize) {
    let (stride, padding) = (geometry.stride[dim], geometry.padding[dim]);
    let at = tap * geometry.dilation[dim];
    let first = padding.saturating_sub(at).div_ceil(stride);
    let end = (geometry.input[dim] + padding).saturating_sub(at).div_ceil(stride);
    let end = end.min(geometry.output[dim]);
    let first = first.min(end);
    (first..end, (first * stride + at).saturating_sub(padding))
}

/// For every element of the window: calls `row(out, input, len)` for the rows of outputs it reaches.
pub(crate) fn window_rows(g: &Geometry, tap: [usize; 3], row: impl FnMut(usize, usize, usize)) {
    lines_of_window(g, tap, 0..g.output[0] * g.output[1], row);
}

/// The same for some rows of outputs alone, counted through all planes; `out` counts from the first of
/// them.
pub(crate) fn lines_of_window(
    g: &Geometry,
    tap: [usize; 3],
    lines: Range<usize>,
    mut row: impl FnMut(usize, usize, usize),
) {
    let (ds, d0) = inside(g, 0, tap[0]);
    let (hs, h0) = inside(g, 1, tap[1]);
    let (ws, w0) = inside(g, 2, tap[2]);
    let height = g.output[1];
    if ws.is_empty() || lines.is_empty() {
        return;
    }
    for od in lines.start / height..=(lines.end - 1) / height {
        if !ds.contains(&od) {
            continue;
        }
        let plane = d0 + (od - ds.start) * g.stride[0];
        let (first, end) = (lines.start.max(od * height), lines.end.min((od + 1) * height));
        for oh in hs.start.max(first - od * height)..hs.end.min(end - od * height) {
            let out = (od * height + oh - lines.start) * g.output[2] + ws.start;
            let line = h0 + (oh - hs.start) * g.stride[1];
            row(out, (plane * g.input[1] + line) * g.input[2] + w0, ws.len());
        }
    }
}

/// The elements of the window in order.
pub(crate) fn taps(g: Geometry) -> impl Iterator<Item = [usize; 3]> {
    let [d, h, w] = g.kernel;
    (0..d * h * w).map(move |n| [n / (h * w), n / w % h, n % w])
}
