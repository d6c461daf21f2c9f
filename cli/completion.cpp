// taquin completion: what makes a shell complete the command's words, from the tables that parse them.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "cli/command.hpp"

namespace taquin::cli {

namespace {

struct flag {
  std::string name;  ///< with its dashes
  std::string words;
  bool has_value = false;
};

std::vector<const CLI::App*> subcommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<flag> flags_of(const CLI::App& app) {
  std::vector<flag> flags;
  for (const CLI::Option* o : app.get_options()) {
    const std::string words = o->get_description().substr(0, o->get_description().find('\n'));
    for (const auto& name : o->get_snames()) flags.push_back({"-" + name, words, o->get_expected_max() > 0});
    for (const auto& name : o->get_lnames()) flags.push_back({"--" + name, words, o->get_expected_max() > 0});
  }
  return flags;
}

std::string algorithms() {
  std::string names = "auto";
  for (const detail::algorithm* a : detail::algorithms()) names += " " + std::string(a->name);
  return names;
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

std::string bash(const std::vector<const CLI::App*>& all) {
  std::string cases;
  for (const CLI::App* one : all) {
    std::string flags;
    for (const flag& f : flags_of(*one)) flags += (flags.empty() ? "" : " ") + f.name;
    cases += fmt::format("    {}) words={} ;;\n", one->get_name(), in_quotes(flags));
  }
  return fmt::format(R"(_taquin() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} words=
  if [[ $COMP_CWORD == 1 ]]; then
    COMPREPLY=($(compgen -W '{} --help --version' -- "$current"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  elif [[ $before == -a || $before == --algorithm || $before == --algorithms ]]; then
    COMPREPLY=($(compgen -W '{}' -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _taquin {}
)",
                     names_of(all), cases, algorithms(), names);
}

// In zsh's _arguments and _describe a bracket ends a description, and a colon ends the text before it.
std::string in_zsh(const std::string& text) { return escaped(text, "[]:"); }

bool of_algorithm(const flag& f) { return f.name == "-a" || f.name.starts_with("--algorithm"); }

// The last lines tell whether zsh loads it as a function from its path or reads it in a shell.
std::string zsh(const std::vector<const CLI::App*>& all) {
  std::string commands;
  std::string cases;
  for (const CLI::App* one : all) {
    commands += fmt::format(" {}", in_quotes(one->get_name() + ":" + in_zsh(one->get_description())));
    // Behind the program that a command runs stand the program's own words.
    cases += fmt::format("    {}) _arguments -S{}", one->get_name(), one->get_prefix_command() ? " -A '-*'" : "");
    for (const flag& f : flags_of(*one)) {
      const std::string values = of_algorithm(f) ? fmt::format(":name:({})", algorithms()) : ":value:_files";
      cases +=
          fmt::format(" {}", in_quotes(fmt::format("{}[{}]{}", f.name, in_zsh(f.words), f.has_value ? values : "")));
    }
    cases += one->get_prefix_command() ? " '*::program:_normal' ;;\n" : " '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef {}
_taquin() {{
  local -a commands=({})
  if (( CURRENT == 2 )); then
    _describe command commands
    _arguments --help --version
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
if [[ $funcstack[1] == _taquin* ]]; then _taquin "$@"; else compdef _taquin {}; fi
)",
                     names, commands, cases, names);
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
                          of_algorithm(f) ? " -x"
                          : f.has_value   ? " -r"
                                          : "",
                          of_algorithm(f) ? " -a " + in_fish(algorithms()) : "", in_fish(f.words));
    }
  }
  return text;
}

std::function<int()> setup(CLI::App& app) {
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

const command completion_command{"completion", "print what makes a shell complete taquin's words", setup};

}  // namespace taquin::cli
