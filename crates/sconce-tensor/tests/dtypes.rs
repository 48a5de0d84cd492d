//! The table of dtypes says what PyTorch, safetensors and NumPy say.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use sconce_tensor::{DType, Storage, Tensor};

fn or_dash(text: Option<&str>) -> &str {
    text.unwrap_or("-")
}

#[test]
fn the_table_is_pytorchs() {
    let mut seen = 0;
    for line in include_str!("golden/dtypes.txt").lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let dtype = DType::from_name(fields[0]).unwrap();
        let flag = |value: bool| if value { "1" } else { "0" };
        assert_eq!(dtype.item_size().to_string(), fields[1], "{line}");
        assert_eq!(flag(dtype.is_floating_point()), fields[2], "{line}");
        assert_eq!(flag(dtype.is_complex()), fields[3], "{line}");
        assert!(fields[4] == "-" || fields[4] == flag(dtype.is_signed()), "{line}");
        assert_eq!(or_dash(dtype.storage_class()), fields[5], "{line}");
        // The Python package lists fewer of its format's types than the format has.
        assert!(fields[6] == "-" || or_dash(dtype.safetensors_name()) == fields[6], "{line}");
        assert_eq!(or_dash(dtype.numpy_descr()), fields[7], "{line}");
        seen += 1;
    }
    assert_eq!(seen, DType::all().len());
}

#[test]
fn tensors_travel_between_threads() {
    fn sendable<T: Send + Sync>() {}
    sendable::<Tensor>();
    sendable::<Storage>();
}
