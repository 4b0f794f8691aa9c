#include "support/error.hpp"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>

namespace plumbline {
namespace {

int report(const std::string& program, const char* message, ExitCode code) noexcept {
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %s\n", program.c_str(), message);
  return static_cast<int>(code);
}

}  // namespace

int run_main(const std::string& program, const std::function<int()>& body) noexcept {
  try {
    return body();
  } catch (const Error& error) {
    return report(program, error.what(), error.code());
  } catch (const std::bad_alloc&) {
    return report(program, "out of memory; use a smaller model or batch, or a machine with more memory",
                  ExitCode::harness_failure);
  } catch (const std::filesystem::filesystem_error& error) {  // no rights, a broken disk: names the path itself
    return report(program, error.what(), ExitCode::harness_failure);
  } catch (const std::exception& error) {
    return report(program, (std::string("internal error: ") + error.what()).c_str(), ExitCode::harness_failure);
  } catch (...) {
    return report(program, "internal error: an exception of unknown type", ExitCode::harness_failure);
  }
}

}  // namespace plumbline
