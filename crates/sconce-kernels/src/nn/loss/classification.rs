//! Losses over class scores: negative log likelihood, cross entropy, margins.

use half::{bf16, f16};
use sconce_kernel_core::tensor::dtype_range::rounded;

use crate::elementwise::binary::binary;
use crate::elementwise::binary_op::BinaryOp;
use crate::nn::loss::elementwise::Reduction;
use crate::{
    DType, Dims, Error, PodElement, Result, Scalar, Tensor, log_softmax, masked_fill, sum,
};

/// What is common to the losses over classes.
#[derive(Debug, Clone, Copy)]
pub struct ClassLoss<'a> {
    /// A factor for each class.
    pub weight: Option<&'a Tensor>,
    /// What becomes of the losses.
    pub reduction: Reduction,
    /// A class that counts for nothing.
    pub ignore_index: i64,
}

fn floating(input: &Tensor, kernel: &str) -> Result<()> {
    match input.dtype().is_floating_point() {
        true => Ok(()),
        false => Err(Error::no_kernel(kernel, input.dtype())),
    }
}

fn wide(tensor: &Tensor) -> Result<Vec<f64>> {
    tensor.to_dtype(DType::Float64)?.to_vec::<f64>()
}

fn class_indices(target: &Tensor) -> Result<Vec<i64>> {
    if !matches!(target.dtype(), DType::Int64 | DType::UInt8) {
        return Err(Error::runtime(format!(
            "expected scalar type Long but found {}",
            target.dtype().scalar_type_name()
        )));
    }
    target.to_dtype(DType::Int64)?.to_vec::<i64>()
}

/// A factor for each class; 1 where none is given. Kernels want them of the input's dtype.
fn weights_like(input: &Tensor, weight: Option<&Tensor>, classes: i64) -> Result<Vec<f64>> {
    let weights = class_weights(weight, classes)?;
    match weight.map(Tensor::dtype) {
        Some(dtype) if dtype != input.dtype() => Err(Error::runtime(format!(
            "expected scalar type {} but found {}",
            input.dtype().scalar_type_name(),
            dtype.scalar_type_name()
        ))),
        _ => Ok(weights),
    }
}

/// A factor for each class, of any dtype.
fn class_weights(weight: Option<&Tensor>, classes: i64) -> Result<Vec<f64>> {
    match weight {
        None => Ok(vec![1.0; classes as usize]),
        Some(weight) if weight.dim() == 1 && weight.numel() == classes => wide(weight),
        Some(weight) => Err(Error::runtime(format!(
            "weight tensor should be defined either for all {classes} classes or no classes but got \
             weight tensor of shape: {:?}",
            weight.sizes()
        ))),
    }
}

/// `torch.nn.functional.nll_loss` of any number of dimensions: input classes, or batch × classes ×
/// …, and target without the classes. Gives the loss and the sum of the weights that counted.
///
/// # Errors
/// Where sizes do not fit, and for classes that do not exist.
pub fn nll_loss(
    input: &Tensor,
    target: &Tensor,
    options: ClassLoss<'_>,
) -> Result<(Tensor, Tensor)> {
    floating(input, "nll_loss_out_frame")?;
    let class_dim = match input.dim() {
        0 => return Err(Error::runtime("Expected 1 or more dimensions (got 0)")),
        1 => 0,
        _ => 1,
    };
    let mut expected = Dims::from_slice(input.sizes());
    let classes = expected.remove(class_dim);
    if class_dim == 1 && target.sizes().first() != expected.first() {
        return Err(Error::runtime(format!(
            "Expected input batch_size ({}) to match target batch_size ({}).",
            expected[0],
            target.sizes().first().copied().unwrap_or(0)
        )));
    }
    if expected[..] != *target.sizes() && !(class_dim == 0 && target.numel() == 1) {
        return Err(Error::runtime(format!(
            "size mismatch (got input: {:?} , target: {:?})",
            input.sizes(),
            target.sizes()
        )));
    }
    let weights = weights_like(input, options.weight, classes)?;
    let targets = class_indices(target)?;
    // How many positions share a batch's entry.
    let inner = sconce_kernel_core::layout::shape::product(&expected[expected.len().min(1)..])
        .max(1) as usize;
    let dtype = input.dtype();
    let losses = NllLosses { targets: &targets, weights: &weights, inner, options, dtype };
    let chances = input.contiguous()?;
    let LossOutput { losses, loss, total } = match dtype {
        DType::Float32 => losses.of(&chances.read::<f32>()?),
        DType::Float64 => losses.of(&chances.read::<f64>()?),
        DType::Float16 => losses.of(&chances.read::<f16>()?),
        DType::BFloat16 => losses.of(&chances.read::<bf16>()?),
        _ => losses.of(&chances.to_dtype(DType::Float64)?.read::<f64>()?),
    }?;
    let number = |value: f64| Tensor::scalar(value.into(), DType::Float64)?.to_dtype(dtype);
    let result = match options.reduction {
        Reduction::None => {
            let losses = Tensor::from_slice(&losses, target.sizes())?.to_dtype(dtype)?;
            return Ok((losses, number(0.0)?));
        }
        Reduction::Sum => loss,
        Reduction::Mean => loss / total,
    };
    Ok((number(result)?, number(total)?))
}

/// What [`nll_loss`] goes over.
struct NllLosses<'a> {
    targets: &'a [i64],
    weights: &'a [f64],
    inner: usize,
    options: ClassLoss<'a>,
    dtype: DType,
}

/// The loss of each target, their sum, and that of the weights that counted.
struct LossOutput {
    losses: Vec<f64>,
    loss: f64,
    total: f64,
}

impl NllLosses<'_> {
    /// Of row-major chances.
    fn of<T: PodElement + Into<f64>>(&self, chances: &[T]) -> Result<LossOutput> {
        let &NllLosses { targets, weights, inner, options, dtype } = self;
        let mut losses = vec![0.0; targets.len()];
        let mut counted = vec![0.0; targets.len()];
        let results = losses.chunks_mut(inner).zip(counted.chunks_mut(inner));
        for (batch, (targets, (losses, counted))) in targets.chunks(inner).zip(results).enumerate()
        {
            let results = losses.iter_mut().zip(counted);
            let positions = batch * weights.len() * inner..;
            for ((position, &class), (lost, counted)) in positions.zip(targets).zip(results) {
                if class == options.ignore_index {
                    continue;
                }
                let at = usize::try_from(class).ok();
                let Some((at, weight)) = at.and_then(|at| Some((at, *weights.get(at)?))) else {
                    return Err(Error::index(format!("Target {class} is out of bounds.")));
                };
                let chance: f64 = chances[position + at * inner].into();
                (*lost, *counted) = (rounded(-chance * weight, dtype), weight);
            }
        }
        let (loss, total) = (cascade(&losses, dtype), cascade(&counted, dtype));
        Ok(LossOutput { losses, loss, total })
    }
}

/// A sum in the precision of a dtype, over levels as PyTorch's loss kernels keep it, so that
/// half-precision sums lose what PyTorch's lose.
fn cascade(terms: &[f64], dtype: DType) -> f64 {
    match dtype {
        DType::Float32 => f64::from(in_levels(terms, |x| x as f32, |a: f32, b| a + b)),
        _ => in_levels(terms, |x| x, |a, b| rounded(a + b, dtype)),
    }
}

/// Adds terms to the first of some levels. One that has taken in this many is added to the next.
fn in_levels<A: Copy + Default>(
    terms: &[f64],
    of: impl Fn(f64) -> A,
    add: impl Fn(A, A) -> A,
) -> A {
    const LEVELS: usize = 8;
    let log = terms.len().max(2).next_power_of_two().trailing_zeros();
    // How many terms a level takes, as a power of two.
    let power = (log / LEVELS as u32).max(4);
    let mut levels = [A::default(); LEVELS];
    let mut start = 0;
    while start < terms.len() {
        // A level is full when the position of the last term is a multiple: the first term is alone.
        let end = if start == 0 { 1 } else { terms.len().min(start + (1 << power)) };
        levels[0] = terms[start..end].iter().fold(levels[0], |sum, &x| add(sum, of(x)));
        for level in 0..LEVELS - 1 {
            let mask = ((1usize << power) - 1) << (level as u32 * power);
            if (end - 1) & mask != 0 {
                break;
            }
            levels[level + 1] = add(levels[level + 1], levels[level]);
            levels[level] = A::default();
        }
        start = end;
    }
    levels.into_iter().fold(A::default(), add)
}

fn op(op: BinaryOp, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    binary(op, a.into(), b.into())
}

fn with(op: BinaryOp, a: &Tensor, b: f64) -> Result<Tensor> {
    binary(op, a.into(), b.into())
}

/// The weights of the classes in the shape of an input's class dimension.
fn spread(weight: &Tensor, input: &Tensor, class_dim: usize) -> Result<Tensor> {
    let mut sizes = Dims::from_elem(1, input.dim());
    sizes[class_dim] = weight.numel();
    weight.reshape(&sizes)
}

/// `torch.nn.functional.cross_entropy`: of classes, or of chances of classes where the target has
/// the input's shape.
///
/// # Errors
/// As [`nll_loss`], and for a smoothing above 1.
pub fn cross_entropy_loss(
    input: &Tensor,
    target: &Tensor,
    options: ClassLoss<'_>,
    smoothing: f64,
) -> Result<Tensor> {
    let class_dim = usize::from(input.dim() > 1);
    let by_chances = input.sizes() == target.sizes();
    if by_chances && !target.dtype().is_floating_point() {
        return Err(Error::runtime(format!(
            "Expected floating point type for target with class probabilities, got {}",
            target.dtype().scalar_type_name()
        )));
    }
    if by_chances && options.ignore_index >= 0 {
        return Err(Error::runtime("ignore_index is not supported for floating point target"));
    }
    // What is below 0 or NaN smooths nothing.
    let smoothing = smoothing.max(0.0);
    if smoothing > 1.0 {
        return Err(Error::runtime(format!(
            "label_smoothing must be between 0.0 and 1.0. Got: {smoothing}"
        )));
    }
    floating(input, "log_softmax_lastdim_kernel_impl")?;
    let classes = input.size(class_dim as i64)?;
    let logs = log_softmax(input, class_dim as i64)?;
    if by_chances {
        return chances_loss(&logs, target, options, smoothing, class_dim);
    }
    let (loss, _) = nll_loss(&logs, target, options)?;
    if smoothing == 0.0 {
        return Ok(loss);
    }
    let ignored = binary(BinaryOp::Eq, target.into(), Scalar::Int(options.ignore_index).into())?;
    let weighed = match options.weight {
        Some(weight) => op(BinaryOp::Mul, &logs, &spread(weight, &logs, class_dim)?)?,
        None => logs.clone(),
    };
    let smooth = with(BinaryOp::Mul, &sum(&weighed, &[class_dim as i64], false, None)?, -1.0)?;
    let smooth = masked_fill(&smooth, &ignored, Scalar::Int(0).into())?;
    let smooth = match options.reduction {
        Reduction::None | Reduction::Sum => options.reduction.of(&smooth)?,
        Reduction::Mean => {
            let weights = class_weights(options.weight, classes)?;
            let counted = class_indices(target)?;
            let total: f64 = counted
                .iter()
                .filter(|&&class| class != options.ignore_index)
                .filter_map(|&class| weights.get(class as usize))
                .sum();
            with(BinaryOp::Div, &sum(&smooth, &[], false, None)?, total)?
        }
    };
    let kept = with(BinaryOp::Mul, &loss, 1.0 - smoothing)?;
    op(BinaryOp::Add, &kept, &with(BinaryOp::Mul, &smooth, smoothing / classes as f64)?)
}

fn chances_loss(
    logs: &Tensor,
    target: &Tensor,
    options: ClassLoss<'_>,
    smoothing: f64,
    class_dim: usize,
) -> Result<Tensor> {
    let classes = logs.size(class_dim as i64)?;
    let mut target = target.clone();
    if smoothing > 0.0 {
        target = with(BinaryOp::Mul, &target, 1.0 - smoothing)?;
        target = with(BinaryOp::Add, &target, smoothing / classes as f64)?;
    }
    let mut products = op(BinaryOp::Mul, logs, &target)?;
    if let Some(weight) = options.weight {
        class_weights(Some(weight), classes)?;
        products = op(BinaryOp::Mul, &products, &spread(weight, logs, class_dim)?)?;
    }
    let losses = with(BinaryOp::Mul, &sum(&products, &[class_dim as i64], false, None)?, -1.0)?;
    match options.reduction {
        Reduction::None => Ok(losses),
        Reduction::Sum => sum(&losses, &[], false, None),
        Reduction::Mean => {
            let count = logs.numel() as f64 / classes as f64;
            with(BinaryOp::Div, &sum(&losses, &[], false, None)?, count)
        }
    }
}

/// Refuses what the margin losses have no kernels for, and targets that are no `int64`.
fn check_margin_dtypes(input: &Tensor, target: &Tensor, kernel: &str) -> Result<()> {
    if !matches!(input.dtype(), DType::Float32 | DType::Float64) {
        return Err(Error::no_kernel(kernel, input.dtype()));
    }
    if target.dtype() == DType::Int64 {
        return Ok(());
    }
    Err(Error::runtime(format!(
        "expected scalar type Long but found {}",
        target.dtype().scalar_type_name()
    )))
}

/// Rows of classes: how many rows there are, of how many classes.
fn class_rows(input: &Tensor) -> Result<(i64, i64)> {
    match *input.sizes() {
        [] => Ok((1, 1)),
        [classes] if classes > 0 => Ok((1, classes)),
        [rows, classes] if classes > 0 => Ok((rows, classes)),
        _ => Err(Error::runtime(format!(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: {:?}",
            input.sizes()
        ))),
    }
}

fn reduced(losses: &[f64], sizes: &[i64], input: &Tensor, reduction: Reduction) -> Result<Tensor> {
    reduction.of(&Tensor::from_slice(losses, sizes)?)?.to_dtype(input.dtype())
}

/// `torch.nn.functional.multi_margin_loss`.
///
/// # Errors
/// Where sizes do not fit, for powers other than 1 and 2, and for classes that do not exist.
pub fn multi_margin_loss(
    input: &Tensor,
    target: &Tensor,
    p: f64,
    margin: f64,
    options: ClassLoss<'_>,
) -> Result<Tensor> {
    if p != 1.0 && p != 2.0 {
        return Err(Error::runtime("multi_margin_loss: p should be 1 or 2"));
    }
    let (rows, classes) = class_rows(input)?;
    if target.dim() > 1 || target.numel() != rows {
        return Err(Error::runtime(format!(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input \
             samples (batch size). Expected target size [{rows}], but got {:?}. Input has shape {:?}.",
            target.sizes(),
            input.sizes()
        )));
    }
    check_margin_dtypes(input, target, "multi_margin_loss_cpu_kernel")?;
    let weights = weights_like(input, options.weight, classes)?;
    let (scores, targets) = (wide(input)?, class_indices(target)?);
    let mut losses = Vec::with_capacity(targets.len());
    for (row, &class) in scores.chunks_exact(classes as usize).zip(&targets) {
        if !(0..classes).contains(&class) {
            return Err(Error::runtime("target out of range"));
        }
        let class = class as usize;
        let others = row.iter().enumerate().filter(|&(other, _)| other != class);
        let total: f64 = others
            .map(|(_, x)| margin - row[class] + x)
            .filter(|gap| *gap > 0.0)
            .map(|gap| if p == 1.0 { gap } else { gap * gap })
            .sum();
        losses.push(total * weights[class] / classes as f64);
    }
    reduced(&losses, target.sizes(), input, options.reduction)
}

/// `torch.multilabel_margin_loss_forward`: the loss, and which classes are targets. A target's row
/// ends at its first -1.
///
/// # Errors
/// Where sizes do not fit, and for classes that do not exist.
pub fn multilabel_margin_loss(
    input: &Tensor,
    target: &Tensor,
    reduction: Reduction,
) -> Result<(Tensor, Tensor)> {
    let (_, classes) = class_rows(input)?;
    let fits = match input.dim() {
        0 | 1 => target.dim() <= 1 && input.numel() == target.numel(),
        _ => input.sizes() == target.sizes(),
    };
    if !fits {
        return Err(Error::runtime(format!(
            "inconsistent target size: {:?} for input of size: {:?}",
            target.sizes(),
            input.sizes()
        )));
    }
    if input.numel() > 0 {
        check_margin_dtypes(input, target, "multilabel_margin_loss_forward_out_frame")?;
    }
    let (scores, targets) = (wide(input)?, class_indices(target)?);
    let len = classes as usize;
    let mut is_target = vec![0f64; targets.len()];
    let mut losses = Vec::new();
    let rows = scores.chunks_exact(len).zip(targets.chunks_exact(len));
    for ((row, targets), flags) in rows.zip(is_target.chunks_exact_mut(len)) {
        let named: Vec<i64> = targets.iter().copied().take_while(|&class| class != -1).collect();
        for &class in &named {
            if !(0..classes).contains(&class) {
                return Err(Error::runtime("argument target is out of range"));
            }
            flags[class as usize] = 1.0;
        }
        let mut total = 0.0;
        for &class in &named {
            for (x, &flag) in row.iter().zip(&*flags) {
                let gap = 1.0 - row[class as usize] + x;
                if flag == 0.0 && gap > 0.0 {
                    total += gap;
                }
            }
        }
        losses.push(total / classes as f64);
    }
    let flags = Tensor::from_slice(&is_target, target.sizes())?.to_dtype(input.dtype())?;
    let sizes = &input.sizes()[..input.dim().saturating_sub(1)];
    Ok((reduced(&losses, sizes, input, reduction)?, flags))
}

/// `torch.nn.functional.one_hot`; as many classes as there are where `classes` is -1.
///
/// # Errors
/// For other than `int64`, and for classes that do not exist.
pub fn one_hot(indices: &Tensor, classes: i64) -> Result<Tensor> {
    if indices.dtype() != DType::Int64 {
        let message = "one_hot is only applicable to index tensor of type LongTensor.";
        return Err(Error::runtime(message));
    }
    let picked = indices.to_vec::<i64>()?;
    if picked.is_empty() && classes <= 0 {
        let message = "Can not infer total number of classes from empty tensor.";
        return Err(Error::runtime(message));
    }
    if picked.iter().any(|&class| class < 0) {
        return Err(Error::runtime("Class values must be non-negative."));
    }
    let seen = picked.iter().max().map_or(0, |&greatest| greatest.saturating_add(1));
    let classes = match classes {
        -1 => seen,
        classes if classes < seen => {
            return Err(Error::runtime("Class values must be smaller than num_classes."));
        }
        classes => classes,
    };
    let mut sizes = Dims::from_slice(indices.sizes());
    sizes.push(classes);
    let result = Tensor::zeros(&sizes, DType::Int64)?;
    for (row, &class) in
        result.write::<i64>()?.chunks_exact_mut(classes.max(1) as usize).zip(&picked)
    {
        row[class as usize] = 1;
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEAN: ClassLoss<'_> =
        ClassLoss { weight: None, reduction: Reduction::Mean, ignore_index: -100 };

    fn scores() -> Tensor {
        Tensor::from_slice(&[0f32, 1.0, 2.0, 3.0, 0.0, 1.0], &[2, 3]).unwrap()
    }

    fn near(found: &Tensor, expected: f32) {
        let found = found.to_vec::<f32>().unwrap();
        assert!((found[0] - expected).abs() < 1e-6, "{found:?} is not {expected}");
    }

    #[test]
    fn losses_over_classes_are_pytorchs() {
        let target = Tensor::from_slice(&[0i64, 2], &[2]).unwrap();
        let weight = Tensor::from_slice(&[1f32, 2.0, 3.0], &[3]).unwrap();
        let weighed = ClassLoss { weight: Some(&weight), ..MEAN };
        near(&cross_entropy_loss(&scores(), &target, weighed, 0.1).unwrap(), 2.168_563_1);
        near(&multi_margin_loss(&scores(), &target, 1.0, 1.0, MEAN).unwrap(), 1.333_333_3);
        let input = Tensor::from_slice(&[0.1f32, 0.2, 0.4, 0.8], &[4]).unwrap();
        let labels = Tensor::from_slice(&[3i64, 0, -1, 1], &[4]).unwrap();
        near(&multilabel_margin_loss(&input, &labels, Reduction::Mean).unwrap().0, 0.85);
    }

    #[test]
    fn an_ignored_class_counts_for_nothing_and_a_missing_one_is_refused() {
        let ignored = Tensor::from_slice(&[1i64, 7], &[2]).unwrap();
        let options = ClassLoss { ignore_index: 7, ..MEAN };
        let (loss, total) = nll_loss(&scores(), &ignored, options).unwrap();
        near(&loss, -1.0);
        near(&total, 1.0);
        assert!(nll_loss(&scores(), &ignored, MEAN).is_err());
    }

    #[test]
    fn dtypes_and_sizes_have_to_be_those_of_the_kernels() {
        let target = Tensor::from_slice(&[0i64, 2], &[2]).unwrap();
        let bytes = target.to_dtype(DType::UInt8).unwrap();
        let halves = scores().to_dtype(DType::Float16).unwrap();
        let weight = Tensor::zeros(&[3], DType::Float64).unwrap();
        let weighed = ClassLoss { weight: Some(&weight), ..MEAN };
        let row = scores().select(0, 0).unwrap();
        let column = Tensor::zeros(&[3, 1], DType::Int64).unwrap();
        assert!(nll_loss(&scores(), &target, weighed).is_err());
        assert!(multi_margin_loss(&scores(), &target, 1.0, 1.0, weighed).is_err());
        assert!(multi_margin_loss(&scores(), &bytes, 1.0, 1.0, MEAN).is_err());
        assert!(multi_margin_loss(&halves, &target, 1.0, 1.0, MEAN).is_err());
        assert!(multilabel_margin_loss(&row, &column, Reduction::Mean).is_err());
        assert!(cross_entropy_loss(&scores(), &target, MEAN, 1.5).is_err());
        let plain = cross_entropy_loss(&scores(), &target, MEAN, 0.0).unwrap();
        let below = cross_entropy_loss(&scores(), &target, MEAN, -1.0).unwrap();
        assert_eq!(plain.to_vec::<f32>().unwrap(), below.to_vec::<f32>().unwrap());
    }

    #[test]
    fn one_hot_infers_the_classes() {
        let indices = Tensor::from_slice(&[2i64, 0], &[2]).unwrap();
        let found = one_hot(&indices, -1).unwrap();
        assert_eq!(found.to_vec::<i64>().unwrap(), [0, 0, 1, 1, 0, 0]);
        assert!(one_hot(&indices, 2).is_err());
    }
}
