//! Operators that would reach beyond the program's values. They are never added: a program that has
//! one is refused before it runs.

const FILES: &str = "it would read or write files";
const NETWORK: &str = "it would reach other processes or the network";

/// A whole name, or the start of names up to the colons.
const TABLE: &[(&str, &str)] = &[
    ("aten::from_file", FILES),
    ("aten::save", FILES),
    ("debugprims::load_tensor", FILES),
    ("image::read_file", FILES),
    ("image::write_file", FILES),
    ("prim::rpc_async", NETWORK),
    ("prim::rpc_remote", NETWORK),
    ("prim::rpc_sync", NETWORK),
    ("c10d::", NETWORK),
    ("c10d_functional::", NETWORK),
    ("_c10d_functional::", NETWORK),
    ("_c10d_functional_autograd::", NETWORK),
    ("_dtensor::", NETWORK),
    ("fsdp::", NETWORK),
    ("symm_mem::", NETWORK),
];

/// Why an operator, by its full name, is refused; `None` for those that work on values alone.
pub(crate) fn reason(operator: &str) -> Option<&'static str> {
    let symbol = operator.split_once('.').map_or(operator, |(symbol, _)| symbol);
    let fits = |name: &str| symbol == name || name.ends_with("::") && symbol.starts_with(name);
    TABLE.iter().find(|(name, _)| fits(name)).map(|(_, reason)| *reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reaches_outside_is_refused_and_never_registered() {
        let cases = [
            ("aten::from_file", true),
            ("aten::save", true),
            ("c10d::allreduce_", true),
            ("prim::rpc_sync", true),
            ("aten::from_file.out", true),
            ("aten::add.Tensor", false),
            ("image::decode_png", false),
        ];
        for (operator, refused) in cases {
            assert_eq!(reason(operator).is_some(), refused, "{operator}");
        }
        for &(symbol, ..) in super::super::TABLES.iter().flat_map(|table| table.iter()) {
            assert_eq!(reason(symbol), None, "{symbol}");
        }
    }
}
