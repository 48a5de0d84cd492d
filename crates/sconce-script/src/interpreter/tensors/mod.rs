//! Tensors: their attributes and methods, and which of their numbers are known.
//!
//! What is random, or was never set, has sizes and a dtype but no numbers: it holds zeros that
//! nobody is shown. Tensors over one storage have one family, and a family is known or is not.

pub(super) mod programs;

use sconce_kernels::Tensor;
use sconce_runtime::IValue;
use sconce_tensor::DType;

use super::arguments::Keywords;
use super::control_flow::{Outcome, refuse};
use super::value::{Cell, Id, TensorCell, Value};
use super::{Attributes, Interpreter};
use programs::Program;
use sconce_ir::operators;

/// Functions whose numbers are not known, and what is called in their place: random numbers need
/// not be made when nobody can use them.
const UNKNOWN_FUNCTIONS: &[(&str, &str)] = &[
    ("torch.empty", "torch.empty"),
    ("torch.rand", "torch.empty"),
    ("torch.randn", "torch.empty"),
    ("torch.empty_like", "torch.empty_like"),
    ("torch.rand_like", "torch.empty_like"),
    ("torch.randn_like", "torch.empty_like"),
    ("torch.randint", "torch.randint"),
    ("torch.randint_like", "torch.randint_like"),
    ("torch.randperm", "torch.randperm"),
    ("torch.normal", "torch.normal"),
    ("torch.bernoulli", "torch.bernoulli"),
    ("torch.multinomial", "torch.multinomial"),
    ("torch.poisson", "torch.poisson"),
    ("torch.binomial", "torch.binomial"),
    ("torch._standard_gamma", "torch._standard_gamma"),
    ("torch._sample_dirichlet", "torch._sample_dirichlet"),
    ("torch.empty_strided", "torch.empty_strided"),
];

/// Methods that fill with random numbers.
const RANDOM_METHODS: &[&str] = &[
    "bernoulli_",
    "cauchy_",
    "exponential_",
    "geometric_",
    "log_normal_",
    "normal_",
    "random_",
    "uniform_",
    "trunc_normal_",
];

/// Methods that make tensors without numbers.
const UNKNOWN_METHODS: &[&str] = &["new_empty", "new_empty_strided", "bernoulli", "multinomial"];

/// Methods after which nothing of the tensor's old numbers is left.
const OVERWRITING: &[&str] = &["zero_", "fill_", "copy_"];

/// Methods that make nothing of a tensor but itself on another device.
const SAME: &[&str] = &[
    "cpu",
    "cuda",
    "contiguous",
    "detach",
    "detach_",
    "share_memory_",
    "requires_grad_",
    "register_hook",
];

/// Attributes that need no numbers and are computed by a program.
const COMPUTED: &[&str] = &["T", "mT", "H", "mH", "real", "imag"];

impl Interpreter<'_> {
    /// A tensor as a value. `is_known` where it shares no storage with what it was made of.
    fn new_tensor(
        &mut self,
        tensor: Tensor,
        family: Option<u32>,
        is_known: bool,
    ) -> Outcome<Value> {
        let family = match family {
            Some(family) => family,
            None => {
                self.spend_tensor(tensor.storage().nbytes())?;
                self.known.push(is_known);
                (self.known.len() - 1) as u32
            }
        };
        self.new_cell(Cell::Tensor(TensorCell {
            tensor,
            family,
            requires_grad: false,
            is_parameter: false,
            attributes: Attributes::default(),
        }))
    }

    /// A tensor of a checkpoint. Those over one storage are of one family.
    pub(super) fn imported_tensor(
        &mut self,
        tensor: Tensor,
        family: Option<u32>,
        requires_grad: bool,
        is_parameter: bool,
    ) -> Outcome<Value> {
        let made = self.new_tensor(tensor, family, true)?;
        if let Value::Ref(id) = made
            && let Some(cell) = self.arena.tensor_mut(id)
        {
            (cell.requires_grad, cell.is_parameter) = (requires_grad, is_parameter);
        }
        Ok(made)
    }

    /// Counts the bytes of a new storage, and what it takes to fill them.
    fn spend_tensor(&mut self, bytes: usize) -> Outcome<()> {
        self.tensor_bytes = self.tensor_bytes.saturating_add(bytes);
        self.made_tensor_bytes = self.made_tensor_bytes.saturating_add(bytes);
        self.steps = self.steps.saturating_add(bytes as u64 / 4096);
        self.check_bytes()
    }

    /// A tensor that a program gave: one of its arguments, a view of one, or a new one.
    pub(super) fn tensor_result(
        &mut self,
        program: &Program,
        tensor: Tensor,
        is_known: bool,
    ) -> Outcome<Value> {
        let mut family = None;
        for value in &program.tensors {
            let Some(cell) = self.arena.tensor(value) else { continue };
            if cell.tensor.is(&tensor) {
                return Ok(value.clone());
            }
            if cell.tensor.storage().ptr_eq(tensor.storage()) {
                family = Some(cell.family);
            }
        }
        self.new_tensor(tensor, family, is_known)
    }

    pub(super) fn is_known(&self, tensor: &TensorCell) -> bool {
        self.known.get(tensor.family as usize).copied().unwrap_or(false)
    }

    fn set_known(&mut self, family: u32, is_known: bool) {
        if let Some(known) = self.known.get_mut(family as usize) {
            *known = is_known;
        }
    }

    /// Whether all tensors of a program are known.
    fn all_known(&self, program: &Program) -> bool {
        program.tensors.iter().all(|value| match self.arena.tensor(value) {
            Some(cell) => self.is_known(cell),
            None => true,
        })
    }

    /// The value of `return BODY`.
    fn compute(&mut self, program: &Program, body: &str) -> Outcome<Value> {
        let result = self.run_program(program, &format!("return {body}"))?;
        let is_known = self.all_known(program);
        let gives_tensors = holds_tensors(&result);
        if !is_known && !gives_tensors && !is_about_sizes(body) {
            return refuse(UNKNOWN_NUMBERS);
        }
        self.program_result(program, result, is_known)
    }

    /// `torch.function(…)`, and `math.function(…)`.
    pub(super) fn call_torch(
        &mut self,
        name: &str,
        args: Vec<Value>,
        mut keywords: Keywords,
    ) -> Outcome<Value> {
        let unknown = UNKNOWN_FUNCTIONS.iter().find(|(known, _)| *known == name);
        let requires_grad = match take(&mut keywords, "requires_grad") {
            Some(value) => self.truth(&value)?,
            None => false,
        };
        for ignored in ["generator", "pin_memory", "layout", "memory_format"] {
            take(&mut keywords, ignored);
        }
        self.check_device(&keywords)?;
        take(&mut keywords, "device");
        let name = match name {
            "torch.as_tensor" | "torch.asarray" => "torch.tensor",
            "torch.LongTensor" | "torch.FloatTensor" | "torch.Tensor" | "torch.IntTensor" => {
                return self.legacy_tensor(name, args);
            }
            other => unknown.map_or(other, |(_, called)| *called),
        };
        if !is_function(name) {
            return match self.execution.is_some() {
                true => self.call_not_here(name, &args, &keywords),
                false => self.unknown_function(name),
            };
        }
        if name == "torch.tensor"
            && let Some(first) = args.first()
            && self.arena.tensor(first).is_some()
        {
            let first = first.clone();
            return self.tensor_method(&first, "clone", Vec::new(), Vec::new());
        }
        let mut program = Program::default();
        let parts = self.program_arguments(&mut program, &args, &keywords)?;
        let body = format!("{name}({parts})");
        let value = match unknown {
            None => self.compute(&program, &body)?,
            Some(_) => {
                let result = self.run_program(&program, &format!("return {body}"))?;
                self.program_result(&program, result, false)?
            }
        };
        if requires_grad
            && let Value::Ref(id) = value
            && let Some(tensor) = self.arena.tensor_mut(id)
        {
            tensor.requires_grad = true;
        }
        Ok(value)
    }

    fn program_arguments(
        &mut self,
        program: &mut Program,
        args: &[Value],
        keywords: &Keywords,
    ) -> Outcome<String> {
        let mut parts = Vec::with_capacity(args.len() + keywords.len());
        for arg in args {
            parts.push(self.program_argument(program, arg)?);
        }
        for (name, value) in keywords {
            parts.push(format!("{name}={}", self.program_argument(program, value)?));
        }
        Ok(parts.join(", "))
    }

    /// Tensors are made on the CPU; another device is a label that only Python could follow.
    fn check_device(&mut self, keywords: &Keywords) -> Outcome<()> {
        let Some((_, device)) = keywords.iter().find(|(name, _)| &**name == "device") else {
            return Ok(());
        };
        match device {
            Value::None => Ok(()),
            Value::Device(name) | Value::Str(name) if &**name == "cpu" => Ok(()),
            _ => refuse("constructors make tensors on the CPU only"),
        }
    }

    /// `torch.Tensor(…)`: sizes, or the numbers themselves.
    fn legacy_tensor(&mut self, name: &str, args: Vec<Value>) -> Outcome<Value> {
        let dtype = match name {
            "torch.LongTensor" => DType::Int64,
            "torch.IntTensor" => DType::Int32,
            _ => DType::Float32,
        };
        let keywords = vec![Self::keyword("dtype", Value::DType(dtype))];
        let is_data = args.len() == 1 && args.first().is_some_and(|arg| arg.as_int().is_none());
        match is_data {
            true => self.call_torch("torch.tensor", args, keywords),
            false if args.is_empty() => {
                self.call_torch("torch.empty", vec![Value::Int(0)], keywords)
            }
            false => self.call_torch("torch.empty", args, keywords),
        }
    }

    pub(super) fn new_parameter(&mut self, data: &Value, requires_grad: bool) -> Outcome<Value> {
        let (tensor, family) = match (data, self.arena.tensor(data)) {
            (_, Some(cell)) => (cell.tensor.clone(), Some(cell.family)),
            (Value::None, None) => {
                let made = self.call_torch("torch.empty", vec![Value::Int(0)], Vec::new())?;
                match self.arena.tensor(&made) {
                    Some(cell) => (cell.tensor.clone(), Some(cell.family)),
                    None => return refuse("no tensor"),
                }
            }
            _ => {
                let message = format!("Parameter() takes a tensor, not {}", self.type_name(data));
                return self.type_error(message);
            }
        };
        let is_differentiable = tensor.dtype().is_floating_point() || tensor.dtype().is_complex();
        if requires_grad && !is_differentiable {
            let message = "Only Tensors of floating point and complex dtype can require gradients";
            return self.raise("RuntimeError", message);
        }
        self.new_cell(Cell::Tensor(TensorCell {
            tensor,
            family: family.unwrap_or(0),
            requires_grad,
            is_parameter: true,
            attributes: Attributes::default(),
        }))
    }

    /// A copy with a storage of its own.
    pub(super) fn copied_tensor(&mut self, value: &Value) -> Outcome<Value> {
        let Some(cell) = self.arena.tensor(value).cloned() else { return refuse("no tensor") };
        let copy = match cell.tensor.copy() {
            Ok(copy) => copy,
            Err(error) => return refuse(error.message().to_owned()),
        };
        let made = self.new_tensor(copy, None, self.is_known(&cell))?;
        if let Value::Ref(id) = made
            && let Some(tensor) = self.arena.tensor_mut(id)
        {
            tensor.requires_grad = cell.requires_grad;
            tensor.is_parameter = cell.is_parameter;
            tensor.attributes = cell.attributes;
        }
        Ok(made)
    }

    /// `tensor.name`
    pub(super) fn tensor_attribute(&mut self, value: &Value, name: &str) -> Outcome<Option<Value>> {
        let Some(cell) = self.arena.tensor(value) else { return Ok(None) };
        if let Some(own) = cell.attributes.get(name) {
            return Ok(Some(own.clone()));
        }
        Ok(Some(match name {
            "shape" => {
                let sizes = cell.tensor.sizes().iter().map(|&size| Value::Int(size)).collect();
                self.new_tuple(sizes)?
            }
            "dtype" => Value::DType(cell.tensor.dtype()),
            "device" => Value::Device("cpu".into()),
            "ndim" => Value::Int(cell.tensor.dim() as i64),
            "requires_grad" => Value::Bool(cell.requires_grad),
            "is_leaf" => Value::Bool(true),
            "is_cuda" | "is_meta" | "is_sparse" | "is_quantized" => Value::Bool(false),
            "grad" | "grad_fn" => Value::None,
            "data" => {
                let (tensor, family) = (cell.tensor.clone(), cell.family);
                self.new_tensor(tensor, Some(family), true)?
            }
            name if COMPUTED.contains(&name) => {
                let mut program = Program::default();
                let tensor = self.program_argument(&mut program, value)?;
                self.compute(&program, &format!("{tensor}.{name}"))?
            }
            name if is_method(name) => {
                self.new_cell(Cell::BuiltinMethod(value.clone(), name.into()))?
            }
            _ => return Ok(None),
        }))
    }

    pub(super) fn set_tensor_attribute(&mut self, id: Id, name: &str, new: Value) -> Outcome<()> {
        match name {
            "requires_grad" => {
                let requires_grad = self.truth(&new)?;
                if let Some(tensor) = self.arena.tensor_mut(id) {
                    tensor.requires_grad = requires_grad;
                }
            }
            "data" => {
                let Some(other) = self.arena.tensor(&new).cloned() else {
                    return self.type_error("data is a tensor");
                };
                if let Some(tensor) = self.arena.tensor_mut(id) {
                    (tensor.tensor, tensor.family) = (other.tensor, other.family);
                }
            }
            "grad" => {}
            _ => {
                if let Some(tensor) = self.arena.tensor_mut(id) {
                    tensor.attributes.insert(name.into(), new);
                }
            }
        }
        Ok(())
    }

    pub(super) fn tensor_method(
        &mut self,
        value: &Value,
        name: &str,
        args: Vec<Value>,
        mut keywords: Keywords,
    ) -> Outcome<Value> {
        let Some(cell) = self.arena.tensor(value) else {
            let message = format!("'{name}' needs a tensor, not {}", self.type_name(value));
            return self.type_error(message);
        };
        for given in args.iter().chain(keywords.iter().map(|(_, value)| value)) {
            self.check_known(given)?;
        }
        if RANDOM_METHODS.contains(&name) {
            let family = cell.family;
            self.set_known(family, false);
            return Ok(value.clone());
        }
        if SAME.contains(&name) {
            return self.same_tensor(value, name, &args, &keywords);
        }
        match name {
            "size" if args.is_empty() => {
                return self.attribute(value, "shape");
            }
            "numel" | "nelement" => return Ok(Value::Int(cell.tensor.numel())),
            "dim" | "ndimension" => return Ok(Value::Int(cell.tensor.dim() as i64)),
            "is_floating_point" => {
                return Ok(Value::Bool(cell.tensor.dtype().is_floating_point()));
            }
            "is_contiguous" => return Ok(Value::Bool(cell.tensor.is_contiguous())),
            "tolist" => return self.tensor_list(value),
            "__len__" => return Ok(Value::Int(self.length(value)? as i64)),
            _ => {}
        }
        for ignored in ["generator", "non_blocking", "memory_format"] {
            take(&mut keywords, ignored);
        }
        self.check_device(&keywords)?;
        take(&mut keywords, "device");
        let args: Vec<Value> =
            args.into_iter().filter(|arg| !matches!(arg, Value::Device(_))).collect();
        if name == "to" && args.is_empty() && keywords.is_empty() {
            return Ok(value.clone());
        }
        let mut program = Program::default();
        let tensor = self.program_argument(&mut program, value)?;
        let parts = self.program_arguments(&mut program, &args, &keywords)?;
        let body = format!("{tensor}.{name}({parts})");
        if UNKNOWN_METHODS.contains(&name) {
            let result = self.run_program(&program, &format!("return {body}"))?;
            return self.program_result(&program, result, false);
        }
        if name.ends_with('_') && !name.starts_with('_') {
            return self.change(
                value,
                &program,
                &format!("return {body}"),
                OVERWRITING.contains(&name),
            );
        }
        self.compute(&program, &body)
    }

    /// What a program makes of its first tensor in place.
    fn change(
        &mut self,
        value: &Value,
        program: &Program,
        statements: &str,
        overwrites: bool,
    ) -> Outcome<Value> {
        let result = self.run_program(program, statements)?;
        let Some(cell) = self.arena.tensor(value).cloned() else { return refuse("no tensor") };
        let others = program.tensors.iter().skip(1);
        let others_known =
            others.filter_map(|value| self.arena.tensor(value)).all(|cell| self.is_known(cell));
        let item = cell.tensor.dtype().item_size();
        let is_whole = cell.tensor.numel().saturating_mul(item as i64)
            == cell.tensor.storage().nbytes() as i64;
        let before = self.is_known(&cell) || (overwrites && is_whole);
        self.set_known(cell.family, before && others_known);
        self.program_result(program, result, before && others_known)
    }

    fn same_tensor(
        &mut self,
        value: &Value,
        name: &str,
        args: &[Value],
        keywords: &Keywords,
    ) -> Outcome<Value> {
        let Value::Ref(id) = value else { return refuse("no tensor") };
        let Some(cell) = self.arena.tensor(value).cloned() else { return refuse("no tensor") };
        match name {
            "requires_grad_" => {
                let given = args.first().or(keywords.first().map(|(_, value)| value)).cloned();
                let requires_grad = match given {
                    Some(given) => self.truth(&given)?,
                    None => true,
                };
                self.set_tensor_attribute(*id, "requires_grad", Value::Bool(requires_grad))?;
                Ok(value.clone())
            }
            "detach" => self.new_tensor(cell.tensor, Some(cell.family), true),
            "contiguous" if !cell.tensor.is_contiguous() => {
                let known = self.is_known(&cell);
                match cell.tensor.contiguous() {
                    Ok(tensor) => self.new_tensor(tensor, None, known),
                    Err(error) => refuse(error.message().to_owned()),
                }
            }
            "register_hook" => Ok(Value::None),
            "cuda" => refuse("constructors make tensors on the CPU only"),
            _ => Ok(value.clone()),
        }
    }

    /// `left op right`, one of them a tensor.
    pub(super) fn tensor_binary(
        &mut self,
        op: &str,
        left: &Value,
        right: &Value,
    ) -> Outcome<Value> {
        let mut program = Program::default();
        let one = self.program_argument(&mut program, left)?;
        let other = self.program_argument(&mut program, right)?;
        self.compute(&program, &format!("{one} {op} {other}"))
    }

    /// `left op= right`
    pub(super) fn tensor_in_place(
        &mut self,
        op: &str,
        left: &Value,
        right: &Value,
    ) -> Outcome<Value> {
        let mut program = Program::default();
        let one = self.program_argument(&mut program, left)?;
        let other = self.program_argument(&mut program, right)?;
        let statements = format!("{one} {op}= {other}\n    return {one}");
        self.change(left, &program, &statements, false)
    }

    pub(super) fn tensor_unary(&mut self, op: &str, operand: &Value) -> Outcome<Value> {
        let mut program = Program::default();
        let operand = self.program_argument(&mut program, operand)?;
        self.compute(&program, &format!("{op}{operand}"))
    }

    /// `tensor[index]`
    pub(super) fn tensor_item(&mut self, base: &Value, index: &Value) -> Outcome<Value> {
        let mut program = Program::default();
        let tensor = self.program_argument(&mut program, base)?;
        let index = self.index_text(&mut program, index)?;
        self.compute(&program, &format!("{tensor}[{index}]"))
    }

    /// `tensor[index] = new`
    pub(super) fn set_tensor_item(
        &mut self,
        base: &Value,
        index: &Value,
        new: &Value,
    ) -> Outcome<()> {
        let mut program = Program::default();
        let tensor = self.program_argument(&mut program, base)?;
        let overwrites = match self.arena.cell(index) {
            Some(Cell::Slice(start, stop, step)) => {
                [start, stop, step].iter().all(|part| matches!(part, Value::None))
            }
            _ => matches!(index, Value::Ellipsis),
        };
        let index = self.index_text(&mut program, index)?;
        let new = self.program_argument(&mut program, new)?;
        let statements = format!("{tensor}[{index}] = {new}\n    return {tensor}");
        self.change(base, &program, &statements, overwrites).map(drop)
    }

    fn index_text(&mut self, program: &mut Program, index: &Value) -> Outcome<String> {
        if let Some(tuple) = self.arena.tuple(index) {
            let items = tuple.items.clone();
            let mut parts = Vec::with_capacity(items.len());
            for item in &items {
                parts.push(self.nested(|this| this.index_text(program, item))?);
            }
            return Ok(parts.join(", "));
        }
        if let Some(Cell::Slice(start, stop, step)) = self.arena.cell(index) {
            let parts = [start.clone(), stop.clone(), step.clone()];
            let mut texts = Vec::with_capacity(3);
            for part in &parts {
                texts.push(match part {
                    Value::None => String::new(),
                    part => self.program_argument(program, part)?,
                });
            }
            let [start, stop, step] = texts.as_slice() else { return refuse("no slice") };
            return Ok(match step.is_empty() {
                true => format!("{start}:{stop}"),
                false => format!("{start}:{stop}:{step}"),
            });
        }
        let text = self.program_argument(program, index)?;
        Ok(match self.arena.list(index) {
            Some(_) => format!("torch.tensor({text})"),
            None => text,
        })
    }

    /// The tensors along the first dimension.
    pub(super) fn tensor_items(&mut self, value: &Value) -> Outcome<Vec<Value>> {
        let length = self.length(value)?;
        self.spend_items(length)?;
        (0..length).map(|at| self.tensor_item(value, &Value::Int(at as i64))).collect()
    }

    fn tensor_list(&mut self, value: &Value) -> Outcome<Value> {
        let Some(cell) = self.arena.tensor(value) else { return refuse("no tensor") };
        if cell.tensor.dim() == 0 {
            return self.tensor_method(value, "item", Vec::new(), Vec::new());
        }
        let mut items = Vec::new();
        for item in self.tensor_items(value)? {
            items.push(self.nested(|this| this.tensor_list(&item))?);
        }
        self.new_list(items)
    }

    fn number_of(&mut self, value: &Value, function: &str) -> Outcome<Value> {
        let mut program = Program::default();
        let tensor = self.program_argument(&mut program, value)?;
        self.compute(&program, &format!("{function}({tensor})"))
    }

    pub(super) fn tensor_int(&mut self, value: &Value) -> Outcome<i64> {
        match self.number_of(value, "int")? {
            Value::Int(value) => Ok(value),
            _ => refuse("no int"),
        }
    }

    pub(super) fn tensor_float(&mut self, value: &Value) -> Outcome<f64> {
        match self.number_of(value, "float")? {
            Value::Float(value) => Ok(value),
            _ => refuse("no float"),
        }
    }

    pub(super) fn tensor_truth(&mut self, value: &Value) -> Outcome<bool> {
        match self.number_of(value, "bool")? {
            Value::Bool(value) => Ok(value),
            _ => refuse("no bool"),
        }
    }

    /// A tensor of float64, which stands for NumPy's array.
    pub(super) fn tensor_of(&mut self, numbers: &[f64]) -> Outcome<Value> {
        match Tensor::from_slice(numbers, &[numbers.len() as i64]) {
            Ok(tensor) => self.new_tensor(tensor, None, true),
            Err(error) => refuse(error.message().to_owned()),
        }
    }

    /// Copies numbers into a tensor, converted as `copy_` does; they are known from then on.
    pub(super) fn fill(&mut self, value: &Value, numbers: Tensor) -> Outcome<()> {
        let source = self.new_tensor(numbers, None, true)?;
        self.tensor_method(value, "copy_", vec![source], Vec::new()).map(drop)
    }
}

const UNKNOWN_NUMBERS: &str = "the numbers of this tensor are random or come from a state dict, so \
                               they are not known while the constructors run";

fn take(keywords: &mut Keywords, name: &str) -> Option<Value> {
    let at = keywords.iter().position(|(known, _)| &**known == name)?;
    Some(keywords.remove(at).1)
}

fn holds_tensors(value: &IValue) -> bool {
    match value {
        IValue::Tensor(_) => true,
        IValue::List(list) => {
            list.read().items.iter().any(|item| matches!(item, IValue::Tensor(_)))
        }
        IValue::Tuple(tuple) => tuple.items.iter().any(|item| matches!(item, IValue::Tensor(_))),
        _ => false,
    }
}

/// Whether what a program gives does not depend on a tensor's numbers.
fn is_about_sizes(body: &str) -> bool {
    const ABOUT_SIZES: &[&str] =
        &[".size(", ".stride(", ".storage_offset(", ".element_size(", ".is_complex("];
    ABOUT_SIZES.iter().any(|method| body.contains(method))
}

/// Whether torch has a method, going by its operators.
fn is_method(name: &str) -> bool {
    const OTHERS: &[&str] = &[
        "tolist",
        "cpu",
        "cuda",
        "type",
        "float",
        "double",
        "half",
        "long",
        "int",
        "bool",
        "numel",
        "nelement",
        "dim",
        "ndimension",
        "size",
        "register_hook",
        "share_memory_",
        "requires_grad_",
        "trunc_normal_",
        "__len__",
    ];
    OTHERS.contains(&name)
        || (!name.starts_with("__") && !operators::named(&format!("aten::{name}")).is_empty())
}

fn is_function(name: &str) -> bool {
    matches!(crate::library::global(name), Some(sconce_compiler::Global::Builtin(_)))
}
