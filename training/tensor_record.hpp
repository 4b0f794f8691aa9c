// SPDX-License-Identifier: BSD-3-Clause
// Tensors in records: as table rows with digest and statistics, and whole in files.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "record/rows.hpp"

namespace plumbline {

/// "float32", ...; throws std::logic_error for a dtype that records do not support.
std::string dtype_name(at::ScalarType dtype);
at::ScalarType parse_dtype(const std::string& name);  ///< throws InputError
/// Digest of a tensor (made contiguous first if necessary).
std::string digest(const at::Tensor& tensor);
/// Fills in all of a row except step, kind, name and stage. Allocates no tensor for a contiguous one. `max_abs` is NaN
/// if any element is; a NaN element counts as non-zero.
TensorRow describe(const at::Tensor& tensor);

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// Writes them as a safetensors file, in this order. A tensor on a GPU or not contiguous is copied when it is written.
/// `before_each` is called before each tensor; if it throws, there is no file.
void write_tensors(const std::filesystem::path& path, const NamedTensors& tensors,
                   const std::function<void()>& before_each = {});

}  // namespace plumbline
