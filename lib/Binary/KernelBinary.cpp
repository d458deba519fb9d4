//===- KernelBinary.cpp - What a kernel binary says of its kernels --------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launchjit/Binary/KernelBinary.h"
#include "Readers.h"
#include "launchjit/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using namespace launchjit;

static constexpr char ElfMagic[] = "\x7f"
                                   "ELF";
static constexpr uint32_t FatbinMagic = 0xBA55ED50;

static StringRef asText(ArrayRef<uint8_t> Bytes) {
  return StringRef(reinterpret_cast<const char *>(Bytes.data()), Bytes.size());
}

/// The machine of an ELF file; none for something else or a cut one.
static std::optional<uint16_t> elfMachine(ArrayRef<uint8_t> Bytes) {
  if (!asText(Bytes).starts_with(ElfMagic) || Bytes.size() < 20)
    return std::nullopt;
  return support::endian::read16le(&Bytes[18]);
}

StringRef launchjit::formatName(BinaryFormat F) {
  switch (F) {
  case BinaryFormat::Cubin:
    return "cubin";
  case BinaryFormat::PTX:
    return "ptx";
  case BinaryFormat::Fatbin:
    return "fatbin";
  }
  llvm_unreachable("an unknown format");
}

const BinaryKernel *KernelBinary::find(StringRef Name) const {
  auto It =
      llvm::lower_bound(Kernels, Name, [](const BinaryKernel &K, StringRef N) {
        return StringRef(K.Name) < N;
      });
  return It != Kernels.end() && It->Name == Name ? &*It : nullptr;
}

std::optional<BinaryFormat> KernelBinary::identify(ArrayRef<uint8_t> Bytes) {
  StringRef Text = asText(Bytes);
  if (Text.starts_with(ElfMagic)) {
    std::optional<uint16_t> Machine = elfMachine(Bytes);
    if (!Machine || *Machine == CudaMachine)
      return BinaryFormat::Cubin;
    return std::nullopt;
  }
  if (Bytes.size() >= 4 &&
      support::endian::read32le(Bytes.data()) == FatbinMagic)
    return BinaryFormat::Fatbin;
  if (looksLikePTX(Text))
    return BinaryFormat::PTX;
  return std::nullopt;
}

Expected<KernelBinary> KernelBinary::read(ArrayRef<uint8_t> Bytes,
                                          StringRef Where) {
  std::optional<BinaryFormat> Format = identify(Bytes);
  if (!Format) {
    if (Bytes.empty())
      return makeError(Status::Binary, Where + " is empty");
    if (std::optional<uint16_t> Machine = elfMachine(Bytes))
      return makeError(Status::Binary,
                       Where + " is an ELF file for machine " +
                           Twine(*Machine) +
                           " and no cubin, which has machine 190");
    std::string Head;
    for (uint8_t B : Bytes.take_front(4))
      Head += (Head.empty() ? "" : " ") + utohexstr(B, /*LowerCase=*/true, 2);
    return makeError(Status::Binary,
                     Where + " is no cubin, fatbin or PTX: it begins with " +
                         Head);
  }
  Expected<KernelBinary> Binary = [&]() -> Expected<KernelBinary> {
    switch (*Format) {
    case BinaryFormat::Cubin:
      return readCubin(Bytes, Where);
    case BinaryFormat::PTX:
      return readPTX(asText(Bytes), Where);
    case BinaryFormat::Fatbin:
      return emptyBinary(BinaryFormat::Fatbin);
    }
    llvm_unreachable("an unknown format");
  }();
  if (!Binary)
    return Binary.takeError();

  auto ByName = [](const auto &L, const auto &R) { return L.Name < R.Name; };
  llvm::sort(Binary->Kernels, ByName);
  llvm::sort(Binary->Variables, ByName);
  for (size_t I = 1; I < Binary->Kernels.size(); ++I)
    if (Binary->Kernels[I - 1].Name == Binary->Kernels[I].Name)
      return makeError(Status::Binary, Where + " has two kernels named " +
                                           Binary->Kernels[I].Name);
  return Binary;
}
