"""metadata.py SOURCE_DIRECTORY: what pip asks first, the name and version, is told without building: no program is found."""
import importlib.util
import os
import sys
import tempfile
from pathlib import Path

spec = importlib.util.spec_from_file_location("backend", Path(sys.argv[1], "python", "backend.py"))
backend = importlib.util.module_from_spec(spec)
spec.loader.exec_module(backend)
os.environ["PATH"] = ""
with tempfile.TemporaryDirectory() as folder:
    name = backend.prepare_metadata_for_build_wheel(folder)
    text = Path(folder, name, "METADATA").read_text(encoding="utf-8")
    assert f"\nName: {backend.NAME}\nVersion: {backend.VERSION}\n" in text, text
    assert Path(folder, name, "WHEEL").read_text(encoding="utf-8").count("Tag: ") == 1
    assert [f.name for f in Path(folder).iterdir()] == [name]
