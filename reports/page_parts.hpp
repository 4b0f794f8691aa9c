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

/// The anchor of a cell's details, and of one check in them. Made of positions, never of names.
std::string cell_anchor(std::size_t cell);
std::string check_anchor(std::size_t cell, std::size_t check);

/// title, word, holds, lead, tiles, outcomes, not_run.
void fill_summary(PageData& page, const Verdict& verdict);
/// facts: of which commit, when, on what, with what left out, and compared with what.
void fill_facts(PageData& page, const Verdict& verdict, const Evidence& evidence);
/// overview: one square a cell, a table for each model and optimiser.
void fill_overview(PageData& page, const Verdict& verdict);
/// failures: the cells that do not hold.
void fill_failures(PageData& page, const Verdict& verdict, const Evidence& evidence);
/// baseline: what changed since; release: what was demanded and what came of it, to be signed.
void fill_release(PageData& page, const Verdict& verdict, const Evidence& evidence);
/// usual: what each check claims, its limit and what it showed, where most cells say the same.
void fill_usual(PageData& page, const Verdict& verdict, const UsualTexts& usual);
/// One cell's checks, for the details under a table; and those of the references.
PageData cell_details(const CellVerdict& cell, std::size_t index, const UsualTexts& usual);
void fill_references(PageData& page, const Verdict& verdict, const UsualTexts& usual);
/// subjects (a grid of world size x check for each schedule) and singles (explicit balances and other cells of their
/// own).
void fill_cells(PageData& page, const Verdict& verdict, const UsualTexts& usual);
/// plots: for each reference its loss, memory and gradients, drawn and as numbers; slots of the schedules.
void fill_plots(PageData& page, const Verdict& verdict, const Evidence& evidence);
/// speed: of a reference and of the cells that were compared with it.
void add_speed(PageData& plot, const RunSummary& reference, const std::vector<const CellVerdict*>& cells,
               const Evidence& evidence, const std::string& title);
/// timelines: for each schedule one cell's measured timeline above the planned one.
void fill_timelines(PageData& page, const Verdict& verdict, const Evidence& evidence);
/// machine, references, missing.
void fill_machine(PageData& page, const Verdict& verdict, const Evidence& evidence);

}  // namespace plumbline
