// SPDX-License-Identifier: BSD-3-Clause
#include "reports/page.hpp"

#include <map>
#include <stdexcept>

#include "reports/markup.hpp"
#include "reports/page_parts.hpp"
#include "reports/templates.hpp"

namespace plumbline {

PageData page_text(const std::string& text) {
  return PageData(valid_in_xml(text));
}

PageData page_texts(const std::vector<std::string>& texts) {
  PageData list = page_list();
  for (const auto& text : texts) list.push_back(PageData("text", page_text(text)));
  return list;
}

PageData page_row(const std::vector<std::pair<const char*, std::string>>& texts) {
  PageData row;
  for (const auto& [key, text] : texts) row.set(key, page_text(text));
  return row;
}

PageData page_section(const std::string& text, const char* key) {
  return text.empty() ? PageData(false) : PageData(key, page_text(text));
}

void set_text(PageData& page, const std::string& key, const std::string& text) {
  page.set("has_" + key, PageData(!text.empty()));
  page.set(key, page_text(text));
}

void set_list(PageData& page, const std::string& key, const PageData& list) {
  page.set("has_" + key, PageData(list.is_non_empty_list()));
  page.set(key, list);
}

namespace {

/// Splits the template: the text after a line `<!-- partial NAME -->` is `{{>NAME}}` in the rest.
struct Template {
  std::string page;
  std::map<std::string, std::string> partials;
};

Template split_template() {
  constexpr std::string_view mark = "<!-- partial ";
  const std::string text = page_template();
  Template parts;
  auto at = text.find(mark);
  parts.page = text.substr(0, at);
  while (at != std::string::npos) {
    const auto name = at + mark.size(), end = text.find(" -->\n", name), next = text.find(mark, name);
    parts.partials[text.substr(name, end - name)] =
        text.substr(end + 5, next == std::string::npos ? next : next - end - 5);
    at = next;
  }
  return parts;
}

}  // namespace

std::string make_page(const Verdict& verdict, const Evidence& evidence) {
  const Template text = split_template();
  kainjow::mustache::mustache page{text.page};
  if (!page.is_valid()) throw std::logic_error("page template: " + page.error_message());
  PageData data;
  for (const auto& partial : text.partials)
    data.set(partial.first, PageData(kainjow::mustache::partial([&partial] { return partial.second; })));
  fill_summary(data, verdict);
  fill_facts(data, verdict);
  fill_overview(data, verdict);
  fill_failures(data, verdict, evidence);
  fill_figures(data, verdict);
  fill_release(data, verdict);
  fill_cases(data, verdict, evidence);
  fill_plots(data, verdict, evidence);
  fill_timeline(data, verdict, evidence);
  fill_machine(data, verdict, evidence);
  return page.render(data);
}

}  // namespace plumbline
