// What gotch does not wrap: threads, seed, CUDA on demand, Adam over named tensors,
// clipping of gradients. A function that can fail returns a message to be freed, or null.
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
void tw_set_threads(int n);
int tw_threads();
char *tw_seed(uint64_t seed);
int tw_set_grad(int on);
int tw_cuda_available();
char *tw_load_library(const char *path);
const char *tw_version();
char *tw_adam(void *param, void *grad, void *m, void *v, double lr, double beta1, double beta2, double eps,
              double weight_decay, int64_t step);
char *tw_clip(void **params, int64_t n, double max_norm, double *norm);
int tw_grad(void *param, void **grad);
void tw_drop_grad(void *param);
#ifdef __cplusplus
}
#endif
