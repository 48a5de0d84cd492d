//! Forbidden operators: those that touch files, other processes or the network. The runtime never
//! implements one and refuses a program that has one before it runs; the scanner calls a file dangerous
//! whose code names one.

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
    ("torchaudio::sox_effects_apply_effects_file", FILES),
    ("torchaudio::sox_io_get_info", FILES),
    ("torchaudio::sox_io_load_audio_file", FILES),
    ("torchaudio::sox_io_save_audio_file", FILES),
    ("video_reader::probe_video_from_file", FILES),
    ("video_reader::read_video_from_file", FILES),
    ("c10d::", NETWORK),
    ("c10d_functional::", NETWORK),
    ("_c10d_functional::", NETWORK),
    ("_c10d_functional_autograd::", NETWORK),
    ("_dtensor::", NETWORK),
    ("fsdp::", NETWORK),
    ("symm_mem::", NETWORK),
];

/// Why an operator, by its full name, is forbidden; `None` for those that work on values alone.
pub fn reason(operator: &str) -> Option<&'static str> {
    let symbol = operator.split_once('.').map_or(operator, |(symbol, _)| symbol);
    let fits = |name: &str| symbol == name || name.ends_with("::") && symbol.starts_with(name);
    TABLE.iter().find(|(name, _)| fits(name)).map(|(_, reason)| *reason)
}

/// Whether a forbidden operator has this name after its colons, in whatever namespace.
pub fn has_member(name: &str) -> bool {
    TABLE.iter().any(|(symbol, _)| {
        symbol.split_once("::").is_some_and(|(_, last)| !last.is_empty() && last == name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_operators_have_a_reason() {
        let cases = [
            ("aten::from_file", true),
            ("aten::save", true),
            ("c10d::allreduce_", true),
            ("prim::rpc_sync", true),
            ("aten::from_file.out", true),
            ("aten::add.Tensor", false),
            ("image::decode_png", false),
        ];
        for (operator, forbidden) in cases {
            assert_eq!(reason(operator).is_some(), forbidden, "{operator}");
        }
        assert!(has_member("save") && has_member("rpc_sync"));
        assert!(!has_member("") && !has_member("add"));
    }
}
