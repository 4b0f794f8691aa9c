// SPDX-License-Identifier: BSD-3-Clause
// Files of token ids in the formats of other programs.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "support/json.hpp"

namespace plumbline::testing {

template <typename Number>
std::string numbers(const std::vector<Number>& values) {
  std::string bytes(values.size() * sizeof(Number), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

inline std::string llmc_header(std::int32_t magic, std::int32_t version, std::int32_t count) {
  return numbers<std::int32_t>({magic, version, count}) + std::string(1012, '\0');
}

/// Like numpy.save's header, 128 bytes. `descr`: the type, "<u2"; `shape`: "(3,)".
inline std::string numpy_header(const std::string& descr, const std::string& shape) {
  std::string header = std::string("\x93NUMPY\1\0\x76\0", 10) + "{'descr': '" + descr +
                       "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(127, ' ');
  return header + "\n";
}

/// Index of sequences with these numbers of ids; `code` is the type, `width` its bytes. Each sequence is a document.
inline std::string megatron_index(std::uint8_t code, std::int64_t width, const std::vector<std::int32_t>& sequences) {
  std::vector<std::int64_t> places, documents;
  std::int64_t place = 0;
  for (const std::int32_t length : sequences) {
    places.push_back(place);
    documents.push_back(std::ssize(documents));
    place += length * width;
  }
  documents.push_back(std::ssize(documents));
  return std::string("MMIDIDX\0\0", 9) + numbers<std::uint64_t>({1}) + static_cast<char>(code) +
         numbers<std::uint64_t>({sequences.size(), documents.size()}) + numbers(sequences) + numbers(places) +
         numbers(documents);
}

/// The bytes of a file in fixtures/data_vectors.json.
inline std::string file_of_vectors(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  if (content.is_array()) return numbers(content.get<std::vector<std::uint16_t>>());
  std::string bytes;
  for (const Json& piece : content.at("pieces")) {
    if (piece.contains("zeros")) {
      bytes += std::string(piece.at("zeros").get<std::size_t>(), '\0');
      continue;
    }
    const auto type = piece.at("type").get<std::string>();
    const Json& values = piece.at("numbers");
    if (type == "uint8") bytes += numbers(values.get<std::vector<std::uint8_t>>());
    if (type == "uint16") bytes += numbers(values.get<std::vector<std::uint16_t>>());
    if (type == "uint32") bytes += numbers(values.get<std::vector<std::uint32_t>>());
    if (type == "int32") bytes += numbers(values.get<std::vector<std::int32_t>>());
    if (type == "int64") bytes += numbers(values.get<std::vector<std::int64_t>>());
    if (type == "uint64") bytes += numbers(values.get<std::vector<std::uint64_t>>());
  }
  return bytes;
}

}  // namespace plumbline::testing
