//===- PackedStub.cpp - The packed entry: arguments by address ------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StubBuilder.h"

using namespace llvm;
using namespace launchjit;

Function *StubBuilder::buildPacked(StringRef Name) {
  createFunction(Name, B.getInt32Ty(),
                 {B.getPtrTy(), B.getInt64Ty(), B.getInt64Ty(), B.getInt64Ty(),
                  B.getPtrTy(), B.getPtrTy()});
  createBuffer();
  Kernel = F->getArg(0);
  Table = B.CreateAlignedLoad(B.getPtrTy(), Kernel, Align(8), "table");

  if (!A.slots().empty()) {
    auto *CheckType = FunctionType::get(
        B.getInt32Ty(), {B.getPtrTy(), B.getPtrTy(), B.getInt64Ty()}, false);
    returnIf(
        B.CreateCall(CheckType, helper(offsetof(StubTable, CheckAddresses)),
                     {Kernel, F->getArg(5), B.getInt64(A.slots().size())}));
  }
  for (auto [I, S] : enumerate(A.slots())) {
    Value *From = B.CreateAlignedLoad(
        B.getPtrTy(), at(F->getArg(5), I * sizeof(void *)), Align(8));
    if (S.Kind == ParamKind::Struct || S.Kind == ParamKind::TensorMap) {
      copyBytes(From, S);
      continue;
    }
    Value *V = B.CreateAlignedLoad(integer(S.Size), From, Align(1));
    if (S.Kind == ParamKind::I1 || S.Kind == ParamKind::U1)
      checkBool(V, I);
    B.CreateAlignedStore(V, at(Buffer, S.Offset), Align(S.Align));
  }
  finish({F->getArg(1), F->getArg(2), F->getArg(3), F->getArg(4)});
  return F;
}
