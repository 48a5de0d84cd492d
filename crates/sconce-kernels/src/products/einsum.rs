//! `torch.einsum`.

use sconce_kernel_core::{Error, Result, ResultLayout, Tensor};

use crate::elementwise::binary::binary;
use crate::elementwise::binary_op::BinaryOp;
use crate::matmul::bmm;
use crate::reduction::reduce::sum;

/// A label of an equation: a letter, or a dimension that an ellipsis stands for (from the last).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    /// The n-th dimension that ellipses stand for, of those of the longest.
    Ellipsis(usize),
    Letter(char),
}

impl Label {
    fn letter(self) -> char {
        if let Label::Letter(letter) = self { letter } else { '.' }
    }
}

/// The subscripts of one operand as written.
struct Subscripts {
    before: Vec<char>,
    /// What follows an ellipsis, if there is one.
    after: Option<Vec<char>>,
}

fn parse(text: &str, start: usize, operand: usize) -> Result<Subscripts> {
    let mut parsed = Subscripts { before: Vec::new(), after: None };
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b' ' => {}
            b'.' if parsed.after.is_none() && text[at..].starts_with("...") => {
                parsed.after = Some(Vec::new());
                at += 2;
            }
            b'.' => {
                let why = match parsed.after {
                    Some(_) => "for which an ellipsis was already found",
                    None => "that is not part of any ellipsis",
                };
                return Err(Error::runtime(format!(
                    "einsum(): found '.' for operand {operand} {why}"
                )));
            }
            byte if byte.is_ascii_alphabetic() => {
                parsed.after.as_mut().unwrap_or(&mut parsed.before).push(byte.into());
            }
            _ => {
                return Err(Error::runtime(format!(
                    "einsum(): invalid subscript given at index {} in the equation string, \
                     subscripts must be in [a-zA-Z]",
                    start + at
                )));
            }
        }
        at += 1;
    }
    Ok(parsed)
}

impl Subscripts {
    /// The labels of the dimensions of an operand; ellipses stand for `most` dimensions at most.
    fn labels(&self, hidden: usize, most: usize) -> Vec<Label> {
        let after = self.after.iter().flatten();
        let ellipsis = (most - hidden..most).map(Label::Ellipsis);
        let ellipsis = ellipsis.take(if self.after.is_some() { hidden } else { 0 });
        let before = self.before.iter().map(|&c| Label::Letter(c));
        before.chain(ellipsis).chain(after.map(|&c| Label::Letter(c))).collect()
    }

    fn letters(&self) -> usize {
        self.before.len() + self.after.as_ref().map_or(0, Vec::len)
    }
}

/// An operand whose dimensions have labels, none twice.
struct Operand {
    labels: Vec<Label>,
    tensor: Tensor,
}

/// `torch.einsum`: operands contracted pairwise, in the order of `path` or from the left.
///
/// # Errors
/// For equations that do not fit the operands.
///
/// ```
/// use sconce_kernels::{Tensor, einsum};
/// let a = Tensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// assert_eq!(einsum("ij,kj->ik", &[a.clone(), a.clone()], None)?.to_vec::<f32>()?, [5.0, 11.0, 11.0, 25.0]);
/// assert_eq!(einsum("ii", &[a], None)?.to_vec::<f32>()?, [5.0]);
/// # Ok::<(), sconce_kernels::Error>(())
/// ```
pub fn einsum(equation: &str, tensors: &[Tensor], path: Option<&[i64]>) -> Result<Tensor> {
    if tensors.is_empty() {
        return Err(Error::runtime("einsum(): must provide at least one operand"));
    }
    let (left, right) = match equation.find("->") {
        Some(at) => (&equation[..at], Some(&equation[at + 2..])),
        None => (equation, None),
    };
    let mut start = 0;
    let mut written = Vec::new();
    for text in left.split(',') {
        written.push(parse(text, start, written.len())?);
        start += text.len() + 1;
    }
    if written.len() != tensors.len() {
        let which = if written.len() > tensors.len() { "fewer" } else { "more" };
        return Err(Error::runtime(format!(
            "einsum(): {which} operands were provided than specified in the equation"
        )));
    }
    let mut hidden = Vec::new();
    for (at, (subscripts, tensor)) in written.iter().zip(tensors).enumerate() {
        let (letters, dims) = (subscripts.letters(), tensor.dim());
        let ellipsis = subscripts.after.is_some();
        if if ellipsis { letters > dims } else { letters != dims } {
            return Err(Error::runtime(format!(
                "einsum(): the number of subscripts in the equation ({letters}) {} the number of \
                 dimensions ({dims}) for operand {at}{}",
                if ellipsis { "is more than" } else { "does not match" },
                if ellipsis { "" } else { " and no ellipsis was given" },
            )));
        }
        hidden.push(dims - letters);
    }
    let most = hidden.iter().copied().max().unwrap_or(0);
    let labels: Vec<Vec<Label>> =
        written.iter().zip(&hidden).map(|(subscripts, &n)| subscripts.labels(n, most)).collect();
    let output = output_labels(
        right.map(|text| parse(text, left.len() + 2, tensors.len())).transpose()?,
        &labels,
        most,
    )?;
    let operands = labels
        .into_iter()
        .zip(tensors)
        .enumerate()
        .map(|(at, (labels, tensor))| diagonals(labels, tensor, at))
        .collect::<Result<Vec<Operand>>>()?;
    check_sizes(&operands)?;
    let order = order(&output, &operands);
    let mut tensors =
        operands.into_iter().map(|operand| operand.spread(&order)).collect::<Result<Vec<_>>>()?;
    let many = |dim| tensors.iter().filter(|tensor| tensor.sizes()[dim] != 1).count();
    let mut counts: Vec<usize> = (0..order.len()).map(many).collect();
    let (kept, several, pair) = (output.len(), tensors.len() > 1, tensors.len() == 2);
    check_path_length(path, tensors.len())?;
    let mut pairs = path.into_iter().flat_map(|path| path.chunks_exact(2));
    while tensors.len() > 1 {
        let (i, j) = match pairs.next() {
            Some(pair) => contracted(pair[0], pair[1], tensors.len())?,
            None => (0, 1),
        };
        let b = tensors.remove(j);
        let a = tensors.remove(i);
        let joined = contract(a, b, kept, &mut counts, pair)?;
        // From the left, what was joined goes on being joined; a path counts it as the last.
        if path.is_some() { tensors.push(joined) } else { tensors.insert(0, joined) }
    }
    let Some(last) = tensors.pop() else {
        return Err(Error::runtime("einsum(): must provide at least one operand"));
    };
    let others: Vec<i64> = (kept as i64..order.len() as i64).collect();
    match &others[..] {
        [] => Ok(last),
        // Contracted, they are of size 1.
        _ if several => last.view(&last.sizes()[..kept]),
        others => sum(&last, others, false, None),
    }
}

/// Refuses a path that does not name two operands for each contraction; of one operand it names one.
fn check_path_length(path: Option<&[i64]>, operands: usize) -> Result<()> {
    let expected = if operands == 1 { 1 } else { (operands - 1) * 2 };
    match path.map(<[i64]>::len) {
        Some(found) if found != expected => Err(Error::runtime(format!(
            "einsum(): expected contraction path given in path parameter to have size {expected} but \
             got {found}"
        ))),
        _ => Ok(()),
    }
}

/// Two of `count` operands that a path names, the first one first.
fn contracted(a: i64, b: i64, count: usize) -> Result<(usize, usize)> {
    let place = |at: i64| usize::try_from(at).ok().filter(|&at| at < count);
    let why = match (place(a), place(b)) {
        (Some(i), Some(j)) if i != j => return Ok((i.min(j), i.max(j))),
        (Some(_), Some(_)) => "cannot contract an operand with itself",
        _ => "operand index is out of bounds",
    };
    Err(Error::runtime(format!("einsum(): invalid contraction ({}, {}) {why}", a.min(b), a.max(b))))
}

fn output_labels(
    written: Option<Subscripts>,
    labels: &[Vec<Label>],
    most: usize,
) -> Result<Vec<Label>> {
    let Some(written) = written else {
        let all: Vec<Label> = labels.iter().flatten().copied().collect();
        let mut once: Vec<Label> = all
            .iter()
            .copied()
            .filter(|label| matches!(label, Label::Letter(_)))
            .filter(|label| all.iter().filter(|other| *other == label).count() == 1)
            .collect();
        once.sort();
        return Ok((0..most).map(Label::Ellipsis).chain(once).collect());
    };
    let output = written.labels(most, most);
    for (at, label) in output.iter().enumerate() {
        let Label::Letter(letter) = label else { continue };
        if output[..at].contains(label) {
            return Err(Error::runtime(format!(
                "einsum(): output subscript {letter} appears more than once in the output"
            )));
        }
        if !labels.iter().flatten().any(|other| other == label) {
            return Err(Error::runtime(format!(
                "einsum(): output subscript {letter} does not appear in the equation for any input \
                 operand"
            )));
        }
    }
    Ok(output)
}

/// All labels in PyTorch's order of dimensions: those of the output, then the others.
fn order(output: &[Label], operands: &[Operand]) -> Vec<Label> {
    let of_operands = operands.iter().flat_map(|operand| &operand.labels).copied();
    let mut others: Vec<Label> = of_operands.filter(|label| !output.contains(label)).collect();
    others.sort();
    others.dedup();
    output.iter().copied().chain(others).collect()
}

/// Takes diagonals where a label stands twice.
fn diagonals(labels: Vec<Label>, tensor: &Tensor, operand: usize) -> Result<Operand> {
    let (mut kept, mut sizes, mut strides): (Vec<Label>, Vec<i64>, Vec<i64>) = Default::default();
    for ((&label, &size), &stride) in labels.iter().zip(tensor.sizes()).zip(tensor.strides()) {
        match kept.iter().position(|&other| other == label) {
            None => {
                kept.push(label);
                sizes.push(size);
                strides.push(stride);
            }
            Some(at) if sizes[at] == size => strides[at] += stride,
            Some(at) => {
                return Err(Error::runtime(format!(
                    "einsum(): subscript {} is repeated for operand {operand} but the sizes don't \
                     match, {size} != {}",
                    label.letter(),
                    sizes[at]
                )));
            }
        }
    }
    Ok(Operand { labels: kept, tensor: tensor.as_strided(&sizes, &strides, None)? })
}

fn check_sizes(operands: &[Operand]) -> Result<()> {
    let mut known: Vec<(Label, i64)> = Vec::new();
    for (at, operand) in operands.iter().enumerate() {
        for (&label, &size) in operand.labels.iter().zip(operand.tensor.sizes()) {
            match known.iter_mut().find(|(other, _)| *other == label) {
                None => known.push((label, size)),
                Some((_, seen)) if *seen == size || size == 1 => {}
                Some((_, seen)) if *seen == 1 => *seen = size,
                Some((_, seen)) => {
                    return Err(Error::runtime(format!(
                        "einsum(): subscript {} has size {size} for operand {at} which does not \
                         broadcast with previously seen size {seen}",
                        label.letter()
                    )));
                }
            }
        }
    }
    Ok(())
}

impl Operand {
    /// A view with a dimension for each of all labels, of size 1 where there is none.
    fn spread(self, order: &[Label]) -> Result<Tensor> {
        let places = order.iter().filter_map(|label| self.labels.iter().position(|l| l == label));
        let places: Vec<i64> = places.map(|at| at as i64).collect();
        let missing = order.iter().enumerate().filter(|(_, label)| !self.labels.contains(label));
        let view = self.tensor.permute(&places)?;
        missing.into_iter().try_fold(view, |view, (at, _)| view.unsqueeze(at as i64))
    }
}

/// The product of two operands with a dimension for each label, summed over those after the first
/// `kept` that no other operand has: of `counts`, how many operands have each other than of size 1.
/// Where the two are all that there are, they change places if that is the order of the output, as
/// PyTorch has it.
fn contract(a: Tensor, b: Tensor, kept: usize, counts: &mut [usize], pair: bool) -> Result<Tensor> {
    let (mut inner, mut of_a, mut of_b) = (Vec::new(), Vec::new(), Vec::new());
    for (dim, count) in counts.iter_mut().enumerate().skip(kept) {
        let goes = match (a.sizes()[dim] != 1, b.sizes()[dim] != 1) {
            (true, true) => {
                *count -= 1;
                &mut inner
            }
            (true, false) => &mut of_a,
            (false, true) => &mut of_b,
            (false, false) => continue,
        };
        if *count == 1 {
            goes.push(dim as i64);
            *count = 0;
        }
    }
    let without = |tensor: Tensor, dims: &[i64]| match dims {
        [] => Ok(tensor),
        dims => sum(&tensor, dims, true, None),
    };
    let (a, b) = (without(a, &of_a)?, without(b, &of_b)?);
    if inner.is_empty() {
        let product = binary(BinaryOp::Mul, (&a).into(), (&b).into())?;
        return match ResultLayout::of(&[(&a).into(), (&b).into()]) {
            Some(iteration) => iteration.lay_out(product),
            None => Ok(product),
        };
    }
    let (mut batch, mut rows, mut cols) = (Vec::new(), Vec::new(), Vec::new());
    for dim in (0..counts.len() as i64).filter(|dim| !inner.contains(dim)) {
        match (a.sizes()[dim as usize] != 1, b.sizes()[dim as usize] != 1) {
            (true, true) => batch.push(dim),
            (true, false) => rows.push(dim),
            (false, _) => cols.push(dim),
        }
    }
    let turned = pair && cols.last().zip(rows.first()).is_some_and(|(last, first)| last < first);
    let (a, b, rows, cols) = if turned { (b, a, cols, rows) } else { (a, b, rows, cols) };
    let sizes = |tensor: &Tensor, dims: &[i64]| -> Vec<i64> {
        dims.iter().map(|&dim| tensor.sizes()[dim as usize]).collect()
    };
    let matrix = |tensor: &Tensor, groups: [&[i64]; 4]| {
        let count = |group: &[i64]| sizes(tensor, group).iter().product::<i64>();
        let [first, second, third, _] = groups.map(count);
        tensor.permute(&groups.concat())?.reshape(&[first, second, third])
    };
    let product = bmm(
        &matrix(&a, [&batch, &rows, &inner, &cols])?,
        &matrix(&b, [&batch, &inner, &cols, &rows])?,
    )?;
    let ones = vec![1; inner.len()];
    let of_result = [sizes(&a, &batch), sizes(&a, &rows), ones, sizes(&b, &cols)].concat();
    let order = [batch, rows, inner, cols].concat();
    let back: Vec<i64> = (0..order.len() as i64)
        .filter_map(|dim| order.iter().position(|&at| at == dim).map(|at| at as i64))
        .collect();
    product.reshape(&of_result)?.permute(&back)
}

#[cfg(test)]
mod tests {
    use sconce_kernel_core::DType;

    use super::*;

    /// A tensor of the size that each label has in [`results_lie_in_memory_as_pytorchs_do`].
    fn operand(labels: &str) -> Tensor {
        let size = |label: char| "__xyijkl".find(label).map_or(1, |at| at as i64);
        let sizes: Vec<i64> = labels.chars().map(size).collect();
        let count = sizes.iter().product::<i64>();
        let numbers: Vec<f64> = (0..count).map(|i| ((i * 7) % 11) as f64).collect();
        Tensor::from_slice(&numbers, &sizes).unwrap()
    }

    #[test]
    fn results_lie_in_memory_as_pytorchs_do() {
        let cases: [(&str, &[i64]); 21] = [
            ("ij,jk->ik", &[6, 1]),
            ("ij,jk->ki", &[4, 1]),
            ("xij,xjk->xki", &[24, 4, 1]),
            ("xij,xjk->kxi", &[4, 24, 1]),
            ("xij,xjk->kix", &[4, 1, 24]),
            ("xyij,xyjk->yxki", &[48, 24, 4, 1]),
            ("xyij,xyjk->yxik", &[48, 24, 6, 1]),
            ("xij,jk->xki", &[24, 1, 6]),
            ("ij,xjk->xik", &[6, 12, 1]),
            ("ij,jk,kl->li", &[1, 7]),
            ("xij,xjk,xkl->xli", &[28, 1, 7]),
            ("ij,jk,il->lk", &[1, 7]),
            ("i,j->ji", &[4, 1]),
            ("ij,ij->ji", &[1, 5]),
            // Dimensions of size 1.
            ("xoij,xoik->xojk", &[30, 30, 6, 1]),
            ("xijoy,xky->xkioj", &[120, 1, 30, 30, 6]),
            ("oxij,xik->okxj", &[30, 5, 30, 1]),
            ("xijo,xkjo->xjik", &[120, 1, 30, 5]),
            ("ijo,kjo->ik", &[6, 1]),
            ("io,jo->ij", &[5, 1]),
            ("xyo,xio->xiy", &[12, 3, 1]),
        ];
        for (equation, strides) in cases {
            let (inputs, _) = equation.split_once("->").unwrap();
            let operands: Vec<Tensor> = inputs.split(',').map(operand).collect();
            assert_eq!(einsum(equation, &operands, None).unwrap().strides(), strides, "{equation}");
        }
    }

    #[test]
    fn paths_that_lead_nowhere_are_refused_in_pytorch_words() {
        let zeros = |sizes: &[i64]| Tensor::zeros(sizes, DType::Float32).unwrap();
        let words = |result: Result<Tensor>| result.unwrap_err().message().to_owned();
        for (found, expected) in [
            (
                words(einsum("i,i->", &[zeros(&[3]), zeros(&[3])], Some(&[1]))),
                "einsum(): expected contraction path given in path parameter to have size 2 but got 1",
            ),
            (
                words(einsum("i,i->", &[zeros(&[3]), zeros(&[3])], Some(&[5, 0]))),
                "einsum(): invalid contraction (0, 5) operand index is out of bounds",
            ),
        ] {
            assert_eq!(found, expected);
        }
    }
}
