// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/run_paths.hpp"

#include <utility>

namespace plumbline {

void change_paths(toml::table& run, const std::function<std::string(const std::string&)>& change) {
  const auto change_one = [&](toml::node& node) {
    if (auto* text = node.as_string()) *text = change(text->get());
  };
  for (const auto& [table, key] : {std::pair{"model", "config"},
                                   {"model", "weights"},
                                   {"data", "text"},
                                   {"data", "tokens"},
                                   {"data", "validation"}}) {
    toml::node* node = run[table][key].node();
    if (node == nullptr) continue;
    change_one(*node);
    if (auto* texts = node->as_array()) {
      for (toml::node& each : *texts) change_one(each);
    }
  }
}

}  // namespace plumbline
