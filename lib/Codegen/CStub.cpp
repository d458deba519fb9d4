//===- CStub.cpp - The c entry: arguments of their own types --------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StubBuilder.h"

using namespace llvm;
using namespace launchjit;

static bool isByAddress(ParamKind K) {
  return K == ParamKind::Struct || K == ParamKind::TensorMap;
}

Function *StubBuilder::buildC(StringRef Name) {
  SmallVector<Type *, 16> Types = {B.getPtrTy(), B.getInt64Ty(), B.getInt64Ty(),
                                   B.getInt64Ty(), B.getPtrTy()};
  const unsigned Fixed = Types.size();
  for (const Slot &S : A.slots()) {
    if (isByAddress(S.Kind))
      Types.push_back(B.getPtrTy());
    else if (S.Kind == ParamKind::FP32)
      Types.push_back(B.getFloatTy());
    else if (S.Kind == ParamKind::FP64)
      Types.push_back(B.getDoubleTy());
    else
      Types.push_back(integer(S.Size));
  }
  createFunction(Name, B.getInt32Ty(), Types);
  createBuffer();
  Kernel = F->getArg(0);
  Table = B.CreateAlignedLoad(B.getPtrTy(), Kernel, Align(8), "table");

  for (auto [I, S] : enumerate(A.slots())) {
    Value *V = F->getArg(Fixed + I);
    if (isByAddress(S.Kind)) {
      checkNotNull(V, I);
      copyBytes(V, S);
      continue;
    }
    if (S.Kind == ParamKind::I1 || S.Kind == ParamKind::U1)
      checkBool(V, I);
    B.CreateAlignedStore(V, at(Buffer, S.Offset), Align(S.Align));
  }
  finish({F->getArg(1), F->getArg(2), F->getArg(3), F->getArg(4)});
  return F;
}
