/// What `torch.set_printoptions` sets.
///
/// ```
/// use sconce_tensor::{PrintOptions, Tensor};
/// let t = Tensor::from_vec((0..5).map(|i| i as f32 / 3.0).collect(), &[5]).unwrap();
/// let options = PrintOptions { precision: 2, threshold: 4, edgeitems: 1, ..PrintOptions::default() };
/// assert_eq!(t.display(&options).to_string(), "tensor([0.00,  ..., 1.33])");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrintOptions {
    /// Digits behind the decimal point.
    pub precision: usize,
    /// Tensors of more elements show only their edges.
    pub threshold: u64,
    /// How many elements at each end of a dimension are its edges.
    pub edgeitems: usize,
    /// Characters on a line.
    pub linewidth: usize,
    /// Whether to use scientific notation, or `None` to let the elements decide.
    pub sci_mode: Option<bool>,
}

impl PrintOptions {
    /// `torch.set_printoptions(profile="short")`.
    pub fn short() -> PrintOptions {
        PrintOptions { precision: 2, edgeitems: 2, ..PrintOptions::default() }
    }

    /// `torch.set_printoptions(profile="full")`: no summaries.
    pub fn full() -> PrintOptions {
        PrintOptions { threshold: u64::MAX, ..PrintOptions::default() }
    }

    /// The profile of a name: `default`, `short` or `full`.
    pub fn from_profile(name: &str) -> Option<PrintOptions> {
        match name {
            "default" => Some(PrintOptions::default()),
            "short" => Some(PrintOptions::short()),
            "full" => Some(PrintOptions::full()),
            _ => None,
        }
    }
}

impl Default for PrintOptions {
    /// `torch.set_printoptions(profile="default")`.
    fn default() -> PrintOptions {
        PrintOptions { precision: 4, threshold: 1000, edgeitems: 3, linewidth: 80, sci_mode: None }
    }
}
