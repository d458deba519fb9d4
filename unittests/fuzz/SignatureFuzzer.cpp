//===- SignatureFuzzer.cpp - The parsers of signatures and of ABIs --------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "launchjit/Signature/Signature.h"
#include "launchjit/Support/Error.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace launchjit;

static void checkError(Error E, StringRef Text) {
  ErrorDetail D = takeDetail(std::move(E));
  fuzz::promise(D.Code == Status::Signature && !D.Message.empty(),
                "an error is a signature's and says something");
  fuzz::promise(D.Offset >= 0 && D.Offset <= int64_t(Text.size()),
                "an error's offset lies in the text");
}

void fuzz::signature(ArrayRef<uint8_t> Bytes) {
  StringRef Text = toStringRef(Bytes);
  for (bool Large : {false, true}) {
    SignatureOptions Options;
    Options.LargeParameters = Large;
    Options.Scratch = Bytes.empty() ? 0 : Bytes[0] % 4;
    auto S = Signature::parse(Text, Options);
    if (!S) {
      checkError(S.takeError(), Text);
      continue;
    }
    std::string Canonical = S->str();
    auto Again = Signature::parse(Canonical, Options);
    promise(bool(Again), "the canonical spelling parses");
    promise(Again->str() == Canonical, "it is its own canonical spelling");
    promise(Again->abi().str() == S->abi().str(), "it has the same ABI");
    auto A = ABI::parse(S->abi().str());
    promise(bool(A), "a canonical ABI parses");
    promise(A->size() == S->abi().size(), "it has the same size");
    for (const Slot &Each : A->allSlots())
      promise(Each.Offset + Each.Size <= A->size(),
              "a parameter lies in the buffer");
  }
  if (auto A = ABI::parse(Text)) {
    auto Again = ABI::parse(A->str());
    promise(bool(Again) && Again->str() == A->str(),
            "an ABI is its own canonical spelling");
  } else {
    checkError(A.takeError(), Text);
  }
}

LAUNCHJIT_FUZZER(signature)
