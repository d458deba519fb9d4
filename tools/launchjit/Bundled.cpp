//===- Bundled.cpp - The bundled kernels, and how each is tried -----------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bundled.h"
#include <cstring>
#include <utility>

using namespace llvm;
using namespace launchjit::tool;

extern "C" {
extern const unsigned char launchjit_kernels_ptx[];
extern const size_t launchjit_kernels_ptx_size;
}

StringRef launchjit::tool::bundledPTX() {
  return {reinterpret_cast<const char *>(launchjit_kernels_ptx),
          launchjit_kernels_ptx_size};
}

Expected<ModulePtr> launchjit::tool::loadBundledModule() {
  return make<ModulePtr>(lj_module_create, bundledPTX().data(),
                         bundledPTX().size(), "kernels.ptx");
}

//===----------------------------------------------------------------------===//
// The `c` entries, each by its exact types
//===----------------------------------------------------------------------===//

using StructPointer = const void *;

template <typename T> static T valueOf(const std::string &Bytes) {
  if constexpr (std::is_same_v<T, StructPointer>) {
    return Bytes.data();
  } else {
    T Value;
    std::memcpy(&Value, Bytes.data(), sizeof Value);
    return Value;
  }
}

template <typename... Types> struct CEntry {
  static int call(Entry Function, const lj_kernel *Kernel, const Trial &T) {
    return call(Function, Kernel, T, std::index_sequence_for<Types...>());
  }

private:
  template <size_t... I>
  static int call(Entry Function, const lj_kernel *Kernel, const Trial &T,
                  std::index_sequence<I...>) {
    using Typed = int (*)(const lj_kernel *, int64_t, int64_t, int64_t,
                          CUstream_st *, Types...);
    return reinterpret_cast<Typed>(Function)(Kernel, T.Grid[0], T.Grid[1],
                                             T.Grid[2], nullptr,
                                             valueOf<Types>(T.Arguments[I])...);
  }
};

/// Parameter I of params300, by I mod 4.
template <size_t I>
using Param300 =
    std::tuple_element_t<I % 4, std::tuple<uint64_t, int32_t, int64_t, float>>;

template <size_t... I>
static int callParams300(Entry Function, const lj_kernel *Kernel,
                         const Trial &T, std::index_sequence<I...>) {
  return CEntry<Param300<I>...>::call(Function, Kernel, T);
}

//===----------------------------------------------------------------------===//
// What each kernel is given, and what it must write
//===----------------------------------------------------------------------===//

template <typename T> static std::string bytesOf(const std::vector<T> &Values) {
  return {reinterpret_cast<const char *>(Values.data()),
          Values.size() * sizeof(T)};
}

/// What outputs are filled with before a launch.
static constexpr char Filler = '\xa5';

static Error prepareAdd(Trial &T, lj_module *) {
  constexpr uint32_t N = 1000, Behind = 24;
  std::vector<float> A(N + Behind), B(N + Behind), C(N);
  for (uint32_t I = 0; I != N + Behind; ++I) {
    A[I] = 0.25f * I;
    B[I] = 1000.0f - I;
  }
  for (uint32_t I = 0; I != N; ++I)
    C[I] = A[I] + B[I];
  if (Error E = T.input(bytesOf(A)))
    return E;
  if (Error E = T.input(bytesOf(B)))
    return E;
  if (Error E =
          T.output(bytesOf(C) + std::string(Behind * sizeof(float), Filler)))
    return E;
  T.argument(int32_t(N));
  T.Block = {128, 1, 1};
  T.Grid = {(N + 127) / 128, 1, 1};
  return Error::success();
}

static Error prepareScalars(Trial &T, lj_module *) {
  std::vector<std::string> Values;
  std::vector<uint64_t> Bits;
  auto Add = [&](auto Value) {
    Values.emplace_back(reinterpret_cast<const char *>(&Value), sizeof Value);
    Bits.push_back(0);
    std::memcpy(&Bits.back(), &Value, sizeof Value);
  };
  Add(uint8_t(1));
  Add(int8_t(-5));
  Add(int16_t(-12345));
  Add(int32_t(-123456789));
  Add(int64_t(-1234567890123456789));
  Add(uint8_t(0));
  Add(uint8_t(200));
  Add(uint16_t(65000));
  Add(uint32_t(4000000000));
  Add(uint64_t(0xfedcba9876543210));
  Add(uint16_t(0x3e00)); // 1.5
  Add(uint16_t(0xc020)); // -2.5
  Add(3.25f);
  Add(-0.1);
  if (Error E = T.output(bytesOf(Bits)))
    return E;
  T.Arguments.insert(T.Arguments.end(), Values.begin(), Values.end());
  return Error::success();
}

static Error prepareStructs(Trial &T, lj_module *) {
  std::vector<uint32_t> Words;
  for (uint32_t I = 0; I != 11; ++I)
    Words.push_back(0x01020304 * (I + 1));
  if (Error E = T.output(bytesOf(Words)))
    return E;
  T.Arguments.push_back(bytesOf(Words).substr(0, 12));
  T.argument(Words[3]);
  T.Arguments.push_back(bytesOf(Words).substr(16, 24));
  T.argument(Words[10]);
  return Error::success();
}

static Error prepareCluster(Trial &T, lj_module *) {
  constexpr uint32_t Blocks = 8, Size = 4;
  std::vector<uint32_t> Ranks;
  for (uint32_t I = 0; I != Blocks; ++I) {
    Ranks.push_back(I % Size);
    Ranks.push_back(Size);
  }
  T.Grid = {Blocks, 1, 1};
  T.Block = {32, 1, 1};
  T.Attributes.push_back(
      lj_attribute_dim3(LJ_ATTRIBUTE_CLUSTER_DIMENSION, Size, 1, 1));
  return T.output(bytesOf(Ranks));
}

static Error prepareCooperative(Trial &T, lj_module *) {
  constexpr uint32_t Blocks = 4, Threads = 64, N = Blocks * Threads;
  std::vector<uint32_t> First, Second;
  for (uint32_t I = 0; I != N; ++I)
    First.push_back(I * I);
  for (uint32_t I = 0; I != N; ++I)
    Second.push_back(First[I] + First[(I + Threads) % N]);
  T.Grid = {Blocks, 1, 1};
  T.Block = {Threads, 1, 1};
  T.Attributes.push_back(lj_attribute_int(LJ_ATTRIBUTE_COOPERATIVE, 1));
  if (Error E = T.output(bytesOf(First)))
    return E;
  return T.output(bytesOf(Second));
}

static Error prepareParams300(Trial &T, lj_module *) {
  std::vector<std::string> Values;
  std::vector<uint64_t> Bits;
  uint64_t Sum = 0;
  auto Add = [&](auto Value) {
    Bits.push_back(0);
    std::memcpy(&Bits.back(), &Value, sizeof Value);
    Sum += Bits.size() * Bits.back();
    Values.emplace_back(reinterpret_cast<const char *>(&Value), sizeof Value);
  };
  for (int32_t I = 1; I != 300; ++I)
    switch (I % 4) {
    case 0:
      Add(uint64_t(0x7f0000000000 + 256 * I));
      break;
    case 1:
      Add(int32_t(-1000003 * I));
      break;
    case 2:
      Add(int64_t(-1000000000039) * I);
      break;
    case 3:
      Add(0.37f * I);
      break;
    }
  std::vector<uint64_t> Out{Sum, Bits[0], Bits[149], Bits[298]};
  if (Error E = T.output(bytesOf(Out)))
    return E;
  T.Arguments.insert(T.Arguments.end(), Values.begin(), Values.end());
  return Error::success();
}

static Error prepareShared(Trial &T, lj_module *) {
  constexpr uint32_t N = 25600;
  std::vector<uint32_t> Words;
  for (uint32_t I = 0; I != N; ++I)
    Words.push_back(3 * (N - 1 - I));
  T.Block = {256, 1, 1};
  T.Shared = 4 * N;
  if (Error E = T.output(bytesOf(Words)))
    return E;
  T.argument(int32_t(N));
  return Error::success();
}

static Error setGlobal(lj_module *Module, const char *Name, StringRef Bytes) {
  uint64_t Address = 0;
  size_t Size = 0;
  if (Error E = check(lj_module_get_global(Module, Name, 0, &Address, &Size)))
    return E;
  if (Size != Bytes.size())
    return failure(Twine("the variable '") + Name + "' has " + bytes(Size) +
                   ", not " + bytes(Bytes.size()));
  return check(lj_memory_write(Address, Bytes.data(), Bytes.size()));
}

static Error prepareGlobals(Trial &T, lj_module *Module) {
  int32_t Factor = -3;
  std::vector<float> Coefficients{0.5f, -1.25f, 8, 1e10f}, Out;
  for (float C : Coefficients)
    Out.push_back(Factor * C);
  T.Block = {4, 1, 1};
  if (Error E = T.output(bytesOf(Out)))
    return E;
  if (Error E =
          setGlobal(Module, "factor", bytesOf(std::vector<int32_t>{Factor})))
    return E;
  return setGlobal(Module, "coefficients", bytesOf(Coefficients));
}

static std::string params300Signature() {
  const char *Types[] = {"*void", "i32", "i64", "fp32"};
  std::string Text = "out: *u64";
  for (unsigned I = 1; I != 300; ++I)
    Text += ", p" + std::to_string(I) + ": " + Types[I % 4];
  return Text;
}

static const BundledKernel Kernels[] = {
    {"add", [] { return std::string("a: *fp32, b: *fp32, c: *fp32, n: i32"); },
     "c[i] = a[i] + b[i] for 1,000 elements, nothing written behind them",
     prepareAdd, CEntry<uint64_t, uint64_t, uint64_t, int32_t>::call},
    {"scalars",
     [] {
       return std::string("out: *u64, v0: i1, v1: i8, v2: i16, v3: i32, "
                          "v4: i64, v5: u1, v6: u8, v7: u16, v8: u32, v9: u64, "
                          "v10: fp16, v11: bf16, v12: fp32, v13: fp64");
     },
     "the bits of all 14 scalars", prepareScalars,
     CEntry<uint64_t, uint8_t, int8_t, int16_t, int32_t, int64_t, uint8_t,
            uint8_t, uint16_t, uint32_t, uint64_t, uint16_t, uint16_t, float,
            double>::call},
    {"structs",
     [] {
       return std::string("out: *u32, a: struct<12,4>, i: i32, "
                          "b: struct<24,8>, j: i32");
     },
     "all words of two structs by value", prepareStructs,
     CEntry<uint64_t, StructPointer, int32_t, StructPointer, int32_t>::call},
    {"cluster", [] { return std::string("out: *u32"); },
     "the ranks of 8 blocks in clusters of 4", prepareCluster,
     CEntry<uint64_t>::call},
    {"cooperative", [] { return std::string("first: *u32, second: *u32"); },
     "what other blocks wrote before a grid-wide barrier", prepareCooperative,
     CEntry<uint64_t, uint64_t>::call},
    {"params300", params300Signature, "the weighted sum of 299 parameters",
     prepareParams300,
     [](Entry Function, const lj_kernel *Kernel, const Trial &T) {
       return callParams300(Function, Kernel, T,
                            std::make_index_sequence<300>());
     }},
    {"shared", [] { return std::string("out: *u32, n: i32"); },
     "25,600 words through 100 KiB of dynamic shared memory", prepareShared,
     CEntry<uint64_t, int32_t>::call},
    {"globals", [] { return std::string("out: *fp32"); },
     "variables of the module that were overwritten first", prepareGlobals,
     CEntry<uint64_t>::call},
};

ArrayRef<BundledKernel> launchjit::tool::bundledKernels() { return Kernels; }

//===----------------------------------------------------------------------===//
// Memory and launches
//===----------------------------------------------------------------------===//

Expected<DeviceMemory> DeviceMemory::allocate(size_t Size) {
  uint64_t Address = 0;
  if (Error E = check(lj_memory_allocate(Size, &Address)))
    return E;
  return DeviceMemory(Address, Size);
}

Error DeviceMemory::write(StringRef Bytes) const {
  return check(lj_memory_write(Address, Bytes.data(), Bytes.size()));
}

Expected<std::string> DeviceMemory::read() const {
  std::string Bytes(Size, '\0');
  if (Error E = check(lj_memory_read(Bytes.data(), Address, Size)))
    return E;
  return Bytes;
}

Error Trial::input(StringRef Bytes) {
  Expected<DeviceMemory> Memory = DeviceMemory::allocate(Bytes.size());
  if (!Memory)
    return Memory.takeError();
  argument(Memory->address());
  Inputs.push_back(std::move(*Memory));
  return Inputs.back().write(Bytes);
}

Error Trial::output(std::string Expected) {
  llvm::Expected<DeviceMemory> Memory = DeviceMemory::allocate(Expected.size());
  if (!Memory)
    return Memory.takeError();
  argument(Memory->address());
  Outputs.push_back({std::move(*Memory), std::move(Expected)});
  return Error::success();
}

Error Trial::clearOutputs() const {
  for (const Output &O : Outputs)
    if (Error E = O.Memory.write(std::string(O.Memory.size(), Filler)))
      return E;
  return Error::success();
}

Error Trial::checkOutputs() const {
  if (Error E = check(lj_synchronize()))
    return E;
  for (const Output &O : Outputs) {
    llvm::Expected<std::string> Found = O.Memory.read();
    if (!Found)
      return Found.takeError();
    auto [Want, Have] =
        std::mismatch(O.Expected.begin(), O.Expected.end(), Found->begin());
    if (Want != O.Expected.end())
      return failure("wrong result: byte " + Twine(Want - O.Expected.begin()) +
                     " of output " + Twine(&O - Outputs.data()) + " is " +
                     Twine(unsigned(uint8_t(*Have))) + ", not " +
                     Twine(unsigned(uint8_t(*Want))));
  }
  return Error::success();
}

Error Trial::checkRecorded(const lj_recorded_launch &L,
                           StringRef Kernel) const {
  auto Wrong = [](const Twine &What) {
    return failure("wrong launch: " + What);
  };
  if (str(L.kernel) != Kernel)
    return Wrong("the kernel is '" + str(L.kernel) + "'");
  for (size_t I = 0; I != 3; ++I)
    if (L.grid[I] != Grid[I] || L.block[I] != Block[I])
      return Wrong("grid " + dimensions(L.grid) + ", block " +
                   dimensions(L.block));
  if (L.shared != Shared)
    return Wrong(bytes(L.shared) + " of shared memory");
  if (L.num_attributes != Attributes.size())
    return Wrong(Twine(L.num_attributes) + " attributes");
  for (size_t I = 0; I != Attributes.size(); ++I)
    if (L.attributes[I].id != Attributes[I].id ||
        std::memcmp(L.attributes[I].value.bytes, Attributes[I].value.bytes,
                    sizeof Attributes[I].value.bytes))
      return Wrong("attribute " + describe(L.attributes[I]));
  if (L.num_parameters != Arguments.size())
    return Wrong(Twine(L.num_parameters) + " parameters");
  for (size_t I = 0; I != Arguments.size(); ++I)
    if (str(L.parameters[I]) != StringRef(Arguments[I]))
      return Wrong("parameter " + Twine(I) + " has other bytes");
  return Error::success();
}

lj_kernel_options Trial::options() const {
  auto Options = sized<lj_kernel_options>();
  std::copy(Block.begin(), Block.end(), Options.block);
  Options.shared = Shared;
  Options.attributes = Attributes.data();
  Options.num_attributes = Attributes.size();
  return Options;
}

int Trial::callPacked(Entry Function, const lj_kernel *Kernel) const {
  SmallVector<const void *> Addresses;
  for (const std::string &A : Arguments)
    Addresses.push_back(A.data());
  return reinterpret_cast<lj_packed_entry>(Function)(
      Kernel, Grid[0], Grid[1], Grid[2], nullptr, Addresses.data());
}

Error launchjit::tool::checkStatus(int Status) {
  if (!Status)
    return Error::success();
  const lj_error *Last = lj_last_error();
  return failure(Last ? lj_error_message(Last)
                      : lj_status_name(lj_status(Status)));
}
