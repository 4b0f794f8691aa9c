#include "pipeline/rank_trainer.hpp"

#include <ATen/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "pipeline/global_norm.hpp"
#include "support/error.hpp"
#include "support/json.hpp"
#include "support/progress_line.hpp"
#include "support/text.hpp"
#include "training/gradient_norm.hpp"
#include "training/initial_values.hpp"
#include "training/loss.hpp"
#include "training/tensor_record.hpp"

namespace plumbline {
namespace {

std::vector<Stage> make_stages(const Session& session, const PipelinePlan& plan, int rank) {
  std::vector<Stage> stages;
  for (const std::int32_t index : plan.schedule.placement.stages_on(rank)) {
    stages.emplace_back(session.config, index, plan.stages.at(static_cast<std::size_t>(index)),
                        parse_dtype(session.run.train.dtype), session.plan.longest_sequence(), session.device);
  }
  return stages;
}

std::vector<Parameter> all_parameters(std::vector<Stage>& stages) {
  std::vector<Parameter> parameters;
  for (Stage& stage : stages) {
    parameters.insert(parameters.end(), stage.slice().parameters().begin(), stage.slice().parameters().end());
  }
  return parameters;
}

std::optional<std::int64_t> microbatch_of(const Action& action) {
  if (action.microbatch == no_microbatch) return std::nullopt;
  return action.microbatch;
}

Direction direction_of(ActionType type) {
  return type == ActionType::send_forward || type == ActionType::receive_forward ? Direction::forward
                                                                                 : Direction::backward;
}

const char* direction_name(Direction direction) {
  return direction == Direction::forward ? "forward" : "backward";
}

}  // namespace

RankTrainer::RankTrainer(const Session& session, const PipelinePlan& plan, Transport& transport, TrainerSeams& seams,
                         const std::filesystem::path& record)
    : session_(session),
      plan_(plan),
      seams_(seams),
      transport_(seams.transport(transport)),
      units_(unit_names(session.config)),
      actions_(seams.actions(plan.lowered.ranks.at(static_cast<std::size_t>(transport.rank())))),
      meter_(this_thread_meter()),
      stages_(make_stages(session, plan, transport.rank())),
      parameters_(all_parameters(stages_)),
      optimizer_(session.run.train.optimizer, parameters_),
      writer_(record, transport.rank(), session.run.record_level, /*with_saved=*/false),
      recorder_(writer_),
      log_(writer_, plan.origin_ns, session.gpu()),
      gpu_memory_(writer_.folder(), session.record_gpu(), session.device.index(),
                  session.run.pipeline.transport == "threads" ? GpuProcess::several_ranks : GpuProcess::one_rank),
      page_(writer_.folder() / "progress"),
      loss_(seams.loss(token_weighted_loss)),
      fed_(session.plan.microbatches()) {
  const MemoryScope scope(MemoryOwner::other);
  for (Stage& stage : stages_) {
    set_initial_values(stage.slice(), session.run);
    seams_.slice_made(stage.slice());
  }
}

Stage& RankTrainer::stage(std::int64_t index) {
  return *std::ranges::find(stages_, index, &Stage::index);
}

bool RankTrainer::owns_loss() const {
  return std::ranges::any_of(stages_, [](const Stage& stage) { return stage.last(); });
}

/// A cut is named by the unit after it; an empty stage starts at the next unit downstream.
const std::string& RankTrainer::cut_name(std::int64_t upper_stage) const {
  return units_.at(static_cast<std::size_t>(plan_.stages.at(static_cast<std::size_t>(upper_stage)).first));
}

void RankTrainer::show(std::int64_t step, std::size_t index, const Action& action, int peer) {
  page_.update({.step = step,
                .action_index = static_cast<std::int64_t>(index),
                .peer = peer,
                .microbatch = action.microbatch,
                .action = to_text(action)});
}

Operation RankTrainer::make_operation(std::int64_t step, const Action& action) {
  const Direction direction = direction_of(action.type);
  const bool send = action.type == ActionType::send_forward || action.type == ActionType::send_backward;
  // forward goes up a stage, backward down; a RECV carries the receiver's stage
  const std::int32_t along = direction == Direction::forward ? 1 : -1;
  const std::int32_t from = send ? action.stage : action.stage - along;
  const std::int32_t to = send ? action.stage + along : action.stage;

  Operation operation;
  operation.action = action;
  operation.peer = plan_.schedule.placement.rank_of(send ? to : from);
  MessageHeader& header = operation.header;
  header.direction = direction;
  header.from_stage = from;
  header.to_stage = to;
  header.step = step;
  header.microbatch = action.microbatch;
  header.dtype = static_cast<std::int32_t>(parse_dtype(session_.run.train.dtype));
  header.dimensions = 3;
  header.sizes = {session_.plan.batch(action.microbatch), session_.plan.sequence_length(action.microbatch),
                  session_.config.hidden_size, 0};
  if (send) {
    auto kept = leaving_.extract(Key{action.stage, action.microbatch, direction});
    operation.payload = std::move(kept.mapped());
    recorder_.boundary(step, action.microbatch, direction_name(direction), cut_name(std::max(from, to)), "send",
                       {from, to, operation.peer}, operation.payload);
  }
  return operation;
}

void RankTrainer::post(std::int64_t step, const ActionList& batch) {
  std::vector<Operation> operations;
  std::vector<std::size_t> log_indices;
  for (const Action& action : batch) {
    log_indices.push_back(log_.begin(to_text(action), action.stage, microbatch_of(action)));
    operations.push_back(make_operation(step, action));
  }
  std::vector<int> peers;
  for (const Operation& operation : operations) peers.push_back(operation.peer);
  const std::vector<OperationId> ids = transport_.post(std::move(operations));
  for (std::size_t i = 0; i < batch.size(); ++i) {
    Posted posted{ids[i], log_indices[i], peers[i], batch[i]};
    const Key key{batch[i].stage, batch[i].microbatch, direction_of(batch[i].type)};
    if (batch[i].type == ActionType::send_forward || batch[i].type == ActionType::send_backward) {
      sends_.push_back(posted);
    } else {
      arriving_.emplace(key, posted);
    }
  }
}

void RankTrainer::reap_finished_sends() {
  std::erase_if(sends_, [&](const Posted& posted) {
    if (!transport_.test(posted.id)) return false;
    log_.end(posted.log_index);
    return true;
  });
}

at::Tensor RankTrainer::take_arrival(std::int64_t step, const Action& action, Direction direction,
                                     std::size_t log_index) {
  const std::int32_t from = direction == Direction::forward ? action.stage - 1 : action.stage + 1;
  const int peer = plan_.schedule.placement.rank_of(from);
  at::Tensor tensor;
  const char* side = "local";
  if (peer == transport_.rank()) {
    tensor = std::move(leaving_.extract(Key{from, action.microbatch, direction}).mapped());
  } else {
    const auto posted = arriving_.extract(Key{action.stage, action.microbatch, direction}).mapped();
    show(step, log_index, posted.action, peer);
    const std::int64_t begin_ns = monotonic_ns();
    tensor = transport_.wait(posted.id);
    log_.end(posted.log_index);
    log_.add_wait(log_index, monotonic_ns() - begin_ns);
    side = "receive";
  }
  show(step, log_index, action, -1);
  recorder_.boundary(step, action.microbatch, direction_name(direction), cut_name(std::max(from, action.stage)), side,
                     {from, action.stage, peer}, tensor);
  retag(tensor, MemoryOwner::activations);
  return tensor;
}

void RankTrainer::keep_for_sending(const Action& action, Direction direction, at::Tensor tensor) {
  {
    const MemoryScope scope(MemoryOwner::transport);
    tensor = tensor.contiguous();
  }
  retag(tensor, MemoryOwner::transport);
  leaving_.emplace(Key{action.stage, action.microbatch, direction}, std::move(tensor));
}

void RankTrainer::end_action(std::size_t log_index) {
  log_.end(log_index);
  const std::int64_t peak = meter_.count(MemoryOwner::activations).peak - start_bytes_;
  log_.set_peak(log_index, peak);
  activation_peak_ = std::max(activation_peak_, peak);
  reap_finished_sends();
}

void RankTrainer::forward(std::int64_t step, const Action& action) {
  const std::size_t log_index = log_.begin(to_text(action), action.stage, action.microbatch);
  Stage& here = stage(action.stage);
  LossTarget target;
  at::Tensor input;
  if (here.first() || here.last()) {
    Microbatch made = session_.plan.make(step, action.microbatch);
    fed_.take(action.microbatch, made);
    Microbatch data = to_device(std::move(made), session_.device);
    if (here.first()) input = std::move(data.ids);
    target = {std::move(data.labels), session_.plan.step_valid_tokens(), loss_};
  }
  if (!here.first()) {
    input = take_arrival(step, action, Direction::forward, log_index);
    input = seams_.stage_input(std::move(input), step, action);
  }
  meter_.reset_peak(MemoryOwner::activations);
  {
    const MemoryScope scope(MemoryOwner::activations);
    at::Tensor output = here.forward(action.microbatch, std::move(input), target);
    if (here.last()) {
      losses_.set(action.microbatch, output);
    } else {
      output = seams_.stage_output(std::move(output), step, action);
      keep_for_sending(action, Direction::forward, std::move(output));
    }
  }
  end_action(log_index);
}

void RankTrainer::backward(std::int64_t step, const Action& action) {
  const std::size_t log_index = log_.begin(to_text(action), action.stage, action.microbatch);
  Stage& here = stage(action.stage);
  at::Tensor gradient;
  if (!here.last()) {
    gradient = take_arrival(step, action, Direction::backward, log_index);
    gradient = seams_.stage_gradient(std::move(gradient), step, action);
  }
  meter_.reset_peak(MemoryOwner::activations);
  {
    const MemoryScope scope(MemoryOwner::activations);
    if (here.last()) {
      const at::ScalarType dtype = loss_dtype(parse_dtype(session_.run.train.dtype));
      gradient = at::ones({}, at::TensorOptions(dtype).device(session_.device));
    }
    at::Tensor input_gradient = action.type == ActionType::backward
                                    ? here.backward(action.microbatch, std::move(gradient))
                                    : here.backward_input(action.microbatch, std::move(gradient));
    if (!here.first()) {
      input_gradient = seams_.stage_output(std::move(input_gradient), step, action);
      keep_for_sending(action, Direction::backward, std::move(input_gradient));
    }
  }
  end_action(log_index);
}

void RankTrainer::backward_weight(const Action& action) {
  const std::size_t log_index = log_.begin(to_text(action), action.stage, action.microbatch);
  meter_.reset_peak(MemoryOwner::activations);
  {
    const MemoryScope scope(MemoryOwner::activations);
    stage(action.stage).backward_weight(action.microbatch);
  }
  end_action(log_index);
}

void RankTrainer::reduce(std::int64_t step, const Action& action) {
  const std::size_t log_index = log_.begin(to_text(action), action.stage, std::nullopt);
  const Placement& placement = plan_.schedule.placement;
  const int first_rank = placement.rank_of(0);
  const int last_rank = placement.rank_of(placement.stages() - 1);
  const auto gradient_of = [&](const char* name) {
    return std::ranges::find(parameters_, name, &Parameter::name)->value.grad();
  };
  for (const char* name : {"model.embed_tokens.weight", "lm_head.weight"}) {
    const auto mine = std::ranges::find(parameters_, name, &Parameter::name);
    if (mine != parameters_.end()) recorder_.tied_use(name, mine->value.grad());
  }
  if (first_rank == last_rank) {  // two stages of one rank: both uses are here
    at::Tensor sum = gradient_of("model.embed_tokens.weight");
    if (seams_.adds_tied_gradient(step)) sum.add_(gradient_of("lm_head.weight"));
    gradient_of("lm_head.weight").copy_(sum);
    return log_.end(log_index);
  }
  const bool upper = action.stage != 0;
  const int peer = upper ? first_rank : last_rank;
  show(step, log_index, action, peer);
  at::Tensor gradient = gradient_of(upper ? "lm_head.weight" : "model.embed_tokens.weight");
  const MemoryScope scope(MemoryOwner::transport);
  if (upper) {
    transport_.send_tied(peer, gradient);
    transport_.receive_tied(peer, gradient);
  } else {
    at::Tensor other = at::empty_like(gradient);
    transport_.receive_tied(peer, other);
    if (seams_.adds_tied_gradient(step)) gradient.add_(other);
    transport_.send_tied(peer, gradient);
  }
  log_.end(log_index);
}

void RankTrainer::update(std::int64_t step, const Action& action) {
  const std::size_t log_index = log_.begin(to_text(action), action.stage, std::nullopt);
  show(step, log_index, action, transport_.world_size() > 1 ? 0 : -1);
  for (Stage& each : stages_) {
    recorder_.tied_uses(each.slice().parameters());
    add_tied_uses(each.slice().parameters());
    recorder_.gradients(step, each.index(), each.slice().parameters());
  }
  const std::int64_t begin_ns = monotonic_ns();
  const double norm = global_norm(transport_, session_.config, parameters_);
  log_.add_wait(log_index, monotonic_ns() - begin_ns);
  seams_.before_update(step, parameters_);
  update_ = update_parameters(session_.run.train, step, norm, parameters_, optimizer_);
  seams_.after_update(step, parameters_);
  for (Stage& each : stages_) {
    recorder_.parameters(step, each.index(), each.slice().parameters());
    recorder_.moments(step, each.index(), each.slice().parameters(), optimizer_);
  }
  log_.end(log_index);
}

void RankTrainer::step(std::int64_t step) {
  const std::int64_t begin_ns = monotonic_ns();
  begin_step_memory(meter_);
  gpu_memory_.begin_step();
  start_bytes_ = meter_.count(MemoryOwner::activations).live;
  activation_peak_ = 0;
  if (owns_loss()) losses_.begin(session_.plan.microbatches());
  if (seams_.zeroes_gradients(step)) zero_gradients(parameters_);

  for (std::size_t i = 0; i < actions_.size();) {
    if (is_communication(actions_[i].type)) {
      ActionList batch;
      for (; i < actions_.size() && is_communication(actions_[i].type); ++i) batch.push_back(actions_[i]);
      post(step, batch);
      continue;
    }
    const Action& action = actions_[i++];
    switch (action.type) {
      case ActionType::forward:
        forward(step, action);
        break;
      case ActionType::backward:
      case ActionType::backward_input:
        backward(step, action);
        break;
      case ActionType::backward_weight:
        show(step, i - 1, action, -1);
        backward_weight(action);
        break;
      case ActionType::reduce:
        reduce(step, action);
        break;
      case ActionType::step:
        update(step, action);
        break;
      default:
        throw std::logic_error("action " + to_text(action) + " cannot be executed yet");
    }
  }
  transport_.reap_sends();
  reap_finished_sends();
  log_.end_step(step);

  for (MicrobatchRow& row : microbatch_rows(session_.plan, step, losses_.read(), fed_.end_step()))
    writer_.add(std::move(row));
  for (const TrafficCount& count : transport_.take_traffic()) {
    writer_.add(TrafficRow{step, count.peer, direction_name(count.direction), count.send ? "send" : "receive",
                           count.operations, count.bytes});
  }
  recorder_.end_step(step);
  writer_.add(memory_row(meter_, step, activation_peak_));
  gpu_memory_.end_step(step);
  std::optional<float> loss;
  if (owns_loss()) loss = step_loss(losses_.read());
  writer_.end_step(step_row(session_.plan, step, update_, loss, static_cast<double>(monotonic_ns() - begin_ns) * 1e-9));
  // last, so that the record shows what differs
  if (session_.config.tied && plan_.stages.size() > 1) compare_tied_copies(transport_, step, parameters_);
}

void RankTrainer::run(bool show_progress) {
  for (Stage& each : stages_) recorder_.parameters(initial_step, each.index(), each.slice().parameters());
  recorder_.end_step(initial_step);
  writer_.flush();
  std::optional<ProgressLine> line;
  if (show_progress && owns_loss()) line.emplace();
  for (std::int64_t index = 0; index < session_.run.train.steps; ++index) {
    step(index);
    const std::int64_t tokens = (index + 1) * session_.plan.step_tokens();
    if (line) line->step(index + 1, session_.run.train.steps, step_loss(losses_.read()), tokens);
  }
  if (line) line->finish();
  transport_.barrier();
}

void RankTrainer::finish(const std::string& status, int code) {
  if (code != 0) log_.write_flight(writer_.folder() / "flight.jsonl");
  if (const auto buffers = transport_.registered_buffers()) {
    const Json why_not = buffers->why_not.empty() ? Json(nullptr) : Json(buffers->why_not);
    write_json(writer_.folder() / "registered_buffers.json", {{"registered", buffers->why_not.empty()},
                                                              {"why_not", why_not},
                                                              {"segments", buffers->segments},
                                                              {"bytes", buffers->bytes},
                                                              {"given_back", buffers->given_back}});
  }
  writer_.finish({transport_.rank(), status, code, std::nullopt, log_.last_action(), fed_.digest()});
}

}  // namespace plumbline
