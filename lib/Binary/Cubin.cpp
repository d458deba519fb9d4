//===- Cubin.cpp - Reads cubins -------------------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NVIDIA does not document the format. What is read here was found in cubins
// of ptxas 11.8, 12.0, 12.4, 12.9 and 13.0 for sm_52 to sm_120, and compared
// with the PTX that they came from and with what the driver says of them.
//
// `.nv.info` and `.nv.info.<kernel>` are lists of records: a byte that tells
// the payload's form, a byte that names the attribute, two bytes of value or
// of the payload's length, the payload.
//
//===----------------------------------------------------------------------===//

#include "Readers.h"
#include "launchjit/Support/Error.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using namespace launchjit;
using object::ELF64LE;
using object::ELF64LEFile;

namespace {

enum Attribute : uint8_t {
  MaxThreads = 0x05,
  RequiredThreads = 0x10,
  StackSize = 0x12, // Of a function and what it calls, by symbol.
  Parameter = 0x17,
  ParameterBytes = 0x19,
  RegisterCount = 0x2f, // By symbol.
  ClusterDims = 0x3d,
  LargeParameter = 0x45,
  BlocksAreClusters = 0x5b,
};

/// In `.nv.compat`: not 0 where only one architecture runs the code.
constexpr uint8_t CompatArchSpecific = 0x09;

/// A symbol of this kind is a kernel (st_other).
constexpr uint8_t EntrySymbol = 0x10;

/// The hardware's own part of shared memory, counted in .nv.shared.<kernel>
/// from sm_90 on. The driver leaves it out of a kernel's static size.
constexpr uint32_t ReservedShared = 1024;

struct Record {
  uint8_t Attribute;
  uint16_t Value; ///< Where the payload is empty.
  ArrayRef<uint8_t> Payload;

  uint32_t word(size_t I) const {
    return support::endian::read32le(&Payload[4 * I]);
  }
};

class CubinReader {
public:
  CubinReader(const ELF64LEFile &File, StringRef Where)
      : File(File), Where(Where) {}
  Expected<KernelBinary> read();

private:
  const ELF64LEFile &File;
  StringRef Where;
  KernelBinary Binary = emptyBinary(BinaryFormat::Cubin);
  ELF64LE::ShdrRange Sections;
  StringMap<const ELF64LE::Shdr *> ByName;
  DenseMap<uint32_t, uint32_t> Registers; ///< By symbol.
  DenseMap<uint32_t, uint32_t> Stack;

  Error damaged(const Twine &What) const {
    return makeError(Status::Binary, Where + " is a damaged cubin: " + What);
  }
  Error damaged(Error E) const { return damaged(toString(std::move(E))); }

  Error readArch();
  Error readGlobalInfo();
  Error readSymbols();
  Error readKernel(StringRef Name, uint32_t Symbol, const ELF64LE::Shdr &Text);
  Error readKernelInfo(BinaryKernel &K, const ELF64LE::Shdr &Info);
  Error setParameters(BinaryKernel &K,
                      MutableArrayRef<std::pair<uint32_t, BinaryParameter>> P,
                      std::optional<uint32_t> Bytes);
  const ELF64LE::Shdr *find(const Twine &Name) const {
    return ByName.lookup(Name.str());
  }
  Error forEachRecord(const ELF64LE::Shdr &Section,
                      function_ref<Error(const Record &)> Visit);
  Expected<std::array<uint32_t, 3>> threeWords(const Record &R,
                                               StringRef Kernel);
};

} // namespace

Error CubinReader::forEachRecord(const ELF64LE::Shdr &Section,
                                 function_ref<Error(const Record &)> Visit) {
  Expected<ArrayRef<uint8_t>> Content = File.getSectionContents(Section);
  if (!Content)
    return damaged(Content.takeError());
  ArrayRef<uint8_t> Rest = *Content;
  auto Here = [&] {
    Expected<StringRef> Name = File.getSectionName(Section);
    std::string Text = Name ? Name->str() : "an unnamed section";
    consumeError(Name.takeError());
    return Text + " at " + std::to_string(Content->size() - Rest.size());
  };
  while (!Rest.empty()) {
    if (Rest.size() < 4)
      return damaged(Here() + " ends within a record");
    Record R{Rest[1], support::endian::read16le(&Rest[2]), {}};
    uint8_t Form = Rest[0];
    size_t Size = 4;
    if (Form == 4) {
      Size += R.Value;
      if (Rest.size() < Size)
        return damaged(Here() + " has a record of " + Twine(R.Value) +
                       " bytes where " + Twine(Rest.size() - 4) + " are left");
      R.Payload = Rest.slice(4, R.Value);
    } else if (Form < 1 || Form > 4) {
      return damaged(Here() + " has a record of the unknown form " +
                     Twine(unsigned(Form)));
    }
    if (Error E = Visit(R))
      return E;
    Rest = Rest.drop_front(Size);
  }
  return Error::success();
}

Error CubinReader::readArch() {
  // ABI 8 moved the architecture from the low byte to the second. Whether it
  // is of the 'a' kind is a flag there until CUDA 12.9, then in .nv.compat.
  uint32_t Flags = File.getHeader().e_flags;
  uint8_t ABI = File.getHeader().e_ident[ELF::EI_ABIVERSION];
  bool Old = ABI < 8;
  Binary.Arch = Old ? Flags & 0xff : (Flags >> 8) & 0xffff;
  Binary.ArchSpecific = Flags & (Old ? 0x800 : 0x8);
  if (Binary.Arch < 20 || Binary.Arch > 999)
    return damaged("its header names the architecture sm_" +
                   Twine(Binary.Arch));
  if (const ELF64LE::Shdr *Compat = find(".nv.compat"))
    return forEachRecord(*Compat, [&](const Record &R) {
      if (R.Attribute == CompatArchSpecific && R.Payload.empty() && R.Value)
        Binary.ArchSpecific = true;
      return Error::success();
    });
  return Error::success();
}

Error CubinReader::readGlobalInfo() {
  const ELF64LE::Shdr *Info = find(".nv.info");
  if (!Info)
    return Error::success();
  return forEachRecord(*Info, [&](const Record &R) {
    if (R.Payload.size() < 8)
      return Error::success();
    if (R.Attribute == RegisterCount)
      Registers[R.word(0)] = R.word(1);
    else if (R.Attribute == StackSize)
      Stack[R.word(0)] = R.word(1);
    return Error::success();
  });
}

Expected<std::array<uint32_t, 3>> CubinReader::threeWords(const Record &R,
                                                          StringRef Kernel) {
  if (R.Payload.size() < 12)
    return damaged("attribute " + Twine(unsigned(R.Attribute)) + " of " +
                   Kernel + " has " + Twine(R.Payload.size()) + " bytes of 12");
  return std::array<uint32_t, 3>{R.word(0), R.word(1), R.word(2)};
}

Error CubinReader::setParameters(
    BinaryKernel &K, MutableArrayRef<std::pair<uint32_t, BinaryParameter>> P,
    std::optional<uint32_t> Bytes) {
  // A linker may drop the records and keep the size.
  if (P.empty() && Bytes && *Bytes)
    return Error::success();
  llvm::sort(P, [](const auto &L, const auto &R) { return L.first < R.first; });
  K.Parameters.emplace();
  uint32_t End = 0;
  for (size_t I = 0; I != P.size(); ++I) {
    const auto &[Ordinal, Param] = P[I];
    if (Ordinal != I)
      return damaged("of the " + Twine(P.size()) + " parameters of " + K.Name +
                     " number " + Twine(I) + " is missing");
    if (Param.Offset < End)
      return damaged("parameter " + Twine(I) + " of " + K.Name + " at " +
                     Twine(Param.Offset) + " overlaps the one before it");
    // No sum overflows: an offset has 16 bits.
    if (Param.Size > ParameterSpaceBytes ||
        Param.Offset + Param.Size > ParameterSpaceBytes)
      return damaged("parameter " + Twine(I) + " of " + K.Name + " ends at " +
                     Twine(uint64_t(Param.Offset) + Param.Size) +
                     ", above the limit of 32764");
    End = Param.Offset + Param.Size;
    K.Parameters->push_back(Param);
  }
  if (Bytes && End > *Bytes)
    return damaged("the parameters of " + K.Name + " end at " + Twine(End) +
                   " in a space of " + Twine(*Bytes) + " bytes");
  return Error::success();
}

Error CubinReader::readKernelInfo(BinaryKernel &K, const ELF64LE::Shdr &Info) {
  SmallVector<std::pair<uint32_t, BinaryParameter>, 16> Parameters;
  std::optional<uint32_t> Bytes;
  Error E = forEachRecord(Info, [&](const Record &R) -> Error {
    switch (R.Attribute) {
    case Parameter:
    case LargeParameter: {
      Expected<std::array<uint32_t, 3>> Words = threeWords(R, K.Name);
      if (!Words)
        return Words.takeError();
      uint32_t Place = (*Words)[1], Size = (*Words)[2];
      Parameters.emplace_back(
          Place & 0xffff,
          BinaryParameter{Place >> 16,
                          R.Attribute == Parameter ? Size >> 18 : Size});
      return Error::success();
    }
    case ParameterBytes:
      Bytes = R.Payload.empty() ? R.Value : Bytes;
      return Error::success();
    case MaxThreads:
    case RequiredThreads:
    case ClusterDims: {
      Expected<std::array<uint32_t, 3>> Words = threeWords(R, K.Name);
      if (!Words)
        return Words.takeError();
      if (R.Attribute == RequiredThreads)
        K.RequiredBlock = *Words;
      else if (R.Attribute == ClusterDims)
        K.RequiredCluster = *Words;
      else
        K.MaxThreads = uint32_t(std::min<uint64_t>(
            SaturatingMultiply<uint64_t>(uint64_t((*Words)[0]) * (*Words)[1],
                                         (*Words)[2]),
            UINT32_MAX));
      return Error::success();
    }
    case BlocksAreClusters:
      K.BlocksAreClusters = true;
      return Error::success();
    default:
      return Error::success();
    }
  });
  if (E)
    return E;
  return setParameters(K, Parameters, Bytes);
}

Error CubinReader::readKernel(StringRef Name, uint32_t Symbol,
                              const ELF64LE::Shdr &Text) {
  BinaryKernel K;
  K.Name = Name.str();
  if (auto It = Registers.find(Symbol); It != Registers.end())
    K.Registers = It->second;
  else if (uint32_t Count = Text.sh_info >> 24)
    K.Registers = Count;
  if (auto It = Stack.find(Symbol); It != Stack.end())
    K.Local = It->second;
  K.StaticShared = 0;
  if (const ELF64LE::Shdr *Shared = find(".nv.shared." + Name)) {
    if (Shared->sh_size > UINT32_MAX)
      return damaged(Name + " has " + Twine(uint64_t(Shared->sh_size)) +
                     " bytes of shared memory");
    K.StaticShared = uint32_t(Shared->sh_size);
    if (Binary.Arch >= 90)
      K.StaticShared =
          *K.StaticShared - std::min(*K.StaticShared, ReservedShared);
  }
  if (const ELF64LE::Shdr *Info = find(".nv.info." + Name))
    if (Error E = readKernelInfo(K, *Info))
      return E;
  Binary.Kernels.push_back(std::move(K));
  return Error::success();
}

Error CubinReader::readSymbols() {
  const ELF64LE::Shdr *Table = find(".symtab");
  if (!Table)
    return damaged("it has no symbol table");
  if (Table->sh_type != ELF::SHT_SYMTAB)
    return damaged("section .symtab is no symbol table");
  auto Symbols = File.symbols(Table);
  if (!Symbols)
    return damaged(Symbols.takeError());
  Expected<StringRef> Strings = File.getStringTableForSymtab(*Table, Sections);
  if (!Strings)
    return damaged(Strings.takeError());
  for (const ELF64LE::Sym &S : *Symbols) {
    uint32_t Index = uint32_t(&S - Symbols->begin());
    bool Kernel = S.getType() == ELF::STT_FUNC && (S.st_other & EntrySymbol);
    bool Variable = S.getType() == ELF::STT_OBJECT;
    uint32_t Place = S.st_shndx;
    if ((!Kernel && !Variable) || Place == ELF::SHN_UNDEF ||
        Place >= ELF::SHN_LORESERVE)
      continue;
    Expected<StringRef> Name = S.getName(*Strings);
    if (!Name)
      return damaged(Name.takeError());
    if (Place >= Sections.size())
      return damaged("symbol " + *Name + " is in section " + Twine(Place) +
                     " of " + Twine(Sections.size()));
    const ELF64LE::Shdr &Section = Sections[Place];
    if (Kernel) {
      if (Error E = readKernel(*Name, Index, Section))
        return E;
      continue;
    }
    Expected<StringRef> In = File.getSectionName(Section);
    if (!In)
      return damaged(In.takeError());
    // The compiler's own constants have names that no program can spell.
    bool Constant = In->starts_with(".nv.constant3");
    if ((Constant || In->starts_with(".nv.global")) && !Name->empty() &&
        !Name->starts_with("$") && !Name->starts_with("."))
      Binary.Variables.push_back({Name->str(), S.st_size, Constant});
  }
  return Error::success();
}

Expected<KernelBinary> CubinReader::read() {
  auto Range = File.sections();
  if (!Range)
    return damaged(Range.takeError());
  Sections = *Range;
  // What is never looked into must be there as well: the driver reads it.
  auto Segments = File.program_headers();
  if (!Segments)
    return damaged(Segments.takeError());
  for (const ELF64LE::Shdr &S : Sections) {
    Expected<StringRef> Name = File.getSectionName(S);
    if (!Name)
      return damaged(Name.takeError());
    if (S.sh_type != ELF::SHT_NOBITS && S.sh_type != ELF::SHT_NULL)
      if (Expected<ArrayRef<uint8_t>> Content = File.getSectionContents(S);
          !Content)
        return damaged(Content.takeError());
    if (S.sh_type != ELF::SHT_NULL)
      ByName.try_emplace(*Name, &S);
  }
  if (Error E = readArch())
    return std::move(E);
  if (Error E = readGlobalInfo())
    return std::move(E);
  if (Error E = readSymbols())
    return std::move(E);
  return std::move(Binary);
}

Expected<KernelBinary> launchjit::readCubin(ArrayRef<uint8_t> Bytes,
                                            StringRef Where) {
  if (Bytes.size() >= 6 && (Bytes[ELF::EI_CLASS] != ELF::ELFCLASS64 ||
                            Bytes[ELF::EI_DATA] != ELF::ELFDATA2LSB))
    return makeError(Status::Binary,
                     Where + " is no cubin: its ELF header is not that of "
                             "little-endian 64-bit code");
  // LLVM reads the structs in place.
  std::vector<uint64_t> Aligned;
  if (reinterpret_cast<uintptr_t>(Bytes.data()) % alignof(uint64_t)) {
    Aligned.resize(Bytes.size() / sizeof(uint64_t) + 1);
    memcpy(Aligned.data(), Bytes.data(), Bytes.size());
    Bytes = ArrayRef(reinterpret_cast<const uint8_t *>(Aligned.data()),
                     Bytes.size());
  }
  Expected<ELF64LEFile> File = ELF64LEFile::create(
      StringRef(reinterpret_cast<const char *>(Bytes.data()), Bytes.size()));
  if (!File)
    return makeError(Status::Binary, Where + " is a damaged cubin: " +
                                         toString(File.takeError()));
  return CubinReader(*File, Where).read();
}
