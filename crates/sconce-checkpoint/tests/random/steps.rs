//! What random checkpoints are made from: a step adds an object or changes one.

use proptest::prelude::*;

/// One object more; numbers pick from those that are there.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    None,
    Bool(bool),
    Int(i64),
    BigInt(Vec<u8>),
    Float(f64),
    Complex(f64, f64),
    Str(String),
    Surrogate(u16, String),
    Bytes(Vec<u8>),
    ByteArray(Vec<u8>),
    Class(usize),
    Name(usize),
    DType(usize),
    Size(Vec<u32>),
    Device(usize),
    Layout(usize),
    Tuple(Vec<usize>),
    List(Vec<usize>),
    Dict(DictClass, Vec<usize>),
    Set(Vec<usize>, bool),
    Instance(bool, usize, Vec<usize>),
    Keywords(usize, Vec<usize>, Vec<usize>),
    Storage(usize),
    Tensor(View),
    Parameter(View, bool),
    Subclass(View, usize),
    Quantized(View, bool),
    Coo(u8, Option<bool>, bool),
    Compressed(usize, bool),
    Nested(u8),
    Meta(usize, Vec<u8>),
    NumpyDType(usize),
    Array(Array),
    ObjectArray(Vec<usize>, bool),
    Scalar(usize, Vec<u8>),
    Append(usize, Vec<usize>),
    SetItems(usize, Vec<usize>),
    Build(usize, usize),
}

impl Step {
    /// Whether it is an array in the other byte order: numpy gives it its own dtype when it is read,
    /// as scalars have, and a copy of that when it is read again. The second file is then the first
    /// that stays as it is.
    pub(crate) fn is_swapped(&self) -> bool {
        matches!(self, Step::Array(Array { form: ArrayForm::BigEndian, .. }))
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum DictClass {
    Dict,
    Ordered,
    Counter,
    Default,
}

/// A view of one of the storages.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(super) storage: usize,
    pub(super) offset: u8,
    pub(super) sizes: Vec<u8>,
    pub(super) transposed: bool,
    pub(super) conj: bool,
    pub(super) neg: bool,
}

/// An array of numpy's.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub(super) dtype: usize,
    /// Whether its dtype is an object that stands elsewhere too, where there is one.
    pub(super) shares_dtype: bool,
    pub(super) sizes: Vec<u8>,
    pub(super) fortran: bool,
    pub(super) form: ArrayForm,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ArrayForm {
    State,
    /// Elements are in the other byte order.
    BigEndian,
    /// Of a class derived from `numpy.ndarray`.
    Matrix,
    Bytes,
    ByteArray,
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let some = || prop::collection::vec(any::<usize>(), 0..5);
    let at = any::<usize>;
    let text = || prop_oneof![3 => "[a-zé日]{0,3}", 1 => "[a-z]{250,260}"];
    let bytes = |range| prop::collection::vec(any::<u8>(), range);
    let leaves = prop_oneof![
        Just(Step::None),
        any::<bool>().prop_map(Step::Bool),
        prop_oneof![any::<i64>(), -300..300i64, Just(1 << 31), Just(-(1 << 31))]
            .prop_map(Step::Int),
        prop_oneof![bytes(9..20), bytes(254..258)].prop_map(Step::BigInt),
        any::<f64>().prop_map(Step::Float),
        any::<(f64, f64)>().prop_map(|(re, im)| Step::Complex(re, im)),
        text().prop_map(Step::Str),
        (0xd800u16..0xe000, text()).prop_map(|(lone, text)| Step::Surrogate(lone, text)),
        prop_oneof![bytes(0..3), bytes(250..260)].prop_map(Step::Bytes),
        prop_oneof![bytes(0..3), bytes(250..260)].prop_map(Step::ByteArray),
        at().prop_map(Step::Class),
        at().prop_map(Step::Name),
    ];
    let torchs = prop_oneof![
        at().prop_map(Step::DType),
        prop::collection::vec(any::<u32>(), 0..4).prop_map(Step::Size),
        at().prop_map(Step::Device),
        at().prop_map(Step::Layout),
        at().prop_map(Step::Storage),
        (at(), bytes(0..4)).prop_map(|(dtype, sizes)| Step::Meta(dtype, sizes)),
        any::<(u8, Option<bool>, bool)>().prop_map(|(nnz, coalesced, has_data)| Step::Coo(
            nnz % 4,
            coalesced,
            has_data
        )),
        (at(), any::<bool>()).prop_map(|(layout, has_data)| Step::Compressed(layout, has_data)),
        (1..3u8).prop_map(Step::Nested),
    ];
    let numpys = prop_oneof![
        at().prop_map(Step::NumpyDType),
        array().prop_map(Step::Array),
        (some(), any::<bool>()).prop_map(|(items, column)| Step::ObjectArray(items, column)),
        (at(), bytes(16..17)).prop_map(|(dtype, data)| Step::Scalar(dtype, data)),
    ];
    let tensors = prop_oneof![
        4 => view().prop_map(Step::Tensor),
        1 => (view(), any::<bool>()).prop_map(|(view, grad)| Step::Parameter(view, grad)),
        1 => (view(), at()).prop_map(|(view, state)| Step::Subclass(view, state)),
        1 => (view(), any::<bool>()).prop_map(|(view, channels)| Step::Quantized(view, channels)),
    ];
    let dict = prop_oneof![
        Just(DictClass::Dict),
        Just(DictClass::Ordered),
        Just(DictClass::Counter),
        Just(DictClass::Default),
    ];
    let containers = prop_oneof![
        some().prop_map(Step::Tuple),
        some().prop_map(Step::List),
        (dict, some()).prop_map(|(class, entries)| Step::Dict(class, entries)),
        (some(), any::<bool>()).prop_map(|(items, frozen)| Step::Set(items, frozen)),
        (any::<bool>(), at(), some())
            .prop_map(|(new, class, args)| Step::Instance(new, class, args)),
        (at(), some(), some()).prop_map(|(class, args, more)| Step::Keywords(class, args, more)),
    ];
    let changes = prop_oneof![
        (at(), some()).prop_map(|(at, items)| Step::Append(at, items)),
        (at(), some()).prop_map(|(at, items)| Step::SetItems(at, items)),
        (at(), at()).prop_map(|(at, state)| Step::Build(at, state)),
    ];
    prop_oneof![
        3 => leaves,
        2 => torchs,
        3 => tensors,
        1 => numpys,
        3 => containers,
        2 => changes,
    ]
}

fn array() -> impl Strategy<Value = Array> {
    let sizes = prop::collection::vec(0..4u8, 0..4);
    let form = prop_oneof![
        Just(ArrayForm::State),
        Just(ArrayForm::BigEndian),
        Just(ArrayForm::Matrix),
        Just(ArrayForm::Bytes),
        Just(ArrayForm::ByteArray),
    ];
    (any::<usize>(), any::<bool>(), sizes, any::<bool>(), form).prop_map(
        |(dtype, shares_dtype, sizes, fortran, form)| Array {
            dtype,
            shares_dtype,
            sizes,
            fortran,
            form,
        },
    )
}

fn view() -> impl Strategy<Value = View> {
    let sizes = prop::collection::vec(0..4u8, 0..4);
    (any::<usize>(), 0..20u8, sizes, any::<(bool, bool, bool)>()).prop_map(
        |(storage, offset, sizes, (transposed, conj, neg))| View {
            storage,
            offset,
            sizes,
            transposed,
            conj,
            neg,
        },
    )
}
