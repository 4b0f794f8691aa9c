// SPDX-License-Identifier: BSD-3-Clause
#include "record/tensor_measure.hpp"

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include <array>
#include <cmath>
#include <utility>

#include "record/tensor_pass.hpp"

namespace plumbline {

void add_with_avx2(TensorSums& sums, XXH3_state_t& hash, const unsigned char* data, std::size_t bytes);

namespace {

using Pass = void (*)(TensorSums&, XXH3_state_t&, const unsigned char*, std::size_t);

/// Whether processor and system have it. By hand, because zig cannot link __builtin_cpu_supports into a shared library.
bool has_avx2() {
#ifdef __x86_64__
  unsigned a = 0, b = 0, c = 0, d = 0, states = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return false;
  asm volatile("xgetbv" : "=a"(states), "=d"(d) : "c"(0));
  return (states & 6U) == 6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_AVX2) != 0;
#else
  return false;
#endif
}

}  // namespace

struct TensorMeasure::State {
  TensorSums sums;
  XXH3_state_t hash;
};

std::optional<ElementType> element_type(std::string_view dtype) {
  static constexpr std::array<std::pair<std::string_view, ElementType>, 5> types{{{"float32", ElementType::float32},
                                                                                  {"float64", ElementType::float64},
                                                                                  {"bfloat16", ElementType::bfloat16},
                                                                                  {"float16", ElementType::float16},
                                                                                  {"int64", ElementType::int64}}};
  for (const auto& [name, type] : types)
    if (dtype == name) return type;
  return std::nullopt;
}

double TensorSums::l2() const {
  return std::sqrt(squares);
}

float TensorSums::max_abs() const {
  if (nan > 0) return std::numeric_limits<float>::quiet_NaN();
  if (inf > 0) return std::numeric_limits<float>::infinity();
  switch (type) {
    case ElementType::float32:
      return static_cast<float>(Float32::wide(static_cast<std::uint32_t>(largest)));
    case ElementType::float64:
      return static_cast<float>(Float64::wide(largest));
    case ElementType::bfloat16:
      return static_cast<float>(Bfloat16::wide(static_cast<std::uint16_t>(largest)));
    case ElementType::float16:
      return static_cast<float>(Float16::wide(static_cast<std::uint16_t>(largest)));
    case ElementType::int64:
      break;
  }
  return static_cast<float>(static_cast<double>(largest));
}

TensorMeasure::TensorMeasure(ElementType type, std::size_t row, std::string_view prefix, bool counted)
    : state_(std::make_unique<State>()) {
  state_->sums.type = type;
  state_->sums.counted = counted;
  state_->sums.row = row;
  XXH3_128bits_reset(&state_->hash);
  XXH3_128bits_update(&state_->hash, prefix.data(), prefix.size());
}

TensorMeasure::~TensorMeasure() = default;

void TensorMeasure::add(const void* elements, std::size_t bytes) {
  static const Pass pass = has_avx2() ? add_with_avx2 : add_elements;
  pass(state_->sums, state_->hash, static_cast<const unsigned char*>(elements), bytes);
}

const TensorSums& TensorMeasure::sums() const {
  return state_->sums;
}

std::string TensorMeasure::digest() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->hash);
  std::string text(32, '0');
  for (std::size_t i = 0; i < 32; ++i)
    text[i] = "0123456789abcdef"[(i < 16 ? hash.high64 : hash.low64) >> (60 - 4 * (i % 16)) & 15U];
  return text;
}

}  // namespace plumbline
