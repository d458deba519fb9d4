//===- Signature.cpp - launchjit signature --------------------------------===//
//
// Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace launchjit::tool;

namespace {

class SignatureShow final : public SignatureCommand {
public:
  SignatureShow()
      : SignatureCommand(
            "signature", "Show a signature's canonical ABI, keys and layout",
            "Shows what launchjit makes of a kernel signature such as\n"
            "'x: *fp32, y: *fp32, n: i32': its canonical spelling and ABI, the "
            "key of\neach entry's launcher, and each parameter's place in "
            "the\nbuffer that is launched."),
        Typedef("c", cl::ValueOptional, cl::value_desc("name"),
                cl::desc("Print the C typedef of the `c` entry, called "
                         "launch_fn unless named"),
                cl::sub(Sub), cl::cat(category())) {}

  Expected<int> run() override {
    Expected<SignaturePtr> S = parse();
    if (!S)
      return S.takeError();
    if (Error E = read(**S))
      return E;
    if (JSON)
      printJSON([&](JSONStream &J) { writeJSON(J, **S); });
    else if (Typedef.getNumOccurrences())
      outs() << Definition.str() << '\n';
    else
      writeText(**S);
    return ExitSuccess;
  }

private:
  Error read(const lj_signature &S) {
    for (lj_entry_kind Entry : EntryKinds) {
      char Key[33];
      if (Error E = check(lj_launcher_key(&S, Entry, nullptr, Key)))
        return E;
      Keys.push_back(Key);
    }
    for (size_t I = 0, N = lj_signature_num_parameters(&S); I != N; ++I) {
      Parameters.push_back(sized<lj_parameter>());
      if (Error E = check(lj_signature_parameter(&S, I, &Parameters.back())))
        return E;
    }
    if (!Typedef.getNumOccurrences())
      return Error::success();
    const char *Name = Typedef.empty() ? "launch_fn" : Typedef.c_str();
    return check(lj_signature_c_typedef(&S, Name, &Definition));
  }

  void writeJSON(JSONStream &J, const lj_signature &S) const {
    J.attribute("signature", str(lj_signature_text(&S)));
    J.attribute("abi", str(lj_signature_abi(&S)));
    J.attributeObject("keys", [&] {
      for (size_t I = 0; I != Keys.size(); ++I)
        J.attribute(lj_entry_kind_name(EntryKinds[I]), Keys[I]);
    });
    J.attribute("size", lj_signature_size(&S));
    J.attributeArray("parameters", [&] {
      for (const lj_parameter &P : Parameters)
        J.object([&] {
          J.attribute("name", str(P.name));
          J.attribute("type", str(P.type));
          J.attribute("offset", P.offset);
          J.attribute("size", P.size);
          J.attribute("align", P.align);
          J.attribute("c_type", str(P.c_type));
          J.attribute("divisible_by", P.divisible_by);
          J.attribute("hidden", P.hidden);
        });
    });
    if (Typedef.getNumOccurrences())
      J.attribute("typedef", Definition.str());
  }

  void writeText(const lj_signature &S) const {
    size_t N = Parameters.size();
    Table Facts{Table::Left, Table::Left};
    Facts.row({"signature", str(lj_signature_text(&S)).str()});
    Facts.row({"ABI", str(lj_signature_abi(&S)).str()});
    Facts.row({"size", bytes(lj_signature_size(&S)) + ", " + grouped(N) +
                           (N == 1 ? " parameter" : " parameters")});
    for (size_t I = 0; I != Keys.size(); ++I)
      Facts.row(
          {(Twine("key ") + lj_entry_kind_name(EntryKinds[I])).str(), Keys[I]});
    Facts.print(outs(), /*Heading=*/false);
    if (!N)
      return;

    Table Layout{Table::Right, Table::Left,  Table::Left, Table::Right,
                 Table::Right, Table::Right, Table::Left, Table::Left};
    Layout.row({"#", "name", "type", "offset", "size", "align", "C type", ""});
    for (const lj_parameter &P : Parameters) {
      std::string Note = P.hidden ? "hidden" : "";
      if (P.divisible_by)
        Note = "divisible by " + std::to_string(P.divisible_by);
      Layout.row({std::to_string(&P - Parameters.data()), str(P.name).str(),
                  str(P.type).str(), std::to_string(P.offset),
                  std::to_string(P.size), std::to_string(P.align),
                  str(P.c_type).str(), Note});
    }
    outs() << '\n';
    Layout.print(outs(), /*Heading=*/true);
    if (any_of(Parameters, [](const lj_parameter &P) { return P.align > 16; }))
      outs() << "\nParameters aligned to more than 16 bytes: the driver's "
                "offsets depend on the architecture.\n";
  }

  cl::opt<std::string> Typedef;
  std::vector<std::string> Keys; ///< Parallel to EntryKinds.
  std::vector<lj_parameter> Parameters;
  Buffer Definition;
};

} // namespace

CommandPtr launchjit::tool::makeSignature() {
  return std::make_unique<SignatureShow>();
}
