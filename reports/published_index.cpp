#include "reports/published_index.hpp"

#include <algorithm>
#include <vector>

#include "record/verdict.hpp"
#include "reports/headline.hpp"
#include "reports/markup.hpp"
#include "reports/templates.hpp"
#include "support/error.hpp"
#include "support/files.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> report_folders(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (fs::exists(entry.path() / "report.html") && fs::exists(entry.path() / "verdict.json"))
      names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string commit_of(const Verdict& verdict) {
  const bool told =
      verdict.harness.is_object() && verdict.harness.contains("commit") && verdict.harness.at("commit").is_string();
  return told ? verdict.harness.at("commit").get<std::string>() : "not known";
}

std::string index_row(const std::string& name, const Verdict& verdict) {
  const auto cell = [](const std::string& text) { return "<td>" + xml_escape(text) + "</td>"; };
  std::string row =
      "<tr><th scope=\"row\"><a href=\"" + xml_escape(name) + "/report.html\">" + xml_escape(name) + "</a></th>";
  row += cell(headline(verdict)) + cell(to_text(verdict.tier)) + cell(verdict.started) + cell(commit_of(verdict));
  return row + "</tr>\n";
}

/// What stands between two texts, the first time; empty where it does not.
std::string between(const std::string& page, const std::string& before, const std::string& after) {
  const auto begin = page.find(before);
  if (begin == std::string::npos) return "";
  const auto end = page.find(after, begin + before.size());
  return end == std::string::npos ? "" : page.substr(begin + before.size(), end - begin - before.size());
}

/// Pages of another kind: <name>/<name>.html, with what they say of themselves (title and description, as markup).
std::string other_pages(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (fs::exists(entry.path() / (name + ".html"))) names.push_back(name);
  }
  std::ranges::sort(names);
  std::string items;
  for (const std::string& name : names) {
    const std::string page = read_file(folder / name / (name + ".html"));
    const std::string description = between(page, "<meta name=\"description\" content=\"", "\">");
    const std::string commit = between(page, "<meta name=\"commit\" content=\"", "\">");
    items += "<li><a href=\"" + xml_escape(name + "/" + name) + ".html\">" + between(page, "<title>", "</title>") +
             "</a>" + (description.empty() ? "" : ": " + description) +
             (commit.empty() ? "" : " (commit " + commit + ")") + "</li>\n";
  }
  return items.empty() ? "" : "<h2>Other pages</h2>\n<ul>\n" + items + "</ul>\n";
}

}  // namespace

std::string published_index(const fs::path& folder) {
  const auto names = report_folders(folder);
  if (names.empty()) throw InputError(folder.string() + ": holds no folder with a report.html and a verdict.json");
  const std::string page = page_template();
  const auto begin = page.find("<style>"), end = page.find("</style>");
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Reports - Plumbline</title>\n";
  text += page.substr(begin, end - begin) + "</style>\n</head>\n<body>\n<main>\n<h1>Reports</h1>\n";
  text += "<p>Each is one file that needs nothing beside it.</p>\n<div class=\"table\"><table><thead><tr>";
  for (const char* head : {"report", "verdict", "tier", "started", "commit"})
    text += std::string("<th scope=\"col\">") + head + "</th>";
  text += "</tr></thead><tbody>\n";
  for (const std::string& name : names) text += index_row(name, read_verdict(folder / name / "verdict.json"));
  return text + "</tbody></table></div>\n" + other_pages(folder) + "</main>\n</body>\n</html>\n";
}

}  // namespace plumbline
