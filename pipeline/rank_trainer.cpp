// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/rank_trainer.hpp"

#include "pipeline/step_end.hpp"
#include "pipeline/transport/message.hpp"
#include "pipeline/transport/transport.hpp"
#include "record/wait_chain.hpp"
#include "support/json.hpp"
#include "support/plain_text.hpp"

namespace plumbline {
namespace {

/// `rank`: of the run.
RecordedRank recorded(const Run& run, const PipelinePlan& plan, int rank) {
  RecordedRank made;
  made.rank = plan.rank_in_pipeline(rank);
  made.first_rank = rank - plan.rank_in_pipeline(rank);
  made.owns_loss = plan.owns_loss(rank);
  made.reports = plan.replica_of(rank) == 0;
  made.measures_passes = true;
  made.origin_ns = plan.origin_ns;
  made.process = run.pipeline.transport == "threads" ? GpuProcess::several_ranks : GpuProcess::one_rank;
  return made;
}

}  // namespace

RankTrainer::RankTrainer(const Run& run, const PipelinePlan& plan, Transport& world,
                         const std::filesystem::path& record)
    : Trainer(run, part_of_replica(run.batches, plan, plan.replica_of(world.rank())),
              record.empty() ? record : plan.folders(record).pipeline_of(world.rank()),
              recorded(run, plan, world.rank())),
      owns_loss_(plan.owns_loss(world.rank())),
      compares_tied_copies_(run.record_level >= RecordLevel::full && run.config.tied && plan.stages.size() > 1),
      folders_(plan.folders(record)),
      lowest_stage_(plan.schedule.placement.stages_on(plan.rank_in_pipeline(world.rank())).front()),
      world_(world),
      pipeline_(world, plan.replica_of(world.rank()) * plan.ranks(), 1, plan.ranks()),
      parts_(make_rank_parts(run, plan, pipeline_)),
      executor_(run, plan, parts_, plan.lowered.ranks.at(static_cast<std::size_t>(pipeline_.rank())),
                {part_of_replica(run.batches, plan, plan.replica_of(world.rank())), recorder_}) {
  const auto waits_for = [this](int peer) { recorder_.heartbeat().waits_for(peer); };
  world_.set_wait_callback(waits_for);
  if (plan.replicas > 1) {
    replicas_.emplace(Group(world, pipeline_.rank(), plan.ranks(), plan.replicas), run.device, waits_for);
    parts_.replicas = &*replicas_;
  }
  if (run.validation) evaluation_.emplace(run, plan, parts_, recorder_.heartbeat());
}

RankTrainer::~RankTrainer() {
  world_.show_long_waits({});
  world_.set_wait_callback({});
}

void RankTrainer::train(bool show_progress) {
  try {
    run(show_progress);
    world_.barrier();
  } catch (const DeadlineError& error) {
    // Read the heartbeat now, before any rank exits.
    DeadlineError extended(error.what() + last_sign(folders_, error.waited_for));
    extended.waited_for = error.waited_for;
    throw extended;
  }
}

// Ranks load parts of different sizes, so the time limit of a step starts when all are done.
void RankTrainer::ready() {
  world_.barrier();
  world_.enter_steps();
}

void RankTrainer::train_step(std::int64_t step) {
  executor_.step(step);
  if (replicas_ && owns_loss_) recorder_.set_losses_of_step(replicas_->gather(step, lowest_stage_, recorder_.losses()));
  for (const TrafficCount& count : pipeline_.collect_traffic()) {
    recorder_.writer().add(TrafficRow{step, count.peer, to_text(count.direction), count.send ? "send" : "receive",
                                      count.operations, count.bytes});
  }
}

void RankTrainer::show_waits_on(ProgressLine* line) {
  if (line == nullptr) return world_.show_long_waits({});
  world_.show_long_waits([this, line](const std::string& words) {
    line->text(printable_lines("step " + std::to_string(parts_.state.step + 1) + ": " + words), false);
  });
}

// After the step's rows are written: they show the difference and remain if another rank fails meanwhile.
void RankTrainer::step_recorded(std::int64_t step) {
  if (!compares_tied_copies_ || tied_copies_are_equal(world_, TiedWeight(true, parts_.state))) return;
  throw RunError("step " + std::to_string(step) +
                 ": the copies of the tied weight on the first and the last stage differ after the update");
}

void RankTrainer::ending(bool well) {
  if (!well) recorder_.write_flight_record();
}

}  // namespace plumbline
