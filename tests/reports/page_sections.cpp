#include "tests/reports/page_sections.hpp"

#include <gtest/gtest.h>

#include "reports/page.hpp"
#include "tests/reports/sample_sweep.hpp"

namespace plumbline::testing {

std::string rendered_page(const Verdict& verdict) {
  return make_page(verdict, sample_evidence(verdict, 2));
}

std::string section_of(const std::string& page, const std::string& from, const std::string& to) {
  const auto begin = page.find(from);
  const auto end = begin == std::string::npos ? begin : page.find(to, begin + from.size());
  if (end == std::string::npos) {
    ADD_FAILURE() << "no \"" << from << "\" before \"" << to << "\"";
    return "";
  }
  return page.substr(begin, end - begin);
}

std::string bare(const std::string& markup) {
  std::string text;
  bool in_tag = false, in_attributes = false, quoted = false;
  for (const char c : markup) {
    if (in_tag && c == '"') quoted = !quoted;
    if (c == '<') in_tag = true;
    if (in_tag && c == ' ') in_attributes = true;
    if (c == '>' && !quoted) in_tag = in_attributes = false;
    if (!in_attributes) text += c;
  }
  return text;
}

std::string fact_in(const std::string& page, const std::string& name) {
  const std::string before = "<dt>" + name + "</dt><dd>";
  return section_of(page, before, "</dd>").substr(before.size());
}

}  // namespace plumbline::testing
