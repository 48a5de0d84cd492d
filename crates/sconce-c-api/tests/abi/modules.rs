//! Modules: loading, looking, saving, training.

use sconce_dlpack::DLManagedTensorVersioned;

use super::*;

#[test]
fn what_a_module_says_of_itself() {
    let host = Loaded::host();
    let count = unsafe { sconce_module_method_count(host.0) };
    let mut names = Vec::new();
    for index in 0..count {
        let (mut name, mut schema) = (ptr::null(), ptr::null());
        ok(unsafe { sconce_module_method(host.0, index, &mut name, &mut schema) });
        let (name, schema) = (text(name), text(schema));
        assert!(schema.starts_with(&format!("{name}(__torch__.Host self")), "{schema}");
        names.push(name);
    }
    assert!(names.contains(&"forward".to_owned()) && names.contains(&"spins".to_owned()));

    let forward = c("forward");
    let mut arguments = 0;
    ok(unsafe { sconce_module_argument_count(host.0, forward.as_ptr(), &mut arguments) });
    let argument = |index| {
        let (mut name, mut ty, mut has_default) = (ptr::null(), ptr::null(), false);
        let (method, places) = (forward.as_ptr(), (&mut name, &mut ty, &mut has_default));
        ok(unsafe { sconce_module_argument(host.0, method, index, places.0, places.1, places.2) });
        (text(name), text(ty), has_default)
    };
    assert_eq!(arguments, 2);
    assert_eq!(argument(0), ("x".to_owned(), "Tensor".to_owned(), false));
    assert_eq!(argument(1), ("scale".to_owned(), "float".to_owned(), true));
    let table = c("table");
    let (mut name, mut ty, mut has_default) = (ptr::null(), ptr::null(), false);
    ok(unsafe {
        sconce_module_argument(host.0, table.as_ptr(), 0, &mut name, &mut ty, &mut has_default)
    });
    assert_eq!(text(ty), "Dict[str, Tensor]");
    let past = unsafe {
        sconce_module_argument(host.0, table.as_ptr(), 1, &mut name, &mut ty, &mut has_default)
    };
    assert_eq!(
        failed(past),
        (SCONCE_INVALID_ARGUMENT, "there is no argument 1: there are 1".to_owned())
    );
    assert!(name.is_null() && ty.is_null());

    let mut string = no_string();
    ok(unsafe { sconce_module_code(host.0, forward.as_ptr(), &mut string) });
    assert!(owned(string).starts_with("def forward(self,\n    x: Tensor,\n"));
    let mut string = no_string();
    ok(unsafe { sconce_module_missing(host.0, forward.as_ptr(), &mut string) });
    assert_eq!(owned(string), "");
    let mut string = no_string();
    ok(unsafe { sconce_module_extra_file(host.0, c("r_max").as_ptr(), &mut string) });
    assert_eq!(owned(string), "4.5");
    let mut string = no_string();
    let missing = failed(unsafe { sconce_module_extra_file(host.0, c("x").as_ptr(), &mut string) });
    assert_eq!(missing, (SCONCE_FORMAT, "the archive has no extra file 'x'".to_owned()));
    assert!(string.data.is_null());
}

#[test]
fn parameters_buffers_and_attributes() {
    let host = Loaded::host();
    let named = |buffers, index| {
        let (mut name, mut out): (_, *mut DLManagedTensorVersioned) =
            (ptr::null(), ptr::null_mut());
        ok(unsafe { sconce_module_tensor(host.0, buffers, index, &mut name, &mut out) });
        let mut tensor = ptr::null_mut();
        ok(unsafe { sconce_tensor_from_dlpack(out, &mut tensor) });
        let found = (text(name), sizes(tensor));
        unsafe { sconce_tensor_delete(tensor) };
        found
    };
    let count = |buffers| {
        let mut count = 0;
        ok(unsafe { sconce_module_tensor_count(host.0, buffers, &mut count) });
        count
    };
    assert_eq!((count(false), count(true)), (2, 1));
    assert_eq!(named(false, 0), ("linear.weight".to_owned(), vec![2, 4]));
    assert_eq!(named(true, 0), ("offset".to_owned(), vec![2]));

    let attribute = |name: &str| {
        let mut out = ptr::null_mut();
        let error = unsafe { sconce_module_attribute(host.0, c(name).as_ptr(), &mut out) };
        if error.is_null() { Ok(Value(out)) } else { Err(failed(error)) }
    };
    let mut cutoff = 0.0;
    assert!(
        unsafe { sconce_value_as_float(attribute("cutoff").unwrap().0, &mut cutoff) }
            && cutoff == 4.5
    );
    let names = attribute("names").unwrap();
    assert_eq!(text_of(unsafe { sconce_value_at(names.0, 1) }), "O");
    assert_eq!(attribute("linear.bias").unwrap().floats().len(), 2);
    for wrong in ["nothing", "linear.nothing", "nothing.bias"] {
        assert_eq!(attribute(wrong).err().unwrap().0, SCONCE_INVALID_ARGUMENT, "{wrong}");
    }
}

#[test]
fn a_module_is_saved_and_loaded_from_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saved.pt");
    let host = Loaded::host();
    ok(unsafe { sconce_module_save(host.0, c(path.to_str().unwrap()).as_ptr()) });
    let mut bytes = std::fs::read(&path).unwrap();
    let mut module = ptr::null_mut();
    ok(unsafe { sconce_module_load_memory(bytes.as_ptr().cast(), bytes.len(), &mut module) });
    // They were copied.
    bytes.fill(0);
    let again = Loaded(module);
    let ones = Value::tensor(&[1f32; 4], SCONCE_FLOAT32, &[1, 4]);
    let (one, other) = (host.session(), again.session());
    assert_eq!(one.call("forward", &[&ones]).floats(), other.call("forward", &[&ones]).floats());
    let mut string = no_string();
    ok(unsafe { sconce_module_extra_file(again.0, c("r_max").as_ptr(), &mut string) });
    assert_eq!(owned(string), "4.5");
}

#[test]
fn training_comes_before_sessions() {
    let host = Loaded::host();
    ok(unsafe { sconce_module_train(host.0, true) });
    let session = host.session();
    let ones = Value::tensor(&[1f32; 4], SCONCE_FLOAT32, &[1, 4]);
    // Dropout of a half: some of many calls give a zero.
    let dropped = (0..64).any(|_| session.call("forward", &[&ones]).floats().contains(&0.0));
    assert!(dropped);
    assert_eq!(failed(unsafe { sconce_module_train(host.0, false) }).0, SCONCE_INVALID_ARGUMENT);
}

#[test]
fn files_that_are_no_programs() {
    let load = |path: &str| {
        let mut module = ptr::dangling_mut();
        let error = unsafe { sconce_module_load(file(path).as_ptr(), &mut module) };
        assert!(module.is_null());
        failed(error)
    };
    let missing = load("tests/nothing.pt");
    assert_eq!(missing.0, SCONCE_IO);
    assert!(missing.1.contains("tests/nothing.pt"), "{}", missing.1);
    let other = load("../../examples/digits.ckpt");
    assert_eq!(other.0, SCONCE_FORMAT);
    assert!(other.1.contains("this is not a TorchScript archive"), "{}", other.1);
    let other = load("../../fixtures/files/hand/lookalike/tensors.safetensors");
    assert_eq!(other.0, SCONCE_FORMAT);
    assert!(other.1.contains("is not a TorchScript archive but: "), "{}", other.1);

    let mut bytes = std::fs::read(file("tests/host.pt").to_str().unwrap()).unwrap();
    bytes.truncate(bytes.len() / 2);
    let mut module = ptr::null_mut();
    let cut = unsafe { sconce_module_load_memory(bytes.as_ptr().cast(), bytes.len(), &mut module) };
    assert_eq!(failed(cut).0, SCONCE_FORMAT);
}

#[test]
fn code_that_does_not_compile() {
    // The same archive with a name in its code that nothing has.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broken.pt");
    let model = sconce::archive::Archive::open(
        sconce::Source::open(file("tests/host.pt").to_str().unwrap()).unwrap(),
        &sconce::Limits::default(),
    )
    .unwrap();
    let file = std::fs::File::create(&path).unwrap();
    let options = sconce::archive::WriterOptions::default();
    let mut writer = sconce::archive::ArchiveWriter::new(file, "broken", options).unwrap();
    for entry in model.records() {
        let name = model.record_name(entry).into_owned();
        let bytes = model.read(&name).unwrap().to_vec();
        let bytes = match name.ends_with("__torch__.py") {
            true => String::from_utf8(bytes)
                .unwrap()
                .replace("return x\n", "return unknown\n")
                .into_bytes(),
            false => bytes,
        };
        if !name.starts_with(".data/") && name != "version" && name != "byteorder" {
            writer.write_record(&name, &bytes).unwrap();
        }
    }
    writer.finish().unwrap();
    let mut module = ptr::null_mut();
    ok(unsafe { sconce_module_load(c(path.to_str().unwrap()).as_ptr(), &mut module) });
    let broken = Loaded(module);
    let mut string = no_string();
    let said = failed(unsafe { sconce_module_code(broken.0, c("keeps").as_ptr(), &mut string) });
    assert_eq!(said.0, SCONCE_COMPILE, "{}", said.1);
    assert!(said.1.contains("unknown"), "{}", said.1);
}
