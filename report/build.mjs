// node build.mjs OUTPUT: the page without data, in one file. The command puts data where @TAQUIN_DATA@ stands.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const MOST_BYTES = 1_000_000;
const here = dirname(fileURLToPath(import.meta.url));
const output = process.argv[2] ?? join(here, "node_modules", "report.html");

const result = await build({
  entryPoints: [join(here, "src", "main.mjs")],
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022"],
  charset: "ascii",
  legalComments: "none",
  // Sources and packages may lie apart: where the tree must stay clean, packages are beside the output.
  nodePaths: process.env.NODE_PATH ? process.env.NODE_PATH.split(":") : [],
  write: false,
});
// A script element ends at its first end tag, wherever that stands.
const script = result.outputFiles[0].text.replaceAll("</script", "<\\/script");
const style = (await readFile(join(here, "src", "style.css"), "utf8")).replaceAll(/\s+/g, " ");
const hash = createHash("sha256").update(script).digest("base64");
// Only this script runs, whatever the data hold, and nothing is fetched.
const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'`;
const parts = { CSP: policy, STYLE: style, SCRIPT: script };
const page = (await readFile(join(here, "src", "page.html"), "utf8")).replaceAll(/@(CSP|STYLE|SCRIPT)@/g, (_, name) => parts[name]);
if (page.length > MOST_BYTES) throw new Error(`the page has ${page.length} bytes, more than ${MOST_BYTES}`);
if (page.split("@TAQUIN_DATA@").length !== 2) throw new Error("the place of the data is not there once");
await mkdir(dirname(output), { recursive: true });
await writeFile(output, page);
console.log(`${output}: ${page.length} bytes`);
