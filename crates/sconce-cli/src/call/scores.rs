//! `--top`: the best classes of a row of scores, with a bar each.

use sconce::checkpoint::Object;
use sconce::tensor::Tensor;
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use crate::error::Failure;
use crate::output::{Line, Out, Style, percent_bar};

/// Columns of a bar that stands for all.
const BAR: usize = 40;

/// A class and how likely it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    class: usize,
    label: String,
    probability: f64,
}

/// The best classes of each row of scores, best first. Scores that are not probabilities already,
/// none below zero and one in sum, become some by softmax.
pub fn best(
    result: Object<'_>,
    most: usize,
    labels: Option<&[String]>,
) -> Result<Vec<Vec<Row>>, Failure> {
    let wrong = || {
        Failure::usage("--top needs a result that is a row of scores, or a batch of such rows")
            .help("without --top the result is shown as it is")
    };
    let tensor = scores(result).ok_or_else(wrong)?;
    let classes = match tensor.sizes() {
        [classes] | [_, classes] if *classes > 0 => *classes as usize,
        _ => return Err(wrong()),
    };
    let values: Option<Vec<f64>> = tensor.values()?.map(|scalar| scalar.to_f64()).collect();
    let values = values.ok_or_else(wrong)?;
    if let Some(labels) = labels
        && labels.len() < classes
    {
        let message = format!("there are {} labels for {classes} classes", labels.len());
        return Err(Failure::usage(message));
    }
    let label = |class: usize| match labels.and_then(|labels| labels.get(class)) {
        Some(label) => label.clone(),
        None => class.to_string(),
    };
    let rows = values.chunks(classes).map(|row| {
        let mut row: Vec<Row> = probabilities(row)
            .into_iter()
            .enumerate()
            .map(|(class, probability)| Row { class, label: label(class), probability })
            .collect();
        row.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        row.truncate(most);
        row
    });
    Ok(rows.collect())
}

/// The tensor of scores: the result, or the first of several, or the only one of a dict.
fn scores(result: Object<'_>) -> Option<&Tensor> {
    match result.as_tensor() {
        Some(tensor) => Some(tensor),
        None => result.at(0).and_then(|first| first.as_tensor()).or_else(|| {
            let (_, value) = result.entries().next()?;
            (result.len() == 1).then(|| value.as_tensor())?
        }),
    }
}

fn probabilities(scores: &[f64]) -> Vec<f64> {
    let sum: f64 = scores.iter().sum();
    if scores.iter().all(|&score| score >= 0.0) && (sum - 1.0).abs() < 1e-3 {
        return scores.to_vec();
    }
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

/// A line for each class.
pub fn print(rows: &[Vec<Row>], out: &mut Out) -> Result<(), Failure> {
    let labels = rows.iter().flatten().map(|row| row.label.width());
    let width = labels.max().unwrap_or(0);
    for (index, row) in rows.iter().enumerate() {
        if rows.len() > 1 {
            if index > 0 {
                out.plain("")?;
            }
            out.line(&Line::new().dim(format!("row {index}")))?;
        }
        for (at, class) in row.iter().enumerate() {
            let style = if at == 0 { Style::Strong } else { Style::Plain };
            let label = Line::new().add(style, &class.label).pad_to(width);
            let mut line = Line::new().plain("  ");
            line.extend(label);
            let percent = format!("{:5.1} %  ", 100.0 * class.probability);
            line.push(Style::Plain, "  ");
            line.push(Style::Number, percent);
            line.push(Style::Name, percent_bar(class.probability, BAR));
            out.line(&line)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use sconce::checkpoint::{Draft, Value};

    use super::*;

    fn best_of(tensor: Tensor, most: usize) -> Vec<Vec<Row>> {
        best(Draft::from(Value::from(tensor)).root(), most, None).unwrap()
    }

    #[test]
    fn scores_become_probabilities_and_probabilities_stay() {
        let row = Tensor::from_slice(&[0f32, 3f32.ln(), 0.0], &[1, 3]).unwrap();
        let rows = best_of(row, 2);
        assert_eq!((rows.len(), rows[0].len(), rows[0][0].class), (1, 2, 1));
        assert!((rows[0][0].probability - 0.6).abs() < 1e-6);
        let rows = best_of(Tensor::from_slice(&[0.25f64, 0.75, 1.0, 0.0], &[2, 2]).unwrap(), 9);
        assert_eq!(rows[0][0].probability, 0.75);
        assert_eq!((rows[1][0].class, rows[1][1].class), (0, 1));
    }

    #[test]
    fn what_is_no_row_of_scores_is_refused() {
        let cube = Value::from(Tensor::from_slice(&[0f32], &[1, 1, 1]).unwrap());
        assert_eq!(best(Draft::from(cube).root(), 1, None).unwrap_err().code(), 3);
        assert_eq!(best(Draft::from(Value::from(3)).root(), 1, None).unwrap_err().code(), 3);
        let row = Value::from(Tensor::from_slice(&[0f32, 1.0], &[2]).unwrap());
        let labels = ["one".to_owned()];
        assert!(best(Draft::from(row).root(), 1, Some(&labels)).is_err());
    }
}
