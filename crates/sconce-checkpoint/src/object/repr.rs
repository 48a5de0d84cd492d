//! Python-like text of an object, bounded in depth and length.

use sconce_pickle::repr as python;

use super::{ArrayData, Construction, Node, Object, ObjectId};

/// Containers nested deeper than this show as `…`.
const MAX_DEPTH: usize = 6;

pub(super) fn repr(object: Object<'_>, max_chars: usize) -> String {
    let mut out = Text { out: String::new(), left: max_chars };
    out.object(object, 0);
    out.out
}

/// Text with a budget of characters; what does not fit is one `…`.
struct Text {
    out: String,
    left: usize,
}

impl Text {
    fn full(&self) -> bool {
        self.left == 0
    }

    fn push(&mut self, text: &str) {
        for c in text.chars() {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            self.out.push(if self.left == 0 { '…' } else { c });
        }
    }

    fn object(&mut self, object: Object<'_>, depth: usize) {
        if self.full() {
            return;
        }
        if depth > MAX_DEPTH {
            self.push("…");
            return;
        }
        match object.data() {
            Node::None => self.push("None"),
            Node::Bool(true) => self.push("True"),
            Node::Bool(false) => self.push("False"),
            Node::Int(number) => self.push(&number.to_string()),
            Node::BigInt(number) => {
                let mut text = String::new();
                // Decimal digits of a huge number take quadratic time.
                if !python::write_bigint(&mut text, number) {
                    text = format!("<int of {} bits>", number.bits());
                }
                self.push(&text);
            }
            Node::Float(number) => self.float(*number),
            Node::Complex(re, im) => self.complex(*re, *im),
            Node::Str(text) => self.quoted(text),
            Node::SurrogateStr(bytes) => {
                let mut text = String::new();
                python::write_wtf8(&mut text, bytes);
                self.push(&text);
            }
            Node::Bytes(bytes) => self.bytes(bytes, python::write_bytes),
            Node::ByteArray(bytes) => self.bytes(bytes, python::write_bytearray),
            Node::List(items) => self.sequence(object, "[", items, "]", depth),
            Node::Tuple(items) if items.len() == 1 => {
                self.sequence(object, "(", items, ",)", depth)
            }
            Node::Tuple(items) => self.sequence(object, "(", items, ")", depth),
            Node::Set(items) if items.is_empty() => self.push("set()"),
            Node::Set(items) => self.sequence(object, "{", items, "}", depth),
            Node::FrozenSet(items) => self.sequence(object, "frozenset({", items, "})", depth),
            Node::Dict(dict) => {
                use super::DictKind as Kind;
                let (open, close) = match dict.kind {
                    Kind::Dict => ("{", "}"),
                    Kind::OrderedDict => ("OrderedDict({", "})"),
                    Kind::Counter => ("Counter({", "})"),
                    Kind::DefaultDict => ("defaultdict({", "})"),
                };
                self.entries(object, open, dict.entries(), close, depth);
            }
            Node::Tensor(found) => {
                let dims: Vec<String> = found.tensor.sizes().iter().map(i64::to_string).collect();
                let name = match found.class {
                    super::TensorClass::Parameter => "Parameter",
                    _ => "tensor",
                };
                let dtype = found.tensor.dtype().name();
                self.push(&format!("<{name} [{}] {dtype}>", dims.join(", ")));
            }
            Node::Storage(found) => {
                let (dtype, bytes) = (found.dtype.name(), found.storage.nbytes());
                self.push(&format!("<storage {dtype}, {bytes} bytes>"));
            }
            Node::DType(dtype) => self.push(&format!("torch.{}", dtype.name())),
            Node::Size(dims) => {
                let dims: Vec<String> = dims.iter().map(i64::to_string).collect();
                self.push(&format!("torch.Size([{}])", dims.join(", ")));
            }
            Node::Device(device) => {
                let index = device.index.map(|index| format!(", index={index}"));
                let index = index.unwrap_or_default();
                self.push(&format!("device(type='{}'{index})", device.name()));
            }
            Node::Layout(layout) => self.push(&format!("torch.{}", layout.name())),
            Node::QScheme(name) => self.push(&format!("torch.{name}")),
            Node::Array(array) | Node::Scalar(array) => {
                let dims: Vec<String> = array.shape.iter().map(i64::to_string).collect();
                let scalar = matches!(object.data(), Node::Scalar(_));
                match (&array.data, scalar) {
                    (ArrayData::Tensor(tensor), true) => {
                        let value = tensor.item().map(|value| value.to_string());
                        let value = value.unwrap_or_else(|_| "…".to_owned());
                        self.push(&format!("np.{}({value})", array.dtype.name()));
                    }
                    _ => self.push(&format!(
                        "<ndarray [{}] {}>",
                        dims.join(", "),
                        array.dtype.name()
                    )),
                }
            }
            Node::Class(class) => self.push(&format!("<class '{}'>", class.full_name())),
            Node::Instance(instance) => {
                if let Some(text) = super::python::text(object) {
                    return self.push(&text);
                }
                match instance.construction {
                    Construction::External => self.push("<external "),
                    _ => {
                        let name = match object.other(instance.callable).data() {
                            Node::Class(class) => class.full_name(),
                            _ => "<callable>".to_owned(),
                        };
                        self.push(&name);
                    }
                }
                self.object(object.other(instance.args), depth + 1);
                if !instance.items.is_empty() {
                    self.sequence(object, "[", &instance.items, "]", depth);
                }
                if !instance.entries.is_empty() {
                    self.entries(object, "{", &instance.entries, "}", depth);
                }
                for &state in &instance.states {
                    self.push(" state ");
                    self.object(object.other(state), depth + 1);
                }
            }
        }
    }

    fn float(&mut self, number: f64) {
        let mut text = String::new();
        python::write_float(&mut text, number);
        self.push(&text);
    }

    /// Whole parts stand without `.0`, and a real part that is zero not at all.
    fn complex(&mut self, re: f64, im: f64) {
        let part = |number: f64| {
            let mut text = String::new();
            python::write_float(&mut text, number);
            text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
        };
        let text = match re == 0.0 && re.is_sign_positive() {
            true => format!("{}j", part(im)),
            false => {
                let sign = if im.is_sign_negative() { "" } else { "+" };
                format!("({}{sign}{}j)", part(re), part(im))
            }
        };
        self.push(&text);
    }

    fn quoted(&mut self, text: &str) {
        // Escape only what can be shown, so that a long string costs what is printed of it.
        let end = text.char_indices().nth(self.left + 1).map_or(text.len(), |(at, _)| at);
        let mut quoted = String::new();
        python::write_str(&mut quoted, &text[..end]);
        self.push(&quoted);
    }

    fn bytes(&mut self, bytes: &[u8], write: fn(&mut String, &[u8])) {
        let mut text = String::new();
        write(&mut text, &bytes[..bytes.len().min(self.left + 1)]);
        self.push(&text);
    }

    fn sequence(
        &mut self,
        object: Object<'_>,
        open: &str,
        items: &[ObjectId],
        close: &str,
        depth: usize,
    ) {
        self.push(open);
        for (at, &item) in items.iter().enumerate() {
            if self.full() {
                return;
            }
            if at > 0 {
                self.push(", ");
            }
            self.object(object.other(item), depth + 1);
        }
        self.push(close);
    }

    fn entries(
        &mut self,
        object: Object<'_>,
        open: &str,
        entries: &[(ObjectId, ObjectId)],
        close: &str,
        depth: usize,
    ) {
        self.push(open);
        for (at, &(key, value)) in entries.iter().enumerate() {
            if self.full() {
                return;
            }
            if at > 0 {
                self.push(", ");
            }
            self.object(object.other(key), depth + 1);
            self.push(": ");
            self.object(object.other(value), depth + 1);
        }
        self.push(close);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Draft, Value};

    #[test]
    fn complex_numbers_are_as_python_has_them() {
        let cases = [
            (1.5, 2.0, "(1.5+2j)"),
            (0.0, 2.0, "2j"),
            (-0.0, 2.0, "(-0+2j)"),
            (f64::NAN, f64::NEG_INFINITY, "(nan-infj)"),
            (1e20, -0.0, "(1e+20-0j)"),
        ];
        for (re, im, want) in cases {
            assert_eq!(Draft::from(Value::Complex(re, im)).root().repr(100), want);
        }
    }
}
