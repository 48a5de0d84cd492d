//! `torch.einsum`.

use sconce_kernels::{BinaryOp, Error, Iteration, Result, Tensor, binary, bmm, sum};

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
/// use sconce_kernels::Tensor;
/// use sconce_linalg::einsum;
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
    let mut operands = labels
        .into_iter()
        .zip(tensors)
        .enumerate()
        .map(|(at, (labels, tensor))| diagonals(labels, tensor, at))
        .collect::<Result<Vec<Operand>>>()?;
    check_sizes(&operands)?;
    let order = order(&output, &operands);
    operands =
        operands.into_iter().map(|operand| operand.ordered(&order)).collect::<Result<_>>()?;
    let pair = operands.len() == 2;
    let mut path = path.map(|path| path.iter().map(|&at| at as usize).collect::<Vec<_>>());
    while operands.len() > 1 {
        let (i, j) = match &mut path {
            Some(path) if path.len() >= 2 => {
                let pair: Vec<usize> = path.drain(..2).collect();
                (pair[0].min(pair[1]), pair[0].max(pair[1]))
            }
            _ => (0, 1),
        };
        if i == j || j >= operands.len() {
            return Err(Error::runtime("einsum(): the contraction path does not fit the operands"));
        }
        let b = operands.remove(j);
        let a = operands.remove(i);
        let kept = |label: &Label| {
            output.contains(label) || operands.iter().any(|other| other.labels.contains(label))
        };
        let joined = contract(a, b, kept, &order, pair)?;
        // From the left, what was joined goes on being joined; a path counts it as the last.
        if path.is_some() { operands.push(joined) } else { operands.insert(0, joined) }
    }
    let Some(last) = operands.pop() else {
        return Err(Error::runtime("einsum(): must provide at least one operand"));
    };
    finish(last, &output)
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
    fn size(&self, label: Label) -> i64 {
        let at = self.labels.iter().position(|&other| other == label);
        at.map_or(1, |at| self.tensor.sizes()[at])
    }

    /// Sums over the labels that nobody needs and drops those of size 1 that `other` has larger.
    fn without(self, gone: impl Fn(Label) -> bool) -> Result<Operand> {
        let dims: Vec<i64> = (0..self.labels.len())
            .filter(|&at| gone(self.labels[at]))
            .map(|at| at as i64)
            .collect();
        if dims.is_empty() {
            return Ok(self);
        }
        let tensor = sum(&self.tensor, &dims, false, None)?;
        Ok(Operand {
            labels: self.labels.into_iter().filter(|&label| !gone(label)).collect(),
            tensor,
        })
    }

    /// A view whose dimensions follow one another in an order of all labels.
    fn ordered(self, order: &[Label]) -> Result<Operand> {
        let places = order.iter().filter_map(|label| self.labels.iter().position(|l| l == label));
        let places: Vec<i64> = places.map(|at| at as i64).collect();
        let labels = places.iter().map(|&at| self.labels[at as usize]).collect();
        Ok(Operand { labels, tensor: self.tensor.permute(&places)? })
    }

    /// A view with a dimension for each of some labels, of size 1 where there is none.
    fn spread(&self, labels: &[Label]) -> Result<Tensor> {
        let missing = labels.iter().enumerate().filter(|(_, label)| !self.labels.contains(label));
        missing.into_iter().try_fold(self.tensor.clone(), |view, (at, _)| view.unsqueeze(at as i64))
    }

    /// A three-dimensional view: batch, and two more groups of labels.
    fn matrix(&self, groups: [&[Label]; 3]) -> Result<Tensor> {
        let order: Vec<i64> = groups
            .iter()
            .flat_map(|group| group.iter())
            .filter_map(|label| self.labels.iter().position(|other| other == label))
            .map(|at| at as i64)
            .collect();
        let count = |group: &[Label]| group.iter().map(|&label| self.size(label)).product::<i64>();
        self.tensor.permute(&order)?.reshape(&groups.map(count))
    }
}

/// The product of two operands, summed over what nobody else needs. Where they are all that there are,
/// they change places if that is the order of the output, as PyTorch has it.
fn contract(
    a: Operand,
    b: Operand,
    kept: impl Fn(&Label) -> bool,
    order: &[Label],
    pair: bool,
) -> Result<Operand> {
    // A label of size 1 beside a larger one is not there.
    let narrow = |this: &Operand, other: &Operand, label: Label| {
        this.size(label) == 1 && other.size(label) != 1
    };
    let lone = |other: &Operand, label: Label| !kept(&label) && !other.labels.contains(&label);
    let gone_a: Vec<Label> =
        a.labels.iter().copied().filter(|&l| narrow(&a, &b, l) || lone(&b, l)).collect();
    let gone_b: Vec<Label> =
        b.labels.iter().copied().filter(|&l| narrow(&b, &a, l) || lone(&a, l)).collect();
    let (a, b) = (a.without(|l| gone_a.contains(&l))?, b.without(|l| gone_b.contains(&l))?);
    // What only one of them has left and nobody needs goes too.
    let (a_labels, b_labels) = (a.labels.clone(), b.labels.clone());
    let a = a.without(|l| !kept(&l) && !b_labels.contains(&l))?;
    let b = b.without(|l| !kept(&l) && !a_labels.contains(&l))?;
    let of = |these: &Operand, others: &Operand, both: bool| -> Vec<Label> {
        these.labels.iter().copied().filter(|l| others.labels.contains(l) == both).collect()
    };
    let (inner, batch): (Vec<Label>, Vec<Label>) = of(&a, &b, true).iter().partition(|l| !kept(l));
    if inner.is_empty() {
        let in_either = |label: &&Label| a.labels.contains(label) || b.labels.contains(label);
        let labels: Vec<Label> = order.iter().filter(in_either).copied().collect();
        let (x, y) = (a.spread(&labels)?, b.spread(&labels)?);
        let product = binary(BinaryOp::Mul, (&x).into(), (&y).into())?;
        let tensor = match Iteration::over(&[(&x).into(), (&y).into()]) {
            Some(iteration) => iteration.lay_out(product)?,
            None => product,
        };
        return Ok(Operand { labels, tensor });
    }
    let (rows, cols) = (of(&a, &b, false), of(&b, &a, false));
    let place = |label: &Label| order.iter().position(|other| other == label);
    let (last, first) = (cols.iter().filter_map(place).max(), rows.iter().filter_map(place).min());
    let turned = pair && last.zip(first).is_some_and(|(last, first)| last < first);
    let (a, b, rows, cols) = if turned { (b, a, cols, rows) } else { (a, b, rows, cols) };
    let product = bmm(&a.matrix([&batch, &rows, &inner])?, &b.matrix([&batch, &inner, &cols])?)?;
    let sizes: Vec<i64> = batch
        .iter()
        .chain(&rows)
        .map(|&label| a.size(label))
        .chain(cols.iter().map(|&label| b.size(label)))
        .collect();
    let labels = batch.into_iter().chain(rows).chain(cols).collect();
    Operand { labels, tensor: product.reshape(&sizes)? }.ordered(order)
}

fn finish(last: Operand, output: &[Label]) -> Result<Tensor> {
    let last = last.without(|label| !output.contains(&label))?.ordered(output)?;
    // An ellipsis of the output that no operand has is a dimension of size 1.
    last.spread(output)
}

#[cfg(test)]
mod tests {
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
        let cases: [(&str, &[i64]); 14] = [
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
        ];
        for (equation, strides) in cases {
            let (inputs, _) = equation.split_once("->").unwrap();
            let operands: Vec<Tensor> = inputs.split(',').map(operand).collect();
            assert_eq!(einsum(equation, &operands, None).unwrap().strides(), strides, "{equation}");
        }
    }
}
