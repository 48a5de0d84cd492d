//! `sconce show`: the elements of a tensor.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use sconce::checkpoint::{Checkpoint, Node, StorageRecord, TensorClass};
use sconce::tensor::{Histogram, PrintOptions, Stats, Tensor, write_npy};
use serde::Serialize;

use crate::arguments::reading::Input;
use crate::error::{Failure, Outcome, Verdict};
use crate::output::{
    Line, Out, SCHEMA_VERSION, Separated, Style, count, grouped, percent_bar, shell_word,
};
use crate::read::open::{self, Say};
use crate::report::elements;
use crate::report::numbers::{nested_lists, numbers, scalar_text, short_number};
use crate::report::statistics::StatisticsRow;
use crate::select::pick::{self, Picked};
use crate::write::atomic::AtomicFile;

/// `sconce show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The file.
    #[command(flatten)]
    pub input: Input,
    /// Names or patterns, with an optional slice: fc.weight, fc.weight[0:3,:], '*.bias'
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Show statistics (without being asked when one tensor is shown)
    #[arg(long)]
    pub stats: bool,
    /// Show a histogram (without being asked when one tensor is shown)
    #[arg(long, value_name = "BINS", num_args = 0..=1, default_missing_value = "10")]
    #[arg(require_equals = true)]
    pub hist: Option<usize>,
    /// Show values and metadata only: large tensors need not be read
    #[arg(long, conflicts_with_all = ["stats", "hist"])]
    pub no_stats: bool,
    /// Do not show values
    #[arg(long)]
    pub no_values: bool,
    /// Print all elements
    #[arg(long)]
    pub full: bool,
    /// Digits behind the decimal point
    #[arg(long, value_name = "N")]
    pub precision: Option<usize>,
    /// Write the elements instead
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "json")]
    pub format: Option<ShowFormat>,
    /// Write to this file (format from the extension)
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    pub output: Option<PathBuf>,
    /// Overwrite the file
    #[arg(short, long)]
    pub force: bool,
    /// Print metadata, and what else was asked for, as JSON
    #[arg(long)]
    pub json: bool,
}

/// `--format` of `sconce show`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShowFormat {
    /// A NumPy file
    Npy,
    /// The elements' bytes: row-major, little-endian
    Raw,
    /// A line for each row of the last dimension
    Csv,
    /// Nested lists
    Json,
}

/// Columns of a histogram's longest bar.
const BAR: usize = 40;
/// Bars of a histogram that nobody asked for.
const BINS: usize = 10;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    file: &'a str,
    values: Vec<Shown>,
}

#[derive(Serialize)]
struct Shown {
    name: String,
    class: String,
    dtype: Option<&'static str>,
    layout: Option<&'static str>,
    shape: Option<Vec<i64>>,
    stride: Option<Vec<i64>>,
    storage_offset: Option<i64>,
    device: Option<String>,
    requires_grad: Option<bool>,
    nbytes: Option<u64>,
    text: Option<String>,
    stats: Option<StatisticsRow>,
    histogram: Option<Bins>,
}

#[derive(Serialize)]
struct Bins {
    min: f64,
    max: f64,
    bins: Vec<u64>,
}

pub fn run(args: &ShowArgs, out: &mut Out, say: Say) -> Verdict {
    let checkpoint = open::checkpoint(&args.input, say)?;
    let picked = picked(&checkpoint, args)?;
    if let Some(format) = format(args)? {
        write(format, &picked, args, out)?;
        return Ok(Outcome::Clean);
    }
    if args.json {
        let file = open::name(&args.input.file);
        let values = picked.iter().map(|one| describe(one, args)).collect::<Result<_, _>>()?;
        out.json(&Document { schema_version: SCHEMA_VERSION, file: &file, values })?;
        return Ok(Outcome::Clean);
    }
    out.use_pager();
    let storages = Storages::new(&checkpoint);
    let alone = picked.len() == 1;
    for (at, one) in picked.iter().enumerate() {
        if at > 0 {
            out.plain("")?;
        }
        print(one, &storages, alone, args, out)?;
    }
    Ok(Outcome::Clean)
}

fn picked<'c>(checkpoint: &'c Checkpoint, args: &ShowArgs) -> Result<Vec<Picked<'c>>, Failure> {
    if !args.names.is_empty() {
        let mut out = Vec::new();
        for name in &args.names {
            out.extend(pick::pick(checkpoint, name)?);
        }
        return Ok(out);
    }
    let tensors = checkpoint.tensors();
    match &tensors[..] {
        [only] => pick::pick(checkpoint, &only.name),
        _ => Err(Failure::usage(format!(
            "the file has {}: say which",
            count(tensors.len(), "tensor")
        ))
        .in_file(checkpoint.source().name())
        .help(format!("sconce show {} NAME", shell_word(checkpoint.source().name())))),
    }
}

fn tensor<'a>(one: &'a Picked<'_>) -> Result<&'a Tensor, Failure> {
    one.tensor.as_ref().ok_or_else(|| {
        Failure::usage(format!("'{}' is not a tensor, it is {}", one.name, one.object.class_name()))
    })
}

fn describe(one: &Picked<'_>, args: &ShowArgs) -> Result<Shown, Failure> {
    let Some(tensor) = &one.tensor else {
        return Ok(Shown {
            name: one.name.clone(),
            class: one.object.class_name(),
            dtype: None,
            layout: None,
            shape: None,
            stride: None,
            storage_offset: None,
            device: None,
            requires_grad: None,
            nbytes: None,
            text: Some(one.object.repr(10_000)),
            stats: None,
            histogram: None,
        });
    };
    let (stats, histogram) = statistics(tensor, args)?;
    let strided = tensor.storage().is_some();
    Ok(Shown {
        name: one.name.clone(),
        class: one.object.class_name(),
        dtype: Some(tensor.dtype().name()),
        layout: Some(tensor.layout().name()),
        shape: tensor.nested_parts().is_none().then(|| tensor.sizes().to_vec()),
        stride: strided.then(|| tensor.strides().to_vec()),
        storage_offset: strided.then(|| tensor.storage_offset()),
        device: Some(tensor.device().to_string()),
        requires_grad: Some(tensor.requires_grad()),
        nbytes: Some(elements::nbytes(tensor)),
        text: (!args.no_values).then(|| tensor.to_text(&print_options(args))).transpose()?,
        stats: stats.as_ref().map(StatisticsRow::from),
        histogram: histogram.map(|histogram| Bins {
            min: histogram.min,
            max: histogram.max,
            bins: histogram.bins,
        }),
    })
}

fn statistics(
    tensor: &Tensor,
    args: &ShowArgs,
) -> Result<(Option<Stats>, Option<Histogram>), Failure> {
    if !args.stats && args.hist.is_none() {
        return Ok((None, None));
    }
    let numbers = numbers(tensor)?;
    let stats = numbers.stats()?;
    let histogram = args.hist.map(|bins| numbers.histogram(&stats, bins)).transpose()?;
    Ok((args.stats.then_some(stats), histogram))
}

/// Statistics that nobody asked for: none where they say nothing or cannot be had.
fn usual_statistics(tensor: &Tensor) -> (Option<Stats>, Option<Histogram>) {
    if tensor.numel() < 2 || !tensor.has_data() {
        return (None, None);
    }
    let Ok(numbers) = numbers(tensor) else { return (None, None) };
    let Ok(stats) = numbers.stats() else { return (None, None) };
    let spread = stats.min < stats.max;
    let histogram = spread.then(|| numbers.histogram(&stats, BINS).ok()).flatten();
    (Some(stats), histogram)
}

fn print_options(args: &ShowArgs) -> PrintOptions {
    let mut options = if args.full { PrintOptions::full() } else { PrintOptions::default() };
    options.precision = args.precision.unwrap_or(options.precision).min(100);
    options
}

fn print(
    one: &Picked<'_>,
    storages: &Storages<'_>,
    alone: bool,
    args: &ShowArgs,
    out: &mut Out,
) -> Result<(), Failure> {
    let Some(tensor) = &one.tensor else {
        out.line(
            &Line::new().add(Style::Strong, &one.name).plain("  ").plain(one.object.class_name()),
        )?;
        return out.text(&one.object.repr(if args.full { 1 << 24 } else { 10_000 }));
    };
    out.line(&heading(one, tensor, out))?;
    if let Some(line) = storages.line(tensor, out) {
        out.line(&line)?;
    }
    let asked = args.stats || args.hist.is_some() || args.no_stats;
    let (stats, histogram) = match alone && !asked {
        true => usual_statistics(tensor),
        false => statistics(tensor, args)?,
    };
    if let Some(stats) = stats {
        out.line(&stats_line(&stats))?;
    }
    if let Some(histogram) = histogram {
        print_histogram(&histogram, out)?;
    }
    if !args.no_values {
        let options = print_options(args);
        let parameter = matches!(one.object.data(), Node::Tensor(held)
            if held.class == TensorClass::Parameter && !one.sliced);
        // A storage that cannot be read is an error here, not a remark in the text.
        let text = tensor.to_text(&options)?;
        out.text(&if parameter { tensor.display_parameter(&options).to_string() } else { text })?;
    }
    Ok(())
}

fn heading(one: &Picked<'_>, tensor: &Tensor, out: &Out) -> Line {
    let name = if one.name.is_empty() { "(root)" } else { &one.name };
    let mut line = Line::new()
        .add(Style::Strong, name)
        .plain("  ")
        .plain(tensor.dtype().name())
        .plain(format!(" {:?}", tensor.sizes()));
    if tensor.storage().is_some() {
        let order = if tensor.is_contiguous() { " contiguous" } else { "" };
        let stride: Vec<String> = tensor.strides().iter().map(i64::to_string).collect();
        line = line.dim(format!("  stride ({}){order}", stride.join(", ")));
    } else {
        line = line.dim(format!("  {}", tensor.layout().name()));
    }
    if let Some(quantizer) = tensor.quantizer() {
        line = line.dim(format!("  {}", quantizer.scheme_name()));
    }
    if !tensor.device().is_cpu() {
        line = line.dim(format!("  {}", tensor.device()));
    }
    if tensor.requires_grad() {
        line = line.dim("  requires_grad");
    }
    line.plain("  ").add(Style::Number, out.sizes().show(elements::nbytes(tensor)))
}

/// What is known of every storage, by its identity.
struct Storages<'c> {
    records: HashMap<usize, &'c StorageRecord>,
    users: HashMap<usize, usize>,
}

impl<'c> Storages<'c> {
    fn new(checkpoint: &'c Checkpoint) -> Storages<'c> {
        let records = checkpoint.storages().iter().map(|record| (record.storage.id(), record));
        let mut users: HashMap<usize, usize> = HashMap::new();
        for storage in checkpoint.tensors().iter().filter_map(|named| named.tensor.storage()) {
            *users.entry(storage.id()).or_default() += 1;
        }
        Storages { records: records.collect(), users }
    }

    fn line(&self, tensor: &Tensor, out: &Out) -> Option<Line> {
        let id = tensor.storage()?.id();
        let record = self.records.get(&id)?;
        let range = tensor.storage_range()?;
        let name = record.record_name().unwrap_or_else(|| format!("'{}'", record.key));
        let text = format!(
            "  storage {name}, bytes {}..{} of {}, used by {}",
            range.start,
            range.end,
            out.sizes().show(record.nbytes),
            count(self.users.get(&id).copied().unwrap_or(0), "tensor")
        );
        Some(Line::new().dim(text))
    }
}

fn stats_line(stats: &Stats) -> Line {
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), short_number);
    let mut line = Line::new().plain("  ");
    let values = [
        ("mean", number(stats.mean)),
        ("std", number(stats.std)),
        ("min", number(stats.min)),
        ("max", number(stats.max)),
        ("L2", short_number(stats.l2)),
        ("zeros", grouped(stats.zeros)),
        ("nan", grouped(stats.nan)),
        ("inf", grouped(stats.pos_inf + stats.neg_inf)),
    ];
    for (at, (label, value)) in values.iter().enumerate() {
        line.push(Style::Dim, format!("{}{label} ", if at > 0 { "  " } else { "" }));
        let bad = at >= 6 && value != "0";
        line.push(if bad { Style::Bad } else { Style::Number }, value);
    }
    line
}

fn print_histogram(histogram: &Histogram, out: &mut Out) -> Result<(), Failure> {
    let most = histogram.bins.iter().copied().max().unwrap_or(0).max(1);
    let step = (histogram.max / 2.0 - histogram.min / 2.0) / histogram.bins.len() as f64 * 2.0;
    let counts: Vec<String> = histogram.bins.iter().map(|&n| grouped(n)).collect();
    let widest = counts.iter().map(String::len).max().unwrap_or(0);
    for (at, (bin, text)) in histogram.bins.iter().zip(&counts).enumerate() {
        let edge = histogram.min + step * at as f64;
        let bar = percent_bar(*bin as f64 / most as f64, BAR);
        let line = Line::new()
            .dim(format!("  {:>10} ", short_number(edge)))
            .add(Style::Name, format!("{bar:<BAR$}"))
            .plain(format!("  {text:>widest$}"));
        out.line(&line)?;
    }
    Ok(())
}

fn format(args: &ShowArgs) -> Result<Option<ShowFormat>, Failure> {
    if args.format.is_some() {
        return Ok(args.format);
    }
    let Some(path) = &args.output else { return Ok(None) };
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("npy") => Ok(Some(ShowFormat::Npy)),
        Some("csv") => Ok(Some(ShowFormat::Csv)),
        Some("json") => Ok(Some(ShowFormat::Json)),
        Some("raw" | "bin") => Ok(Some(ShowFormat::Raw)),
        _ => Err(Failure::usage("the file's extension does not say a format")
            .in_file(path.to_string_lossy())
            .help("--format npy, raw, csv or json")),
    }
}

fn write(
    format: ShowFormat,
    picked: &[Picked<'_>],
    args: &ShowArgs,
    out: &mut Out,
) -> Result<(), Failure> {
    let [one] = picked else {
        return Err(Failure::usage("only one tensor can be written this way")
            .help("sconce convert FILE OUT.npz writes many"));
    };
    let tensor = tensor(one)?;
    let binary = matches!(format, ShowFormat::Npy | ShowFormat::Raw);
    let path = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let Some(path) = path else {
        if binary && out.is_terminal() && args.output.is_none() {
            return Err(Failure::usage("binary data does not go to a terminal")
                .help("-o FILE writes it to a file, -o - to the terminal all the same"));
        }
        let mut bytes = Vec::new();
        encode(format, tensor, &mut bytes)?;
        return out.raw(&bytes);
    };
    let mut file = AtomicFile::create(path, args.force)?;
    encode(format, tensor, &mut file)?;
    file.commit()
}

fn encode(format: ShowFormat, tensor: &Tensor, to: &mut dyn Write) -> Result<(), Failure> {
    let fail = |error: std::io::Error| Failure::unreadable(format!("cannot write: {error}"));
    match format {
        ShowFormat::Npy => write_npy(tensor, to)?,
        ShowFormat::Raw => {
            for (_, part) in elements::components(tensor)? {
                to.write_all(&part.contiguous_bytes()?).map_err(fail)?;
            }
        }
        ShowFormat::Csv => {
            numbers(tensor)?;
            let width = tensor.sizes().last().map_or(1, |&size| size.max(1)) as usize;
            let mut row = Vec::with_capacity(width);
            for scalar in tensor.values()? {
                row.push(scalar_text(scalar));
                if row.len() == width {
                    to.write_all(Separated::Comma.row(&row).as_bytes()).map_err(fail)?;
                    row.clear();
                }
            }
        }
        ShowFormat::Json => nested_lists(tensor, to).map_err(fail)??,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_in_lists() {
        let json = |tensor: &Tensor| {
            let mut out = Vec::new();
            encode(ShowFormat::Json, tensor, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let cube = Tensor::from_vec((0..8i64).collect(), &[2, 2, 2]).unwrap();
        assert_eq!(json(&cube), "[[[0,1],[2,3]],[[4,5],[6,7]]]\n");
        let scalar = Tensor::from_vec(vec![f32::NAN], &[]).unwrap();
        assert_eq!(json(&scalar), "\"nan\"\n");
        let empty = Tensor::from_vec(Vec::<f32>::new(), &[2, 0, 3]).unwrap();
        assert_eq!(json(&empty), "[[],[]]\n");
        let column = Tensor::from_vec(vec![1.5f32, -2.0], &[2, 1]).unwrap();
        assert_eq!(json(&column), "[[1.5],[-2.0]]\n");
    }

    #[test]
    fn rows_of_csv() {
        let mut out = Vec::new();
        let matrix = Tensor::from_vec(vec![1f64, -2.5, f64::INFINITY, 4.0], &[2, 2]).unwrap();
        encode(ShowFormat::Csv, &matrix, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "1.0,-2.5\ninf,4.0\n");
    }
}
