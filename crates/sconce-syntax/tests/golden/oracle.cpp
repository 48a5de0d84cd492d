// PyTorch's own text parser behind a pipe: what generate.py asks.
//
// Standard input holds requests "MODE LENGTH\n" and LENGTH bytes of text; each is answered by
// "VERDICT LENGTH\n" and LENGTH bytes. MODE is what the text is parsed as (module, def, method,
// class, exp, type) or "highlight:START:END[:FILE:LINE]". The answer to a parse is the tree as PyTorch
// prints it, a line "--", and kind, start and end of each of its nodes in pre-order.
#include <iostream>
#include <sstream>
#include <string>
#include <torch/csrc/jit/frontend/lexer.h>
#include <torch/csrc/jit/frontend/parser.h>
#include <torch/csrc/jit/frontend/tree.h>
#include <torch/csrc/jit/frontend/tree_views.h>

using namespace torch::jit;

static void ranges(std::ostream& out, const TreeRef& tree) {
  if (tree->isAtom()) return;
  out << kindToString(tree->kind()) << '\t' << tree->range().start() << '\t'
      << tree->range().end() << '\n';
  for (const auto& child : tree->trees()) ranges(out, child);
}

static void show(std::ostream& trees, std::ostream& places, const TreeRef& tree) {
  trees << tree;
  ranges(places, tree);
}

// As the importer of archives reads a file of code.
static void module(std::ostream& trees, std::ostream& places, Parser& parser) {
  auto& lexer = parser.lexer();
  if (lexer.cur().kind == TK_IDENT && lexer.cur().text() == "op_version_set") {
    lexer.next();
    lexer.expect('=');
    lexer.expect(TK_NUMBER);
    lexer.expect(TK_NEWLINE);
  }
  while (lexer.cur().kind != TK_EOF) {
    while (lexer.nextIf(TK_IMPORT)) {
      // PyTorch does not look for the end of the text here, and never ends.
      while (lexer.cur().kind != TK_NEWLINE && lexer.cur().kind != TK_EOF) lexer.next();
      lexer.expect(TK_NEWLINE);
    }
    auto token = lexer.cur();
    if (token.kind == TK_CLASS_DEF) {
      show(trees, places, parser.parseClass());
    } else if (token.kind == TK_DEF) {
      show(trees, places, parser.parseFunction(false));
    } else {
      throw(ErrorReport(token.range)
            << "Unexpected token in code import: " << kindToString(token.kind));
    }
  }
}

static std::string answer(const std::string& mode, const std::string& text) {
  std::ostringstream trees, places;
  if (mode.rfind("highlight:", 0) == 0) {
    std::istringstream fields(mode.substr(10));
    std::string start, end, file, line;
    std::getline(fields, start, ':');
    std::getline(fields, end, ':');
    std::getline(fields, file, ':');
    std::getline(fields, line, ':');
    auto source = file.empty() ? std::make_shared<Source>(text)
                               : std::make_shared<Source>(text, file, std::stoul(line));
    return SourceRange(source, std::stoul(start), std::stoul(end)).str();
  }
  Parser parser(std::make_shared<Source>(text));
  if (mode == "module") module(trees, places, parser);
  else if (mode == "def") show(trees, places, parser.parseFunction(false));
  else if (mode == "method") show(trees, places, parser.parseFunction(true));
  else if (mode == "class") show(trees, places, parser.parseClass());
  else if (mode == "exp") show(trees, places, parser.parseExp().tree());
  else if (mode == "type") show(trees, places, parser.parseTypeComment().tree());
  else throw std::runtime_error("unknown mode " + mode);
  return trees.str() + "--\n" + places.str();
}

int main() {
  std::string mode;
  size_t length = 0;
  while (std::cin >> mode >> length) {
    std::cin.get();
    std::string text(length, '\0');
    std::cin.read(text.data(), static_cast<std::streamsize>(length));
    std::string verdict = "ok", said;
    try {
      said = answer(mode, text);
    } catch (const c10::Error& error) {
      verdict = "check";
      said = error.what_without_backtrace();
    } catch (const std::exception& error) {
      verdict = "error";
      said = error.what();
    }
    std::cout << verdict << ' ' << said.size() << '\n' << said << std::flush;
  }
}
