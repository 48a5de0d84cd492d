//! Qualified names.

use std::borrow::Cow;

/// What PyTorch puts into a name that another class has already.
const MANGLE: &str = "___torch_mangle_";

/// A qualified name without the atoms that make it unique, as PyTorch shows classes.
pub(crate) fn demangle(name: &str) -> Cow<'_, str> {
    if !name.contains(MANGLE) {
        return Cow::Borrowed(name);
    }
    let atoms = name.split('.').filter(|atom| !atom.starts_with(MANGLE));
    Cow::Owned(atoms.collect::<Vec<_>>().join("."))
}

/// A qualified name in two: everything before the last atom, and that.
pub(crate) fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or(("", name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_are_shown_plain() {
        let name = "__torch__.torch.nn.modules.linear.___torch_mangle_0.Linear";
        assert_eq!(demangle(name), "__torch__.torch.nn.modules.linear.Linear");
        assert_eq!(demangle("__torch__.M"), "__torch__.M");
        assert_eq!(split("__torch__.a.M"), ("__torch__.a", "M"));
        assert_eq!(split("f"), ("", "f"));
    }
}
