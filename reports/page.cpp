#include "reports/page.hpp"

#include <stdexcept>

#include "reports/markup.hpp"
#include "reports/page_parts.hpp"

namespace plumbline {
namespace {

/// Stands for `{{>cell}}`: used in two places of the template.
constexpr const char* cell_partial =
    R"PAGE(<details class="cell" id="{{anchor}}"><summary>{{title}}: {{#holds}}{{state}}{{/holds}}{{^holds}}<b class="fail">{{state}}</b>{{/holds}} <span class="soft">({{tally}})</span></summary>
<div class="table"><table><thead><tr><th>check</th><th>outcome</th><th>compared</th><th>looked at</th><th>limit and why</th><th>measured</th><th class="num">margin</th><th>what it showed</th></tr></thead><tbody>
{{#checks}}<tr id="{{anchor}}"><td>{{name}}</td><td class="outcome{{#blocks}} fail{{/blocks}}">{{outcome}}{{#told}} <span class="soft">(told, not required)</span>{{/told}}</td><td>{{compared}}</td><td>{{looked_at}}</td><td>{{limit}}</td><td>{{measured}}</td><td class="num">{{margin}}</td><td>{{reason}}{{#not_shown}}<br><b>not shown:</b> {{text}}{{/not_shown}}{{#has_place}}<br><b>first at:</b> {{place}}{{/has_place}}</td></tr>
{{/checks}}</tbody></table></div>
{{#has_command}}<p class="small">Run this one cell again:</p><pre>{{command}}</pre>{{/has_command}}
</details>
)PAGE";

}  // namespace

PageData page_text(const std::string& text) {
  return PageData(printable(text));
}

PageData page_texts(const std::vector<std::string>& texts) {
  PageData list = page_list();
  for (const auto& text : texts) list.push_back(PageData("text", page_text(text)));
  return list;
}

std::string cell_anchor(std::size_t cell) {
  return "cell-" + std::to_string(cell);
}

std::string check_anchor(std::size_t cell, std::size_t check) {
  return cell_anchor(cell) + "-" + std::to_string(check);
}

std::string make_page(const Verdict& verdict, const Evidence& evidence) {
  kainjow::mustache::mustache page{page_template()};
  if (!page.is_valid()) throw std::logic_error("page template: " + page.error_message());
  PageData data;
  data.set("cell", PageData(kainjow::mustache::partial([] { return std::string(cell_partial); })));
  fill_summary(data, verdict);
  fill_failures(data, verdict);
  fill_cells(data, verdict);
  fill_plots(data, verdict, evidence);
  fill_timelines(data, verdict, evidence);
  fill_machine(data, verdict, evidence);
  return page.render(data);
}

}  // namespace plumbline
