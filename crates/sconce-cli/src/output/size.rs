//! Numbers for people: sizes in IEC units, counts with separators, bars.

/// How sizes are printed: `1.87 MiB`, or with `--bytes` as exact numbers.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    exact: bool,
}

impl Sizes {
    /// Exact, or in the largest unit that leaves a number of at least one.
    pub fn new(exact: bool) -> Sizes {
        Sizes { exact }
    }

    /// A number of bytes.
    pub fn show(self, bytes: u64) -> String {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        if self.exact {
            return bytes.to_string();
        }
        if bytes < 1024 {
            return format!("{bytes} B");
        }
        let mut value = bytes as f64 / 1024.0;
        let mut unit = 0;
        // 1023.995 would print as 1024.0.
        while value >= 1023.95 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        let digits = if value < 9.995 { 2 } else { 1 };
        format!("{value:.digits$} {}", UNITS[unit])
    }
}

/// A number in groups of three digits: `487,102`.
pub fn grouped(number: impl Into<i128>) -> String {
    let number: i128 = number.into();
    let digits = number.unsigned_abs().to_string();
    let mut out = if number < 0 { "-".to_owned() } else { String::new() };
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 tensor`, `44 tensors`.
pub fn count(number: usize, singular: &str) -> String {
    let number = number as i128;
    if number == 1 { format!("1 {singular}") } else { format!("{} {singular}s", grouped(number)) }
}

/// A bar of up to `width` columns, in eighths.
pub fn percent_bar(share: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if share.is_nan() || share <= 0.0 {
        return String::new();
    }
    // What is there at all shows at least a sliver.
    let eighths = ((share.min(1.0) * width as f64 * 8.0).round() as usize).max(1);
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let cases = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (1536, "1.50 KiB"),
            (10 << 10, "10.0 KiB"),
            ((1 << 20) - 1, "1.00 MiB"),
            (1_961_000, "1.87 MiB"),
            (u64::MAX, "16.0 EiB"),
        ];
        for (bytes, want) in cases {
            assert_eq!(Sizes::new(false).show(bytes), want);
        }
        assert_eq!(Sizes::new(true).show(1536), "1536");
    }

    #[test]
    fn groups_and_bars() {
        assert_eq!(grouped(487_102), "487,102");
        assert_eq!(grouped(-1000), "-1,000");
        assert_eq!(grouped(7), "7");
        assert_eq!(count(1, "tensor"), "1 tensor");
        assert_eq!(count(1200, "tensor"), "1,200 tensors");
        assert_eq!(percent_bar(1.0, 4), "████");
        assert_eq!(percent_bar(0.5, 3), "█▌");
        assert_eq!(percent_bar(0.0001, 10), "▏");
        assert_eq!(percent_bar(0.0, 10), "");
    }
}
