// SPDX-License-Identifier: BSD-3-Clause
#include "record/cells.hpp"

#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

template <typename Value>
bool take(const std::optional<Value>& parsed, Value& value) {
  if (parsed) value = *parsed;
  return parsed.has_value();
}

}  // namespace

std::string cell_text(std::int64_t value) {
  return to_text(value);
}
std::string cell_text(float value) {
  return to_text(value);
}
std::string cell_text(double value) {
  return to_text(value);
}
std::string cell_text(const Shape& value) {
  return shape_text(value);
}

bool read_cell(const std::string& text, std::int64_t& value) {
  return take(parse_integer(text), value);
}
bool read_cell(const std::string& text, float& value) {
  return take(parse_float(text), value);
}
bool read_cell(const std::string& text, double& value) {
  return take(parse_double(text), value);
}
bool read_cell(const std::string& text, Shape& value) {
  return take(parse_shape(text), value);
}

std::string kind_of_cell(const std::int64_t*) {
  return "an integer";
}
std::string kind_of_cell(const float*) {
  return "a number of 32 bits";
}
std::string kind_of_cell(const double*) {
  return "a number";
}
std::string kind_of_cell(const Shape*) {
  return "a shape such as 2x64";
}

}  // namespace plumbline
