//===- Replay.cpp - Saved launches for C ----------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Launch/Replay.h"
#include "Wrap.h"

using namespace llvm;
using namespace launchjit;

struct lj_replay {
  std::unique_ptr<Replay> R;
};

lj_error *lj_replay_open(const char *path, lj_replay **replay) {
  LJ_REQUIRE(path);
  LJ_REQUIRE(replay);
  auto R = Replay::open(path);
  if (!R)
    return toC(R.takeError());
  *replay = new lj_replay{std::move(*R)};
  return nullptr;
}

void lj_replay_delete(lj_replay *replay) { delete replay; }

lj_string lj_replay_json(const lj_replay *replay) {
  return toC(replay ? replay->R->json() : "");
}

lj_string lj_replay_notes(const lj_replay *replay) {
  return toC(replay ? replay->R->notes() : "");
}

lj_error *lj_replay_run(lj_replay *replay, const lj_replay_options *options,
                        uint64_t *nanoseconds) {
  LJ_REQUIRE(replay);
  ReplayOptions Options;
  if (options) {
    LJ_REQUIRE_STRUCT(lj_replay_options, options);
    lj_replay_options In = readStruct(options);
    Options.Device = In.device;
    Options.Force = In.force;
  }
  Expected<uint64_t> Time = replay->R->run(Options);
  if (!Time)
    return toC(Time.takeError());
  if (nanoseconds)
    *nanoseconds = *Time;
  return nullptr;
}

size_t lj_replay_num_buffers(const lj_replay *replay) {
  return replay ? replay->R->buffers().size() : 0;
}

lj_error *lj_replay_get_buffer(const lj_replay *replay, size_t index,
                               lj_replay_buffer *buffer) {
  LJ_REQUIRE(replay);
  LJ_REQUIRE_INDEX(index, replay->R->buffers().size());
  LJ_REQUIRE_STRUCT(lj_replay_buffer, buffer);
  const Replay::Buffer &B = replay->R->buffers()[index];
  fillStruct(buffer,
             lj_replay_buffer{0, toC(B.File), B.Address, B.Size,
                              B.After.empty() ? nullptr : B.After.data(),
                              B.BytesChanged, B.FirstChanged});
  return nullptr;
}
