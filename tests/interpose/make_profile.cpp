// make_profile FILE RULES: a profile of this machine with the rules, a JSON array.
#include <fstream>
#include <nlohmann/json.hpp>

#include "select/profile.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  taquin::detail::profile p;
  p.model.machine = taquin::detail::machine_name();
  auto j = nlohmann::json::parse(taquin::detail::to_json(p));
  j["rules"] = nlohmann::json::parse(argv[2]);
  taquin::detail::write_profile(argv[1], taquin::detail::from_json(j.dump()));
}
