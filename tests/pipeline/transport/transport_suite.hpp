// SPDX-License-Identifier: BSD-3-Clause
// Tests for every transport. They are in suite/, one file per concept.
#pragma once

#include "tests/pipeline/transport/suite/control.hpp"
#include "tests/pipeline/transport/suite/deadlines.hpp"
#include "tests/pipeline/transport/suite/headers.hpp"
#include "tests/pipeline/transport/suite/memory.hpp"
#include "tests/pipeline/transport/suite/order.hpp"
#include "tests/pipeline/transport/suite/shapes.hpp"

namespace plumbline {

REGISTER_TYPED_TEST_SUITE_P(TransportSuite, Ring, BothDirectionsAtOnceWithTheSamePeer, WaitsForABatchInReverse,
                            LargePayloadsBothWays, TrafficIsCountedByPeerDirectionAndSide, ManyRoundsWithJitter,
                            ChangingShapes, OneTokenOfOneRow, SeveralShapesKeepTheirOrder, OtherDtypes,
                            SendCompletesOnlyWhenReceived, SentTensorIsKeptUntilReceived,
                            ReceiveBufferCountsAsTransportMemory, ReceivesIntoAGivenTensor, GatherBroadcastBarrier,
                            GatherReportsTheAwaitedRanks, BarrierWaitsForAllRanks, TiedGradientsTravelInBothDirections,
                            RefusesTiedGradientsOfUnequalShapes, NamesMismatchedControlCalls,
                            MismatchedHeaderNamesBothEnds, FindsSwappedMessagesOfOneEdge,
                            RefusesAPayloadThatDoesNotMatchItsHeader, RefusesAGivenTensorThatDoesNotMatchTheHeader,
                            RefusesAStridedPayload, DeadlineNamesAnUnansweredReceive, DeadlineNamesAnUnreceivedSend,
                            DeadlineOfControlCallsNamesCallAndRank, DeadlineOfATiedGradientNamesTheRank,
                            SlowMessagesAreAccepted, FinishRefusesPendingOperations, MisuseThrowsALogicError);

}  // namespace plumbline
