// SPDX-License-Identifier: BSD-3-Clause
// Which component may use which; includes and link interfaces of all components must match this table.
#pragma once

#include <map>
#include <set>
#include <string>

namespace plumbline::structure {

/// Everything that a component may include or link, besides itself. Libraries that only carry data or tests (JSON,
/// TOML, ...) are always allowed.
struct Allowance {
  std::set<std::string> components;
  std::set<std::string> libraries;  ///< among torch, mpi, nccl, cuda
  bool threads = true;              ///< false: neither a header nor a library that starts or orders threads
};

/// The whole table, one entry for each component, for direct use only: what an allowed component uses is not allowed by
/// that.
const std::map<std::string, Allowance>& allowances();

/// The component that contains a file, by its path from the project's root; empty if none does.
std::string component_of(const std::string& path);

/// The library among torch, mpi, nccl and cuda that a header belongs to; empty for any other header.
std::string library_of_header(const std::string& header);

/// The same for a link item: a CMake target, a library file or a flag. "threads" for a thread library.
std::string library_of_link_item(const std::string& item);

/// True for headers with which a program starts threads or synchronizes them.
bool is_thread_header(const std::string& header);

}  // namespace plumbline::structure
