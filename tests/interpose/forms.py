"""forms.py FILE: the calls of a recording with their forms, and the entries of the last call's matrix."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    traffic = json.load(file)
for call in traffic["calls"]:
    print(call["kind"], call.get("form", "blocking"), call["repeats"])
last = traffic["matrices"][traffic["calls"][-1]["matrix"]]
entries = last.get("flows") or [x for row in last["rows"] for x in row if x > 0]
print("flows", len(entries))
