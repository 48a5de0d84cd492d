//! Graphs drawn as SVG, in layers: a box stands below everything that it uses.

use std::fmt::Write;

use super::layered_layout::Picture;
use crate::output::escape::is_hostile;

/// The most boxes and bends of arrows that are drawn.
const MAX_POINTS: usize = 20_000;
/// Characters of a label that are shown.
const LABEL_CHARS: usize = 60;
/// How often layers are put in order of their neighbours, down and up.
const SWEEPS: usize = 6;
const CHAR_WIDTH: f64 = 7.3;
const BOX_HEIGHT: f64 = 26.0;
const LAYER_HEIGHT: f64 = 64.0;
const GAP: f64 = 18.0;
const MARGIN: f64 = 20.0;

/// A box, or where an arrow passes a layer.
struct Point {
    layer: usize,
    width: f64,
    x: f64,
    above: Vec<usize>,
    below: Vec<usize>,
}

/// A picture as SVG.
///
/// # Errors
/// When it is too large; the message says how large it is.
pub fn svg(picture: &Picture) -> Result<String, String> {
    let labels: Vec<String> = picture.boxes.iter().map(|node| shown(&node.label)).collect();
    let mut layout = Layout::new(picture, &labels)?;
    layout.order();
    layout.place();
    Ok(layout.draw(picture, &labels))
}

struct Layout {
    points: Vec<Point>,
    /// The points of each layer, from left to right.
    layers: Vec<Vec<usize>>,
    /// For each arrow the points that it goes through.
    routes: Vec<Vec<usize>>,
}

impl Layout {
    fn new(picture: &Picture, labels: &[String]) -> Result<Layout, String> {
        let layer = layers(picture);
        let spans = picture.arrows.iter().map(|arrow| layer[arrow.to] - layer[arrow.from]);
        let points = picture.boxes.len() + spans.sum::<usize>();
        if points > MAX_POINTS {
            let (boxes, arrows) = (picture.boxes.len(), picture.arrows.len());
            return Err(format!(
                "the graph has {boxes} nodes and {arrows} uses, which is too large a picture"
            ));
        }
        let depth = layer.iter().max().map_or(0, |deepest| deepest + 1);
        let mut layout =
            Layout { points: Vec::new(), layers: vec![Vec::new(); depth], routes: Vec::new() };
        for (&layer, label) in layer.iter().zip(labels) {
            layout.add(layer, label.chars().count() as f64 * CHAR_WIDTH + 16.0);
        }
        for arrow in &picture.arrows {
            let bends = layer[arrow.from] + 1..layer[arrow.to];
            let mut route = vec![arrow.from];
            route.extend(bends.map(|layer| layout.add(layer, 4.0)));
            route.push(arrow.to);
            for pair in route.windows(2) {
                layout.points[pair[0]].below.push(pair[1]);
                layout.points[pair[1]].above.push(pair[0]);
            }
            layout.routes.push(route);
        }
        Ok(layout)
    }

    fn add(&mut self, layer: usize, width: f64) -> usize {
        let at = self.points.len();
        self.points.push(Point { layer, width, x: 0.0, above: Vec::new(), below: Vec::new() });
        self.layers[layer].push(at);
        at
    }

    /// Puts every layer in the order of its points' neighbours in the layer before, which takes out
    /// most crossings.
    fn order(&mut self) {
        let mut rank = vec![0.0; self.points.len()];
        for sweep in 0..SWEEPS {
            let down = sweep % 2 == 0;
            for step in 0..self.layers.len() {
                let at = if down { step } else { self.layers.len() - 1 - step };
                let mut layer = std::mem::take(&mut self.layers[at]);
                for (index, &point) in layer.iter().enumerate() {
                    let Point { above, below, .. } = &self.points[point];
                    let near = if down { above } else { below };
                    rank[point] = mean(near, |other| rank[other]).unwrap_or(index as f64);
                }
                layer.sort_by(|&a, &b| rank[a].total_cmp(&rank[b]));
                for (index, &point) in layer.iter().enumerate() {
                    rank[point] = index as f64;
                }
                self.layers[at] = layer;
            }
        }
    }

    /// Moves points towards their neighbours as far as those of their layer let them.
    fn place(&mut self) {
        for sweep in 0..=SWEEPS {
            let down = sweep % 2 == 0;
            for step in 0..self.layers.len() {
                let at = if down { step } else { self.layers.len() - 1 - step };
                let layer = &self.layers[at];
                let wanted: Vec<f64> = layer
                    .iter()
                    .map(|&point| {
                        let Point { above, below, x, .. } = &self.points[point];
                        let near = if down { above } else { below };
                        mean(near, |other| self.points[other].x).unwrap_or(*x)
                    })
                    .collect();
                let widths: Vec<f64> =
                    layer.iter().map(|&point| self.points[point].width).collect();
                for (&point, x) in self.layers[at].iter().zip(spread(&wanted, &widths)) {
                    self.points[point].x = x;
                }
            }
        }
        let edge = |point: &Point| point.x - point.width / 2.0;
        let left = self.points.iter().map(edge).fold(f64::INFINITY, f64::min);
        for point in &mut self.points {
            point.x += MARGIN - left;
        }
    }

    fn draw(&self, picture: &Picture, labels: &[String]) -> String {
        let right = |point: &Point| point.x + point.width / 2.0;
        let width = self.points.iter().map(right).fold(0.0, f64::max) + MARGIN;
        let height =
            self.layers.len() as f64 * LAYER_HEIGHT + 2.0 * MARGIN - LAYER_HEIGHT + BOX_HEIGHT;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             font-family=\"monospace\" font-size=\"12\">\n\
             <defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" \
             markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker></defs>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        for (arrow, route) in picture.arrows.iter().zip(&self.routes) {
            let dashed = if arrow.value.is_none() { " stroke-dasharray=\"4\"" } else { "" };
            let _ = write!(out, "<path fill=\"none\" stroke=\"#555\"{dashed} d=\"");
            self.curve(route, &mut out);
            out.push_str("\" marker-end=\"url(#head)\">");
            if let Some(name) = &arrow.value {
                let _ = write!(out, "<title>{}</title>", xml(&shown(name)));
            }
            out.push_str("</path>\n");
        }
        for ((point, node), label) in self.points.iter().zip(&picture.boxes).zip(labels) {
            let (x, y) = (point.x - point.width / 2.0, self.top(point.layer));
            let (radius, fill) = if node.round { (13, "#eef") } else { (3, "#fff") };
            let _ = writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BOX_HEIGHT}\" \
                 rx=\"{radius}\" fill=\"{fill}\" stroke=\"black\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                point.width,
                point.x,
                y + BOX_HEIGHT / 2.0 + 4.0,
                xml(label)
            );
        }
        out.push_str("</svg>\n");
        out
    }

    fn top(&self, layer: usize) -> f64 {
        MARGIN + layer as f64 * LAYER_HEIGHT
    }

    /// From the lower edge of the first box through the bends to the upper edge of the last.
    fn curve(&self, route: &[usize], out: &mut String) {
        let last = route.len() - 1;
        let mut from = (0.0, 0.0);
        for (at, &point) in route.iter().enumerate() {
            let point = &self.points[point];
            let top = self.top(point.layer);
            if at > 0 {
                let middle = (from.1 + top) / 2.0;
                let (x, start) = (point.x, from.0);
                let _ = write!(out, "C{start:.1} {middle:.1} {x:.1} {middle:.1} {x:.1} {top:.1}");
            }
            let bottom = (point.x, top + BOX_HEIGHT);
            if at == 0 {
                let _ = write!(out, "M{:.1} {:.1}", bottom.0, bottom.1);
            } else if at < last {
                let _ = write!(out, "V{:.1}", bottom.1);
            }
            from = bottom;
        }
    }
}

/// The layer of each box: one more than that of any box it has an arrow from.
fn layers(picture: &Picture) -> Vec<usize> {
    let mut layers = vec![0; picture.boxes.len()];
    let mut arrows: Vec<(usize, usize)> =
        picture.arrows.iter().map(|arrow| (arrow.from, arrow.to)).collect();
    // Arrows point from earlier boxes to later ones: in order of what they come from, each is met
    // when that has its layer.
    arrows.sort_unstable();
    for (from, to) in arrows {
        layers[to] = layers[to].max(layers[from] + 1);
    }
    layers
}

/// Places as near as can be to those that are wanted, no two nearer than their widths ask: half
/// the way between pushing everything right and pushing everything left.
fn spread(wanted: &[f64], widths: &[f64]) -> Vec<f64> {
    let apart = |at: usize| (widths[at - 1] + widths[at]) / 2.0 + GAP;
    let mut right = wanted.to_vec();
    for at in 1..right.len() {
        right[at] = right[at].max(right[at - 1] + apart(at));
    }
    let mut left = wanted.to_vec();
    for at in (1..left.len()).rev() {
        left[at - 1] = left[at - 1].min(left[at] - apart(at));
    }
    right.iter().zip(&left).map(|(right, left)| (right + left) / 2.0).collect()
}

fn mean(points: &[usize], of: impl Fn(usize) -> f64) -> Option<f64> {
    let sum: f64 = points.iter().map(|&point| of(point)).sum();
    (!points.is_empty()).then(|| sum / points.len() as f64)
}

/// As much of a text as is shown.
fn shown(text: &str) -> String {
    let visible = text.chars().map(|c| if is_hostile(c) { '\u{fffd}' } else { c });
    let mut shown: String = visible.clone().take(LABEL_CHARS).collect();
    if visible.count() > LABEL_CHARS {
        shown.push('…');
    }
    shown
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::layered_layout::{Arrow, Block, Box};
    use super::*;

    fn picture(boxes: usize, arrows: &[(usize, usize)]) -> Picture {
        Picture {
            boxes: (0..boxes)
                .map(|at| Box { label: format!("<b{at}>\u{1b}"), round: at == 0, block: 0 })
                .collect(),
            blocks: vec![Block { index: 0, parent: None }],
            arrows: arrows
                .iter()
                .map(|&(from, to)| Arrow { from, to, value: Some("%x".to_owned()) })
                .collect(),
        }
    }

    #[test]
    fn boxes_stand_below_what_they_use_and_beside_each_other() {
        let picture = picture(5, &[(0, 1), (0, 2), (1, 3), (2, 3), (0, 3), (0, 3)]);
        assert_eq!(layers(&picture), [0, 1, 1, 2, 0]);
        let labels: Vec<String> = picture.boxes.iter().map(|node| shown(&node.label)).collect();
        let mut layout = Layout::new(&picture, &labels).unwrap();
        layout.order();
        layout.place();
        for layer in &layout.layers {
            for pair in layer.windows(2) {
                let (a, b) = (&layout.points[pair[0]], &layout.points[pair[1]]);
                assert!(b.x - a.x >= (a.width + b.width) / 2.0, "{} {}", a.x, b.x);
            }
        }
    }

    #[test]
    fn labels_are_text() {
        let drawn = svg(&picture(1, &[])).unwrap();
        assert!(drawn.contains("&lt;b0&gt;\u{fffd}</text>"), "{drawn}");
        assert!(svg(&Picture::default()).unwrap().ends_with("</svg>\n"));
    }

    #[test]
    fn a_picture_that_is_too_large_is_refused() {
        let chain: Vec<(usize, usize)> = (1..400).flat_map(|to| [(to - 1, to), (0, to)]).collect();
        let message = svg(&picture(400, &chain)).unwrap_err();
        assert!(message.contains("400 nodes and 798 uses"), "{message}");
    }
}
