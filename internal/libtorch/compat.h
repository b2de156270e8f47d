// Force-included into every C++ file of the build (CGO_CXXFLAGS -include).
//
// gotch 0.9.1 was generated for libtorch 2.1. Three functions it calls have
// changed their signature since. The overloads below have the old signatures, so
// that gotch compiles unmodified; each throws, for none of them is of use here.
#ifndef TABERT_WORKBENCH_LIBTORCH_COMPAT_H
#define TABERT_WORKBENCH_LIBTORCH_COMPAT_H

#include <stdexcept>
#include <tuple>

#include <torch/all.h>

#define TABERT_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

namespace at {

#if TABERT_TORCH_AT_LEAST(2, 2)
inline Tensor _cslt_sparse_mm(const Tensor &, const Tensor &, const Tensor &, bool) {
  throw std::runtime_error("_cslt_sparse_mm: the signature of libtorch 2.1 is not available in this libtorch");
}
#endif

#if TABERT_TORCH_AT_LEAST(2, 5)
inline std::tuple<Tensor, Tensor> _scaled_mm(const Tensor &, const Tensor &, const Tensor &,
                                             c10::optional<ScalarType>, const Tensor &, const Tensor &,
                                             const Tensor &) {
  throw std::runtime_error("_scaled_mm: the signature of libtorch 2.1 is not available in this libtorch");
}
inline std::tuple<Tensor, Tensor> _scaled_mm_out(Tensor &, Tensor &, const Tensor &, const Tensor &, const Tensor &,
                                                 c10::optional<ScalarType>, const Tensor &, const Tensor &,
                                                 const Tensor &) {
  throw std::runtime_error("_scaled_mm_out: the signature of libtorch 2.1 is not available in this libtorch");
}
#endif

}  // namespace at

#endif
