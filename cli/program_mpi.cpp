#include "cli/program_mpi.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>

#include "base/sizes.hpp"

namespace taquin::cli {

namespace {

// The loader that an ELF program names; empty for everything else.
std::string loader_of(const std::filesystem::path& program) {
  std::ifstream in(program, std::ios::binary);
  Elf64_Ehdr head{};
  if (!in.read(reinterpret_cast<char*>(&head), sizeof head)) return {};
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64) return {};
  for (int i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr part{};
    in.seekg(static_cast<std::streamoff>(head.e_phoff + detail::as_size(i) * head.e_phentsize));
    if (!in.read(reinterpret_cast<char*>(&part), sizeof part)) return {};
    if (part.p_type != PT_INTERP) continue;
    std::string name(part.p_filesz, '\0');
    in.seekg(static_cast<std::streamoff>(part.p_offset));
    if (!in.read(name.data(), static_cast<std::streamsize>(name.size()))) return {};
    name.resize(std::strlen(name.c_str()));  // without the zero at its end
    return name;
  }
  return {};
}

std::string quoted(const std::string& text) {
  std::string all = "'";
  for (const char c : text) all += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return all + "'";
}

}  // namespace

// The loader itself lists what it would load: it knows all the places to look in.
std::string mpi_of(const std::filesystem::path& program) {
  const std::string loader = loader_of(program);
  if (loader.empty()) return {};
  const std::string command = fmt::format("{} --list {} 2>/dev/null", quoted(loader), quoted(program.string()));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(
      popen(command.c_str(), "r"), pclose);  // NOLINT(cert-env33-c): the names in it are quoted
  if (pipe == nullptr) return {};
  std::string list;
  std::array<char, 4096> buffer{};
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) list.append(buffer.data(), n);
  // libmpi.so.12 is MPICH's outside Debian, and that of libraries with its binary interface.
  constexpr std::pair<const char*, const char*> families[] = {
      {"libmpi_abi.so", "abi"}, {"libmpi.so.12", "mpich"}, {"libmpi.so", "openmpi"}, {"libmpich.so", "mpich"}};
  for (const auto& [soname, family] : families)
    if (list.find(fmt::format("\t{}", soname)) != std::string::npos) return family;
  return {};
}

}  // namespace taquin::cli
