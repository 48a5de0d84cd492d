//! The methods of the custom classes that come with PyTorch.
//!
//! An archive names these classes and holds no code of theirs; what their methods take and give is
//! compiled into PyTorch. Of the classes that other libraries bring nothing is known but the name.

use std::sync::Arc;

use sconce_ir::{Argument, Class, ClassId, Function, Schema, Type, Unit};

/// What the names of custom classes begin with.
pub(crate) const PREFIX: &str = "__torch__.torch.classes.";

/// The methods' schemas by class, as torch 2.15 has them (`_jit_get_custom_class_schemas`), without
/// `self`.
const METHODS: &[(&str, &[&str])] = &[
    (
        "quantized.LinearPackedParamsBase",
        &[
            "__getstate__() -> ((Tensor, Tensor?))",
            "__setstate__((Tensor, Tensor?) _1) -> NoneType",
            "bias() -> Tensor?",
            "unpack() -> ((Tensor, Tensor?))",
        ],
    ),
    ("quantized.Conv2dPackedParamsBase", CONVOLUTION),
    ("quantized.Conv3dPackedParamsBase", CONVOLUTION),
    (
        "quantized.EmbeddingPackedParamsBase",
        &[
            "__getstate__() -> ((int, Tensor[], float[], int[]))",
            "__setstate__((int, Tensor[], float[], int[]) _1) -> NoneType",
            "bit_rate() -> int",
            "unpack() -> Tensor",
            "version() -> int",
        ],
    ),
    (
        "rnn.CellParamsBase",
        &[
            "__getstate__() -> ((str, Tensor[], float[], int[], \
             __torch__.torch.classes.quantized.LinearPackedParamsBase[]))",
            "__setstate__((str, Tensor[], float[], int[], \
             __torch__.torch.classes.quantized.LinearPackedParamsBase[]) _1) -> NoneType",
        ],
    ),
    (
        "_nnapi.Compilation",
        &[
            "__init__() -> NoneType",
            "init(Tensor _1, Tensor[] _2) -> NoneType",
            "init2(Tensor _1, Tensor[] _2, int _3, bool _4) -> NoneType",
            "run(Tensor[] _1, Tensor[] _2) -> NoneType",
        ],
    ),
    (
        "cuda.Stream",
        &[
            "__init__(Device? device=None, int priority=0) -> NoneType",
            "device_getter() -> Device",
            "device_index() -> int",
            "id() -> int",
            "query() -> bool",
            "record_event(__torch__.torch.classes.cuda.Event _1) -> \
             __torch__.torch.classes.cuda.Event",
            "synchronize() -> NoneType",
            "wait_event(__torch__.torch.classes.cuda.Event _1) -> NoneType",
            "wait_stream(__torch__.torch.classes.cuda.Stream _1) -> NoneType",
        ],
    ),
    (
        "cuda.Event",
        &[
            "__init__(bool enable_timing=False, bool blocking=False, bool interprocess=False) -> \
             NoneType",
            "elapsed_time(__torch__.torch.classes.cuda.Event _1) -> float",
            "query() -> bool",
            "record(__torch__.torch.classes.cuda.Stream _1) -> NoneType",
            "synchronize() -> NoneType",
            "wait(__torch__.torch.classes.cuda.Stream _1) -> NoneType",
        ],
    ),
];

const CONVOLUTION: &[&str] = &[
    "__getstate__() -> ((str, Tensor[], Tensor?[]))",
    "__setstate__(Any _1) -> NoneType",
    "bias() -> Tensor?",
    "dilation() -> int[]",
    "groups() -> int",
    "output_padding() -> int[]",
    "padding() -> int[]",
    "stride() -> int[]",
    "transpose() -> bool",
    "unpack() -> ((Tensor, Tensor?))",
    "weight() -> Tensor",
];

/// Adds a custom class with the methods that it is known to have.
pub(crate) fn add(unit: &mut Unit, name: &str) -> Type {
    let (id, ty) = unit.add_class(Class { is_torchbind: true, ..Class::new(name) });
    let known = METHODS.iter().find(|(class, _)| name.strip_prefix(PREFIX) == Some(class));
    for text in known.map_or(&[][..], |(_, schemas)| schemas) {
        if let Ok(schema) = Schema::parse(text) {
            add_method(unit, id, &ty, schema);
        }
    }
    ty
}

fn add_method(unit: &mut Unit, class: ClassId, ty: &Type, mut schema: Schema) {
    let name = Arc::clone(&schema.name);
    schema.arguments.insert(0, Argument::new("self", ty.clone()));
    let qualified_name = format!("{}.{name}", unit.class(class).name).into();
    let function =
        Function { qualified_name, class: Some(class), schema: Arc::new(schema), graph: None };
    let method = unit.add_function(function);
    unit.class_mut(class).methods.push(method);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_reads() {
        for (class, schemas) in METHODS {
            let mut unit = Unit::new();
            add(&mut unit, &format!("{PREFIX}{class}"));
            assert_eq!(unit.class(ClassId(0)).methods.len(), schemas.len(), "{class}");
        }
    }
}
