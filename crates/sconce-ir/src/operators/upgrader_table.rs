//! What older archives meant by operators that have changed since: the upgraders.
//!
//! PyTorch keeps this table in `torch/csrc/jit/operator_upgraders`; the bodies here are written for
//! sconce and equal to its in what they do.

/// The operator version of graphs made today.
pub const CURRENT_VERSION: u32 = 10;

/// How a call of an operator is to be read in archives made before it changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upgrader {
    /// The operator's full name, such as `aten::div.Tensor`.
    pub operator: &'static str,
    /// The first archive version that means the operator of today.
    pub bumped_at: u32,
    /// The schema that it had before.
    pub old_schema: &'static str,
    /// The name of the function to call in its place.
    pub name: &'static str,
    /// That function in TorchScript.
    pub source: &'static str,
}

impl Upgrader {
    /// Whether it is for archives of this version.
    pub fn applies_to(&self, version: u32) -> bool {
        version < self.bumped_at
    }
}

/// The upgrader of an operator, by its full name, for archives of a version.
pub fn upgrader(operator: &str, version: u32) -> Option<&'static Upgrader> {
    upgraders_of(operator).iter().find(|upgrader| upgrader.applies_to(version))
}

/// Every upgrader of an operator, by its full name.
pub fn upgraders_of(operator: &str) -> &'static [Upgrader] {
    let start = UPGRADERS.partition_point(|upgrader| upgrader.operator < operator);
    let end = UPGRADERS.partition_point(|upgrader| upgrader.operator <= operator);
    &UPGRADERS[start..end]
}

/// The whole table, in the order of the operators' full names.
pub fn upgraders() -> &'static [Upgrader] {
    UPGRADERS
}

/// The archive version that a call of an operator, by its full name, asks for when it is saved: 4
/// for division, 5 for `full`, and for any other of the table the version in which it last changed.
/// `None` when any version will do.
pub fn version_needed(operator: &str) -> Option<u32> {
    let last = upgraders_of(operator).last()?;
    let symbol = operator.split('.').next().unwrap_or(operator);
    let legacy = LEGACY_VERSIONS.iter().find(|(known, _)| *known == symbol);
    Some(legacy.map_or(last.bumped_at, |(_, version)| *version))
}

/// The versions that PyTorch counts by symbol, as it did before the table of upgraders.
const LEGACY_VERSIONS: &[(&str, u32)] = &[("aten::div", 4), ("aten::div_", 4), ("aten::full", 5)];

/// The table, sorted by operator.
const UPGRADERS: &[Upgrader] = &[
    Upgrader {
        operator: "aten::div.Scalar",
        bumped_at: 4,
        old_schema: "aten::div.Scalar(Tensor self, Scalar other) -> Tensor",
        name: "div_Scalar_0_3",
        source: r#"def div_Scalar_0_3(self: Tensor, other: number) -> Tensor:
  if (self.is_floating_point() or isinstance(other, float)):
    return self.true_divide(other)
  return self.divide(other, rounding_mode="trunc")
"#,
    },
    Upgrader {
        operator: "aten::div.Scalar_mode",
        bumped_at: 4,
        old_schema: "aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
        name: "div_Scalar_mode_0_3",
        source: r#"def div_Scalar_mode_0_3(self: Tensor, other: number, *, rounding_mode: Optional[str]=None) -> Tensor:
  return self.divide(other, rounding_mode=rounding_mode)
"#,
    },
    Upgrader {
        operator: "aten::div.Tensor",
        bumped_at: 4,
        old_schema: "aten::div.Tensor(Tensor self, Tensor other) -> Tensor",
        name: "div_Tensor_0_3",
        source: r#"def div_Tensor_0_3(self: Tensor, other: Tensor) -> Tensor:
  if (self.is_floating_point() or other.is_floating_point()):
    return self.true_divide(other)
  return self.divide(other, rounding_mode="trunc")
"#,
    },
    Upgrader {
        operator: "aten::div.Tensor_mode",
        bumped_at: 4,
        old_schema: "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
        name: "div_Tensor_mode_0_3",
        source: r#"def div_Tensor_mode_0_3(self: Tensor, other: Tensor, *, rounding_mode: Optional[str]=None) -> Tensor:
  return self.divide(other, rounding_mode=rounding_mode)
"#,
    },
    Upgrader {
        operator: "aten::div.out",
        bumped_at: 4,
        old_schema: "aten::div.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
        name: "div_out_0_3",
        source: r#"def div_out_0_3(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
  if (self.is_floating_point() or other.is_floating_point() or out.is_floating_point()):
    return self.true_divide(other, out=out)
  return self.divide(other, rounding_mode="trunc", out=out)
"#,
    },
    Upgrader {
        operator: "aten::div.out_mode",
        bumped_at: 4,
        old_schema: "aten::div.out_mode(Tensor self, Tensor other, *, str? rounding_mode, Tensor(a!) out) -> Tensor(a!)",
        name: "div_out_mode_0_3",
        source: r#"def div_out_mode_0_3(self: Tensor, other: Tensor, *, rounding_mode: Optional[str]=None, out: Tensor) -> Tensor:
  return self.divide(other, rounding_mode=rounding_mode, out=out)
"#,
    },
    Upgrader {
        operator: "aten::div_.Scalar",
        bumped_at: 4,
        old_schema: "aten::div_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
        name: "div__Scalar_0_3",
        source: r#"def div__Scalar_0_3(self: Tensor, other: number) -> Tensor:
  if (self.is_floating_point() or isinstance(other, float)):
    return self.true_divide_(other)
  return self.divide_(other, rounding_mode="trunc")
"#,
    },
    Upgrader {
        operator: "aten::div_.Scalar_mode",
        bumped_at: 4,
        old_schema: "aten::div_.Scalar_mode(Tensor(a!) self, Scalar other, *, str? rounding_mode) -> Tensor(a!)",
        name: "div__Scalar_mode_0_3",
        source: r#"def div__Scalar_mode_0_3(self: Tensor, other: number, *, rounding_mode: Optional[str]=None) -> Tensor:
  return self.divide_(other, rounding_mode=rounding_mode)
"#,
    },
    Upgrader {
        operator: "aten::div_.Tensor",
        bumped_at: 4,
        old_schema: "aten::div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
        name: "div__Tensor_0_3",
        source: r#"def div__Tensor_0_3(self: Tensor, other: Tensor) -> Tensor:
  if (self.is_floating_point() or other.is_floating_point()):
    return self.true_divide_(other)
  return self.divide_(other, rounding_mode="trunc")
"#,
    },
    Upgrader {
        operator: "aten::div_.Tensor_mode",
        bumped_at: 4,
        old_schema: "aten::div_.Tensor_mode(Tensor(a!) self, Tensor other, *, str? rounding_mode) -> Tensor(a!)",
        name: "div__Tensor_mode_0_3",
        source: r#"def div__Tensor_mode_0_3(self: Tensor, other: Tensor, *, rounding_mode: Optional[str]=None) -> Tensor:
  return self.divide_(other, rounding_mode=rounding_mode)
"#,
    },
    Upgrader {
        operator: "aten::full",
        bumped_at: 5,
        old_schema: "aten::full(int[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        name: "full_0_4",
        source: r#"def full_0_4(size: List[int], fill_value: number, *,
    dtype: Optional[int]=None, layout: Optional[int]=None,
    device: Optional[Device]=None, pin_memory: Optional[bool]=None) -> Tensor:
  if dtype is None:
    fill_value = float(fill_value)
  return torch.full(size, fill_value, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
"#,
    },
    Upgrader {
        operator: "aten::full.out",
        bumped_at: 5,
        old_schema: "aten::full.out(int[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)",
        name: "full_out_0_4",
        source: r#"def full_out_0_4(size: List[int], fill_value: number, *, out: Tensor) -> Tensor:
  return torch.full(size, fill_value, out=out)
"#,
    },
    Upgrader {
        operator: "aten::gelu",
        bumped_at: 10,
        old_schema: "aten::gelu(Tensor self) -> Tensor",
        name: "gelu_0_9",
        source: r#"def gelu_0_9(self: Tensor) -> Tensor:
  return torch.gelu(self, approximate="none")
"#,
    },
    Upgrader {
        operator: "aten::gelu.out",
        bumped_at: 10,
        old_schema: "aten::gelu.out(Tensor self, *, Tensor(a!) out) -> Tensor",
        name: "gelu_out_0_9",
        source: r#"def gelu_out_0_9(self: Tensor, *, out: Tensor) -> Tensor:
  return torch.gelu(self, approximate="none", out=out)
"#,
    },
    Upgrader {
        operator: "aten::linspace",
        bumped_at: 8,
        old_schema: "aten::linspace(Scalar start, Scalar end, int? steps=None, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        name: "linspace_0_7",
        source: r#"def linspace_0_7(start: Union[int, float, complex], end: Union[int, float, complex], steps: Optional[int], *,
    dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]):
  if steps is None:
    return torch.linspace(start=start, end=end, steps=100, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
  return torch.linspace(start=start, end=end, steps=steps, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
"#,
    },
    Upgrader {
        operator: "aten::linspace.out",
        bumped_at: 8,
        old_schema: "aten::linspace.out(Scalar start, Scalar end, int? steps=None, *, Tensor(a!) out) -> Tensor(a!)",
        name: "linspace_out_0_7",
        source: r#"def linspace_out_0_7(start: Union[int, float, complex], end: Union[int, float, complex], steps: Optional[int], *, out: Tensor):
  if steps is None:
    return torch.linspace(start=start, end=end, steps=100, out=out)
  return torch.linspace(start=start, end=end, steps=steps, out=out)
"#,
    },
    Upgrader {
        operator: "aten::logspace",
        bumped_at: 9,
        old_schema: "aten::logspace(Scalar start, Scalar end, int? steps=None, float base=10.0, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        name: "logspace_0_8",
        source: r#"def logspace_0_8(start: Union[int, float, complex], end: Union[int, float, complex], steps: Optional[int], base: float, *,
    dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]):
  if steps is None:
    return torch.logspace(start=start, end=end, steps=100, base=base, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
  return torch.logspace(start=start, end=end, steps=steps, base=base, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
"#,
    },
    Upgrader {
        operator: "aten::logspace.out",
        bumped_at: 9,
        old_schema: "aten::logspace.out(Scalar start, Scalar end, int? steps=None, float base=10.0, *, Tensor(a!) out) -> Tensor(a!)",
        name: "logspace_out_0_8",
        source: r#"def logspace_out_0_8(start: Union[int, float, complex], end: Union[int, float, complex], steps: Optional[int], base: float, *, out: Tensor):
  if steps is None:
    return torch.logspace(start=start, end=end, steps=100, base=base, out=out)
  return torch.logspace(start=start, end=end, steps=steps, base=base, out=out)
"#,
    },
];
