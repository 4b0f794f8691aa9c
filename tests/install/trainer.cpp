// SPDX-License-Identifier: BSD-3-Clause
// trainer FOLDER STAGES [zero|late]: trains a few layers on one device, or as a pipeline of this many stages, each on
// its own rank, one after another. zero: gradients are not zeroed between steps; late: a received activation is
// recorded after it was overwritten.
#include <cmath>
#include <iostream>
#include <plumbline/external_record.hpp>
#include <string>
#include <vector>

namespace {

using Values = std::vector<double>;
constexpr int width = 4, layers = 4, rows = 2, microbatches = 3, steps = 3;
constexpr double rate = 0.5, limit = 0.02;

struct Layer {
  std::string name;
  Values weight = Values(width * width), gradient = Values(width * width);
};

plumbline::TensorView view(const Values& values) {
  return {"float64", {static_cast<std::int64_t>(values.size()) / width, width}, values.data()};
}

double drawn(int seed) {
  return std::sin(12.9898 * (seed + 1)) * 0.7;
}

Values forward(const Layer& layer, const Values& in) {
  Values out(in.size());
  for (int r = 0; r < rows; ++r)
    for (int j = 0; j < width; ++j) {
      double sum = 0;
      for (int k = 0; k < width; ++k) sum += in[r * width + k] * layer.weight[k * width + j];
      out[r * width + j] = std::tanh(sum);
    }
  return out;
}

Values backward(Layer& layer, const Values& in, const Values& out, const Values& above) {
  Values inner(out.size()), below(in.size());
  for (std::size_t i = 0; i < out.size(); ++i) inner[i] = above[i] * (1 - out[i] * out[i]);
  for (int r = 0; r < rows; ++r)
    for (int k = 0; k < width; ++k)
      for (int j = 0; j < width; ++j) {
        layer.gradient[k * width + j] += in[r * width + k] * inner[r * width + j];
        below[r * width + k] += inner[r * width + j] * layer.weight[k * width + j];
      }
  return below;
}

struct Pipeline {
  std::vector<Layer> model;
  std::vector<std::vector<int>> parts;
  std::vector<plumbline::ExternalRecord> records;
  std::string wrong;

  int stages() const { return static_cast<int>(parts.size()); }
  int stage_of(int layer) const {
    int stage = 0;
    while (parts[stage].back() < layer) ++stage;
    return stage;
  }

  /// The layer's input crosses from the stage below, if it is on another stage.
  void crosses(int layer, bool back, int microbatch, Values& value) {
    const int below = layer == 0 ? 0 : stage_of(layer - 1), above = stage_of(layer);
    if (layer > 0 && stages() == 1) records[0].computed(model[layer].name, back, microbatch, view(value));
    if (below == above) return;
    const int from = back ? above : below, to = back ? below : above;
    records[from].sent(from, to, microbatch, view(value));
    if (wrong == "late" && microbatch == 1 && !back) value[0] += 1;
    records[to].received(to, from, microbatch, view(value));
  }

  void microbatch(int step, int m) {
    std::vector<Values> at{Values(rows * width)};
    for (int i = 0; i < rows * width; ++i) at[0][i] = drawn(1000 * step + 100 * m + i);
    for (auto& record : records) record.microbatch(plumbline::microbatch_of_rows(rows, {view(at[0])}));
    for (int stage = 0; stage < stages(); ++stage) {
      if (stage > 0) crosses(parts[stage].front(), false, m, at.back());
      const auto action = records[stage].begin_action(stage, "F", m);
      for (const int layer : parts[stage]) {
        if (layer != parts[stage].front()) crosses(layer, false, m, at.back());
        at.push_back(forward(model[layer], at.back()));
      }
      records[stage].end_action(action);
    }
    Values gradient = at.back();  // the loss is half the squared outputs, divided by the step's rows
    double loss = 0;
    for (double& value : gradient) {
      loss += 0.5 * value * value / (rows * microbatches);
      value /= rows * microbatches;
    }
    records.back().loss(m, static_cast<float>(loss));
    for (int stage = stages() - 1; stage >= 0; --stage) {
      const auto action = records[stage].begin_action(stage, "B", m);
      for (auto layer = parts[stage].rbegin(); layer != parts[stage].rend(); ++layer) {
        gradient = backward(model[*layer], at[*layer], at[*layer + 1], gradient);
        if (stages() == 1) crosses(*layer, true, m, gradient);
      }
      records[stage].end_action(action);
      if (stage > 0) crosses(parts[stage].front(), true, m, gradient);
    }
  }

  void update() {
    double squares = 0;
    for (const Layer& layer : model) {
      double own = 0;
      for (const double value : layer.gradient) own += value * value;
      squares += std::sqrt(own) * std::sqrt(own);
    }
    const double norm = std::sqrt(squares), coefficient = std::min(1.0, limit / norm);
    for (int i = 0; i < layers; ++i)
      records[stage_of(i)].gradient(stage_of(i), model[i].name + ".weight", view(model[i].gradient));
    for (int stage = 0; stage < stages(); ++stage) {
      records[stage].norm(norm, coefficient);
      const auto action = records[stage].begin_action(stage, "STEP");
      for (const int layer : parts[stage]) {
        Layer& one = model[layer];
        for (int i = 0; i < width * width; ++i) {
          one.weight[i] -= rate * (one.gradient[i] * coefficient);
          if (wrong != "zero") one.gradient[i] = 0;
        }
        records[stage].after_step("parameter", stage, one.name + ".weight", view(one.weight));
      }
      records[stage].end_action(action);
      records[stage].end_step();
    }
  }
};

int train(const std::string& folder, int stages, const std::string& wrong) {
  Pipeline pipeline;
  pipeline.wrong = wrong;
  plumbline::ExternalRun run;
  run.model = R"({"kind": "tanh layers", "width": 4})";
  run.optimizer = R"({"name": "sgd", "learning_rate": 0.5, "momentum": 0, "weight_decay": 0})";
  run.steps = steps, run.microbatches = microbatches, run.dtype = "float64";
  run.schedule = stages == 1 ? "sequential" : "one after another";
  run.clip_norm = limit, run.norm_order = "canonical";
  for (int stage = 0; stage < stages; ++stage) run.stages.push_back({stage, {}}), pipeline.parts.emplace_back();
  for (int i = 0; i < layers; ++i) {
    Layer layer{"layer" + std::to_string(i)};
    for (int j = 0; j < width * width; ++j) layer.weight[j] = drawn(31 * i + j);
    run.stages[i * stages / layers].units.push_back(layer.name);
    pipeline.parts[i * stages / layers].push_back(i);
    pipeline.model.push_back(layer);
  }
  for (int rank = 0; rank < stages; ++rank) {
    pipeline.records.emplace_back(folder, run, rank);
    for (const int layer : pipeline.parts[rank])
      pipeline.records[rank].initial_parameter(rank, pipeline.model[layer].name + ".weight",
                                               view(pipeline.model[layer].weight));
  }
  for (int step = 0; step < steps; ++step) {
    for (auto& record : pipeline.records) record.begin_step(rate);
    for (int m = 0; m < microbatches; ++m) pipeline.microbatch(step, m);
    pipeline.update();
  }
  for (auto& record : pipeline.records) record.finish();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return train(argv[1], std::stoi(argv[2]), argc > 3 ? argv[3] : "");
  } catch (const std::exception& error) {
    std::cerr << "trainer: " << error.what() << '\n';
    return 1;
  }
}
