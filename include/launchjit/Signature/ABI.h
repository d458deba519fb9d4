//===- ABI.h - The canonical ABI of a kernel's parameters -----------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The canonical ABI is the only part of a signature that reaches generated
// code. Its text is a run of tokens, greedily read:
//
//   p                     a pointer            i1 ... u64 fp16 bf16 fp32 fp64
//   s<size>a<align>       a struct             t64, t128   a tensor map
//   _                     a constexpr: the caller's convention has it, the
//                         kernel does not
//   ( ... )               a tuple
//   +g +p +gp             hidden trailing scratch pointers: global, profile
//
//===----------------------------------------------------------------------===//

#ifndef LAUNCHJIT_SIGNATURE_ABI_H
#define LAUNCHJIT_SIGNATURE_ABI_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace launchjit {

// name, C type in the `c` entry, size and alignment in bytes
#define LAUNCHJIT_SCALARS(X)                                                   \
  X(I1, "i1", "uint8_t", 1)                                                    \
  X(I8, "i8", "int8_t", 1)                                                     \
  X(I16, "i16", "int16_t", 2)                                                  \
  X(I32, "i32", "int32_t", 4)                                                  \
  X(I64, "i64", "int64_t", 8)                                                  \
  X(U1, "u1", "uint8_t", 1)                                                    \
  X(U8, "u8", "uint8_t", 1)                                                    \
  X(U16, "u16", "uint16_t", 2)                                                 \
  X(U32, "u32", "uint32_t", 4)                                                 \
  X(U64, "u64", "uint64_t", 8)                                                 \
  X(FP16, "fp16", "uint16_t", 2)                                               \
  X(BF16, "bf16", "uint16_t", 2)                                               \
  X(FP32, "fp32", "float", 4)                                                  \
  X(FP64, "fp64", "double", 8)

/// What one parameter is. The scalars come first, so that a scalar's kind can
/// index a table of NumScalars conversions.
enum class ParamKind : uint8_t {
#define X(Name, Text, CType, Size) Name,
  LAUNCHJIT_SCALARS(X)
#undef X
      Pointer,
  Struct,    ///< Bytes by value, of a size and an alignment.
  TensorMap, ///< A CUtensorMap by value: 128 bytes, aligned to 64 or 128.
  Constexpr, ///< Accepted from the caller and not passed.
  Tuple,
};

#define X(Name, Text, CType, Size) +1
inline constexpr unsigned NumScalars = LAUNCHJIT_SCALARS(X);
#undef X

inline bool isScalar(ParamKind K) {
  return static_cast<unsigned>(K) < NumScalars;
}
/// The canonical name of a scalar, as "i32".
llvm::StringRef scalarName(ParamKind K);
/// Size and alignment of a scalar, in bytes.
unsigned scalarSize(ParamKind K);
/// The type that the `c` entry takes for one flattened parameter: "int32_t",
/// "CUdeviceptr", "const void *".
llvm::StringRef cTypeName(ParamKind K);

/// One type of a canonical ABI.
struct ABIType {
  ParamKind Kind = ParamKind::Pointer;
  uint32_t Size = 0;             ///< Bytes; 0 for constexpr and tuples.
  uint32_t Align = 1;            ///< Bytes, a power of two.
  std::vector<ABIType> Elements; ///< Of a tuple.

  static ABIType scalar(ParamKind K);
  static ABIType pointer();
  static ABIType constexpr_();
  static ABIType structure(uint32_t Size, uint32_t Align);
  static ABIType tensorMap(uint32_t Align);
  static ABIType tuple(std::vector<ABIType> Elements);

  bool operator==(const ABIType &O) const;
};

/// One parameter that the kernel has: a leaf of the caller's convention that
/// is no constexpr. `c` and `packed` take exactly these, in order.
struct Slot {
  ParamKind Kind;
  uint32_t Offset; ///< Bytes from the start of the parameter buffer.
  uint32_t Size;   ///< Bytes.
  uint32_t Align;  ///< Bytes.
};

/// Hidden trailing parameters.
enum ScratchBits : unsigned { ScratchGlobal = 1, ScratchProfile = 2 };

/// CUDA's limits on the size of all parameters, in bytes: the classic one,
/// and the one of compute capability 7.0 with CUDA 12.1 and later.
inline constexpr uint32_t MaxParameterBytes = 4096;
inline constexpr uint32_t MaxLargeParameterBytes = 32764;

/// The largest alignment that a struct may ask for, in bytes.
inline constexpr uint32_t MaxStructAlign = 256;

/// How deep tuples may nest, so that whoever walks them may recurse.
inline constexpr unsigned MaxTupleDepth = 64;

/// A canonical ABI: immutable after it is made, safe to share.
class ABI {
public:
  /// Lays out \p Parameters as CUDA does: natural alignment, in order, then
  /// the hidden pointers that \p Scratch names. An error where they take more
  /// than \p MaxBytes.
  static llvm::Expected<ABI> create(std::vector<ABIType> Parameters,
                                    unsigned Scratch = 0,
                                    uint32_t MaxBytes = MaxLargeParameterBytes);

  /// Reads a canonical text back; the error gives the byte offset.
  static llvm::Expected<ABI> parse(llvm::StringRef Text);

  /// The canonical text.
  const std::string &str() const { return Text; }
  /// The canonical text of what `c` and `packed` see: tuples flattened, no
  /// constexpr.
  std::string flatStr() const;

  /// The caller's convention, nested.
  llvm::ArrayRef<ABIType> parameters() const { return Parameters; }
  /// The kernel's parameters without the hidden ones.
  llvm::ArrayRef<Slot> slots() const {
    return llvm::ArrayRef<Slot>(Slots).drop_back(numScratch());
  }
  /// The hidden trailing pointers, global before profile.
  llvm::ArrayRef<Slot> scratchSlots() const {
    return llvm::ArrayRef<Slot>(Slots).take_back(numScratch());
  }
  /// slots() and scratchSlots(): what the driver sees; of offsets see size().
  llvm::ArrayRef<Slot> allSlots() const { return Slots; }

  unsigned scratch() const { return Scratch; }
  unsigned numScratch() const {
    return !!(Scratch & ScratchGlobal) + !!(Scratch & ScratchProfile);
  }
  /// Where the last parameter ends, in bytes: the exact size that the driver
  /// wants of the packed buffer, unless align() is above 16: then it gets each
  /// parameter by a pointer, since offsets depend on the architecture.
  uint32_t size() const { return Size; }
  /// The largest alignment of any parameter, at least 1.
  uint32_t align() const { return Align; }

private:
  std::string Text;
  std::vector<ABIType> Parameters;
  std::vector<Slot> Slots;
  unsigned Scratch = 0;
  uint32_t Size = 0;
  uint32_t Align = 1;
};

} // namespace launchjit

#endif // LAUNCHJIT_SIGNATURE_ABI_H
