//===- StubBuilder.h - What the builders of the entry kinds share ---------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_LIB_CODEGEN_STUBBUILDER_H
#define LAUNCHJIT_LIB_CODEGEN_STUBBUILDER_H

#include "launchjit/Codegen/Stub.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace launchjit {

class StubBuilder {
public:
  StubBuilder(llvm::Module &M, const ABI &A);

  /// The builders, one an entry kind.
  llvm::Function *buildC(llvm::StringRef Name);
  llvm::Function *buildPacked(llvm::StringRef Name);
  llvm::Function *buildPython(llvm::StringRef Name);

private:
  llvm::Function *createFunction(llvm::StringRef Name, llvm::Type *Result,
                                 llvm::ArrayRef<llvm::Type *> Parameters);
  /// The parameter buffer on the stack, its hidden parameters null.
  void createBuffer();
  llvm::Value *at(llvm::Value *Base, uint64_t Offset);
  /// A function pointer of the table.
  llvm::Value *helper(unsigned Offset);
  llvm::Type *integer(uint32_t Bytes) { return B.getIntNTy(Bytes * 8); }

  /// Goes on where \p Bad is false; else to fail with this code and slot.
  void failIf(llvm::Value *Bad, StubError Code, unsigned SlotIndex,
              llvm::Value *Value);
  /// Returns \p Status, unless it is 0.
  void returnIf(llvm::Value *Status);
  void checkBool(llvm::Value *Byte, unsigned SlotIndex);
  void checkNotNull(llvm::Value *Pointer, unsigned SlotIndex);
  void copyBytes(llvm::Value *From, const Slot &S);
  /// The call of StubTable::Launch, the return, and the failing block.
  void finish(llvm::ArrayRef<llvm::Value *> GridAndStream);

  void convertPython(const ABIType &T, llvm::Value *Object,
                     unsigned &SlotIndex);
  void returnNullIf(llvm::Value *Bad);

  llvm::Module &M;
  const ABI &A;
  llvm::IRBuilder<> B;
  llvm::Function *F = nullptr;
  llvm::Value *Kernel = nullptr;
  llvm::Value *Table = nullptr;
  llvm::Value *Launch = nullptr; ///< Of python stubs: a StubPythonLaunch.
  llvm::Value *Buffer = nullptr;

  /// Where a failing check goes; made by the first check.
  llvm::BasicBlock *FailBlock = nullptr;
  llvm::PHINode *FailCode = nullptr, *FailSlot = nullptr, *FailValue = nullptr;
};

} // namespace launchjit

#endif // LAUNCHJIT_LIB_CODEGEN_STUBBUILDER_H
