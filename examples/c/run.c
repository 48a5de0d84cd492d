/* Loads a program, calls it with a tensor of ones, and prints what it gives.
 *
 *     cc -std=c99 run.c $(pkg-config --cflags --libs sconce) -o run && ./run ../classifier.pt 3 8
 */
#include <sconce.h>
#include <stdio.h>
#include <stdlib.h>

static void check(sconce_error *error) {
    if (error) {
        fprintf(stderr, "%s\n", sconce_error_message(error));
        sconce_error_delete(error);
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: %s FILE ROWS COLUMNS\n", argv[0]);
        return 2;
    }
    sconce_module *module;
    sconce_session *session;
    check(sconce_module_load(argv[1], &module));
    check(sconce_session_new(module, NULL, &session));

    int64_t sizes[2] = {atol(argv[2]), atol(argv[3])};
    int64_t count = sizes[0] * sizes[1];
    float *ones = malloc(count > 0 ? (size_t)count * sizeof(float) : 1);
    if (!ones) return 1;
    for (int64_t at = 0; at < count; at++) ones[at] = 1;
    struct DLManagedTensorVersioned in = {.version = {1, 1}, .dl_tensor = {ones, {1, 0}, 2, {2, 32, 1}, sizes, NULL, 0}};
    struct DLManagedTensorVersioned *given = &in, *out;
    size_t made;
    check(sconce_session_call_tensors(session, "forward", &given, 1, &out, 1, &made));

    const DLTensor *y = &out->dl_tensor;
    for (int64_t row = 0; row < y->shape[0]; row++)
        for (int64_t column = 0; column < y->shape[1]; column++)
            printf("%.6f%c", ((const float *)y->data)[row * y->strides[0] + column * y->strides[1]],
                   column + 1 < y->shape[1] ? ' ' : '\n');

    out->deleter(out);
    free(ones);
    sconce_session_delete(session);
    sconce_module_delete(module);
    return 0;
}
