//===- Stub.cpp - A launcher as LLVM IR -----------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Codegen/Stub.h"
#include "StubBuilder.h"

using namespace llvm;
using namespace launchjit;

/// A struct of at most this many bytes is copied in line.
static constexpr uint32_t MaxInlineCopy = 64;

StubBuilder::StubBuilder(Module &M, const ABI &A)
    : M(M), A(A), B(M.getContext()) {}

Function *StubBuilder::createFunction(StringRef Name, Type *Result,
                                      ArrayRef<Type *> Parameters) {
  F = Function::Create(FunctionType::get(Result, Parameters, false),
                       GlobalValue::ExternalLinkage, Name, M);
  F->setDoesNotThrow();
  F->addFnAttr("frame-pointer", "all"); // gdb walks through without unwind info
  F->addFnAttr("no-jump-tables", "true");
  F->addFnAttr("probe-stack", "inline-asm");
  B.SetInsertPoint(BasicBlock::Create(M.getContext(), "entry", F));
  return F;
}

void StubBuilder::createBuffer() {
  auto *Alloca = B.CreateAlloca(
      ArrayType::get(B.getInt8Ty(), std::max<uint32_t>(A.size(), 1)), nullptr,
      "buffer");
  Alloca->setAlignment(Align(std::max<uint32_t>(A.align(), 8)));
  Buffer = Alloca;
  for (const Slot &S : A.scratchSlots())
    B.CreateAlignedStore(B.getInt64(0), at(Buffer, S.Offset), Align(8));
}

Value *StubBuilder::at(Value *Base, uint64_t Offset) {
  return Offset ? B.CreateConstInBoundsGEP1_64(B.getInt8Ty(), Base, Offset)
                : Base;
}

Value *StubBuilder::helper(unsigned Offset) {
  return B.CreateAlignedLoad(B.getPtrTy(), at(Table, Offset), Align(8));
}

void StubBuilder::failIf(Value *Bad, StubError Code, unsigned SlotIndex,
                         Value *V) {
  if (!FailBlock) {
    FailBlock = BasicBlock::Create(M.getContext(), "fail", F);
    FailCode = PHINode::Create(B.getInt32Ty(), 0, "code", FailBlock);
    FailSlot = PHINode::Create(B.getInt32Ty(), 0, "slot", FailBlock);
    FailValue = PHINode::Create(B.getInt64Ty(), 0, "value", FailBlock);
  }
  FailCode->addIncoming(B.getInt32(static_cast<uint32_t>(Code)),
                        B.GetInsertBlock());
  FailSlot->addIncoming(B.getInt32(SlotIndex), B.GetInsertBlock());
  FailValue->addIncoming(V, B.GetInsertBlock());
  auto *Good = BasicBlock::Create(M.getContext(), "", F, FailBlock);
  B.CreateCondBr(Bad, FailBlock, Good);
  B.SetInsertPoint(Good);
}

void StubBuilder::returnIf(Value *Status) {
  auto *Bad = BasicBlock::Create(M.getContext(), "", F);
  auto *Good = BasicBlock::Create(M.getContext(), "", F);
  B.CreateCondBr(B.CreateIsNotNull(Status), Bad, Good);
  B.SetInsertPoint(Bad);
  B.CreateRet(Status);
  B.SetInsertPoint(Good);
}

void StubBuilder::checkBool(Value *Byte, unsigned SlotIndex) {
  Value *Wide = B.CreateZExt(Byte, B.getInt64Ty());
  failIf(B.CreateICmpUGT(Byte, B.getInt8(1)), StubError::NotBool, SlotIndex,
         Wide);
}

void StubBuilder::checkNotNull(Value *Pointer, unsigned SlotIndex) {
  failIf(B.CreateIsNull(Pointer), StubError::NullArgument, SlotIndex,
         B.getInt64(0));
}

void StubBuilder::copyBytes(Value *From, const Slot &S) {
  Value *To = at(Buffer, S.Offset);
  if (S.Size > MaxInlineCopy) {
    auto *Type = FunctionType::get(
        B.getPtrTy(), {B.getPtrTy(), B.getPtrTy(), B.getInt64Ty()}, false);
    B.CreateCall(Type, helper(offsetof(StubTable, Copy)),
                 {To, From, B.getInt64(S.Size)});
    return;
  }
  for (uint32_t Done = 0; Done != S.Size;) {
    uint32_t Chunk = 8;
    while (Chunk > S.Size - Done)
      Chunk /= 2;
    Value *V = B.CreateAlignedLoad(integer(Chunk), at(From, Done), Align(1));
    B.CreateAlignedStore(V, at(To, Done),
                         commonAlignment(Align(S.Align), Done));
    Done += Chunk;
  }
}

void StubBuilder::finish(ArrayRef<Value *> GridAndStream) {
  SmallVector<Value *, 6> Arguments = {Kernel};
  append_range(Arguments, GridAndStream);
  Arguments.push_back(Buffer);
  auto *LaunchType =
      FunctionType::get(B.getInt32Ty(),
                        {B.getPtrTy(), B.getInt64Ty(), B.getInt64Ty(),
                         B.getInt64Ty(), B.getPtrTy(), B.getPtrTy()},
                        false);
  B.CreateRet(
      B.CreateCall(LaunchType, helper(offsetof(StubTable, Launch)), Arguments));
  if (!FailBlock)
    return;
  B.SetInsertPoint(FailBlock);
  auto *FailType = FunctionType::get(
      B.getInt32Ty(),
      {B.getPtrTy(), B.getInt32Ty(), B.getInt32Ty(), B.getInt64Ty()}, false);
  B.CreateRet(B.CreateCall(FailType, helper(offsetof(StubTable, Fail)),
                           {Kernel, FailCode, FailSlot, FailValue}));
}

Function *launchjit::emitLauncher(Module &M, const ABI &A, EntryKind Entry,
                                  StringRef Name) {
  StubBuilder Builder(M, A);
  switch (Entry) {
  case EntryKind::C:
    return Builder.buildC(Name);
  case EntryKind::Packed:
    return Builder.buildPacked(Name);
  case EntryKind::Python:
    return Builder.buildPython(Name);
  }
  llvm_unreachable("unknown entry kind");
}
