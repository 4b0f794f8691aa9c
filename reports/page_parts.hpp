// SPDX-License-Identifier: BSD-3-Clause
// The parts of the page as data for its template (page.html); each function fills the keys that its section there
// names. Only the page's own sources include this: mustache is costly to compile.
#pragma once

#include <kainjow/mustache.hpp>
#include <string>
#include <vector>

#include "record/verdict.hpp"
#include "reports/evidence.hpp"
#include "reports/usual_texts.hpp"

namespace plumbline {

using PageData = kainjow::mustache::data;

inline PageData page_list() {
  return PageData(PageData::type::list);
}
/// Text made printable; the template escapes it.
PageData page_text(const std::string& text);
/// A list of texts under the key `text`.
PageData page_texts(const std::vector<std::string>& texts);

/// The anchor of a case, or behind the cases of a reference: of its card or its line. Made of positions, never of names.
std::string cell_anchor(std::size_t cell);

/// title, word, holds, lead, tiles, not_run.
void fill_summary(PageData& page, const Verdict& verdict);
/// facts: of which commit, when, on what, with what left out, and compared with what.
void fill_facts(PageData& page, const Verdict& verdict, const Evidence& evidence);
/// overview: one square a case, a table for each model and optimiser.
void fill_overview(PageData& page, const Verdict& verdict);
/// causes: the cases that do not hold, a line each, those that begin alike together; failures: a card each.
void fill_failures(PageData& page, const Verdict& verdict, const Evidence& evidence, const UsualTexts& usual);
/// baseline: what changed since; release: what was demanded and what came of it, to be signed.
void fill_release(PageData& page, const Verdict& verdict, const Evidence& evidence);
/// usual: each check's limit and what it showed, where most cases say the same.
void fill_usual(PageData& page, const Verdict& verdict, const UsualTexts& usual);
/// What came of checks: `held`, a text; `rows`, of those that say more; `aside`, names of those that do not apply.
/// `blocking`: with those that stand in the way.
PageData check_lines(const std::vector<CheckResult>& checks, const UsualTexts& usual, bool blocking);
/// subjects: the cases of each model and optimiser, and the references, a line each.
void fill_cases(PageData& page, const Verdict& verdict, const Evidence& evidence, const UsualTexts& usual);
/// plots: loss, gradients and memory, drawn where there is something to see; bench: of a benchmark that was given.
void fill_plots(PageData& page, const Verdict& verdict, const Evidence& evidence);
/// timeline: of the slowest case, the measured one above the planned one.
void fill_timeline(PageData& page, const Verdict& verdict, const Evidence& evidence);
/// machine, references, missing.
void fill_machine(PageData& page, const Verdict& verdict, const Evidence& evidence);

}  // namespace plumbline
