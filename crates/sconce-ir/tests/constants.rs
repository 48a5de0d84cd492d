//! Constants against PyTorch's print of them: `golden/constants.tsv`, written by
//! `golden/make_constants.py`.

use sconce_ir::Constant;

const GOLDEN: &str = include_str!("golden/constants.tsv");

fn float(bits: &str) -> f64 {
    f64::from_bits(u64::from_str_radix(bits, 16).expect("a float's bits in hex"))
}

fn text(hex: &str) -> String {
    let digits = |at: usize| &hex[at..at + 2];
    let byte = |at| u8::from_str_radix(digits(at), 16).expect("bytes in hex");
    String::from_utf8((0..hex.len()).step_by(2).map(byte).collect()).expect("UTF-8")
}

#[test]
fn numbers_and_strings_print_as_in_pytorch() {
    let mut wrong = Vec::new();
    for line in GOLDEN.lines() {
        let fields: Vec<&str> = line.splitn(3, '\t').collect();
        let constant = match fields[0] {
            "float" => Constant::Float(float(fields[1])),
            "complex" => {
                let (real, imaginary) = fields[1].split_once(',').unwrap();
                Constant::Complex(float(real), float(imaginary))
            }
            _ => Constant::Str(text(fields[1]).into()),
        };
        if constant.graph_text() != fields[2] {
            wrong.push(format!("{line}: found {}", constant.graph_text()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
