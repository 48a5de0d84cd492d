//! Modules that are changed and saved.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests are outside of what clippy sees as tests

use sconce_archive::{ArchiveWriter, WriterOptions};
use sconce_source::Source;
use sconce_tensor::Tensor;
use sconce_torchscript::{LoadOptions, Module, SaveOptions, Value};

const CODE: &str = "\
class I(ModuleInterface):
  def hidden(self, x: Tensor) -> Tensor:
    pass
class N(Module):
  def hidden(self, x: Tensor) -> Tensor:
    return torch.t(x)
  def other(self, x: Tensor) -> Tensor:
    return __torch__.helper(x, )
def helper(x: Tensor) -> Tensor:
  return torch.relu(x)
class M(Module):
  __parameters__ = [\"w\", ]
  w : Tensor
  n : int
  xs : List[int]
  o : Optional[str]
  a : __torch__.N
  i : __torch__.I
  def forward(self, x: Tensor) -> Tensor:
    return (self).twice((self).twice(x, ), )
  def twice(self, x: Tensor) -> Tensor:
    return torch.add(x, self.w)
  def unused(self, x: Tensor) -> Tensor:
    a = self.a
    return (a).other(x, )
  def through(self, x: Tensor) -> Tensor:
    i = self.i
    return (i).hidden(x, )
";

const OBJECT: &[u8] = b"\x80\x02c__torch__\nM\n)\x81}(X\x01\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\
    \x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x02tQK\0(K\x02t(K\x01t\x88\
    ccollections\nOrderedDict\n)RtRX\x01\0\0\0nK\x03X\x02\0\0\0xsctorch.jit._pickle\nbuild_intlist\n(\
    ](K\x01K\x02etRX\x01\0\0\0oNX\x01\0\0\0ac__torch__\nN\n)\x81}bX\x01\0\0\0ic__torch__\nN\n)\x81}bub.";

fn load(bytes: Vec<u8>) -> Module {
    LoadOptions::new().read(Source::from_vec("model.pt", bytes)).unwrap()
}

fn model() -> Module {
    let mut writer = ArchiveWriter::new(Vec::new(), "model", WriterOptions::new()).unwrap();
    let records: [(&str, &[u8]); 6] = [
        ("extra/labels.txt", b"cat"),
        ("extra/notes.md", b"none"),
        ("data/0", &[0; 8]),
        ("data.pkl", OBJECT),
        ("code/__torch__.py", CODE.as_bytes()),
        ("constants.pkl", b"\x80\x02)."),
    ];
    for (name, bytes) in records {
        writer.write_record(name, bytes).unwrap();
    }
    load(writer.finish().unwrap())
}

fn saved(module: &Module) -> Module {
    load(SaveOptions::new().save_to(module, Vec::new()).unwrap())
}

#[test]
fn a_parameter_stays_one() {
    let module = model();
    let tensor = Tensor::from_vec(vec![1f32, 2., 3.], &[3]).unwrap();
    module.set_attr("w", Value::Tensor(tensor)).unwrap();
    module.set_attr("n", Value::Int(-7)).unwrap();
    module.set_attr("o", Value::Str("set".into())).unwrap();
    let module = saved(&module);
    let parameters = module.named_parameters().unwrap();
    assert_eq!(parameters.len(), 1);
    assert_eq!(parameters[0].1.sizes(), [3]);
    assert!(matches!(module.attr("n").unwrap(), Value::Int(-7)));
    assert!(matches!(module.attr("o").unwrap(), Value::Str(text) if &*text == "set"));
    assert_eq!(module.method("forward").unwrap().name, "forward");
}

#[test]
fn values_are_of_the_attribute_s_type() {
    let module = model();
    let xs = module.attr("xs").unwrap();
    let refused = [
        ("w", Value::Int(1)),
        ("w", Value::None),
        ("n", Value::Float(1.)),
        ("n", xs.clone()),
        ("o", Value::Int(1)),
        ("xs", Value::Tuple(Vec::new())),
        ("a", Value::None),
        ("nothing", Value::None),
    ];
    for (name, value) in refused {
        assert!(module.set_attr(name, value.clone()).is_err(), "{name} {value:?}");
    }
    let error = module.set_attr("n", Value::Float(1.)).unwrap_err();
    let message = "the attribute 'n' of __torch__.M is of type int, which the value is not";
    assert_eq!(error.message(), message);
    module.set_attr("xs", xs).unwrap();
    module.set_attr("i", module.attr("a").unwrap()).unwrap();
    module.set_attr("o", Value::None).unwrap();
}

#[test]
fn methods_that_nothing_calls_go() {
    let module = model();
    let (_, child) = module.children().unwrap().remove(0);
    let refused = [
        (&module, "twice", "'__torch__.M.twice' cannot be removed: __torch__.M.forward calls it"),
        (&child, "other", "'__torch__.N.other' cannot be removed: __torch__.M.unused calls it"),
        (&child, "hidden", "'__torch__.N.hidden' cannot be removed: __torch__.M.through calls it"),
        (&module, "nothing", "Method 'nothing' is not defined on __torch__.M."),
    ];
    for (module, name, message) in refused {
        assert_eq!(module.remove_method(name).unwrap_err().message(), message);
    }
    module.remove_method("unused").unwrap();
    child.remove_method("other").unwrap();
    module.remove_method("forward").unwrap();
    module.remove_method("twice").unwrap();
    let module = saved(&module);
    let names: Vec<String> = module.methods().into_iter().map(|method| method.name).collect();
    assert_eq!(names, ["through"]);
    let code: String = module.code_files().unwrap().into_iter().map(|(_, text)| text).collect();
    assert!(!code.contains("helper"), "{code}");
}

#[test]
fn extra_files_change() {
    let module = model();
    let options = SaveOptions::new()
        .rename_extra_file("labels.txt", "classes.txt")
        .remove_extra_file("notes.md")
        .extra_file("license.txt", "MIT");
    let bytes = options.save_to(&module, Vec::new()).unwrap();
    let archive = sconce_archive::Archive::open(
        Source::from_vec("saved", bytes),
        &sconce_source::Limits::default(),
    )
    .unwrap();
    let names: Vec<String> = archive
        .records()
        .iter()
        .map(|entry| archive.record_name(entry).into_owned())
        .filter(|name| name.starts_with("extra/"))
        .collect();
    assert_eq!(names, ["extra/classes.txt", "extra/license.txt"]);
    assert_eq!(&*archive.read("extra/classes.txt").unwrap(), b"cat");
    let missing = SaveOptions::new().remove_extra_file("nothing").save_to(&module, Vec::new());
    let message = "the archive has no extra file 'nothing'";
    assert_eq!(missing.unwrap_err().message(), message);
}
