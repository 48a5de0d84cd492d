//! Pooling over one to three spatial dimensions.
//!
//! Every pool is a set of windows along each dimension ([`Axis`]) and what becomes of a window's
//! elements. Fewer dimensions than three are three with leading ones of size 1.

use std::ops::Range;

use smallvec::SmallVec;

use crate::binary::compute_dtype;
use crate::fold::Fold;
use crate::numbers::rounded;
use crate::quantized::{averaged, through_integers};
use crate::shape::product;
use crate::simd::dispatch;
use crate::{DType, Dims, Element, Error, MemoryFormat, Result, Tensor, threads};

/// How a pooling window walks. A list has a number for each spatial dimension, or one for all.
#[derive(Debug, Clone, Copy)]
pub struct PoolOptions<'a> {
    /// The window.
    pub kernel: &'a [i64],
    /// Steps between windows; the window itself where the list is empty.
    pub stride: &'a [i64],
    /// Border around the input, at most half a window.
    pub padding: &'a [i64],
    /// Steps between elements of a window; 1 for averages.
    pub dilation: &'a [i64],
    /// Whether a last window may reach beyond the padded input.
    pub ceil_mode: bool,
}

/// A window along one dimension: a range of the input, and how much of the padded input it covers.
#[derive(Debug, Clone, Copy)]
struct Window {
    start: usize,
    end: usize,
    covered: i64,
}

/// The windows along one dimension.
#[derive(Debug)]
struct Axis {
    windows: Vec<Window>,
    /// Steps between elements of a window.
    step: usize,
}

impl Axis {
    /// A dimension that is not there.
    fn unit() -> Axis {
        Axis { windows: vec![Window { start: 0, end: 1, covered: 1 }], step: 1 }
    }

    /// How many elements a window has.
    fn len(&self, window: Window) -> usize {
        window.end.saturating_sub(window.start).div_ceil(self.step)
    }

    /// The windows from the first of the greatest length on that have this length, each as far after the
    /// one before.
    fn run(&self) -> Run {
        let elements = self.windows.iter().map(|&window| self.len(window)).max().unwrap_or(0);
        let is_whole = |window: &Window| self.len(*window) == elements;
        let first = self.windows.iter().position(is_whole).unwrap_or(0);
        let whole = &self.windows[first..];
        let stride = match whole {
            [a, b, ..] => b.start.saturating_sub(a.start).max(1),
            _ => 1,
        };
        let follows = |at: &usize| whole[*at].start == whole[0].start + at * stride;
        let count = (0..whole.len()).take_while(|at| is_whole(&whole[*at]) && follows(at)).count();
        Run { windows: first..first + count, stride, elements }
    }

    /// Takes the elements of a line into what there is of each window.
    #[inline(always)]
    fn fold<T: Copy, A: Copy>(
        &self,
        run: &Run,
        line: &[T],
        all: &mut [A],
        fold: Fold<A, impl Fn(T) -> A + Copy, impl Fn(A, A) -> A + Copy>,
    ) {
        // Side by side, as long as there are more windows than elements in each.
        let run = if run.windows.len() > run.elements { run.clone() } else { Run::default() };
        let step = |sum: A, &x: &T| (fold.join)(sum, (fold.of)(x));
        for at in (0..run.windows.start).chain(run.windows.end..all.len()) {
            let Window { start, end, .. } = self.windows[at];
            let part = line.get(start..end).unwrap_or_default();
            all[at] = match self.step {
                1 if part.len() >= LONG => (fold.join)(all[at], fold.short(part)),
                steps => part.iter().step_by(steps).fold(all[at], step),
            };
        }
        let Some(first) = self.windows.get(run.windows.start).filter(|_| !run.windows.is_empty())
        else {
            return;
        };
        let all = &mut all[run.windows];
        // Windows one behind the other are gone over once.
        if self.step == 1 && run.stride == run.elements {
            let line = &line[first.start..];
            match run.stride {
                2 => return groups::<2, _, _>(line, all, step),
                3 => return groups::<3, _, _>(line, all, step),
                4 => return groups::<4, _, _>(line, all, step),
                _ => {}
            }
        }
        for element in 0..run.elements {
            let from = &line[first.start + element * self.step..];
            match run.stride {
                1 => all.iter_mut().zip(from).for_each(|(sum, x)| *sum = step(*sum, x)),
                2 => every::<2, _, _>(from, all, step),
                3 => every::<3, _, _>(from, all, step),
                4 => every::<4, _, _>(from, all, step),
                stride => {
                    let elements = from.iter().step_by(stride);
                    all.iter_mut().zip(elements).for_each(|(sum, x)| *sum = step(*sum, x));
                }
            }
        }
    }

    /// Whether there is one window, all of a line of this size.
    fn is_whole(&self, size: usize) -> bool {
        self.step == 1 && matches!(self.windows[..], [Window { start: 0, end, .. }] if end == size)
    }
}

/// So many neighbours are taken in side by side.
const LONG: usize = 16;

/// Takes in windows of so many elements, one behind the other.
#[inline(always)]
fn groups<const LEN: usize, T, A: Copy>(from: &[T], all: &mut [A], step: impl Fn(A, &T) -> A) {
    for (sum, group) in all.iter_mut().zip(from.as_chunks::<LEN>().0) {
        *sum = group.iter().fold(*sum, &step);
    }
}

/// Takes in every `STRIDE`th element, a number that is known when this is compiled: only then it
/// becomes vector code.
#[inline(always)]
fn every<const STRIDE: usize, T, A: Copy>(from: &[T], all: &mut [A], step: impl Fn(A, &T) -> A) {
    let (groups, rest) = from.as_chunks::<STRIDE>();
    all.iter_mut().zip(groups).for_each(|(sum, group)| *sum = step(*sum, &group[0]));
    // The last window may end before its group does.
    if let (Some(sum), Some(x)) = (all.get_mut(groups.len()), rest.first()) {
        *sum = step(*sum, x);
    }
}

/// Windows that follow one another evenly.
#[derive(Debug, Clone, Default)]
struct Run {
    windows: Range<usize>,
    /// Steps from one window to the next.
    stride: usize,
    /// Elements of each.
    elements: usize,
}

/// One dimension's share of [`PoolOptions`].
#[derive(Debug, Clone, Copy)]
struct Walk {
    kernel: i64,
    stride: i64,
    padding: i64,
    dilation: i64,
}

impl PoolOptions<'_> {
    fn walk(&self, name: &str, rank: usize, dim: usize) -> Result<Walk> {
        let pick = |what: &str, list: &[i64], default: i64| match list.len() {
            0 if what == "stride" => Ok(default),
            1 => Ok(list[0]),
            n if n == rank => Ok(list[dim]),
            _ => Err(Error::runtime(format!(
                "{name}: {what} must either be a single int, or a tuple of {rank} ints"
            ))),
        };
        let kernel = pick("kernel_size", self.kernel, 1)?;
        let walk = Walk {
            kernel,
            stride: pick("stride", self.stride, kernel)?,
            padding: pick("padding", self.padding, 0)?,
            dilation: pick("dilation", self.dilation, 1)?,
        };
        if walk.kernel <= 0 {
            return Err(Error::runtime("kernel size should be greater than zero"));
        }
        if walk.stride <= 0 {
            return Err(Error::runtime("stride should not be zero"));
        }
        if walk.dilation <= 0 {
            return Err(Error::runtime("dilation should be greater than zero"));
        }
        if walk.padding < 0 || walk.padding > walk.window()? / 2 {
            return Err(Error::runtime(format!(
                "pad should be at most half of effective kernel size, but got pad={}, \
                 kernel_size={kernel} and dilation={}",
                walk.padding, walk.dilation
            )));
        }
        Ok(walk)
    }
}

impl Walk {
    /// How far a window reaches.
    fn window(self) -> Result<i64> {
        (self.kernel - 1)
            .checked_mul(self.dilation)
            .and_then(|n| n.checked_add(1))
            .ok_or_else(|| Error::runtime("integer overflow in the sizes of a pooling window"))
    }

    /// How many windows there are; where none fits, 0 or fewer.
    fn count(self, size: i64, ceil_mode: bool) -> Result<i64> {
        let padded = size
            .checked_add(2 * self.padding)
            .ok_or_else(|| Error::runtime("integer overflow in the sizes of a pooling window"))?;
        let room = padded - self.window()?;
        if !ceil_mode {
            return Ok(room.div_euclid(self.stride) + 1);
        }
        let count = room.saturating_add(self.stride - 1).div_euclid(self.stride) + 1;
        // The last window starts inside the input or its left border.
        let beyond = (count - 1).saturating_mul(self.stride) >= size.saturating_add(self.padding);
        Ok(count - i64::from(beyond))
    }

    fn axis(self, size: i64, count: i64) -> Result<Axis> {
        let window = self.window()?;
        let windows = (0..count).map(|i| {
            let start = i * self.stride - self.padding;
            let end = start.saturating_add(window);
            let steps = (-start.min(0) + self.dilation - 1) / self.dilation;
            Window {
                start: (start + steps * self.dilation) as usize,
                end: end.min(size).max(0) as usize,
                covered: end.min(size + self.padding) - start,
            }
        });
        Ok(Axis { windows: windows.collect(), step: self.dilation as usize })
    }
}

/// The input of a pool, row-major in the dtype that is computed in.
struct Planes {
    wide: Tensor,
    size: [usize; 3],
}

impl Planes {
    fn new(input: &Tensor, rank: usize) -> Result<Planes> {
        let wide = input.to_dtype(compute_dtype(input.dtype()))?.contiguous()?;
        let mut size = [1; 3];
        let spatial = &input.sizes()[input.dim() - rank..];
        size[3 - rank..].iter_mut().zip(spatial).for_each(|(to, &n)| *to = n as usize);
        Ok(Planes { wide, size })
    }
}

/// Elements of the input that are looked at before other threads pay.
const PARALLEL: usize = 1 << 16;

/// A tensor of what `f` makes of windows: of the plane, and of the windows of a row, which are those
/// of a depth and a height, and of all along the last dimension.
fn pool<T: Element, U: Element>(
    planes: &Planes,
    axes: &[Axis; 3],
    sizes: &[i64],
    f: impl Fn(&[T], [Window; 2], &mut [U]) + Sync,
) -> Result<Tensor> {
    let result = Tensor::zeros(sizes, U::DTYPE)?;
    let per_plane: usize = axes.iter().map(|axis| axis.windows.len()).product();
    if result.numel() == 0 {
        return Ok(result);
    }
    let all = planes.wide.read::<T>()?;
    let all: &[T] = &all;
    let len: usize = planes.size.iter().product();
    let one = |(out, plane): (&mut [U], &[T])| {
        let mut out = out.chunks_exact_mut(axes[2].windows.len());
        for &depth in &axes[0].windows {
            for (&rows, out) in axes[1].windows.iter().zip(&mut out) {
                f(plane, [depth, rows], out);
            }
        }
    };
    let mut out = result.write::<U>()?;
    match all.len() < PARALLEL {
        true => out.chunks_exact_mut(per_plane).zip(all.chunks_exact(len)).for_each(one),
        false => threads::each(out.chunks_exact_mut(per_plane).zip(all.chunks_exact(len)), one),
    }
    drop(out);
    Ok(result)
}

/// A tensor of what `finish` makes of the folded elements of windows, those of a row of the result at a
/// time.
fn fold<T: Element, A: Copy + Send + Sync, U: Element>(
    planes: &Planes,
    axes: &[Axis; 3],
    sizes: &[i64],
    fold: Fold<A, impl Fn(T) -> A + Copy + Sync, impl Fn(A, A) -> A + Copy + Sync>,
    finish: impl Fn(&[A], [Window; 2], &mut [U]) + Sync,
) -> Result<Tensor> {
    let (size, run) = (planes.size, axes[2].run());
    // Whole lines one behind the other are one.
    let whole = axes[2].is_whole(size[2]) && axes[1].step == 1;
    pool(planes, axes, sizes, |plane: &[T], [depth, rows], out: &mut [U]| {
        let mut all = SmallVec::<[A; 128]>::from_elem(fold.start, out.len());
        dispatch(
            #[inline(always)]
            || {
                for z in (depth.start..depth.end).step_by(axes[0].step) {
                    let line = |y: usize| (z * size[1] + y) * size[2];
                    if whole {
                        let lines = &plane[line(rows.start)..line(rows.end.max(rows.start))];
                        all[0] = (fold.join)(all[0], fold.short(lines));
                        continue;
                    }
                    for y in (rows.start..rows.end).step_by(axes[1].step) {
                        axes[2].fold(&run, &plane[line(y)..][..size[2]], &mut all, fold);
                    }
                }
                finish(&all, [depth, rows], out);
            },
        );
    })
}

/// Calls `f` with the place and the value of every element of a window.
fn each<T: Copy>(
    plane: &[T],
    size: [usize; 3],
    axes: &[Axis; 3],
    [depth, rows, columns]: [Window; 3],
    mut f: impl FnMut(usize, T),
) {
    for z in (depth.start..depth.end).step_by(axes[0].step) {
        for y in (rows.start..rows.end).step_by(axes[1].step) {
            let row = (z * size[1] + y) * size[2];
            for x in (columns.start..columns.end).step_by(axes[2].step) {
                f(row + x, plane[row + x]);
            }
        }
    }
}

/// Calls `f` with the place of the first element of every line of a window whose elements are neighbours,
/// and with these.
fn lines<T: Copy>(
    plane: &[T],
    size: [usize; 3],
    axes: &[Axis; 3],
    [depth, rows, columns]: [Window; 3],
    mut f: impl FnMut(usize, &[T]),
) {
    for z in (depth.start..depth.end).step_by(axes[0].step) {
        for y in (rows.start..rows.end).step_by(axes[1].step) {
            let at = (z * size[1] + y) * size[2] + columns.start;
            f(at, &plane[at..at + columns.end - columns.start]);
        }
    }
}

/// Numbers that pools compute with.
trait Pooled: Element + PartialOrd {
    const LOWEST: Self;
    type Sum: Copy + Default + Send + Sync;
    fn is_nan(self) -> bool;
    fn wide(self) -> Self::Sum;
    fn add(a: Self::Sum, b: Self::Sum) -> Self::Sum;
    fn divide(sum: Self::Sum, divisor: i64) -> Self;
}

macro_rules! pooled_floats {
    ($($ty:ident)*) => {$(
        impl Pooled for $ty {
            const LOWEST: $ty = $ty::NEG_INFINITY;
            type Sum = f64;
            #[inline(always)]
            fn is_nan(self) -> bool { $ty::is_nan(self) }
            #[inline(always)]
            fn wide(self) -> f64 { self.into() }
            #[inline(always)]
            fn add(a: f64, b: f64) -> f64 { a + b }
            #[inline(always)]
            fn divide(sum: f64, divisor: i64) -> $ty { (sum / divisor as f64) as $ty }
        }
    )*};
}
pooled_floats! { f32 f64 }

impl Pooled for i64 {
    const LOWEST: i64 = i64::MIN;
    type Sum = i64;
    #[inline(always)]
    fn is_nan(self) -> bool {
        false
    }
    #[inline(always)]
    fn wide(self) -> i64 {
        self
    }
    #[inline(always)]
    fn add(a: i64, b: i64) -> i64 {
        a.wrapping_add(b)
    }
    #[inline(always)]
    fn divide(sum: i64, divisor: i64) -> i64 {
        sum.wrapping_div(divisor)
    }
}

/// Runs `$f::<T>` for the type that a dtype is computed in.
macro_rules! by_number {
    ($planes:expr, $name:expr, $f:ident ( $($arg:expr),* )) => {
        match $planes.wide.dtype() {
            DType::Float32 => $f::<f32>($($arg),*),
            DType::Float64 => $f::<f64>($($arg),*),
            DType::Int64 => $f::<i64>($($arg),*),
            other => Err(Error::no_kernel($name, other)),
        }
    };
}

/// The greatest element so far and where it stands; NaN is greater than everything.
fn greater<T: Pooled>(best: &mut Option<(T, usize)>, at: usize, x: T) {
    if best.is_none_or(|(value, _)| x > value || x.is_nan()) {
        *best = Some((x, at));
    }
}

/// The same for neighbours, the first of which stands at `at`.
fn greater_of_line<T: Pooled>(best: &mut Option<(T, usize)>, at: usize, line: &[T]) {
    let is_better = |x: T| best.is_none_or(|(value, _)| (x > value) | x.is_nan());
    // Most lines have nothing greater.
    let any = dispatch(
        #[inline(always)]
        || line.iter().fold(false, |any, &x| any | is_better(x)),
    );
    if any {
        line.iter().zip(at..).for_each(|(&x, at)| greater(best, at, x));
    }
}

fn greatest<T: Pooled>(planes: &Planes, axes: &[Axis; 3], sizes: &[i64]) -> Result<Tensor> {
    let join = |best: T, x: T| if (x > best) | x.is_nan() { x } else { best };
    let greater = Fold::new(T::LOWEST, |x: T| x, join);
    fold(planes, axes, sizes, greater, |best, _, out| out.copy_from_slice(best))
}

/// Where the greatest elements stand in their planes.
fn greatest_at<T: Pooled>(planes: &Planes, axes: &[Axis; 3], sizes: &[i64]) -> Result<Tensor> {
    let size = planes.size;
    let mut run = axes[2].run();
    let is_small = u32::try_from(size.iter().product::<usize>()).is_ok();
    run.windows.end -= if is_small { run.windows.len() % TOGETHER } else { run.windows.len() };
    pool(planes, axes, sizes, |plane: &[T], [depth, rows], out: &mut [i64]| {
        for (at, out) in out[run.windows.clone()].as_chunks_mut().0.iter_mut().enumerate() {
            let columns = axes[2].windows[run.windows.start + at * TOGETHER];
            let window = [depth, rows, columns];
            *out = dispatch(
                #[inline(always)]
                || match run.stride {
                    1 => greatest_side_by_side(plane, size, axes, window, run.elements, 1),
                    2 => greatest_side_by_side(plane, size, axes, window, run.elements, 2),
                    step => greatest_side_by_side(plane, size, axes, window, run.elements, step),
                },
            );
        }
        for column in (0..run.windows.start).chain(run.windows.end..out.len()) {
            let columns = axes[2].windows[column];
            let window = [depth, rows, columns];
            let mut best = None;
            match axes[2].step == 1 && columns.end.saturating_sub(columns.start) >= LONG {
                true => lines(plane, size, axes, window, |at, line| {
                    greater_of_line(&mut best, at, line);
                }),
                false => each(plane, size, axes, window, |at, x| greater(&mut best, at, x)),
            }
            out[column] = best.map_or(corner(size, window), |(_, at)| at) as i64;
        }
    })
}

/// The place of the first element of a window.
fn corner(size: [usize; 3], [depth, rows, columns]: [Window; 3]) -> usize {
    (depth.start * size[1] + rows.start) * size[2] + columns.start
}

/// Windows in which the greatest elements are looked for side by side.
const TOGETHER: usize = 8;

/// Where the greatest elements of windows stand, of which the first is given, with so many elements a
/// line, and the others come so many steps after one another.
#[inline(always)]
fn greatest_side_by_side<T: Pooled>(
    plane: &[T],
    size: [usize; 3],
    axes: &[Axis; 3],
    window: [Window; 3],
    elements: usize,
    stride: usize,
) -> [i64; TOGETHER] {
    let [depth, rows, columns] = window;
    // The first elements, unless there are greater ones than nothing.
    let (mut best, mut at) = ([T::LOWEST; TOGETHER], [corner(size, window) as u32; TOGETHER]);
    at.iter_mut().enumerate().for_each(|(i, at)| *at += (i * stride) as u32);
    for z in (depth.start..depth.end).step_by(axes[0].step) {
        for y in (rows.start..rows.end).step_by(axes[1].step) {
            let line = (z * size[1] + y) * size[2] + columns.start;
            for element in 0..elements {
                let place = line + element * axes[2].step;
                let numbers = &plane[place..][..(TOGETHER - 1) * stride + 1];
                for i in 0..TOGETHER {
                    let x = numbers[i * stride];
                    let better = (x > best[i]) | x.is_nan();
                    best[i] = if better { x } else { best[i] };
                    at[i] = if better { (place + i * stride) as u32 } else { at[i] };
                }
            }
        }
    }
    let mut found = [0; TOGETHER];
    found.iter_mut().zip(at).for_each(|(found, at)| *found = i64::from(at));
    found
}

/// The numbers at places of their planes.
fn numbers_at<T: Pooled>(planes: &Planes, places: &Tensor) -> Result<Tensor> {
    let values = Tensor::unset(places.sizes(), T::DTYPE)?;
    let all = planes.wide.read::<T>()?;
    let len: usize = planes.size.iter().product();
    {
        let (places, mut values) = (places.read::<i64>()?, values.write::<T>()?);
        let per_plane = (places.len() * len).checked_div(all.len()).unwrap_or(0).max(1);
        let planes = all.chunks_exact(len.max(1));
        let parts = values.chunks_exact_mut(per_plane).zip(places.chunks_exact(per_plane));
        for ((values, places), plane) in parts.zip(planes) {
            values.iter_mut().zip(places).for_each(|(x, &at)| *x = plane[at as usize]);
        }
    }
    Ok(values)
}

fn averages<T: Pooled>(
    planes: &Planes,
    axes: &[Axis; 3],
    sizes: &[i64],
    divisor: &(dyn Fn(i64, i64) -> i64 + Sync),
) -> Result<Tensor> {
    let sum = Fold::new(T::Sum::default(), T::wide, T::add);
    let len = |axis: usize, window: Window| axes[axis].len(window) as i64;
    let columns: Vec<(i64, i64)> =
        axes[2].windows.iter().map(|&window| (window.covered, len(2, window))).collect();
    fold(planes, axes, sizes, sum, |sums, [depth, rows], out| {
        let covered = depth.covered * rows.covered;
        let seen = len(0, depth) * len(1, rows);
        let by = |(columns, len): (i64, i64)| match seen * len {
            0 => 1,
            seen => divisor(covered * columns, seen),
        };
        // Windows of one size are divided together.
        let mut start = 0;
        for group in columns.chunk_by(|a, b| a == b) {
            let (divisor, end) = (by(group[0]), start + group.len());
            for (out, &sum) in out[start..end].iter_mut().zip(&sums[start..end]) {
                *out = T::divide(sum, divisor);
            }
            start = end;
        }
    })
}

/// Refuses ranks and dtypes that a pool does not take.
fn check(input: &Tensor, name: &str, rank: usize, dtypes: fn(DType) -> bool) -> Result<()> {
    let n = input.dim();
    if (n != rank + 1 && n != rank + 2) || input.sizes()[n - rank - 1..].contains(&0) {
        return Err(Error::runtime(format!(
            "{name}: Expected {}D or {}D (batch mode) tensor with optional 0 dim batch size for \
             input, but got: {:?}",
            rank + 1,
            rank + 2,
            input.sizes()
        )));
    }
    if dtypes(input.dtype()) { Ok(()) } else { Err(Error::no_kernel(name, input.dtype())) }
}

fn floats(dtype: DType) -> bool {
    matches!(dtype, DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64)
}

fn numbers(dtype: DType) -> bool {
    use DType::{Int8, Int16, Int32, Int64, UInt8};
    floats(dtype) || matches!(dtype, UInt8 | Int8 | Int16 | Int32 | Int64)
}

fn join(sizes: &[i64]) -> String {
    sizes.iter().map(i64::to_string).collect::<Vec<_>>().join("x")
}

/// The windows of a pool along each dimension, and the sizes of its result.
fn fixed(
    input: &Tensor,
    name: &str,
    rank: usize,
    options: &PoolOptions<'_>,
) -> Result<([Axis; 3], Dims)> {
    let lead = input.dim() - rank;
    let mut sizes = Dims::from_slice(input.sizes());
    let walks: Vec<Walk> =
        (0..rank).map(|dim| options.walk(name, rank, dim)).collect::<Result<_>>()?;
    for (walk, size) in walks.iter().zip(&mut sizes[lead..]) {
        *size = walk.count(*size, options.ceil_mode)?;
    }
    if sizes[lead..].iter().any(|&size| size < 1) {
        return Err(Error::runtime(format!(
            "Given input size: ({}). Calculated output size: ({}). Output size is too small",
            join(&input.sizes()[lead - 1..]),
            join(&sizes[lead - 1..])
        )));
    }
    // What cannot be allocated fails here, before lists as long as it are made.
    Tensor::zeros(&sizes, DType::UInt8)?;
    let mut axes = [Axis::unit(), Axis::unit(), Axis::unit()];
    for (dim, walk) in walks.iter().enumerate() {
        axes[3 - rank + dim] = walk.axis(input.sizes()[lead + dim], sizes[lead + dim])?;
    }
    Ok((axes, sizes))
}

/// Windows that divide each dimension into as many parts, as even as possible.
fn adaptive(input: &Tensor, name: &str, output: &[i64]) -> Result<([Axis; 3], Dims)> {
    if output.iter().any(|&n| n < 0) {
        return Err(Error::runtime(format!(
            "{name}: elements of output_size must be greater than or equal to 0"
        )));
    }
    let lead = input.dim() - output.len();
    let mut sizes = Dims::from_slice(input.sizes());
    sizes[lead..].copy_from_slice(output);
    Tensor::zeros(&sizes, DType::UInt8)?;
    crate::shape::numel(output)?;
    let mut axes = [Axis::unit(), Axis::unit(), Axis::unit()];
    for (dim, (&count, &size)) in output.iter().zip(&input.sizes()[lead..]).enumerate() {
        let window = |i: i64| {
            let (i, size, count) = (i128::from(i), i128::from(size), i128::from(count));
            let (start, end) = (i * size / count, ((i + 1) * size + count - 1) / count);
            Window { start: start as usize, end: end as usize, covered: (end - start) as i64 }
        };
        if sizes.contains(&0) {
            continue;
        }
        axes[3 - output.len() + dim] = Axis { windows: (0..count).map(window).collect(), step: 1 };
    }
    Ok((axes, sizes))
}

/// The largest elements, and where they stand where that is asked for.
fn maxima(
    input: &Tensor,
    name: &str,
    rank: usize,
    axes: &[Axis; 3],
    sizes: &[i64],
) -> Result<(Tensor, Tensor)> {
    let planes = Planes::new(input, rank)?;
    let indices = by_number!(planes, name, greatest_at(&planes, axes, sizes))?;
    let values = by_number!(planes, name, numbers_at(&planes, &indices))?;
    Ok((values.to_dtype(input.dtype())?.like_format_of(input)?, indices.like_format_of(input)?))
}

/// `torch.max_pool1d`, `max_pool2d` and `max_pool3d`, by the number of spatial dimensions.
///
/// # Errors
/// Where the window does not fit.
pub fn max_pool(input: &Tensor, rank: usize, options: &PoolOptions<'_>) -> Result<Tensor> {
    if input.dtype().is_quantized() {
        return through_integers(input, |whole| max_pool(whole, rank, options));
    }
    let name = format!("max_pool{rank}d");
    check(input, &name, rank, if rank == 1 { floats } else { numbers })?;
    let (axes, sizes) = fixed(input, &name, rank, options)?;
    let planes = Planes::new(input, rank)?;
    let values = by_number!(planes, &name, greatest(&planes, &axes, &sizes))?;
    values.to_dtype(input.dtype())?.like_format_of(input)
}

/// `torch.max_pool2d_with_indices` and the like: values, and where they stand in their plane.
///
/// # Errors
/// Where the window does not fit.
pub fn max_pool_with_indices(
    input: &Tensor,
    rank: usize,
    options: &PoolOptions<'_>,
) -> Result<(Tensor, Tensor)> {
    let name = format!("max_pool{rank}d");
    check(input, &name, rank, if rank == 1 { floats } else { numbers })?;
    let (axes, sizes) = fixed(input, &name, rank, options)?;
    maxima(input, &name, rank, &axes, &sizes)
}

/// `torch.nn.functional.avg_pool1d`, `avg_pool2d` and `avg_pool3d`.
///
/// # Errors
/// Where the window does not fit.
pub fn avg_pool(
    input: &Tensor,
    rank: usize,
    options: &PoolOptions<'_>,
    count_include_pad: bool,
    divisor_override: Option<i64>,
) -> Result<Tensor> {
    if input.dtype().is_quantized() {
        let pooled =
            |whole: &Tensor| avg_pool(whole, rank, options, count_include_pad, divisor_override);
        // PyTorch's only kernel of three dimensions has channels last.
        return match (rank, input.dim()) {
            (3, 5) => through_integers(&input.contiguous_in(MemoryFormat::ChannelsLast3d)?, pooled),
            (3, _) => through_integers(input, pooled),
            _ => averaged(input, pooled),
        };
    }
    let name = format!("avg_pool{rank}d");
    check(
        input,
        &name,
        rank,
        match rank {
            3 => |dtype| matches!(dtype, DType::Float32 | DType::Float64 | DType::Int64),
            _ => |dtype| floats(dtype) || dtype == DType::Int64,
        },
    )?;
    if divisor_override == Some(0) {
        return Err(Error::runtime("divisor must be not zero"));
    }
    let (axes, sizes) = fixed(input, &name, rank, options)?;
    let planes = Planes::new(input, rank)?;
    let divisor = |covered, seen| match divisor_override {
        Some(divisor) => divisor,
        None if count_include_pad => covered,
        None => seen,
    };
    by_number!(planes, &name, averages(&planes, &axes, &sizes, &divisor))?
        .to_dtype(input.dtype())?
        .like_format_of(input)
}

/// `torch.nn.functional.adaptive_avg_pool1d` and the like: an output size for each dimension.
///
/// # Errors
/// For negative output sizes and inputs of other ranks.
pub fn adaptive_avg_pool(input: &Tensor, output: &[i64]) -> Result<Tensor> {
    if input.dtype().is_quantized() {
        return averaged(input, |whole| adaptive_avg_pool(whole, output));
    }
    let name = format!("adaptive_avg_pool{}d", output.len());
    check(input, &name, output.len(), floats)?;
    let (axes, sizes) = adaptive(input, &name, output)?;
    let planes = Planes::new(input, output.len())?;
    by_number!(planes, &name, averages(&planes, &axes, &sizes, &|_, seen| seen))?
        .to_dtype(input.dtype())?
        .like_format_of(input)
}

/// `torch.nn.functional.adaptive_max_pool1d` and the like, with indices.
///
/// # Errors
/// As [`adaptive_avg_pool`].
pub fn adaptive_max_pool(input: &Tensor, output: &[i64]) -> Result<(Tensor, Tensor)> {
    let name = format!("adaptive_max_pool{}d", output.len());
    check(input, &name, output.len(), floats)?;
    let (axes, sizes) = adaptive(input, &name, output)?;
    maxima(input, &name, output.len(), &axes, &sizes)
}

/// Where the windows of a fractional pool start: steps of a fractional size from a random place,
/// computed in the dtype of the input as PyTorch does.
fn fractional_starts(size: i64, kernel: i64, output: i64, sample: f64, dtype: DType) -> Vec<usize> {
    let round = |x: f64| rounded(x, dtype);
    let step = round((size - kernel) as f64 / (output - 1).max(1) as f64);
    let place = |x: f64| round(round(x) * step) as i64;
    let start = |i: i64| match i == output - 1 {
        true => size - kernel,
        false => place(i as f64 + sample) - place(sample),
    };
    (0..output).map(|i| start(i).clamp(0, size - kernel) as usize).collect()
}

/// `torch.nn.functional.fractional_max_pool2d` and `fractional_max_pool3d` of given random samples.
///
/// # Errors
/// Where windows do not fit or the samples are of other sizes.
pub fn fractional_max_pool(
    input: &Tensor,
    kernel: &[i64],
    output: &[i64],
    samples: &Tensor,
) -> Result<(Tensor, Tensor)> {
    let rank = output.len();
    let name = format!("fractional_max_pool{rank}d");
    check(input, &name, rank, floats)?;
    let lead = input.dim() - rank;
    let spatial = &input.sizes()[lead..];
    if kernel.len() != rank {
        return Err(Error::runtime(format!(
            "{name}: kernel_size must either be a single int or tuple of {rank} ints"
        )));
    }
    for ((&size, &kernel), &output) in spatial.iter().zip(kernel).zip(output) {
        if kernel < 1 || output < 1 || output.saturating_add(kernel - 1) > size {
            return Err(Error::runtime(format!(
                "{name}(): pool size {kernel} too large relative to input size {size}"
            )));
        }
    }
    let batch = if lead == 2 { input.sizes()[0] } else { 1 };
    let channels = input.sizes()[lead - 1];
    let &[of_batch, of_channels, of_rank] = samples.sizes() else {
        return Err(Error::runtime(format!(
            "Expect _random_samples to have 3 dimensions, got {}",
            samples.dim()
        )));
    };
    if of_batch < batch {
        return Err(Error::runtime(
            "Expect _random_samples.size(0) no less then input batch size.",
        ));
    }
    if of_channels != channels {
        return Err(Error::runtime("Expect _random_samples.size(1) equals to input channel size."));
    }
    if of_rank != rank as i64 {
        return Err(Error::runtime(format!(
            "Expect _random_samples.size(2) equals to {rank}; got {of_rank}."
        )));
    }
    // There may be more than the input needs.
    let samples = samples.narrow(0, 0, batch)?.to_dtype(DType::Float64)?.to_vec::<f64>()?;
    let mut sizes = Dims::from_slice(input.sizes());
    sizes[lead..].copy_from_slice(output);
    let values = Tensor::zeros(&sizes, input.dtype())?;
    let indices = Tensor::zeros(&sizes, DType::Int64)?;
    let flat = |tensor: &Tensor| tensor.flatten(0, lead as i64 - 1);
    let (flat_values, flat_indices, input) = (flat(&values)?, flat(&indices)?, flat(input)?);
    // Each plane has windows of its own; samples are of the last dimension first.
    for (plane, samples) in samples.chunks_exact(rank).enumerate() {
        let mut axes = [Axis::unit(), Axis::unit(), Axis::unit()];
        for dim in 0..rank {
            let sample = samples[if rank == 2 { 1 - dim } else { dim }];
            let (size, kernel) = (input.sizes()[1 + dim], kernel[dim]);
            let starts = fractional_starts(size, kernel, output[dim], sample, input.dtype());
            let window = |start| Window { start, end: start + kernel as usize, covered: kernel };
            axes[3 - rank + dim] =
                Axis { windows: starts.into_iter().map(window).collect(), step: 1 };
        }
        let one = input.narrow(0, plane as i64, 1)?;
        let (value, index) = maxima(&one, &name, rank, &axes, &[&[1], output].concat())?;
        flat_values.narrow(0, plane as i64, 1)?.copy_from(&value)?;
        flat_indices.narrow(0, plane as i64, 1)?.copy_from(&index)?;
    }
    Ok((values, indices))
}

/// `torch.nn.functional.max_unpool2d` and `max_unpool3d`: elements back where they stood, zeros
/// elsewhere.
///
/// # Errors
/// For indices outside the planes of the result.
pub fn max_unpool(input: &Tensor, indices: &Tensor, output: &[i64]) -> Result<Tensor> {
    let rank = output.len();
    let name = format!("max_unpooling{rank}d_forward");
    if indices.dtype() != DType::Int64 {
        return Err(Error::runtime(format!(
            "elements in indices should be type int64 but got: {}",
            indices.dtype().scalar_type_name()
        )));
    }
    check(input, &name, rank, floats)?;
    if input.sizes() != indices.sizes() {
        return Err(Error::runtime(format!(
            "Expected shape of indices to be same as that of the input tensor ({:?}) but got \
             indices tensor with shape: {:?}",
            input.sizes(),
            indices.sizes()
        )));
    }
    let lead = input.dim() - rank;
    let mut sizes = Dims::from_slice(input.sizes());
    sizes[lead..].copy_from_slice(output);
    let result = Tensor::zeros(&sizes, input.dtype())?;
    let (planes, len) = (product(&sizes[..lead]), product(output));
    let places = indices.to_vec::<i64>()?;
    if let Some(place) = places.iter().find(|&&place| !(0..len).contains(&place)) {
        return Err(Error::runtime(format!(
            "Found an invalid max index: {place} (output volumes are of size {})",
            join(output)
        )));
    }
    if result.numel() == 0 || input.numel() == 0 {
        return Ok(result);
    }
    let flat = [planes, input.numel() / planes.max(1)];
    let places = Tensor::from_slice(&places, &flat)?;
    crate::scatter(&result.view(&[planes, len])?, 1, &places, (&input.reshape(&flat)?).into())?
        .view(&sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The windows along a line of so many elements, taken one by one and side by side.
    #[track_caller]
    fn check(axis: &Axis, len: usize) {
        let line: Vec<i64> = (0..len as i64).map(|i| i * i + 1).collect();
        let mut found = vec![0; axis.windows.len()];
        let sum = Fold::new(0, |x| x, |a: i64, b: i64| a + b);
        axis.fold(&axis.run(), &line, &mut found, sum);
        let expected = axis.windows.iter().map(|window| {
            let elements = (window.start..window.end).step_by(axis.step);
            elements.map(|at| line[at]).sum::<i64>()
        });
        assert_eq!(found, expected.collect::<Vec<_>>(), "{axis:?}");
    }

    #[test]
    fn windows_side_by_side_are_windows_one_by_one() {
        for (kernel, stride, padding, dilation, size, ceil_mode) in [
            (3, 1, 1, 1, 9, false),
            (3, 2, 1, 1, 14, true),
            (2, 2, 0, 1, 20, false),
            (2, 3, 1, 2, 20, false),
            (5, 1, 2, 1, 3, false),
            (1, 1, 0, 1, 7, false),
            (3, 4, 0, 1, 17, true),
        ] {
            let walk = Walk { kernel, stride, padding, dilation };
            let count = walk.count(size, ceil_mode).unwrap();
            check(&walk.axis(size, count).unwrap(), size as usize);
        }
        for (size, output) in [(7, 14), (14, 7), (7, 3), (5, 5), (3, 7), (1, 6), (64, 16)] {
            let input = Tensor::zeros(&[1, 1, size], DType::Float32).unwrap();
            let ([.., axis], _) = adaptive(&input, "", &[output]).unwrap();
            check(&axis, size as usize);
        }
    }

    #[test]
    fn greatest_side_by_side_are_those_found_one_by_one() {
        for (kernel, stride, padding, dilation, size) in [
            (2, 2, 0, 1, 40),
            (3, 1, 1, 1, 29),
            (3, 2, 1, 1, 33),
            (2, 3, 1, 2, 60),
            (5, 4, 2, 1, 9),
        ] {
            let (height, width) = (size / 2 + 3, size);
            let number = |i: i64| match i * 31 % 67 {
                0 => f32::NAN,
                1..20 => f32::NEG_INFINITY,
                other => (other % 9) as f32,
            };
            let numbers: Vec<f32> = (0..2 * height * width).map(number).collect();
            let input = Tensor::from_slice(&numbers, &[2, height, width]).unwrap();
            let options = PoolOptions {
                kernel: &[kernel],
                stride: &[stride],
                padding: &[padding],
                dilation: &[dilation],
                ceil_mode: false,
            };
            let (values, places) = max_pool_with_indices(&input, 2, &options).unwrap();
            let &[_, high, wide] = places.sizes() else { unreachable!() };
            let (mut expected, mut taken) = (Vec::new(), Vec::new());
            for at in 0..2 * high * wide {
                let (plane, y, x) = (at / (high * wide), at / wide % high, at % wide);
                let (mut best, mut place) = (f32::NEG_INFINITY, None);
                for tap in 0..kernel * kernel {
                    let y = y * stride + tap / kernel * dilation - padding;
                    let x = x * stride + tap % kernel * dilation - padding;
                    if !(0..height).contains(&y) || !(0..width).contains(&x) {
                        continue;
                    }
                    let number = numbers[((plane * height + y) * width + x) as usize];
                    if place.is_none() || number > best || number.is_nan() {
                        (best, place) = (number, Some(y * width + x));
                    }
                }
                expected.push(place.unwrap());
                taken.push(best.to_bits());
            }
            assert_eq!(places.to_vec::<i64>().unwrap(), expected, "{options:?}");
            let values = values.to_vec::<f32>().unwrap();
            assert!(values.into_iter().map(f32::to_bits).eq(taken), "{options:?}");
        }
    }
}
