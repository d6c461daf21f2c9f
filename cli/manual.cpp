// taquin manual: the manual pages, from the tables that parse the commands.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/replace_file.hpp"
#include "cli/command.hpp"
#include "cli/variables.hpp"

namespace taquin::cli {

namespace {

// Text that roff sets as it stands, a line that begins with its control characters too.
std::string escaped(const std::string& text) {
  std::string result;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) result += "\\&";
    at_start = c == '\n';
    result += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return result;
}

std::string verbatim(const std::string& text) { return ".nf\n" + escaped(text) + "\n.fi\n"; }

std::string option_of(const CLI::Option& o) {
  std::string head = "\\fB" + escaped(o.get_name(false, true)) + "\\fR";
  if (o.get_expected_max() > 0) head += " \\fI" + escaped(o.get_type_name()) + "\\fR";
  std::string text = escaped(o.get_description());
  // Where the value may be left out, that is the value of the option alone.
  if (!o.get_default_str().empty() && o.get_expected_min() > 0)
    text += " Default: " + escaped(o.get_default_str()) + ".";
  if (o.get_required()) text += " Needed.";
  return fmt::format(".TP\n{}\n{}\n", head, text);
}

// The footer of the help: its explanations, then its examples.
std::string explained(const std::string& footer) {
  constexpr std::string_view heading = "Examples:\n";
  constexpr std::string_view one = "Example:\n";
  auto at = footer.find(heading);
  std::size_t length = heading.size();
  if (at == std::string::npos) {
    at = footer.find(one);
    length = one.size();
  }
  std::string before = footer.substr(0, at);
  while (!before.empty() && before.back() == '\n') before.pop_back();
  std::string text = before.empty() ? "" : ".SH DESCRIPTION\n" + verbatim(before);
  if (at != std::string::npos) text += ".SH EXAMPLES\n" + verbatim(footer.substr(at + length));
  return text;
}

std::vector<const CLI::App*> subcommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// The page of all commands has all variables; those that run a program have those that the program will heed.
std::string environment_of(const CLI::App& app, bool whole) {
  std::string text = ".SH ENVIRONMENT\n";
  for (const variable_row& v : variables()) {
    if (v.user == used_by::tests || (!whole && v.user == used_by::preload && !app.get_prefix_command())) continue;
    text += fmt::format(".TP\n\\fB{}\\fR=\\fI{}\\fR\n{} Default: {}.\n", v.name, escaped(std::string(v.values)),
                        escaped(std::string(v.words) + "."), escaped(std::string(v.by_default)));
  }
  return text;
}

std::string exit_statuses(const CLI::App& app) {
  if (app.get_prefix_command())
    return ".SH EXIT STATUS\n.TP\n2\nThe command line is wrong.\n.TP\n1\nThe program could not be started.\n.TP\n"
           "otherwise\nThe status of the program.\n";
  return ".SH EXIT STATUS\n.TP\n0\nThe command did everything, and every exchanged byte is right.\n.TP\n1\n"
         "Something failed: wrong bytes, an algorithm that does not serve, a file that cannot be read or written.\n"
         ".TP\n2\nThe command line is wrong.\n";
}

std::string page_of(const CLI::App& app, bool whole) {
  const std::string program = TAQUIN_NAME;
  const std::string title = whole ? program : program + "-" + app.get_name();
  std::string text = fmt::format(".TH \"{}\" 1 \"\" \"taquin {}\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n", escaped(title),
                                 TAQUIN_VERSION, escaped(title), escaped(app.get_description()));
  text += whole ? fmt::format("\\fB{}\\fR COMMAND [OPTIONS]\n", escaped(program))
                : fmt::format("\\fB{} {}\\fR [OPTIONS]\n", escaped(program), app.get_name());
  if (whole) {
    text += ".SH COMMANDS\n";
    for (const CLI::App* sub : subcommands(app))
      text += fmt::format(".TP\n\\fB{}\\fR\n{}; see {}(1)\n", sub->get_name(), escaped(sub->get_description()),
                          escaped(program + "-" + sub->get_name()));
  }
  text += ".SH OPTIONS\n";
  for (const CLI::Option* o : app.get_options()) text += option_of(*o);
  return text + explained(app.get_footer()) + environment_of(app, whole) + exit_statuses(app);
}

void write(const std::filesystem::path& file, const std::string& text) {
  if (const auto why = detail::replace_file(file.string(), text))
    throw harness::failure(fmt::format("cannot write {}: {}", file.string(), *why));
}

struct manual_arguments {
  std::string command;
  std::string folder;
};

int execute_manual(const manual_arguments& a, const CLI::App& app) {
  if (!a.folder.empty()) {
    const std::filesystem::path folder(a.folder);
    write(folder / TAQUIN_NAME ".1", page_of(app, true));
    for (const CLI::App* sub : subcommands(app))
      write(folder / fmt::format("{}-{}.1", TAQUIN_NAME, sub->get_name()), page_of(*sub, false));
    fmt::print("{} pages written to {}\n", 1 + subcommands(app).size(), folder.string());
    return 0;
  }
  if (a.command.empty()) {
    fmt::print("{}", page_of(app, true));
    return 0;
  }
  std::string known;
  for (const CLI::App* sub : subcommands(app)) {
    if (sub->get_name() == a.command) {
      fmt::print("{}", page_of(*sub, false));
      return 0;
    }
    known += (known.empty() ? "" : ", ") + sub->get_name();
  }
  throw usage(fmt::format("no command '{}'; known are {}", a.command, known));
}

std::function<int()> set_up_manual(CLI::App& app) {
  auto a = std::make_shared<manual_arguments>();
  auto* command = app.add_option("command", a->command, "its page alone; default: the page of all commands");
  app.add_option("-o,--output", a->folder, "write the pages of all commands into this folder")
      ->type_name("FOLDER")
      ->excludes(command);
  app.footer(R"(Examples:
  taquin manual run | man -l -
  taquin manual -o ~/.local/share/man/man1)");
  return [a, &app] { return execute_manual(*a, *app.get_parent()); };
}

}  // namespace

const command manual_command{"manual", "print a manual page", set_up_manual};

}  // namespace taquin::cli
