//===- RecordingImage.cpp - Binaries as the recording driver takes them ---===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordingState.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/Endian.h"
#include <cstring>

using namespace llvm;
using namespace launchjit;
using namespace launchjit::recording;

/// The end of an ELF file by its headers; the header's own where they make no
/// sense.
static size_t elfSize(const uint8_t *Bytes) {
  ELF::Elf64_Ehdr H;
  memcpy(&H, Bytes, sizeof H);
  if (H.getFileClass() != ELF::ELFCLASS64 || H.e_machine != 190 ||
      (H.e_shnum && H.e_shentsize != sizeof(ELF::Elf64_Shdr)) ||
      (H.e_phnum && H.e_phentsize != sizeof(ELF::Elf64_Phdr)))
    return sizeof H;
  size_t End = std::max(H.e_shoff + H.e_shnum * sizeof(ELF::Elf64_Shdr),
                        H.e_phoff + H.e_phnum * sizeof(ELF::Elf64_Phdr));
  for (unsigned I = 0; I != H.e_shnum; ++I) {
    ELF::Elf64_Shdr S;
    memcpy(&S, Bytes + H.e_shoff + I * sizeof S, sizeof S);
    if (S.sh_type != ELF::SHT_NOBITS)
      End = std::max<size_t>(End, S.sh_offset + S.sh_size);
  }
  return End;
}

/// The driver is given no size either: an ELF file's and a fatbin's are in
/// their headers, and text ends with a NUL.
static ArrayRef<uint8_t> extent(const void *Image) {
  const auto *Bytes = static_cast<const uint8_t *>(Image);
  if (!strncmp(static_cast<const char *>(Image),
               "\x7f"
               "ELF",
               4))
    return {Bytes, elfSize(Bytes)};
  // None of its bytes is 0, so that shorter text is not read beyond its end.
  constexpr char Fatbin[] = "\x50\xed\x55\xba";
  if (!strncmp(static_cast<const char *>(Image), Fatbin, 4))
    return {Bytes, 16 + support::endian::read64le(Bytes + 8)};
  return {Bytes, strlen(static_cast<const char *>(Image))};
}

static bool runs(const KernelBinary &B, unsigned Arch) {
  if (B.ArchSpecific)
    return B.Arch == Arch;
  if (B.Format == BinaryFormat::PTX)
    return B.Arch <= Arch;
  return B.Arch / 10 == Arch / 10 && B.Arch <= Arch;
}

std::shared_ptr<Image> recording::readImage(const void *Bytes, unsigned Arch) {
  auto I = std::make_shared<Image>();
  ArrayRef<uint8_t> Extent = extent(Bytes);
  std::optional<BinaryFormat> Format = KernelBinary::identify(Extent);
  if (!Format) {
    I->Result = CUDA_ERROR_INVALID_IMAGE;
    return I;
  }
  bool PTX = *Format == BinaryFormat::PTX;
  Expected<KernelBinary> Read = KernelBinary::read(Extent, "image");
  if (!Read) {
    consumeError(Read.takeError());
    I->Result = PTX ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_INVALID_IMAGE;
    return I;
  }
  I->Binary = std::move(*Read);
  if (*Format != BinaryFormat::Fatbin && !runs(I->Binary, Arch))
    I->Result = PTX ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_NO_BINARY_FOR_GPU;
  return I;
}

const BinaryKernel *Image::find(StringRef Name) {
  if (Binary.Format != BinaryFormat::Fatbin)
    return Binary.find(Name);
  auto [It, New] = Believed.try_emplace(Name.str());
  if (New)
    It->second.Name = Name.str();
  return &It->second;
}
