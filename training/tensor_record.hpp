// SPDX-License-Identifier: BSD-3-Clause
// Tensors as they are kept: in rows of a record, by digest and what a person wants to know, and in files, whole.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "record/rows.hpp"

namespace plumbline {

/// "float32", ...; throws std::logic_error for a dtype that records do not know.
std::string dtype_name(at::ScalarType dtype);
at::ScalarType parse_dtype(const std::string& name);  ///< throws InputError
/// Digest of a tensor (made contiguous first where it is not).
std::string digest(const at::Tensor& tensor);
/// All of a row but step, kind, name and stage. Makes no tensor of a contiguous one. `max_abs` is NaN when any element
/// is; an element of NaN counts as non-zero.
TensorRow describe(const at::Tensor& tensor);

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// A safetensors file of them, in this order. What lies on a GPU, or is not contiguous, is copied when its turn comes.
void write_tensors(const std::filesystem::path& path, const NamedTensors& tensors);

}  // namespace plumbline
