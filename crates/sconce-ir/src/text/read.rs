//! Reads graphs back from their text.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::error::ParseError;
use super::lexer::{Lexer, Token};
use super::literal::{self, types};
use crate::graph::MAX_BLOCK_DEPTH;
use crate::{Attribute, BlockId, Graph, Kind, NodeId, Prim, TensorConstant, Type, Unit, ValueId};

impl Graph {
    /// Reads a graph from its text; the same as `torch._C.parse_ir`, and also what that function
    /// does not take of PyTorch's own output: classes, functions, `Future[T]`, subgraphs after
    /// `with`, constants that are tensors.
    ///
    /// Values called by a number are numbered anew, in order. Comments are dropped. Classes and
    /// functions are known by their names alone; see [`Self::parse_in`].
    ///
    /// # Errors
    /// When the text is no graph.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Reader::new(text, None).whole()
    }

    /// The same, with classes and interfaces looked up in a unit.
    ///
    /// # Errors
    /// When the text is no graph.
    pub fn parse_in(text: &str, unit: &Unit) -> Result<Self, ParseError> {
        Reader::new(text, Some(unit)).whole()
    }
}

/// Words that begin a value; others begin a type.
const LITERAL_WORDS: &[&str] =
    &["inf", "nan", "annotate", "True", "False", "None", "torch.device", "torch.Generator"];

struct Reader<'a, 'u> {
    lexer: Lexer<'a>,
    unit: Option<&'u Unit>,
    graph: Graph,
    values: FxHashMap<&'a str, ValueId>,
    /// Nodes that wait for the subgraph of their number.
    waiting: Vec<NodeId>,
    /// Tensor constants by text. Those that are written out are equal when their text is.
    tensors: FxHashMap<Arc<str>, u32>,
    next_tensor: u32,
}

impl<'a, 'u> Reader<'a, 'u> {
    fn new(text: &'a str, unit: Option<&'u Unit>) -> Self {
        Self {
            lexer: Lexer::new(text),
            unit,
            graph: Graph::new(),
            values: FxHashMap::default(),
            waiting: Vec::new(),
            tensors: FxHashMap::default(),
            next_tensor: 0,
        }
    }

    fn whole(mut self) -> Result<Graph, ParseError> {
        let graph = self.graph_with_subgraphs()?;
        match self.lexer.peek() {
            Token::End => Ok(graph),
            _ => Err(self.lexer.unexpected("the end")),
        }
    }

    /// A graph, and the graphs of the nodes in it. A subgraph's own subgraphs come right after it,
    /// so what is being read is a stack.
    fn graph_with_subgraphs(&mut self) -> Result<Graph, ParseError> {
        let mut outer: Vec<Unfinished> = Vec::new();
        let mut current = self.bare_graph()?;
        loop {
            if let Some(&node) = current.waiting.get(current.filled) {
                let kind = &current.graph.node(node).kind;
                let want = format!("{kind}_{}", current.filled);
                if !(self.lexer.accept_word("with") && self.lexer.accept_word(&want)) {
                    return Err(self.lexer.unexpected(&format!("`with {want} =`")));
                }
                self.lexer.expect('=')?;
                if outer.len() == MAX_BLOCK_DEPTH {
                    return Err(self.lexer.error("graphs nest too deeply"));
                }
                let inner = self.bare_graph()?;
                outer.push(std::mem::replace(&mut current, inner));
                continue;
            }
            let Some(mut holder) = outer.pop() else { return Ok(current.graph) };
            let graph = Attribute::Graph(Arc::new(current.graph));
            if let Some(&node) = holder.waiting.get(holder.filled) {
                holder.graph.node_mut(node).set_attribute("Subgraph", graph);
            }
            holder.filled += 1;
            current = holder;
        }
    }

    fn bare_graph(&mut self) -> Result<Unfinished, ParseError> {
        if !self.lexer.accept_word("graph") {
            return Err(self.lexer.unexpected("`graph`"));
        }
        self.graph = Graph::new();
        self.values.clear();
        self.waiting.clear();
        let root = self.graph.root();
        self.parameters(root)?;
        self.nodes()?;
        let mut graph = std::mem::take(&mut self.graph);
        graph.match_operators();
        Ok(Unfinished { graph, waiting: std::mem::take(&mut self.waiting), filled: 0 })
    }

    /// `(%a : T, …):`
    fn parameters(&mut self, block: BlockId) -> Result<(), ParseError> {
        self.lexer.expect('(')?;
        let mut first = true;
        while !self.lexer.accept(')') {
            if !first {
                self.lexer.expect(',')?;
            }
            first = false;
            let (name, ty) = self.definition()?;
            let value = self.graph.add_block_input(block, ty.unwrap_or(Type::Tensor));
            self.declare(name, value);
        }
        self.lexer.expect(':')
    }

    /// The nodes of the graph's block and of those in it, up to and with `return (…)`.
    fn nodes(&mut self) -> Result<(), ParseError> {
        let mut open = vec![self.graph.root()];
        let mut last = None;
        while let Some(&block) = open.last() {
            match self.lexer.peek() {
                Token::Word("return") if open.len() == 1 => {
                    self.lexer.next();
                    self.results(block)?;
                    return Ok(());
                }
                Token::Arrow if open.len() > 1 => {
                    self.lexer.next();
                    self.results(block)?;
                    open.pop();
                    last = self.graph.block_owner(block);
                }
                Token::Word(word) if is_block(word) => {
                    let Some(node) = last else {
                        return Err(self.lexer.error("a block belongs to the node before it"));
                    };
                    if open.len() == MAX_BLOCK_DEPTH {
                        return Err(self.lexer.error("blocks nest too deeply"));
                    }
                    self.lexer.next();
                    let block = self.graph.add_block(node);
                    self.parameters(block)?;
                    open.push(block);
                    last = None;
                }
                Token::Value(_) | Token::Sign('=') => last = Some(self.node(block)?),
                // `parse_ir` takes a node without outputs in this form alone.
                Token::Word(word) if word.contains("::") => last = Some(self.node(block)?),
                _ => return Err(self.lexer.unexpected("a node, `->` or `return`")),
            }
        }
        Ok(())
    }

    fn results(&mut self, block: BlockId) -> Result<(), ParseError> {
        for value in self.uses()? {
            self.graph.add_block_output(block, value);
        }
        Ok(())
    }

    /// `%a : T, %b : U = ns::name[attributes](%c, %d)`
    fn node(&mut self, block: BlockId) -> Result<NodeId, ParseError> {
        let mut definitions = Vec::new();
        let bare = matches!(self.lexer.peek(), Token::Word(_));
        while !bare && !self.lexer.accept('=') {
            if !definitions.is_empty() {
                self.lexer.expect(',')?;
            }
            definitions.push(self.definition()?);
        }
        let symbol = self.lexer.expect_word()?;
        if !symbol.contains("::") {
            return Err(self.lexer.error(format!("`{symbol}` has no namespace")));
        }
        let only_type = match &definitions[..] {
            [(_, Some(ty))] => Some(ty.clone()),
            _ => None,
        };
        let (kind, subgraph) = kind_of(symbol, self.waiting.len());
        let attributes = match self.lexer.peek() {
            Token::Sign('[') => self.attributes(&kind, only_type.as_ref())?,
            _ => Vec::new(),
        };
        let inputs = self.uses()?;
        self.scope();
        let node = self.graph.new_node(kind, &inputs);
        for (name, value) in attributes {
            self.graph.node_mut(node).set_named_attribute(name, value);
        }
        for (name, ty) in definitions {
            let value = self.graph.add_output(node, ty.unwrap_or(Type::Tensor));
            self.declare(name, value);
        }
        if subgraph {
            self.waiting.push(node);
        }
        self.name_function(node);
        Ok(self.graph.append(block, node))
    }

    /// Skips `, scope: …`, which traced graphs have.
    fn scope(&mut self) {
        let rest = self.lexer.rest();
        if let Some(scope) = rest.strip_prefix(", scope:") {
            let end = scope.find(['\n', '#']).unwrap_or(scope.len());
            self.lexer.skip(rest.len() - scope.len() + end);
        }
    }

    /// A function is a constant without a value: its attribute `name` says which.
    fn name_function(&mut self, node: NodeId) {
        let at = self.graph.node(node);
        let (Some(name), &[output]) = (at.str_attribute("name").cloned(), at.outputs()) else {
            return;
        };
        if let (Kind::Prim(Prim::Constant), Type::Function(function)) =
            (at.kind.clone(), self.graph.ty(output))
        {
            let id = self.unit.and_then(|unit| unit.find_function(&name)).map(|id| id.0);
            let id = id.unwrap_or(function.id);
            self.graph.set_type(output, Type::Function(crate::NamedRef { id, name }));
        }
    }

    fn definition(&mut self) -> Result<(&'a str, Option<Type>), ParseError> {
        let Token::Value(name) = self.lexer.peek() else {
            return Err(self.lexer.unexpected("a value"));
        };
        self.lexer.next();
        let typed = self.lexer.accept(':');
        let ty = typed.then(|| types::read(&mut self.lexer, self.unit)).transpose()?;
        Ok((name, ty))
    }

    fn declare(&mut self, name: &'a str, value: ValueId) {
        self.values.insert(name, value);
        if !name.is_empty() && !name.bytes().all(|byte| byte.is_ascii_digit()) {
            self.graph.set_name(value, name);
        }
    }

    /// `(%a, %b)`
    fn uses(&mut self) -> Result<Vec<ValueId>, ParseError> {
        self.lexer.expect('(')?;
        let mut values = Vec::new();
        while !self.lexer.accept(')') {
            if !values.is_empty() {
                self.lexer.expect(',')?;
            }
            let Token::Value(name) = self.lexer.peek() else {
                return Err(self.lexer.unexpected("a value"));
            };
            let Some(&value) = self.values.get(name) else {
                let message = format!("Cannot find a variable with name '{name}'");
                return Err(self.lexer.error(message));
            };
            self.lexer.next();
            values.push(value);
        }
        Ok(values)
    }

    fn attributes(
        &mut self,
        kind: &Kind,
        ty: Option<&Type>,
    ) -> Result<Vec<(Arc<str>, Attribute)>, ParseError> {
        self.lexer.expect('[')?;
        let mut attributes = Vec::new();
        while !self.lexer.accept(']') {
            if !attributes.is_empty() {
                self.lexer.expect(',')?;
            }
            let name = self.lexer.expect_word()?;
            if self.lexer.peek() != Token::Sign('=') {
                return Err(self.lexer.unexpected("`=`"));
            }
            self.lexer.next();
            let constant = *kind == Kind::Prim(Prim::Constant) && name == "value";
            attributes.push((name.into(), self.attribute(ty.filter(|_| constant))?));
        }
        Ok(attributes)
    }

    /// An attribute's value; a constant's is read after its type.
    fn attribute(&mut self, ty: Option<&Type>) -> Result<Attribute, ParseError> {
        if let Some(length) = literal::tensor_length(self.lexer.rest()) {
            let text = &self.lexer.rest()[..length];
            let tensor = self.tensor(text);
            self.lexer.skip(length);
            return Ok(Attribute::Tensor(tensor));
        }
        if self.lexer.rest().starts_with("<Graph>") {
            return Err(self.lexer.error("a graph inside an attribute cannot be read back"));
        }
        if let Some(ty) = ty {
            return literal::read_value(&mut self.lexer, ty);
        }
        match self.lexer.peek() {
            Token::Word(word) if !LITERAL_WORDS.contains(&word) => {
                return Ok(Attribute::Type(types::read(&mut self.lexer, self.unit)?));
            }
            Token::Sign('[') if self.list_of_types() => return self.type_list(),
            _ => {}
        }
        let literal = literal::read(&mut self.lexer)?;
        literal::attribute_of(literal)
            .ok_or_else(|| self.lexer.error("no attribute has such a value"))
    }

    /// Whether a list at the token begins with a type.
    fn list_of_types(&self) -> bool {
        let mut ahead = self.lexer.clone();
        ahead.next();
        match ahead.peek() {
            Token::Word(word) => !LITERAL_WORDS.contains(&word),
            sign => sign == Token::Sign('('),
        }
    }

    fn type_list(&mut self) -> Result<Attribute, ParseError> {
        self.lexer.expect('[')?;
        let mut list = Vec::new();
        while !self.lexer.accept(']') {
            if !list.is_empty() {
                self.lexer.expect(',')?;
            }
            list.push(types::read(&mut self.lexer, self.unit)?);
        }
        Ok(Attribute::Types(list))
    }

    fn tensor(&mut self, text: &str) -> TensorConstant {
        let text: Arc<str> = text.into();
        let known = self.tensors.get(&text).copied().filter(|_| &*text != "<Tensor>");
        let index = known.unwrap_or_else(|| {
            self.next_tensor += 1;
            self.tensors.insert(Arc::clone(&text), self.next_tensor - 1);
            self.next_tensor - 1
        });
        TensorConstant { index, text }
    }
}

/// A graph some of whose nodes wait for their subgraphs.
struct Unfinished {
    graph: Graph,
    waiting: Vec<NodeId>,
    /// How many of them have theirs.
    filled: usize,
}

/// Whether a word is `block0` or the like.
fn is_block(word: &str) -> bool {
    word.strip_prefix("block")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The kind of a symbol, and whether it stands for a node with a subgraph: `prim::fork_0`, where the
/// number is that of the next subgraph.
fn kind_of(symbol: &str, subgraphs: usize) -> (Kind, bool) {
    let numbered = symbol.rsplit_once('_').filter(|(name, number)| {
        name.starts_with("prim::") && number.parse() == Ok(subgraphs) && !number.starts_with('+')
    });
    match numbered {
        Some((name, _)) => (Kind::from_symbol(name), true),
        None => (Kind::from_symbol(symbol), false),
    }
}

#[cfg(test)]
mod tests {
    use crate::Graph;

    /// Text that comes out as it went in.
    #[test]
    fn round_trips() {
        for text in [
            "graph():\n  return ()\n",
            "graph(%x.1 : Tensor,\n      %y : int[]?):\n  return (%x.1)\n",
            r#"graph(%a : Float(2, *, strides=[3, 1], requires_grad=0, device=cuda:0),
      %b : FloatTensor,
      %c : Float(),
      %d : Tensor(requires_grad=1, device=cpu)):
  %4 : str = prim::Constant[value="he\"l\n\'l\to\001\0)+\/.)"]()
  %5 : float = prim::Constant[value=0.10000000000000001]()
  %6 : float = prim::Constant[value=nan]()
  %7 : complex = prim::Constant[value=2.-3.j]()
  %8 : (str, int, NoneType, bool, float) = prim::Constant[value=("a", 1, None, True, 2.5)]()
  %9 : (int) = prim::Constant[value=(1,)]()
  %10 : Device = prim::Constant[value="cpu"]()
  %11 : bool = prim::Constant[value=1]()
  %12 : NoneType = prim::Constant()
  %13 : Tensor = prim::Constant[value= 1 -2  3  4 [ CPULongType{2,2} ]]()
  %14 : Tensor = prim::Constant[value=-0.3842  0.5391 [ CPUFloatType{2} ]]()
  %15 : Tensor = prim::Constant[value={-1.5}]()
  %16 : Tensor = prim::Constant[value=<Tensor>]()
  %17 : Enum<__torch__.Color> = prim::Constant[value=__torch__.Color.RED]()
  %18 : Tensor, %19 : Union(int[], int, str) = foo::bar[a=1, b=[1, 2], c=[1., 2.], d=["x"], e=int, f=[int, Dict(str, (int, float)?)], g=-1.]()
   = prim::Print(%a, %4)
  return (%18)
"#,
            r#"graph(%x : Tensor,
      %c : bool):
  %f1 : Future[Tensor] = prim::If(%c)
    block0():
      %f1.1 : Future[Tensor] = prim::fork_0(%x)
      -> (%f1.1)
    block1():
      %f1.3 : Future[Tensor] = prim::fork_1(%x)
      %5 : bool = prim::Loop(%x, %c)
        block0(%i : int):
          -> (%c)
      -> (%f1.3)
  return (%f1)
with prim::fork_0 = graph(%x : Tensor):
  %1 : Function = prim::Constant[name="A2"]()
  %2 : Future[Tensor] = prim::fork_0(%x)
  return (%2)
with prim::fork_0 = graph(%x : NamedTuple(a : int, b : Tensor)):
  return (%x)
with prim::fork_1 = graph(%x : InterfaceType<I>):
  return (%x)
"#,
        ] {
            let graph = Graph::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(graph.to_string(), text);
        }
    }

    #[test]
    fn what_is_not_kept() {
        let text = "graph(%a, %5 : int): # c\n  %9 : int = aten::add(%5, %5), scope: __module.x # f:1:2\n  return (%9)\n";
        let want =
            "graph(%a : Tensor,\n      %1 : int):\n  %2 : int = aten::add(%1, %1)\n  return (%2)\n";
        assert_eq!(Graph::parse(text).unwrap().to_string(), want);
    }

    #[test]
    fn canonical_text_forgets_names() {
        let text = "graph(%x.1 : Tensor):\n  %9 : Tensor = aten::relu(%x.1)\n  %x : Tensor = prim::If(%9)\n    block0():\n      -> (%9)\n    block1():\n      %q : Tensor = aten::neg(%9)\n      -> (%q)\n  return (%x)\n";
        let want = "graph(%0 : Tensor):\n  %1 : Tensor = aten::relu(%0)\n  %2 : Tensor = prim::If(%1)\n    block0():\n      -> (%1)\n    block1():\n      %3 : Tensor = aten::neg(%1)\n      -> (%3)\n  return (%2)\n";
        assert_eq!(Graph::parse(text).unwrap().canonical_text(), want);
    }

    #[test]
    fn errors_say_where() {
        for (text, line, column, message) in [
            ("", 1, 0, "expected `graph` but found the end"),
            ("graph(%a : Foo):", 1, 14, "unknown type `Foo`"),
            ("graph():\n  return (%a)", 2, 10, "Cannot find a variable with name 'a'"),
            ("graph():\n  %1 : int = add()", 2, 16, "`add` has no namespace"),
            ("graph():\n  %1 : int = a::b(", 2, 18, "expected a value but found the end"),
            ("graph():\n    -> ()", 2, 4, "expected a node, `->` or `return` but found `->`"),
            ("graph():\n block0():\n", 2, 1, "a block belongs to the node before it"),
            ("graph():\n  return ()\n x", 3, 1, "expected the end but found `x`"),
            (
                "graph():\n %1 : int = prim::Constant[value=\"a\\x\"]()",
                2,
                33,
                "an escape is cut short",
            ),
            (
                "graph():\n %1 : int[] = prim::Constant[value=(1, 2)]()",
                2,
                41,
                "the value is not of type int[]",
            ),
            (
                "graph():\n %1 : int = prim::fork_0()\n return ()",
                3,
                10,
                "expected `with prim::fork_0 =` but found the end",
            ),
        ] {
            let error = Graph::parse(text).unwrap_err();
            assert_eq!(error.message, message, "{text}");
            assert_eq!((error.line, error.column), (line, column), "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let deep =
            "graph(%a):\n".to_owned() + &"%1 : int = prim::If(%a)\nblock0():\n".repeat(100_000);
        assert_eq!(Graph::parse(&deep).unwrap_err().message, "blocks nest too deeply");
        let deep = "graph(%a : ".to_owned() + &"(".repeat(100_000);
        assert_eq!(Graph::parse(&deep).unwrap_err().message, "the type nests too deeply");
        let deep = "graph():\n%1 : Any = prim::Constant[value=".to_owned() + &"(".repeat(100_000);
        assert_eq!(Graph::parse(&deep).unwrap_err().message, "the value nests too deeply");
        let deep =
            "graph():\n%1 : int = prim::fork_0()\n return () with prim::fork_0 = ".repeat(1000);
        assert_eq!(Graph::parse(&deep).unwrap_err().message, "graphs nest too deeply");
        let optional = "graph(%a : int".to_owned() + &"[]".repeat(100_000) + "):\n return ()";
        assert_eq!(Graph::parse(&optional).unwrap_err().message, "the type nests too deeply");
    }
}
