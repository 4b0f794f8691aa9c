// SPDX-License-Identifier: BSD-3-Clause
// RAII owners of MPI handles.
#pragma once

#include <mpi.h>

namespace plumbline {

/// A message in progress. The destructor cancels it, since its memory may be freed afterwards.
class MpiRequest {
 public:
  MpiRequest() = default;
  ~MpiRequest() {
    if (request_ == MPI_REQUEST_NULL) return;
    MPI_Cancel(&request_);
    MPI_Request_free(&request_);
  }
  MpiRequest(const MpiRequest&) = delete;
  MpiRequest& operator=(const MpiRequest&) = delete;

  bool ended() const { return request_ == MPI_REQUEST_NULL; }
  MPI_Request* address() { return &request_; }

 private:
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// A private communicator of all ranks whose calls return errors. Freeing it is collective, so only `free` does that; a
/// job that ends otherwise leaves it to MPI.
class MpiCommunicator {
 public:
  /// Collective. Throws RunError.
  MpiCommunicator();
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  MPI_Comm get() const { return communicator_; }
  void free();

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

}  // namespace plumbline
