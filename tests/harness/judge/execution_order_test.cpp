// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/execution_order.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace plumbline::judging {
namespace {

/// Each before the next, as in docs/exactness.md.
const std::vector<ExecutionPoint> in_order = {
    at_structure(Structure::reference_ended),
    at_structure(Structure::candidate_ended),
    at_structure(Structure::records),
    at_structure(Structure::records, 1),
    at_structure(Structure::audit),
    at_parameter(-1, 0, StateKind::parameter, 0),
    at_parameter(-1, 1, StateKind::parameter, 0),
    at_data(0, 0),
    at_boundary(0, 0, "forward", 0, BoundaryEnd::sent),
    at_boundary(0, 0, "forward", 0, BoundaryEnd::received),
    at_boundary(0, 0, "forward", 1, BoundaryEnd::sent),
    at_loss(0, 0),
    at_boundary(0, 0, "backward", 1, BoundaryEnd::sent),
    at_boundary(0, 0, "backward", 1, BoundaryEnd::received),
    at_boundary(0, 0, "backward", 0, BoundaryEnd::sent),
    at_data(0, 1),
    at_loss(0, 1),
    at_step_loss(0),
    at_gradient(0, 1, 0),
    at_gradient(0, 0, 0),
    at_gradient(0, 0, 1),
    at_norm(0, NormPart::norm),
    at_norm(0, NormPart::clip_coefficient),
    at_learning_rate(0),
    at_parameter(0, 0, StateKind::parameter, 0),
    at_parameter(0, 0, StateKind::parameter, 1),
    at_parameter(0, 0, StateKind::copy, 0),
    at_parameter(0, 0, StateKind::moment1, 0),
    at_parameter(0, 0, StateKind::moment2, 0),
    at_parameter(0, 1, StateKind::parameter, 0),
    at_evaluation(0, 0),
    at_evaluation(0, 1),
    at_data(1, 0),
    at_step_loss(1),
    off_path(-1, OffPath::whole_record, 0),
    off_path(0, OffPath::state_of_rank, 0),
    off_path(0, OffPath::state_of_rank, 1),
    off_path(0, OffPath::state_of_rank, 0, 1),
    off_path_action(0, 0, 0),
    off_path_action(0, 0, 1),
    off_path_action(0, 1, 0),
    off_path(0, OffPath::activation_peak, 0),
    off_path(1, OffPath::state_of_rank, 0),
    at_the_end(),
};

TEST(ExecutionOrder, IsTheOrderOfOneDevice) {
  for (std::size_t i = 1; i < in_order.size(); ++i) EXPECT_LT(in_order[i - 1], in_order[i]) << i;
}

}  // namespace
}  // namespace plumbline::judging
