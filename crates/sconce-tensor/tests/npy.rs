//! `.npy` files are written and read as NumPy does.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use sconce_source::Bytes;
use sconce_tensor::{Error, Scalar, Tensor, read_npy, write_npy};

fn golden() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    include_str!("golden/npy.txt").lines().map(|line| {
        let (name, hex) = line.split_once(' ').unwrap();
        let byte = |i: usize| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap();
        (name, (0..hex.len() / 2).map(byte).collect())
    })
}

#[test]
fn what_numpy_saved_is_read_and_written_again() {
    let mut count = 0;
    for (name, file) in golden() {
        let read = read_npy(&Bytes::from(file.clone()));
        if name == "object" {
            assert!(matches!(&read, Err(Error::Npy { reason, .. }) if reason.contains("objects")));
            continue;
        }
        let tensor = read.unwrap_or_else(|error| panic!("{name}: {error}"));
        let as_written =
            !name.starts_with("big") && name != "fortran" && !name.starts_with("version");
        let mut out = Vec::new();
        write_npy(&tensor, &mut out).unwrap();
        assert_eq!(out == file, as_written, "{name}");
        count += 1;
    }
    assert!(count >= 20);
}

fn find(name: &str) -> Tensor {
    let (_, file) = golden().find(|(found, _)| *found == name).unwrap();
    read_npy(&file.into()).unwrap()
}

#[test]
fn orders_are_read() {
    let fortran = find("fortran");
    assert_eq!((fortran.sizes(), fortran.strides()), (&[2, 3][..], &[1, 2][..]));
    assert_eq!(fortran.to_vec::<i16>().unwrap(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(find("big-endian").to_vec::<i32>().unwrap(), [0, 1, 2]);
    assert_eq!(find("big-endian-complex").item().unwrap(), Scalar::Complex(1.0, 2.0));
    assert_eq!(find("version-3").to_vec::<i16>().unwrap(), [0, 1, 2]);
}
