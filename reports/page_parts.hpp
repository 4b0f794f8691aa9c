// SPDX-License-Identifier: BSD-3-Clause
// The parts of the page as data for its template (page.html); each function fills the keys that its section there
// names. Only the page's own sources include this: mustache is costly to compile.
#pragma once

#include <kainjow/mustache.hpp>
#include <string>
#include <utility>
#include <vector>

#include "record/verdict.hpp"
#include "reports/evidence.hpp"

namespace plumbline {

using PageData = kainjow::mustache::data;

inline PageData page_list() {
  return PageData(PageData::type::list);
}
/// Printable text, which the template escapes.
PageData page_text(const std::string& text);
/// A list of texts under the key `text`.
PageData page_texts(const std::vector<std::string>& texts);
/// An object of printable texts.
PageData page_row(const std::vector<std::pair<const char*, std::string>>& texts);
/// A section of one text, under the key `text` or this one; false if it is empty.
PageData page_section(const std::string& text, const char* key = "text");
/// Sets `key`, and `has_<key>`: whether the text or list is not empty.
void set_text(PageData& page, const std::string& key, const std::string& text);
void set_list(PageData& page, const std::string& key, const PageData& list);

/// The cases of one run, in the verdict's order.
struct Subject {
  std::string run, model, optimizer;
  std::string title;  ///< "stories260k, adamw"; with the run's name where two runs would have the same
  std::vector<std::size_t> cells;
};
/// In order of first appearance.
std::vector<Subject> subjects_of(const Verdict& verdict);

/// title, word, band, lead, tiles, not_run.
void fill_summary(PageData& page, const Verdict& verdict);
/// facts: commit, time, machine, selection.
void fill_facts(PageData& page, const Verdict& verdict);
/// overview: one square per case, a table for each run.
void fill_overview(PageData& page, const Verdict& verdict);
/// causes: the failing cases, a line each, grouped by first divergence; failures: a card each.
void fill_failures(PageData& page, const Verdict& verdict, const Evidence& evidence);
/// figures: what the cases of each world size showed beyond equal values.
void fill_figures(PageData& page, const Verdict& verdict);
/// release: what was required and its outcome, to be signed.
void fill_release(PageData& page, const Verdict& verdict);
/// Outcomes of checks: `holding`, a text; `rows`, checks with details; `aside`, names of checks that do not apply.
PageData check_lines(const std::vector<CheckResult>& checks);
/// subjects: the cases of each run, and the references, a line each.
void fill_cases(PageData& page, const Verdict& verdict, const Evidence& evidence);
/// plots: loss, gradients and memory, drawn if something differs.
void fill_plots(PageData& page, const Verdict& verdict, const Evidence& evidence);
/// timeline: of the slowest case, measured above planned.
void fill_timeline(PageData& page, const Verdict& verdict, const Evidence& evidence);
/// machine, references, missing.
void fill_machine(PageData& page, const Verdict& verdict, const Evidence& evidence);

}  // namespace plumbline
