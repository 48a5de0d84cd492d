// Stands before PyTorch's ConvertToSSA and writes each graph down as it comes in and as it goes out.
// Loaded with LD_PRELOAD by ssa.py, which builds it.

#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <torch/csrc/jit/ir/ir.h>

namespace torch::jit {

void ConvertToSSA(std::shared_ptr<Graph>& graph) {
  using Pass = void (*)(std::shared_ptr<Graph>&);
  static const auto pass = reinterpret_cast<Pass>(
      dlsym(RTLD_NEXT, "_ZN5torch3jit12ConvertToSSAERSt10shared_ptrINS0_5GraphEE"));
  const auto before = graph->toString(false);
  pass(graph); // where it throws, nothing is written
  std::ofstream out(std::getenv("SSA_GOLDEN"), std::ios::app);
  out << "==before\n" << before << "==after\n" << graph->toString(false);
}

} // namespace torch::jit
