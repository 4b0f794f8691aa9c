// SPDX-License-Identifier: BSD-3-Clause
// Who may use whom: the table that the includes and the link interfaces of all components are held against.
#pragma once

#include <map>
#include <set>
#include <string>

namespace plumbline::structure {

/// Everything a component may name in an #include or link, itself left out. Libraries that only carry data or tests
/// (JSON, TOML, ...) are free to all.
struct Allowance {
  std::set<std::string> components;
  std::set<std::string> libraries;  ///< among torch, mpi, nccl, cuda
  bool threads = true;              ///< false: neither a header nor a library that starts or orders threads
};

/// The whole table, one entry a component. Direct use only: what a listed component uses is not thereby allowed.
const std::map<std::string, Allowance>& allowances();

/// The component that a file lies in, by its path from the project's root; empty where it lies in none.
std::string component_of(const std::string& path);

/// The library among torch, mpi, nccl and cuda that a header belongs to; empty for any other header.
std::string library_of_header(const std::string& header);

/// The same for what is linked: a CMake target's name, a library's file or a flag. "threads" for a thread library.
std::string library_of_link_item(const std::string& item);

/// True for headers with which a program starts threads or makes them wait for each other.
bool is_thread_header(const std::string& header);

}  // namespace plumbline::structure
