#include "harness/judge/limits/rounding_chain.hpp"

#include <algorithm>
#include <cmath>

#include "support/error.hpp"

namespace plumbline::judging {
namespace {

// Roundings of elements, one after the other, on the longest way through a unit as model/ computes it.
constexpr double norm_roundings = 4;        // square, inverse root, product, weight
constexpr double attention_roundings = 13;  // q, k and v; rope 3; scale, score, exponential, quotient; mix, o, residual
constexpr double mlp_roundings = 7;         // gate and up, silu 3, product, down with its residual
constexpr double loss_roundings = 4;        // exponential, logarithm, difference, division
constexpr double update_roundings = 8;      // AdamW: decay, two moments of two products each, root, quotient, sum

double as_double(std::int64_t number) {
  return static_cast<double>(number);
}

}  // namespace

double unit_roundoff(const std::string& dtype) {
  if (dtype == "float32") return std::ldexp(1.0, -24);
  if (dtype == "bfloat16") return std::ldexp(1.0, -8);
  if (dtype == "float64") return std::ldexp(1.0, -53);
  throw InputError("no unit roundoff is known for dtype " + dtype);
}

Chain& Chain::operator+=(const Chain& other) {
  roundings += other.roundings;
  terms += other.terms;
  return *this;
}

RoundingChains::RoundingChains(const Record& run) : model_(expected_model(run.manifest.json.at("model"))) {
  microbatches_.resize(static_cast<std::size_t>(run.manifest.microbatches));
  for (const MicrobatchRow& row : run.ranks.at(0).microbatches) {
    Sizes& sizes = microbatches_.at(static_cast<std::size_t>(row.microbatch));
    sizes = {std::max(sizes.length, row.sequence_length), std::max(sizes.tokens, row.tokens)};
  }
  for (const Sizes& sizes : microbatches_) {
    longest_ = {std::max(longest_.length, sizes.length), std::max(longest_.tokens, sizes.tokens)};
    tokens_of_step_ += as_double(sizes.tokens);
  }
}

const RoundingChains::Sizes& RoundingChains::sizes(std::int64_t microbatch) const {
  return microbatches_.at(static_cast<std::size_t>(microbatch));
}

Chain RoundingChains::unit(std::size_t number, const Sizes& sizes) const {
  const double hidden = as_double(model_.hidden);
  if (number == 0) return {1, 0};  // a row is looked up: only its own last place
  if (number + 2 == model_.units.size()) return {norm_roundings, hidden};
  if (number + 1 == model_.units.size()) return {1, hidden};
  const double heads = as_double(model_.heads * model_.head_dim);
  // Two norms, q (k and v stand beside it), gate (up beside it): four sums over hidden.
  return {
      2 * norm_roundings + attention_roundings + mlp_roundings,
      4 * hidden + as_double(model_.head_dim) + 2 * as_double(sizes.length) + heads + as_double(model_.intermediate)};
}

Chain RoundingChains::forward_to(std::size_t unit_number, const Sizes& sizes) const {
  Chain chain;
  for (std::size_t number = 0; number < unit_number; ++number) chain += unit(number, sizes);
  return chain;
}

Chain RoundingChains::backward_to(std::size_t unit_number, const Sizes& sizes) const {
  const Chain loss{loss_roundings, as_double(model_.vocabulary + sizes.tokens)};
  Chain chain = forward_to(model_.units.size(), sizes) + 2 * loss;
  for (std::size_t number = unit_number; number < model_.units.size(); ++number) chain += 2 * unit(number, sizes);
  return chain;
}

Chain RoundingChains::forward(std::int64_t step, std::int64_t microbatch, const std::string& cut) const {
  const auto position = model_.unit_position(cut);
  if (!position) throw InputError("a boundary names the cut " + cut + ", which is no unit of the model");
  return start(step) + forward_to(static_cast<std::size_t>(*position), sizes(microbatch));
}

Chain RoundingChains::backward(std::int64_t step, std::int64_t microbatch, const std::string& cut) const {
  const auto position = model_.unit_position(cut);
  if (!position) throw InputError("a boundary names the cut " + cut + ", which is no unit of the model");
  return start(step) + backward_to(static_cast<std::size_t>(*position), sizes(microbatch));
}

Chain RoundingChains::loss(std::int64_t step) const {
  return start(step) + forward_to(model_.units.size(), longest_) +
         Chain{loss_roundings + as_double(static_cast<std::int64_t>(microbatches_.size())),
               as_double(model_.vocabulary) + tokens_of_step_};
}

Chain RoundingChains::gradient(std::int64_t step, const std::string& unit_name) const {
  const auto position = model_.unit_position(unit_name);
  if (!position) throw InputError("a parameter stands in " + unit_name + ", which is no unit of the model");
  // Summed over the tokens of each microbatch, then over the microbatches.
  return start(step) + backward_to(static_cast<std::size_t>(*position), longest_) +
         Chain{as_double(static_cast<std::int64_t>(microbatches_.size())), tokens_of_step_};
}

Chain RoundingChains::updated(std::int64_t step) const {
  if (step < 0) return {1, 0};  // the last place of an initial value
  return gradient(step, model_.units.front()) + Chain{update_roundings, 0};
}

double RoundingChains::equivalent(const Chain& chain, const std::string& dtype) {
  const double inside = std::min(unit_roundoff(dtype), unit_roundoff("float32")) / unit_roundoff(dtype);
  return chain.roundings + chain.terms * inside * inside;
}

double rounding_cap(double equivalent_roundings, const std::string& dtype) {
  return std::min(cap_lambda * std::sqrt(equivalent_roundings) * unit_roundoff(dtype), cap_ceiling);
}

}  // namespace plumbline::judging
