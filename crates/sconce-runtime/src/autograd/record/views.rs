//! Views of tensors, and gradients of what is written through them.
//!
//! Whatever changes a view changes its base: the base then comes from a node that puts the view's new
//! elements into the old ones, and every view of it from one that shows the new base. Both know the
//! view by the places of its elements among the base's. Whether a tensor requires a gradient, and where that goes, is
//! therefore asked here.

use std::rc::Rc;
use std::sync::LazyLock;

use sconce_ir::Schema;
use sconce_kernels as kernels;
use sconce_kernels::{DType, Tensor};

use crate::autograd::graph::{self, AutogradMeta, Edge, Origin, Source, View};
use crate::autograd::record;
use crate::error::{Raise, kernel};
use crate::op_context::OpContext;
use crate::value::IValue;

type Result<T> = std::result::Result<T, Raise>;

/// Records that a tensor shows elements of another one, if it does.
pub(crate) fn record_view(tensor: &Tensor, of: &Tensor) {
    if tensor.is(of) || !tensor.storage().ptr_eq(of.storage()) {
        return;
    }
    let shown = graph::meta(of).and_then(|meta| meta.view.borrow().clone());
    let base = shown.map_or_else(|| of.clone(), |view| view.base);
    let seen = graph::meta_of(&base).changes.get();
    *graph::meta_of(tensor).view.borrow_mut() = Some(View { base, seen });
}

/// `Tensor.requires_grad`.
pub(crate) fn requires_grad(tensor: &Tensor) -> bool {
    graph::meta(tensor).is_some_and(|meta| match changed_base(&meta) {
        Some(base) => requires_grad(&base),
        None => meta.is_wanted.get() || meta.origin.borrow().is_some(),
    })
}

/// Where the gradient of a tensor goes; `None` where none is asked for.
pub(crate) fn edge(
    context: &mut dyn OpContext,
    tensor: &Tensor,
    argument: usize,
    item: usize,
) -> Result<Option<Edge>> {
    let Some(meta) = graph::meta(tensor) else { return Ok(None) };
    refresh(context, tensor, &meta)?;
    let source = match &*meta.origin.borrow() {
        Some(origin) => Source::Node(Rc::clone(&origin.node), origin.output),
        None if meta.is_wanted.get() => Source::Leaf(Rc::clone(&meta)),
        None => return Ok(None),
    };
    let (sizes, dtype) = (tensor.sizes().into(), tensor.dtype());
    Ok(Some(Edge { argument, item, source, sizes, dtype }))
}

/// The base of a view that has another origin since the view's was found.
pub(crate) fn changed_base(meta: &AutogradMeta) -> Option<Tensor> {
    let view = meta.view.borrow();
    let View { base, seen } = view.as_ref()?;
    let changes = graph::meta(base).map_or(0, |meta| meta.changes.get());
    (changes != *seen).then(|| base.clone())
}

/// Refuses to change what gradients are asked for.
pub(crate) fn check_may_change(target: &Tensor) -> Result<()> {
    let Some(meta) = graph::meta(target) else { return Ok(()) };
    if meta.is_wanted.get() {
        let message = "a leaf Variable that requires grad is being used in an in-place operation.";
        return Err(Raise::message(message));
    }
    let view = meta.view.borrow();
    let base = view.as_ref().and_then(|view| graph::meta(&view.base));
    if base.is_some_and(|base| base.is_wanted.get()) {
        let message =
            "a view of a leaf Variable that requires grad is being used in an in-place operation.";
        return Err(Raise::message(message));
    }
    Ok(())
}

/// Finds the origin of a view anew where its base has another one.
pub(crate) fn refresh(
    context: &mut dyn OpContext,
    tensor: &Tensor,
    meta: &Rc<AutogradMeta>,
) -> Result<()> {
    let Some(base) = changed_base(meta) else { return Ok(()) };
    let origin = match requires_grad(&base) {
        false => None,
        true => Some(node(context, &base, tensor, &Between::Show)?),
    };
    *meta.origin.borrow_mut() = origin;
    if let Some(view) = meta.view.borrow_mut().as_mut() {
        view.seen = graph::meta_of(&base).changes.get();
    }
    Ok(())
}

/// Records that a tensor has been changed, by what.
pub(crate) fn change_origin(
    context: &mut dyn OpContext,
    target: &Tensor,
    origin: Option<Origin>,
) -> Result<()> {
    let meta = graph::meta_of(target);
    let view = meta.view.borrow().clone();
    let (changed, origin) = match view {
        None => (meta, origin),
        Some(view) => {
            let is_wanted = origin.is_some() || requires_grad(&view.base);
            let put = Between::Put(origin);
            let origin = match is_wanted {
                true => Some(node(context, &view.base, target, &put)?),
                false => None,
            };
            (graph::meta_of(&view.base), origin)
        }
    };
    *changed.origin.borrow_mut() = origin;
    changed.changes.set(changed.changes.get().wrapping_add(1));
    Ok(())
}

/// What a node between a base and a view of it does: operators that only the table of derivatives knows.
static SHOW: LazyLock<Option<Schema>> =
    LazyLock::new(|| Schema::parse("sconce::show_view(Tensor base, Tensor places) -> Tensor").ok());
static PUT: LazyLock<Option<Schema>> = LazyLock::new(|| {
    Schema::parse("sconce::put_view(Tensor base, Tensor places, Tensor view) -> Tensor").ok()
});

/// What a node does.
enum Between {
    /// It shows the view of the base.
    Show,
    /// It puts the view into the base: what made the view, if that was recorded.
    Put(Option<Origin>),
}

/// A node between a base and a view of it.
fn node(
    context: &mut dyn OpContext,
    base: &Tensor,
    view: &Tensor,
    does: &Between,
) -> Result<Origin> {
    if base.dtype() != view.dtype() {
        return Err(Raise::unsupported(
            "the gradient of what is changed through a view of another dtype",
        ));
    }
    let schema = match does {
        Between::Show => &SHOW,
        Between::Put(_) => &PUT,
    };
    let known = record::known_here(context, schema.as_ref())?;
    let mut edges: Vec<Edge> = edge(context, base, 0, 0)?.into_iter().collect();
    if let Between::Put(Some(Origin { node, output })) = does {
        let source = Source::Node(Rc::clone(node), *output);
        let (sizes, dtype) = (view.sizes().into(), view.dtype());
        edges.push(Edge { argument: 2, item: 0, source, sizes, dtype });
    }
    let places = places(base, view).map_err(kernel)?;
    let [base, view] = [base, view].map(|tensor| IValue::Tensor(tensor.alias()));
    let result = match does {
        Between::Show => view,
        Between::Put(_) => base.clone(),
    };
    let operands = [base, IValue::Tensor(places), IValue::None].into_iter().collect();
    let node = record::node(context, &known, edges, operands, &result);
    Ok(Origin { node: Rc::new(node), output: 0 })
}

/// For each element of a view, which of the base's it is, counted in row-major order.
fn places(base: &Tensor, view: &Tensor) -> kernels::Result<Tensor> {
    let reach = base.sizes().iter().zip(base.strides());
    let reach: i64 = reach.map(|(&size, &stride)| (size - 1).max(0) * stride).sum();
    let in_memory = Tensor::zeros(&[reach + 1], DType::Int64)?;
    let counted = kernels::arange(0.into(), base.numel().into(), 1.into(), Some(DType::Int64))?;
    let of_base = in_memory.as_strided(base.sizes(), base.strides(), Some(0))?;
    of_base.copy_from(&counted.view(base.sizes())?)?;
    let start = view.offset() - base.offset();
    in_memory.as_strided(view.sizes(), view.strides(), Some(start))?.copy()
}
