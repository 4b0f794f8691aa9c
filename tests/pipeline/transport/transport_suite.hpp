// SPDX-License-Identifier: BSD-3-Clause
// What every transport must do, whatever moves the bytes. Its tests lie in suite/, a file for each concept.
#pragma once

#include "tests/pipeline/transport/suite/control.hpp"
#include "tests/pipeline/transport/suite/deadlines.hpp"
#include "tests/pipeline/transport/suite/headers.hpp"
#include "tests/pipeline/transport/suite/memory.hpp"
#include "tests/pipeline/transport/suite/order.hpp"
#include "tests/pipeline/transport/suite/shapes.hpp"

namespace plumbline {

REGISTER_TYPED_TEST_SUITE_P(
    TransportSuite, Ring, BothDirectionsAtOnceWithTheSamePeer, BatchOfManyWaitedForBackwards, LargePayloadsBothWays,
    TrafficIsCountedByPeerDirectionAndSide, ManyRoundsWithJitter, GrowingAndShrinkingShapesDownTheLine,
    OneTokenOfOneRow, UnknownShapesKeepTheirPlaceAmongKnownOnes, OtherDtypes, SendEndsOnlyWhenItIsReceived,
    SentTensorIsKeptUntilTakenThenDropped, ReceiveBufferIsTheTransportsMemoryFromItsPost, GatherBroadcastBarrier,
    GatherTellsWhomEachRankWaitsFor, BarrierHoldsEveryoneUntilTheLastComes, TiedTensorsGoThereAndBack,
    TiedTensorsOfUnequalShapesAreRefused, ControlCallsOutOfStepAreNamed, DisagreeingHeaderNamesBothEndsExpectedAndGot,
    UnknownShapeDoesNotExcuseTheOtherFields, SwappedMessagesOfOneEdgeAreFound,
    PayloadThatIsNotWhatItsHeaderSaysIsNotSent, StridedPayloadIsNotSent, DeadlineNamesTheReceiveThatNobodyAnswers,
    DeadlineNamesTheSendThatNobodyTakes, DeadlineOfControlCallsNamesCallAndRank, DeadlineOfATiedTensorNamesTheRank,
    SlowIsNotLate, OpenOperationsAreNoCleanEnd, MisuseIsAnInvariantBroken);

}  // namespace plumbline
