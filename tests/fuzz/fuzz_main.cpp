// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer's interface to one reader, named by PLUMBLINE_READER. An exception that is not an error of the project ends
// the program, which libFuzzer reports as a crash. --list prints the readers' names instead, without the planted one.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <typeinfo>

#include "tests/fuzz/reader.hpp"

namespace {

using namespace plumbline::fuzzing;

std::unique_ptr<Feeder> chosen;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  if (*count == 2 && std::string((*arguments)[1]) == "--list") {
    for (const Reader& reader : readers())
      if (reader.name != planted_reader) std::puts(reader.name.c_str());
    std::exit(0);
  }
  const char* name = std::getenv("PLUMBLINE_READER");
  for (const Reader& reader : readers())
    if (name != nullptr && reader.name == name) chosen = std::make_unique<Feeder>(reader);
  if (!chosen) {
    std::fprintf(stderr, "PLUMBLINE_READER must name one of those that --list gives\n");
    std::exit(2);
  }
  std::atexit([] { chosen.reset(); });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    chosen->feed({reinterpret_cast<const char*>(data), size});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s, which is not an error of the project: %s\n", typeid(error).name(), error.what());
    std::abort();
  }
  return 0;
}
