// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/evaluation.hpp"

#include <bit>
#include <string>
#include <vector>

#include "schedule/forward_only.hpp"
#include "support/json.hpp"

namespace plumbline {
namespace {

ActionList forward_list(const Placement& placement, std::int64_t microbatches, int rank) {
  return forward_only(placement, static_cast<std::int32_t>(microbatches)).ranks.at(static_cast<std::size_t>(rank));
}

/// The results of all replicas' parts, in order, on every rank. `own`: empty on ranks that compute no loss.
EvaluationResult of_all_replicas(RankGroup& ranks, const EvaluationResult& own) {
  Json bits = Json::array();
  for (const float loss : own.losses) bits.push_back(std::bit_cast<std::uint32_t>(loss));
  const Json sent = {{"losses", bits}, {"digests", own.data_digests}};
  Json all = {{"losses", Json::array()}, {"digests", Json::array()}};
  for (const std::string& each : ranks.gather(sent.dump())) {
    const Json part = Json::parse(each);
    for (auto& [key, values] : all.items()) values.insert(values.end(), part.at(key).begin(), part.at(key).end());
  }
  all = Json::parse(ranks.broadcast(all.dump()));
  EvaluationResult result;
  for (const Json& loss : all.at("losses")) result.losses.push_back(std::bit_cast<float>(loss.get<std::uint32_t>()));
  result.data_digests = all.at("digests").get<std::vector<std::string>>();
  return result;
}

}  // namespace

Evaluation::Evaluation(const Run& run, const PipelinePlan& plan, RankParts& parts, StepObserver& heartbeat)
    : pipeline_(parts.pipeline),
      replicas_(plan.replicas),
      batches_(part_of_replica(evaluation_data(run), plan, plan.replica_of(parts.pipeline.world().rank()))),
      owns_loss_(plan.owns_loss(pipeline_.world().rank())),
      observer_(heartbeat, batches_.microbatches(), run.recorded() && owns_loss_),
      executor_(run, plan, parts, forward_list(plan.schedule.placement, batches_.microbatches(), pipeline_.rank()),
                {batches_, observer_, /*trains=*/false}) {}

std::optional<EvaluationResult> Evaluation::after(std::int64_t step) {
  observer_.losses.begin(batches_.microbatches());
  executor_.step(step);
  pipeline_.collect_traffic();  // the record's traffic table counts training steps only
  EvaluationResult result;
  if (owns_loss_) result = {observer_.losses.read(), observer_.data_digests.end_step()};
  if (replicas_ > 1) result = of_all_replicas(pipeline_.world(), result);
  if (!owns_loss_) return std::nullopt;
  return result;
}

}  // namespace plumbline
