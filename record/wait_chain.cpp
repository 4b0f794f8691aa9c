// SPDX-License-Identifier: BSD-3-Clause
#include "record/wait_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "record/progress_page.hpp"
#include "support/process_state.hpp"

namespace plumbline {
namespace {

std::optional<ProgressSnapshot> progress_of(const RankFolders& folders, std::int64_t rank) {
  return read_progress(folders.of(rank) / "progress");
}

/// Whether the process is stopped (SIGSTOP, or by a tracer): what it waited for may have come since.
bool is_stopped(const ProgressSnapshot& page) {
  if (page.of_another_host()) return false;
  const auto process = process_state(static_cast<pid_t>(page.pid));
  return process && process->stopped();
}

/// "last seen in 0F3 of step 2"
std::string last_seen(const std::optional<ProgressSnapshot>& page) {
  if (!page) return "which has no heartbeat on this machine";
  if (is_stopped(*page))
    return fmt::format("which is stopped (SIGSTOP){}",
                       page->action.empty() ? "" : fmt::format(" in {} of step {}", page->action, page->step));
  const std::string step = fmt::format(" of step {}", page->step);
  const std::string by_page =
      page->of_another_host() ? fmt::format(" (on {}, whose heartbeat may be old)", page->host) : "";
  if (page->action.empty()) return "which has not begun its first action" + (page->step > 0 ? step : "") + by_page;
  return fmt::format("last seen in {}{}{}", page->action, step, by_page);
}

}  // namespace

std::vector<std::int64_t> wait_chain(std::int64_t start, const std::function<std::int64_t(std::int64_t)>& peer_of) {
  std::vector<std::int64_t> chain;
  for (std::int64_t at = start; at >= 0 && std::ranges::find(chain, at) == chain.end(); at = peer_of(at)) {
    chain.push_back(at);
  }
  return chain;
}

std::string last_sign(const RankFolders& folders, const std::vector<std::int64_t>& chain) noexcept try {
  if (folders.record.empty() || chain.empty() || std::ranges::count(chain, chain.back()) > 1) return {};
  return ", " + last_seen(progress_of(folders, chain.back()));
} catch (const std::exception&) {
  return {};
}

}  // namespace plumbline
