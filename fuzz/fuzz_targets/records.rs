//! Records of TorchScript archives that have readers of their own, each in an archive that is otherwise
//! whole: `model.json`, `bytecode.pkl`, constants, debug records, and the index of a sharded checkpoint.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sconce_fuzz::{open, program};

const CODE: &[u8] =
    b"class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  def forward(self: \
    __torch__.M, x: Tensor) -> Tensor:\n    return torch.add(x, CONSTANTS.c0)\n";
const OBJECT: &[u8] = b"\x80\x02c__torch__\nM\n)\x81}b.";

fuzz_target!(|bytes: &[u8]| {
    let [kind, rest @ ..] = bytes else { return };
    let whole: [(&str, &[u8]); 3] =
        [("data.pkl", OBJECT), ("code/__torch__.py", CODE), ("constants.pkl", b"\x80\x02).")];
    let with = |name: &'static str| {
        let others = whole.into_iter().filter(move |(other, _)| *other != name);
        program::written(others.chain([(name, rest)]))
    };
    match kind % 5 {
        0 => program::open(&program::written(
            [("model.json", rest), ("libs/__torch__.py", CODE), ("tensors/0", &[0; 16])]
                .into_iter(),
        )),
        1 => program::open(&with("bytecode.pkl")),
        2 => program::open(&with("constants.pkl")),
        3 => program::open(&with("code/__torch__.py.debug_pkl")),
        _ => open(&[b"{\"weight_map\": {", rest].concat()),
    }
});
