//! How the window of a convolution walks over its input.

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
fn inside(geometry: &Geometry, dim: usize, tap: usize) -> (std::ops::Range<usize>, usize) {
    let (stride, padding) = (geometry.stride[dim], geometry.padding[dim]);
    let at = tap * geometry.dilation[dim];
    let first = padding.saturating_sub(at).div_ceil(stride);
    let end = (geometry.input[dim] + padding).saturating_sub(at).div_ceil(stride);
    let end = end.min(geometry.output[dim]);
    let first = first.min(end);
    (first..end, (first * stride + at).saturating_sub(padding))
}

/// For every element of the window: calls `row(out, input, len)` for the rows of outputs it reaches.
pub(crate) fn window_rows(g: &Geometry, tap: [usize; 3], mut row: impl FnMut(usize, usize, usize)) {
    let (ds, d0) = inside(g, 0, tap[0]);
    let (hs, h0) = inside(g, 1, tap[1]);
    let (ws, w0) = inside(g, 2, tap[2]);
    if ws.is_empty() {
        return;
    }
    for (i, od) in ds.enumerate() {
        for (j, oh) in hs.clone().enumerate() {
            let out = (od * g.output[1] + oh) * g.output[2] + ws.start;
            let plane = d0 + i * g.stride[0];
            let line = h0 + j * g.stride[1];
            row(out, (plane * g.input[1] + line) * g.input[2] + w0, ws.len());
        }
    }
}

/// The elements of the window in order.
pub(crate) fn taps(g: Geometry) -> impl Iterator<Item = [usize; 3]> {
    let [d, h, w] = g.kernel;
    (0..d * h * w).map(move |n| [n / (h * w), n / w % h, n % w])
}
