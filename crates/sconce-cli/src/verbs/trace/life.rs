//! Which opcodes of a pickle make one of its tensors: those that make the containers around it, those that make
//! the tensor, and the one that puts it into its container.

use std::collections::{BTreeSet, HashSet};

use sconce::pickle::{Arena, Error, Limits, Node, Tracer, Value};

/// Where a name leads to is looked for among this many values at most.
const MOST_VISITS: usize = 4_000_000;

/// One opcode of the pickle, and how the stack stood before it.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Its offset.
    pub at: usize,
    depth: usize,
    /// Where the innermost mark stands, if there is one.
    mark: Option<usize>,
}

/// The opcodes that a tensor's life is made of.
#[derive(Debug)]
pub struct Life {
    /// Every opcode up to the one that stores the tensor, and STOP.
    pub moments: Vec<Moment>,
    /// Which of them are of the tensor's life, ascending.
    pub shown: Vec<usize>,
    /// The offset of the opcode that makes the tensor.
    pub made_at: u64,
}

/// The life of the value that a dotted name leads to; `None` where the pickle has no such value.
///
/// # Errors
/// When the pickle breaks off.
pub fn life(bytes: &[u8], limits: &Limits, name: &str) -> Result<Option<Life>, Error> {
    let mut moments = Vec::new();
    let mut tracer = Tracer::new(bytes, limits);
    loop {
        let machine = tracer.machine();
        let at = machine.position();
        let (depth, mark) = (machine.stack().len(), machine.marks().last().copied());
        moments.push(Moment { at, depth, mark });
        tracer.skip_until(at + 1)?;
        if tracer.machine().position() == at || bytes.get(at) == Some(&STOP) {
            break;
        }
    }
    let Some(loaded) = tracer.finish() else { return Ok(None) };
    let Some(value) = find(&loaded.arena, loaded.root, name) else { return Ok(None) };
    let made_at = loaded.arena.offset(value);
    let Ok(made) = moments.binary_search_by_key(&made_at, |moment| moment.at as u64) else {
        return Ok(None);
    };
    let updated = loaded.arena.updates(value).is_some_and(|updates| !updates.is_empty());
    Ok(Some(follow(bytes, moments, made, made_at, updated)))
}

const STOP: u8 = b'.';

/// Opcodes that put the top of the stack into the memo.
fn is_put(opcode: Option<&u8>) -> bool {
    matches!(opcode, Some(b'p' | b'q' | b'r' | 0x94))
}

fn follow(bytes: &[u8], moments: Vec<Moment>, made: usize, made_at: u64, updated: bool) -> Life {
    let opcode = |index: usize| moments.get(index).and_then(|moment: &Moment| bytes.get(moment.at));
    // The tensor stands where its callable stood: the opcode that pushed that is the last one before which the
    // stack was as high as that.
    let place = moments.get(made + 1).map_or(0, |after| after.depth.saturating_sub(1));
    let pushed = |place: usize, before: usize| {
        (0..before)
            .rev()
            .find(|&index| moments[index].depth == place && moments[index + 1].depth > place)
    };
    let start = pushed(place, made + 1).unwrap_or(made);
    // When the stack is no higher than the value's place, it has left it.
    let stored = |place: usize, from: usize| {
        (from..moments.len() - 1)
            .find(|&index| moments[index].depth > place && moments[index + 1].depth <= place)
    };
    let first = stored(place, made + 1);
    let has_key = first.is_some_and(|index| matches!(opcode(index), Some(b's' | b'u')));
    let begins = if has_key { pushed(place - 1, start).unwrap_or(start) } else { start };
    // What lies around: the container that takes the value, and so on outwards.
    let mut around = BTreeSet::new();
    let (mut at, mut inner, mut next) = (begins, place, first);
    while let Some(index) = next {
        let mark = moments[index].mark;
        let container = match opcode(index) {
            Some(b's') => inner.checked_sub(2),
            Some(b'a' | b'b') => inner.checked_sub(1),
            Some(b'u' | b'e' | 0x90) => mark.and_then(|mark| mark.checked_sub(1)),
            _ => None,
        };
        if matches!(opcode(index), Some(b's' | b'u')) && inner != place {
            around.extend(inner.checked_sub(1).and_then(|key| pushed(key, at)));
        }
        if let (Some(b'u' | b'e' | 0x90), Some(mark)) = (opcode(index), mark) {
            let marks = (0..at)
                .rev()
                .find(|&index| opcode(index) == Some(&b'(') && moments[index].depth == mark);
            around.extend(marks);
        }
        match container {
            Some(container) => {
                let Some(made) = pushed(container, at) else { break };
                around.insert(made);
                // A container that a call makes, such as an OrderedDict, is there when the call is done.
                let call = (made + 1..at.min(made + 16)).find(|&index| {
                    matches!(opcode(index), Some(b'R' | 0x81))
                        && moments[index + 1].depth == container + 1
                });
                around.extend(call.into_iter().flat_map(|call| made..=call));
                (at, inner) = (made, container);
                next = stored(inner, index + 1);
            }
            // It became part of a new value, which lies where the lowest of what it was made of lay.
            None => {
                let Some(place) = moments[index + 1].depth.checked_sub(1) else { break };
                at = pushed(place, at).unwrap_or(at);
                inner = place;
                next = stored(inner, index + 1);
            }
        }
    }
    // The opcodes before the first push, such as PROTO.
    around.extend((0..at).take_while(|&index| moments[index].depth == 0).take(4));
    for index in around.clone() {
        let puts = (index + 1..begins).take_while(|&index| is_put(opcode(index)));
        around.extend(puts);
    }
    let mut shown: Vec<usize> = around.into_iter().filter(|&index| index < begins).collect();
    // After it is made it may be put into the memo and given a state; then it leaves the stack's top for good.
    let mut end = made;
    if updated {
        let build = (made + 1..moments.len() - 1)
            .take_while(|&index| moments[index].depth > place)
            .filter(|&index| {
                matches!(opcode(index), Some(b'b')) && moments[index + 1].depth == place + 1
            })
            .find(|&index| moments[index].depth == place + 2);
        end = build.unwrap_or(made);
    }
    while is_put(opcode(end + 1)) {
        end += 1;
    }
    shown.extend(begins..=end);
    shown.extend(first);
    shown.push(moments.len() - 1);
    shown.dedup();
    Life { moments, shown, made_at }
}

/// The value that a dotted name leads to. Keys may hold dots themselves.
fn find(arena: &Arena<'_>, root: Value, name: &str) -> Option<Value> {
    if name.is_empty() {
        return Some(root);
    }
    let mut open = vec![(root, 0)];
    let mut seen = HashSet::new();
    while let Some((value, from)) = open.pop() {
        if from > name.len() {
            return Some(value);
        }
        if !seen.insert((value, from)) || seen.len() > MOST_VISITS {
            continue;
        }
        for (key, child) in children(arena, value) {
            let Some(key) = key else {
                open.push((child, from));
                continue;
            };
            let Some(left) = name[from..].strip_prefix(key.as_str()) else { continue };
            if left.is_empty() || left.starts_with('.') {
                open.push((child, from + key.len() + 1));
            }
        }
    }
    None
}

/// The values within a value, each with its part of the name; what has none counts as its container's.
fn children(arena: &Arena<'_>, value: Value) -> Vec<(Option<String>, Value)> {
    let mut out = Vec::new();
    let text = |key: Value| match arena.node(key) {
        Node::Int(number) => Some(number.to_string()),
        Node::ByteStr(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => arena.str(key).map(str::to_owned),
    };
    let entries = |entries: &[(Value, Value)], out: &mut Vec<(Option<String>, Value)>| {
        for &(key, child) in entries {
            let Some(key) = text(key) else { continue };
            // Where modules keep what they hold.
            if matches!(key.as_str(), "_parameters" | "_buffers" | "_modules") {
                out.push((None, child));
            }
            out.push((Some(key), child));
        }
    };
    let numbered = |items: &[Value], out: &mut Vec<(Option<String>, Value)>| {
        out.extend(items.iter().enumerate().map(|(at, &child)| (Some(at.to_string()), child)));
    };
    match arena.node(value) {
        Node::Dict(own) => entries(own, &mut out),
        Node::List(items) => numbered(items, &mut out),
        Node::Tuple(items) => numbered(arena.items(*items), &mut out),
        _ => {}
    }
    if let Some(updates) = arena.updates(value) {
        entries(&updates.entries, &mut out);
        numbered(&updates.items, &mut out);
        for &state in &updates.states {
            out.push((None, state));
            // A dict and the slots beside it.
            out.extend(arena.tuple(state).into_iter().flatten().map(|&part| (None, part)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opcodes(bytes: &[u8], name: &str) -> Option<String> {
        let life = life(bytes, &Limits::default(), name).expect("whole")?;
        Some(life.shown.iter().map(|&index| char::from(bytes[life.moments[index].at])).collect())
    }

    #[test]
    fn what_lies_beside_a_value_is_left_out() {
        // {'a': m.f(1), 'b': {'w': m.f(2)}, 'c': m.f(3)}
        let bytes =
            b"}(U\x01acm\nf\nK\x01\x85RU\x01b}U\x01wcm\nf\nK\x02\x85RsU\x01ccm\nf\nK\x03\x85Ru.";
        assert_eq!(opcodes(bytes, "b.w").as_deref(), Some("}(U}UcK\u{85}Rs."));
        assert_eq!(opcodes(bytes, "a").as_deref(), Some("}(UcK\u{85}Ru."));
        assert_eq!(opcodes(bytes, "c").as_deref(), Some("}(UcK\u{85}Ru."));
        assert_eq!(opcodes(bytes, "d"), None);
    }

    #[test]
    fn a_value_that_is_the_whole_pickle() {
        assert_eq!(opcodes(b"\x80\x02cm\nf\n)Rq\x00.", "").as_deref(), Some("\u{80}c)Rq."));
        assert_eq!(opcodes(b"](cm\nf\n)Rq\x00e.", "0").as_deref(), Some("](c)Rqe."));
    }

    #[test]
    fn a_value_in_a_list_that_holds_itself() {
        assert_eq!(opcodes(b"]q\x00(h\x00cm\nf\n)Re.", "1").as_deref(), Some("]q(c)Re."));
        assert_eq!(opcodes(b"]q\x00(h\x00cm\nf\n)Re.", "0.0.0.1").as_deref(), Some("]q(c)Re."));
    }
}
