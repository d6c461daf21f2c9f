// taquin completion: scripts that make a shell complete the command's words, from the tables that parse them.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "cli/command.hpp"
#include "workloads/workload.hpp"

namespace taquin::cli {

namespace {

struct flag {
  std::string name;  ///< with its dashes
  std::string words;
  bool has_value = false;
  std::string values;  ///< those that are known, with spaces between
};

std::vector<const CLI::App*> subcommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::string algorithms() {
  std::string names = "auto";
  for (const detail::algorithm* a : detail::algorithms()) names += " " + std::string(a->name);
  return names;
}

std::string generators() {
  std::string names;
  for (const auto& g : workloads::generators()) names += (names.empty() ? "" : " ") + std::string(g.name);
  return names;
}

// "TEXT:{openmpi,mpich}" and "indexed|packed" are known from the option itself.
std::string values_of(const CLI::Option& o) {
  for (const auto& name : o.get_lnames()) {
    if (name == "algorithm" || name == "algorithms") return algorithms();
    if (name == "workload") return generators();
    if (name == "collective") return "alltoall alltoallv alltoallw sparse";
    if (name == "sync") return "barrier window";
    if (name == "arrival") return "together random: last: sorted:";
  }
  std::string type = o.get_type_name();
  const auto brace = type.find('{');
  if (brace != std::string::npos) type = type.substr(brace + 1, type.rfind('}') - brace - 1);
  if (brace == std::string::npos && type.find('|') == std::string::npos) return {};
  std::ranges::replace_if(
      type, [](char c) { return c == '|' || c == ','; }, ' ');
  return type;
}

std::vector<flag> flags_of(const CLI::App& app) {
  std::vector<flag> flags;
  for (const CLI::Option* o : app.get_options()) {
    const std::string words = o->get_description().substr(0, o->get_description().find('\n'));
    const bool has_value = o->get_expected_max() > 0;
    const std::string values = has_value ? values_of(*o) : "";
    for (const auto& name : o->get_snames()) flags.push_back({"-" + name, words, has_value, values});
    for (const auto& name : o->get_lnames()) flags.push_back({"--" + name, words, has_value, values});
  }
  return flags;
}

std::string names_of(const std::vector<const CLI::App*>& all) {
  std::string names;
  for (const CLI::App* one : all) names += (names.empty() ? "" : " ") + one->get_name();
  return names;
}

// Within single quotes of bash and zsh.
std::string in_quotes(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// With a backslash before each of these characters.
std::string escaped(const std::string& text, std::string_view which) {
  std::string result;
  for (const char c : text) {
    if (which.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

// Within single quotes of fish.
std::string in_fish(const std::string& text) { return fmt::format("'{}'", escaped(text, "'\\")); }

// Installed beside another build, the command has a longer name as well.
const std::string names = TAQUIN_NAME == std::string("taquin") ? "taquin" : "taquin " TAQUIN_NAME;

std::string joined_names(char between) {
  std::string all = names;
  std::ranges::replace(all, ' ', between);
  return all;
}

// Behind a launcher the words of taquin are completed from its name on. A completion of the launcher that is there
// stays.
constexpr std::string_view launchers = "mpirun mpiexec mpirun.openmpi mpiexec.openmpi mpirun.mpich mpiexec.mpich";

std::string bash(const std::vector<const CLI::App*>& all) {
  std::string cases;
  std::string values;
  for (const CLI::App* one : all) {
    std::string flags;
    for (const flag& f : flags_of(*one)) {
      flags += (flags.empty() ? "" : " ") + f.name;
      if (!f.values.empty())
        values += fmt::format("    '{} {}') values={} ;;\n", one->get_name(), f.name, in_quotes(f.values));
    }
    cases += fmt::format("    {}) words={} ;;\n", one->get_name(), in_quotes(flags));
  }
  return fmt::format(R"(_taquin() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} words= values=
  if [[ $COMP_CWORD == 1 ]]; then
    COMPREPLY=($(compgen -W '{0} help --help --version' -- "$current"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{1}  esac
  case "${{COMP_WORDS[1]}} $before" in
{2}  esac
  if [[ ${{COMP_WORDS[1]}} == help ]]; then
    COMPREPLY=($(compgen -W '{0}' -- "$current"))
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  elif [[ -n $values ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
_taquin_launched() {{
  local i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${{COMP_WORDS[i]##*/}} in
    {3})
      COMP_WORDS=("${{COMP_WORDS[@]:i}}")
      ((COMP_CWORD -= i))
      _taquin
      return
      ;;
    esac
  done
  COMPREPLY=($(compgen -f -- "${{COMP_WORDS[COMP_CWORD]}}") $(compgen -c -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o filenames -F _taquin {4}
for launcher in {5}; do
  complete -p $launcher >/dev/null 2>&1 || complete -o filenames -F _taquin_launched $launcher
done
unset launcher
)",
                     names_of(all), cases, values, joined_names('|'), names, launchers);
}

// In zsh's _arguments and _describe a bracket ends a description, and a colon ends the text before it.
std::string in_zsh(const std::string& text) { return escaped(text, "[]:"); }

// The last lines detect whether zsh loads it as a function from its path or reads it in a shell.
std::string zsh(const std::vector<const CLI::App*>& all) {
  std::string commands;
  std::string cases;
  for (const CLI::App* one : all) {
    commands += fmt::format(" {}", in_quotes(one->get_name() + ":" + in_zsh(one->get_description())));
    // Behind the program that a command runs stand the program's own words.
    cases += fmt::format("    {}) _arguments -S{}", one->get_name(), one->get_prefix_command() ? " -A '-*'" : "");
    for (const flag& f : flags_of(*one)) {
      const std::string values = f.values.empty() ? ":value:_files" : fmt::format(":value:({})", f.values);
      cases +=
          fmt::format(" {}", in_quotes(fmt::format("{}[{}]{}", f.name, in_zsh(f.words), f.has_value ? values : "")));
    }
    cases += one->get_prefix_command() ? " '*::program:_normal' ;;\n" : " '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef {0} {3}
_taquin() {{
  [[ ${{words[1]:t}} == ({4}) ]] || {{ _taquin_launched; return }}
  local -a commands=({1})
  if (( CURRENT == 2 )); then
    _describe command commands
    _arguments --help --version
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{2}  esac
}}
_taquin_launched() {{
  local i
  for (( i = 2; i < CURRENT; ++i )); do
    if [[ ${{words[i]:t}} == ({4}) ]]; then
      shift $(( i - 1 )) words
      (( CURRENT -= i - 1 ))
      _taquin
      return
    fi
  done
  _files
}}
if [[ $funcstack[1] == _taquin* ]]; then _taquin "$@"; else compdef _taquin {0} {3}; fi
)",
                     names, commands, cases, launchers, joined_names('|'));
}

std::string fish(const std::vector<const CLI::App*>& all) {
  std::string of = " -c taquin";
  if (names != "taquin") of += " -c " TAQUIN_NAME;
  std::string text = fmt::format("complete{} -f -n __fish_use_subcommand -l help -l version\n", of);
  for (const CLI::App* one : all) {
    text += fmt::format("complete{} -f -n __fish_use_subcommand -a {} -d {}\n", of, one->get_name(),
                        in_fish(one->get_description()));
    for (const flag& f : flags_of(*one)) {
      const bool is_long = f.name.starts_with("--");
      text += fmt::format("complete{} -n '__fish_seen_subcommand_from {}' {} {}{}{} -d {}\n", of, one->get_name(),
                          is_long ? "-l" : "-s", f.name.substr(is_long ? 2 : 1),
                          !f.values.empty() ? " -x"
                          : f.has_value     ? " -r"
                                            : "",
                          f.values.empty() ? "" : " -a " + in_fish(f.values), in_fish(f.words));
    }
  }
  return text + fmt::format(R"(function __taquin_launched
  set -l words (commandline -opc)
  for i in (seq (count $words))
    if string match -qr '(^|/)({})$' -- $words[$i]
      complete -C (string join -- ' ' taquin $words[(math $i + 1)..] (commandline -ct))
      return 0
    end
  end
  return 1
end
for launcher in {}
  complete -c $launcher -n '__taquin_launched >/dev/null' -f -a '(__taquin_launched)'
end
)",
                            joined_names('|'), launchers);
}

std::function<int()> set_up_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  app.add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL");
  app.footer(R"(Examples:
  source <(taquin completion bash)                               (in ~/.bashrc)
  source <(taquin completion zsh)                                (in ~/.zshrc, after compinit)
  taquin completion fish > ~/.config/fish/completions/taquin.fish)");
  return [shell, &app] {
    const auto all = subcommands(*app.get_parent());
    fmt::print("{}", *shell == "bash" ? bash(all) : *shell == "zsh" ? zsh(all) : fish(all));
    return 0;
  };
}

}  // namespace

const command completion_command{"completion", "print what makes a shell complete taquin's words", set_up_completion};

}  // namespace taquin::cli
