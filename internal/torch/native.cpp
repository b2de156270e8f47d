// What gotch does not wrap: see native.h. Every function catches C++ exceptions and
// returns their text, or null.
#include "native.h"

#include <dlfcn.h>

#include <cstring>
#include <string>
#include <vector>

#include <torch/torch.h>

namespace {

char *copy(const std::string &text) { return strdup(text.c_str()); }

template <class F>
char *guard(F f) {
  try {
    f();
    return nullptr;
  } catch (const c10::Error &e) {
    return copy(e.what_without_backtrace());
  } catch (const std::exception &e) {
    return copy(e.what());
  }
}

at::Tensor &T(void *t) { return *reinterpret_cast<at::Tensor *>(t); }

}  // namespace

void tw_set_threads(int n) { at::set_num_threads(n); }

int tw_threads() { return at::get_num_threads(); }

char *tw_seed(uint64_t seed) {
  return guard([&] { torch::manual_seed(seed); });
}

int tw_set_grad(int on) {
  bool before = at::GradMode::is_enabled();
  at::GradMode::set_enabled(on != 0);
  return before ? 1 : 0;
}

int tw_cuda_available() { return torch::cuda::is_available() ? 1 : 0; }

char *tw_load_library(const char *path) {
  return dlopen(path, RTLD_NOW | RTLD_GLOBAL) ? nullptr : copy(dlerror());
}

const char *tw_version() { return TORCH_VERSION; }

char *tw_adam(void *param, void *grad, void *m, void *v, double lr, double beta1, double beta2, double eps,
              double weight_decay, int64_t step) {
  return guard([&] {
    torch::NoGradGuard guard;
    auto &p = T(param);
    auto &g = T(grad);
    if (weight_decay != 0) p.mul_(1 - lr * weight_decay);
    T(m).lerp_(g, 1 - beta1);
    T(v).mul_(beta2).addcmul_(g, g, 1 - beta2);
    double c1 = 1 - std::pow(beta1, step), c2 = 1 - std::pow(beta2, step);
    auto denom = (T(v).sqrt() / std::sqrt(c2)).add_(eps);
    p.addcdiv_(T(m), denom, -lr / c1);
  });
}

char *tw_clip(void **params, int64_t n, double max_norm, double *norm) {
  return guard([&] {
    torch::NoGradGuard guard;
    std::vector<at::Tensor> grads, norms;
    for (int64_t i = 0; i < n; i++) {
      auto &g = T(params[i]).grad();
      if (g.defined()) {
        grads.push_back(g);
        norms.push_back(g.norm());
      }
    }
    *norm = grads.empty() ? 0 : at::stack(norms).norm().item<double>();
    if (max_norm > 0 && *norm > max_norm)
      for (auto &g : grads) g.mul_(max_norm / (*norm + 1e-6));
  });
}

int tw_grad(void *param, void **grad) {
  auto &g = T(param).grad();
  if (!g.defined()) return 0;
  *grad = new at::Tensor(g);
  return 1;
}

void tw_drop_grad(void *param) { T(param).mutable_grad() = at::Tensor(); }
