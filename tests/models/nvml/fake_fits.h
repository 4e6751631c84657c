// Fits() says whether a function of the fake is what the symbol table calls.
#ifndef FERRY_TESTS_MODELS_NVML_FAKE_FITS_H_
#define FERRY_TESTS_MODELS_NVML_FAKE_FITS_H_

#include <type_traits>
#include <utility>

#include "models/nvml/symbols.h"

namespace ferry::nvml {

template <auto Member, typename Type>
constexpr bool Fits(Type*) {
  using Found =
      std::remove_reference_t<decltype(std::declval<Symbols>().*Member)>;
  return std::is_same_v<typename Found::Signature, Type>;
}

}  // namespace ferry::nvml

#endif  // FERRY_TESTS_MODELS_NVML_FAKE_FITS_H_
