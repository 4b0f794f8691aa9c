// repeatability (R0): the same run done again gives the same bits, row by row.
#include <bit>
#include <map>
#include <tuple>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/comparability.hpp"
#include "support/numbers.hpp"

namespace plumbline::judging {
namespace {

/// A value of a run that has to repeat, under a key that sorts in execution order.
struct Item {
  std::int64_t rank = 0;
  std::string name;
  std::string value;
};
using Items = std::multimap<std::tuple<Moment, std::int64_t, std::string>, Item>;

std::string bits(double value) {
  return to_text(value);
}  // shortest text that reads back to the same bits

void add(Items& items, const Moment& moment, std::int64_t rank, const std::string& name, const std::string& value) {
  items.insert({{moment, rank, name}, {rank, name, value}});
}

void add_rank(Items& items, const RankRecord& rank, const ExpectedModel& model) {
  for (const auto& row : rank.microbatches) {
    add(items, at_data(row.step, row.microbatch), rank.rank, "data", row.data_digest);
    if (row.loss) add(items, at_loss(row.step, row.microbatch), rank.rank, "loss", to_text(*row.loss));
  }
  for (const auto& row : rank.boundaries) {
    const auto cut = model.unit_position(row.cut).value_or(0);
    const auto side = row.side == "receive" ? 1 : 0;
    const auto moment = row.direction == "backward" ? at_backward(row.step, row.microbatch, cut, side)
                                                    : at_forward(row.step, row.microbatch, cut, side);
    add(items, moment, rank.rank, row.direction + " boundary " + row.cut + " " + row.side, row.digest);
  }
  for (const auto& row : rank.tensors) {
    const auto position = model.parameter_position(row.name).value_or(0);
    const auto moment = row.kind == "gradient" ? at_gradient(row.step, position, row.stage)
                                               : at_parameter(row.step, position,
                                                              row.kind == "parameter" ? 0
                                                              : row.kind == "moment1" ? 1
                                                                                      : 2,
                                                              row.stage);
    add(items, moment, rank.rank, row.kind + " " + row.name, row.digest);
  }
  for (const auto& row : rank.steps) {
    if (row.loss) add(items, at_step_loss(row.step), rank.rank, "loss of the step", to_text(*row.loss));
    if (row.gradient_norm) add(items, at_norm(row.step), rank.rank, "gradient_norm", bits(*row.gradient_norm));
    if (row.clip_coefficient)
      add(items, at_norm(row.step, 1), rank.rank, "clip_coefficient", bits(*row.clip_coefficient));
  }
}

Items items_of(const Record& record, const ExpectedModel& model) {
  Items items;
  for (const auto& rank : record.ranks) add_rank(items, rank, model);
  return items;
}

void report(const Moment& moment, const Item& item, const std::string& expected, const std::string& got,
            Judgement& judgement) {
  FirstDivergence divergence;
  divergence.step = moment.step;
  if (moment.phase == 0) divergence.microbatch = moment.microbatch;
  divergence.rank = item.rank;
  divergence.item = item.name;
  divergence.expected = expected;
  divergence.got = got;
  divergence.words = "run twice, " + item.name + " at " + step_words(moment.step, divergence.microbatch) + " on rank " +
                     std::to_string(item.rank) + " differs: first " + expected + ", then " + got;
  judgement.diverge(moment, std::move(divergence));
}

/// Of the second run: by its launcher, and by what it left behind.
std::optional<std::string> why_it_did_not_end_well(const CellEvidence& evidence) {
  const auto& launch = evidence.plan.repeat_launch;
  if (launch && (launch->timed_out || launch->exit_code != 0))
    return launch->words.empty() ? "it ended with code " + std::to_string(launch->exit_code) : launch->words;
  if (!evidence.repeated->record) return "it left no readable record: " + evidence.repeated->error;
  for (const auto& rank : evidence.repeated->record->ranks) {
    if (rank.exit && rank.exit->status == "ok" && rank.exit->code == 0) continue;
    return "rank " + std::to_string(rank.rank) +
           (rank.exit ? " ended with status " + rank.exit->status : " left no exit.json");
  }
  return std::nullopt;
}

}  // namespace

Judged check_repeatability(const CellEvidence& evidence) {
  Judgement judgement("repeatability", "R0", "0 ULP between two runs of this cell");
  if (!evidence.repeated) return judgement.conclude_as(Outcome::not_run, "the cell was not run a second time");
  if (const auto words = why_it_did_not_end_well(evidence)) {
    FirstDivergence divergence;
    divergence.item = "run";
    divergence.words = "run twice, and the second run did not end well: " + *words;
    judgement.diverge(at_structure(), std::move(divergence));
    return judgement.conclude_as(Outcome::fails, "");
  }
  const Record& second = *evidence.repeated->record;
  for (const auto& words : why_the_same_run(evidence.candidate, second)) {
    FirstDivergence divergence;
    divergence.item = "run";
    divergence.words = words;
    judgement.diverge(at_structure(), std::move(divergence));
  }
  const Items once = items_of(evidence.candidate, evidence.model), again = items_of(second, evidence.model);
  auto left = once.begin(), right = again.begin();
  while (left != once.end() || right != again.end()) {
    if (right == again.end() || (left != once.end() && left->first < right->first)) {
      report(std::get<0>(left->first), left->second, left->second.value, "no row", judgement);
      ++left;
    } else if (left == once.end() || right->first < left->first) {
      report(std::get<0>(right->first), right->second, "no row", right->second.value, judgement);
      ++right;
    } else {
      judgement.compare("items");
      if (left->second.value != right->second.value) {
        report(std::get<0>(left->first), left->second, left->second.value, right->second.value, judgement);
      }
      ++left, ++right;
    }
  }
  const auto least = evidence.steps() * evidence.microbatches();
  return judgement.conclude(std::to_string(judgement.count("items")) + " digests, losses and norms repeat to the bit",
                            {{"items", least}});
}

}  // namespace plumbline::judging
