#include "harness/judge/audit/audited_record.hpp"

namespace plumbline::auditing {

AuditedRecord::AuditedRecord(const Record& record) : record_(record) {
  for (const RankRecord& rank : record.ranks) {
    for (std::size_t i = 0; i < rank.tensors.size(); ++i) {
      const TensorRow& row = rank.tensors[i];
      const TensorPlace place{rank.rank, i, &row};
      by_step_[row.step].push_back(place);
      by_key_.emplace(key_of(row.step, row.kind, place), &row);
    }
  }
  const std::string embedding = "model.embed_tokens.weight";
  for (const auto& names : record.manifest.tied) {
    for (const auto& name : names) {
      if (name != embedding) tied_again_.insert(name);
    }
  }
}

const std::vector<TensorPlace>& AuditedRecord::tensors(std::int64_t step) const {
  static const std::vector<TensorPlace> none;
  const auto found = by_step_.find(step);
  return found == by_step_.end() ? none : found->second;
}

AuditedRecord::Key AuditedRecord::key_of(std::int64_t step, const std::string& kind, const TensorPlace& place) {
  return {step, place.rank, place.row->stage, kind, place.row->name};
}

const TensorRow* AuditedRecord::beside(std::int64_t step, const std::string& kind, const TensorPlace& like) const {
  const auto found = by_key_.find(key_of(step, kind, like));
  return found == by_key_.end() ? nullptr : found->second;
}

std::vector<TensorPlace> AuditedRecord::gradients_once(std::int64_t step) const {
  std::vector<TensorPlace> once;
  std::set<std::string> seen;
  for (const TensorPlace& place : tensors(step)) {
    if (place.row->kind != "gradient" || tied_again_.contains(place.row->name)) continue;
    if (seen.insert(place.row->name).second) once.push_back(place);
  }
  return once;
}

std::string table_line(std::int64_t rank, const std::string& file, std::size_t row) {
  return "rank-" + std::to_string(rank) + "/" + file + ":" + std::to_string(row + 2);
}

Finding at_tensor(const TensorPlace& place, const std::string& item) {
  Finding finding;
  finding.file = table_line(place.rank, "tensors.csv", place.index);
  finding.step = place.row->step;
  finding.rank = place.rank;
  finding.stage = place.row->stage;
  finding.item = item;
  finding.place = place.row->kind == "gradient" ? Place::gradient : Place::parameter;
  return finding;
}

}  // namespace plumbline::auditing
