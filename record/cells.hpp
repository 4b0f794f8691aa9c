// SPDX-License-Identifier: BSD-3-Clause
// Conversion between table cells and values: one pair of functions for each type of a row's fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "record/rows.hpp"

namespace plumbline {

std::string cell_text(std::int64_t value);
std::string cell_text(float value);
std::string cell_text(double value);
std::string cell_text(const Shape& value);

/// Parses a cell into `value`. Returns false and leaves `value` unchanged if the text is invalid.
bool read_cell(const std::string& text, std::int64_t& value);
bool read_cell(const std::string& text, float& value);
bool read_cell(const std::string& text, double& value);
bool read_cell(const std::string& text, Shape& value);

/// For messages: "an integer".
std::string kind_of_cell(const std::int64_t*);
std::string kind_of_cell(const float*);
std::string kind_of_cell(const double*);
std::string kind_of_cell(const Shape*);

/// An absent value becomes an empty cell.
template <typename Value>
std::string cell_text(const std::optional<Value>& value) {
  return value ? cell_text(*value) : "";
}

template <typename Value>
bool read_cell(const std::string& text, std::optional<Value>& value) {
  if (text.empty()) {
    value.reset();
    return true;
  }
  Value read{};
  if (!read_cell(text, read)) return false;
  value = read;
  return true;
}

template <typename Value>
std::string kind_of_cell(const std::optional<Value>*) {
  return kind_of_cell(static_cast<const Value*>(nullptr));
}

}  // namespace plumbline
