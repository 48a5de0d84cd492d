// A host such as a molecular dynamics code: reads atoms and their neighbours, asks a scripted potential for the energy and
// the forces (the program differentiates itself, by torch.autograd.grad), and prints them.
//
//     c++ -std=c++11 potential.cpp $(pkg-config --cflags --libs sconce) -o potential
//     ./potential potential.pt system.txt [CALLS]
//
// make_potential.py makes the two files. With CALLS the potential is asked that often, and the process may not grow.
#include <sconce.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>

namespace {

// Pages of memory that the process holds; 0 where the system does not say.
long resident_pages() {
    std::ifstream status("/proc/self/statm");
    long all = 0, resident = 0;
    status >> all >> resident;
    return resident;
}

int run(const char *archive, const char *system, int calls) {
    sconce::Module module(archive);
    const double r_max = std::stod(module.extra_file("r_max"));
    sconce::Session session = module.session();

    std::ifstream in(system);
    std::size_t atoms = 0, edges = 0;
    in >> atoms >> edges;
    std::vector<double> positions(3 * atoms);
    std::vector<std::int64_t> types(atoms), pairs(2 * edges);
    for (std::size_t atom = 0; atom < atoms; ++atom) {
        in >> types[atom] >> positions[3 * atom] >> positions[3 * atom + 1] >> positions[3 * atom + 2];
    }
    // edge_index is 2 x edges: all first atoms, then all second ones.
    for (std::size_t edge = 0; edge < edges; ++edge) {
        in >> pairs[edge] >> pairs[edges + edge];
    }
    if (!in) {
        std::cerr << "cannot read " << system << "\n";
        return 1;
    }
    const auto n = static_cast<std::int64_t>(atoms), e = static_cast<std::int64_t>(edges);

    long before = 0;
    double energy = 0;
    std::vector<double> forces;
    for (int call = 0; call < calls; ++call) {
        std::vector<std::pair<std::string, sconce::Value>> entries;
        entries.emplace_back("pos", sconce::Tensor::from_blob(positions.data(), {n, 3}));
        entries.emplace_back("edge_index", sconce::Tensor::from_blob(pairs.data(), {2, e}));
        entries.emplace_back("atom_types", sconce::Tensor::from_blob(types.data(), {n}));
        const sconce::Value data = sconce::Value::dict(std::move(entries));
        const sconce::Value result = session.call("forward", {data.view()});
        energy = result.view().get("total_energy").tensor().copy<double>()[0];
        forces = result.view().get("forces").tensor().copy<double>();
        if (call == calls / 5) {
            before = resident_pages();
        }
    }
    const long grown = resident_pages() - before;
    if (calls > 100 && grown > 64) {
        std::cerr << "the process grew by " << grown << " pages\n";
        return 1;
    }
    std::printf("r_max %g\n%.17g\n", r_max, energy);
    for (std::size_t atom = 0; atom < atoms; ++atom) {
        std::printf("%.17g %.17g %.17g\n", forces[3 * atom], forces[3 * atom + 1], forces[3 * atom + 2]);
    }
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 3) {
        std::cerr << "usage: " << argv[0] << " ARCHIVE SYSTEM [CALLS]\n";
        return 2;
    }
    try {
        return run(argv[1], argv[2], argc > 3 ? std::atoi(argv[3]) : 1);
    } catch (const std::exception &error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
