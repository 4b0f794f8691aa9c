#include "reports/page.hpp"

#include <stdexcept>

#include "reports/markup.hpp"
#include "reports/page_parts.hpp"
#include "reports/templates.hpp"

namespace plumbline {

PageData page_text(const std::string& text) {
  return PageData(printable(text));
}

PageData page_texts(const std::vector<std::string>& texts) {
  PageData list = page_list();
  for (const auto& text : texts) list.push_back(PageData("text", page_text(text)));
  return list;
}

std::string cell_anchor(std::size_t cell) {
  return "c" + std::to_string(cell);
}

std::string check_anchor(std::size_t cell, std::size_t check) {
  return cell_anchor(cell) + "-" + std::to_string(check);
}

namespace {

/// The template, with what stands between its marks `<!-- cell -->` taken out: it stands for `{{>cell}}`.
struct Template {
  std::string page, cell;
};

Template split_template() {
  constexpr std::string_view mark = "<!-- cell -->\n";
  const std::string text = page_template();
  const auto begin = text.find(mark), end = text.find(mark, begin + 1);
  if (begin == std::string::npos || end == std::string::npos)
    throw std::logic_error("page template: no mark of a cell");
  return {text.substr(0, begin) + text.substr(end + mark.size()),
          text.substr(begin + mark.size(), end - begin - mark.size())};
}

}  // namespace

std::string make_page(const Verdict& verdict, const Evidence& evidence) {
  const Template text = split_template();
  kainjow::mustache::mustache page{text.page};
  if (!page.is_valid()) throw std::logic_error("page template: " + page.error_message());
  PageData data;
  data.set("cell", PageData(kainjow::mustache::partial([&] { return text.cell; })));
  const UsualTexts usual = usual_texts(verdict);
  fill_summary(data, verdict);
  fill_facts(data, verdict, evidence);
  fill_overview(data, verdict);
  fill_failures(data, verdict, evidence);
  fill_release(data, verdict, evidence);
  fill_usual(data, verdict, usual);
  fill_cells(data, verdict, usual);
  fill_references(data, verdict, usual);
  fill_plots(data, verdict, evidence);
  fill_timelines(data, verdict, evidence);
  fill_machine(data, verdict, evidence);
  return page.render(data);
}

}  // namespace plumbline
