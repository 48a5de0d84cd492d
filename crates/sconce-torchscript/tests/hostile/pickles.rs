//! Pickles that hold no module.

use super::{NO_CONSTANTS, OBJECT, error_of, load_object, use_all};

const CODE: &str = "class M(Module):\n  x : Any\n  def forward(self, y: Tensor) -> Tensor:\n    return y\n\
                    class S:\n  x : int\n  def __getstate__(self) -> int:\n    return self.x\n  def \
                    __setstate__(self, x: int) -> NoneType:\n    self.x = x\n    return None\n\
                    class E(Enum):\n  A = 1\n";

/// An object of `M` whose attribute `x` is what these opcodes make.
fn holding(opcodes: &[u8]) -> Vec<u8> {
    let mut out = b"\x80\x02c__torch__\nM\n)\x81}X\x01\0\0\0x".to_vec();
    out.extend(opcodes);
    out.extend(b"sb.");
    out
}

#[test]
fn roots_are_modules() {
    for root in [&b"\x80\x02N."[..], b"\x80\x02K\x01.", b"\x80\x02].", b"\x80\x02)."] {
        let error = error_of(load_object(CODE, root, NO_CONSTANTS));
        assert_eq!(error.message(), "the archive holds a value that is not a module");
        assert_eq!(error.record(), Some("data.pkl"));
    }
}

#[test]
fn what_no_module_can_hold_is_refused() {
    let cases: &[(&[u8], &str)] = &[
        (b"c__torch__\nN\n)\x81}b", "Unknown type name '__torch__.N'"),
        (b"cos\nsystem\nX\x02\0\0\0ls\x85R", "Unknown type name 'os.system'"),
        (b"c__torch__\nS\n", "stands where a value should"),
        (b"c__torch__\nM\n)\x81", "without its state"),
        (b"c__torch__\nM\n)\x81K\x01b", "the state of an object is not a dict"),
        (b"c__torch__\nM\n)\x81}b", "has no attribute 'x'"),
        (b"c__torch__\nM\n)\x81}K\x01K\x01sb", "expected a string"),
        (b"c__torch__\nE\nK\x07\x85R", "no member of __torch__.E has the saved value"),
        (b"ctorch\nnothing\n", "unknown torch global, 'torch.nothing'"),
        (
            b"ctorch.jit._pickle\nrestore_type_tag\n]X\x04\0\0\0Lizt\x86R",
            "Unknown type name 'Lizt'",
        ),
        (b"ctorch.jit._pickle\nrestore_type_tag\n]X\x05\0\0\0List[\x86R", "List["),
        (b"ctorch.jit._pickle\nrestore_type_tag\n]K\x01\x86R", "a type tag is no text"),
        (b"ctorch.jit._pickle\nrestore_type_tag\n]\x85R", "takes a value and a type"),
        (b"ctorch.jit._pickle\nbuild_intlist\nK\x01\x85R", "not a list"),
        (b"ctorch.jit._pickle\nbuild_tensor_from_id\nK\x01\x85R", "there is no tensor 1"),
        (b"cbuiltins\ncomplex\nK\x01\x85R", "complex takes two floats"),
        (b"ctorch\ndevice\nK\x01\x85R", "expected a string"),
        (b"\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01", "TorchScript has no"),
        (b"C\x01a", "TorchScript has no"),
    ];
    for (opcodes, message) in cases {
        let error = error_of(load_object(CODE, &holding(opcodes), NO_CONSTANTS));
        assert!(error.message().contains(message), "{}: {error}", opcodes.escape_ascii());
        assert_eq!(error.record(), Some("data.pkl"), "{error}");
    }
}

#[test]
fn pickles_that_are_none_are_refused() {
    let mut cases: Vec<&[u8]> = vec![b"", b"N.", b"\x80\x04N.", b"\x80\x02", b"\x80\x02("];
    cases.extend((3..OBJECT.len()).map(|end| &OBJECT[..end]));
    for pickle in cases {
        let error = error_of(load_object(CODE, pickle, NO_CONSTANTS));
        assert_eq!(error.record(), Some("data.pkl"), "{}: {error}", pickle.escape_ascii());
    }
}

#[test]
fn constants_are_a_tuple() {
    for table in [&b"\x80\x02N."[..], b"\x80\x02].", b"\x80\x02}.", OBJECT, b"", b"\x80\x02"] {
        let error = error_of(load_object(CODE, OBJECT, table));
        assert_eq!(error.record(), Some("constants.pkl"), "{error}");
    }
}

#[test]
fn a_list_that_holds_itself_cannot_be_saved() {
    // x = []; x.append(x)
    let module = load_object(CODE, &holding(b"]q\0h\0a"), NO_CONSTANTS).unwrap();
    let error = use_all(&module).unwrap_err();
    assert!(error.message().contains("holds itself"), "{error}");
    // The same as a constant.
    let error = error_of(load_object(CODE, &holding(b"N"), b"\x80\x02]q\0h\0a\x85."));
    assert!(error.message().contains("nested"), "{error}");
}

#[test]
fn a_module_that_holds_itself_cannot_be_saved() {
    let object = b"\x80\x02c__torch__\nM\n)\x81q\0}X\x01\0\0\0xh\0sb.";
    let module = load_object(CODE, object, NO_CONSTANTS).unwrap();
    assert_eq!(module.named_modules().unwrap().len(), 1);
    let error = use_all(&module).unwrap_err();
    assert!(error.message().contains("holds itself"), "{error}");
}

/// `[v, v]`, and a list of that twice, and so on.
fn doubled(times: usize) -> Vec<u8> {
    let mut out = b"]q\0".to_vec();
    for _ in 0..times {
        out.extend(b"0](h\0h\0eq\0");
    }
    out
}

#[test]
fn values_that_share_are_saved_in_no_time() {
    use_all(&load_object(CODE, &holding(&doubled(5000)), NO_CONSTANTS).unwrap()).unwrap();
}

#[test]
fn constants_that_share_too_much_are_refused() {
    let mut table = b"\x80\x02".to_vec();
    table.extend(doubled(60));
    table.extend(b"\x85.");
    let error = error_of(load_object(CODE, &holding(b"N"), &table));
    assert_eq!(error.record(), Some("constants.pkl"), "{error}");
    assert!(error.message().contains("too large"), "{error}");
}

#[test]
fn the_attributes_of_a_restored_object_are_not_known() {
    let code = CODE.replace("class S:", "class S(Module):").replace("x : Any", "x : __torch__.S");
    let module = load_object(&code, &holding(b"c__torch__\nS\n)\x81K\x07b"), NO_CONSTANTS).unwrap();
    let (_, child) = module.children().unwrap().remove(0);
    let message =
        "the attributes of __torch__.S come from its __setstate__, which cannot be run yet";
    assert_eq!(child.attr("x").unwrap_err().message(), message);
    assert_eq!(child.attributes().unwrap_err().message(), message);
    assert_eq!(module.named_parameters().unwrap_err().message(), message);
    // It is saved as it was.
    let saved = sconce_torchscript::SaveOptions::new().save_to(&module, Vec::new()).unwrap();
    let again = super::load(saved).unwrap();
    assert_eq!(again.children().unwrap()[0].1.attr("x").unwrap_err().message(), message);
}
