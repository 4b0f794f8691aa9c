#include "pipeline/rank_trainer.hpp"

#include "pipeline/boundary_messages.hpp"
#include "pipeline/tied_exchange.hpp"
#include "support/json.hpp"

namespace plumbline {
namespace {

WatchedRank watched(const Session& session, const PipelinePlan& plan, int rank) {
  WatchedRank made;
  made.rank = rank;
  made.owns_loss = plan.schedule.placement.rank_of(plan.schedule.placement.stages() - 1) == rank;
  made.origin_ns = plan.origin_ns;
  made.process = session.run.pipeline.transport == "threads" ? GpuProcess::several_ranks : GpuProcess::one_rank;
  return made;
}

}  // namespace

RankTrainer::RankTrainer(const Session& session, const PipelinePlan& plan, Transport& transport,
                         const std::filesystem::path& record)
    : Trainer(session, record, watched(session, plan, transport.rank())),
      several_copies_(session.config.tied && plan.stages.size() > 1),
      parts_(make_rank_parts(session, plan, transport, monitor_)),
      walk_(session, plan, parts_, monitor_),
      peaks_(monitor_) {
  monitor_.add(peaks_);
}

void RankTrainer::train(bool show_progress) {
  run(show_progress);
  parts_.transport.barrier();
}

void RankTrainer::train_step(std::int64_t step) {
  walk_.step(step);
  for (const TrafficCount& count : parts_.transport.take_traffic()) {
    monitor_.writer().add(TrafficRow{step, count.peer, to_text(count.direction), count.send ? "send" : "receive",
                                     count.operations, count.bytes});
  }
}

// Last in the step, so that the record shows what differs.
void RankTrainer::step_recorded(std::int64_t step) {
  if (several_copies_) compare_tied_copies(parts_.transport, step, TiedWeight(true, parts_.state));
}

void RankTrainer::finish(const std::string& status, int code) {
  if (code != 0) monitor_.write_flight();
  if (const auto buffers = parts_.transport.registered_buffers()) {
    const Json why_not = buffers->why_not.empty() ? Json(nullptr) : Json(buffers->why_not);
    write_json(monitor_.writer().folder() / "registered_buffers.json", {{"registered", buffers->why_not.empty()},
                                                                        {"why_not", why_not},
                                                                        {"segments", buffers->segments},
                                                                        {"bytes", buffers->bytes},
                                                                        {"given_back", buffers->given_back}});
  }
  Trainer::finish(status, code);
}

}  // namespace plumbline
