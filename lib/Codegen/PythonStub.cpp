//===- PythonStub.cpp - The python entry: objects, through helpers --------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StubBuilder.h"

using namespace llvm;
using namespace launchjit;

/// Where the parameters begin behind grid and stream.
static constexpr unsigned FirstArgument = 2;

void StubBuilder::returnNullIf(Value *Bad) {
  if (!FailBlock)
    FailBlock = BasicBlock::Create(M.getContext(), "fail", F);
  auto *Good = BasicBlock::Create(M.getContext(), "", F, FailBlock);
  B.CreateCondBr(Bad, FailBlock, Good);
  B.SetInsertPoint(Good);
}

/// Converts one argument of the caller's convention; \p SlotIndex counts the
/// kernel's parameters.
void StubBuilder::convertPython(const ABIType &T, Value *Object,
                                unsigned &SlotIndex) {
  if (T.Kind == ParamKind::Constexpr)
    return;
  if (T.Kind != ParamKind::Tuple) {
    auto *Type = FunctionType::get(
        B.getInt32Ty(),
        {B.getPtrTy(), B.getPtrTy(), B.getPtrTy(), B.getInt32Ty()}, false);
    unsigned Offset = offsetof(StubTable, PythonConvert) +
                      static_cast<unsigned>(T.Kind) * sizeof(void *);
    Value *Failed =
        B.CreateCall(Type, helper(Offset),
                     {Launch, Object, at(Buffer, A.slots()[SlotIndex].Offset),
                      B.getInt32(SlotIndex)});
    returnNullIf(B.CreateIsNotNull(Failed));
    ++SlotIndex;
    return;
  }

  BasicBlock &Entry = F->getEntryBlock();
  auto *ItemsType =
      ArrayType::get(B.getPtrTy(), std::max<size_t>(T.Elements.size(), 1));
  Value *Items = IRBuilder<>(&Entry, Entry.begin()).CreateAlloca(ItemsType);
  auto *Type = FunctionType::get(B.getInt32Ty(),
                                 {B.getPtrTy(), B.getPtrTy(), B.getInt32Ty(),
                                  B.getInt32Ty(), B.getPtrTy()},
                                 false);
  Value *Failed = B.CreateCall(Type, helper(offsetof(StubTable, PythonUnpack)),
                               {Launch, Object, B.getInt32(T.Elements.size()),
                                B.getInt32(SlotIndex), Items});
  returnNullIf(B.CreateIsNotNull(Failed));
  for (auto [I, Element] : enumerate(T.Elements))
    convertPython(Element,
                  B.CreateAlignedLoad(B.getPtrTy(),
                                      at(Items, I * sizeof(void *)), Align(8)),
                  SlotIndex);
}

Function *StubBuilder::buildPython(StringRef Name) {
  createFunction(Name, B.getPtrTy(),
                 {B.getPtrTy(), B.getPtrTy(), B.getInt64Ty()});
  Value *Self = F->getArg(0), *Args = F->getArg(1), *Count = F->getArg(2);
  createBuffer();
  Launch =
      B.CreateAlloca(ArrayType::get(B.getInt64Ty(),
                                    sizeof(StubPythonLaunch) / sizeof(int64_t)),
                     nullptr, "launch");
  Kernel = B.CreateAlignedLoad(B.getPtrTy(), at(Self, PythonSelfKernelOffset),
                               Align(8), "kernel");
  Table = B.CreateAlignedLoad(B.getPtrTy(), Kernel, Align(8), "table");

  auto *BeginType = FunctionType::get(
      B.getInt32Ty(),
      {B.getPtrTy(), B.getPtrTy(), B.getInt64Ty(), B.getPtrTy()}, false);
  returnNullIf(B.CreateIsNotNull(
      B.CreateCall(BeginType, helper(offsetof(StubTable, PythonBegin)),
                   {Self, Args, Count, Launch})));

  unsigned SlotIndex = 0;
  for (auto [I, T] : enumerate(A.parameters()))
    convertPython(T,
                  B.CreateAlignedLoad(
                      B.getPtrTy(),
                      at(Args, (FirstArgument + I) * sizeof(void *)), Align(8)),
                  SlotIndex);

  auto *LaunchType =
      FunctionType::get(B.getPtrTy(), {B.getPtrTy(), B.getPtrTy()}, false);
  B.CreateRet(B.CreateCall(
      LaunchType, helper(offsetof(StubTable, PythonLaunch)), {Launch, Buffer}));
  B.SetInsertPoint(FailBlock);
  B.CreateRet(ConstantPointerNull::get(B.getPtrTy()));
  return F;
}
