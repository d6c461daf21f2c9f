// The page in headless Chromium: node test/page/run.mjs [--update], with TAQUIN_PROGRAM the command. Exit status 77
// where Chromium, the packages or the page are missing. --update writes the expected pictures.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { damaged, largeTraffic, predictions, records, redistributions, regrets, smallTraffic, write } from "../inputs.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const SKIPPED = 77;
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(SKIPPED);
}

function find(...names) {
  for (const name of names)
    for (const folder of (process.env.PATH ?? "").split(":")) if (existsSync(join(folder, name))) return join(folder, name);
  return null;
}

const program = process.env.TAQUIN_PROGRAM;
if (!program || !existsSync(program)) skip("TAQUIN_PROGRAM does not name the command");
if (!existsSync(join(dirname(dirname(program)), "share", "taquin", "report.html"))) skip("this build has no page");
const browser = process.env.TAQUIN_CHROMIUM ?? find("chromium", "chromium-browser", "google-chrome");
if (!browser) skip("Chromium is not there");
let chromium;
try {
  ({ chromium } = (await import("playwright-core")).default);
} catch {
  skip("the packages of the tests are not there");
}
const { checks } = await import("./checks.mjs");

const folder = mkdtempSync(join(tmpdir(), "taquin-report-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

const inputs = (names) => names.map((n) => join(here, "..", "inputs", `${n}.json`));
const bad = damaged();
const pages = {
  small: [
    ...write(join(folder, "small"), {
      "traffic.json": smallTraffic(),
      "regret.json": regrets(),
      "records.json": records(),
      "predictions.json": predictions(),
      "redistributions.json": redistributions(),
    }),
    ...inputs(["report", "pairwise", "basic_bruck", "native", "node_aggregated", "bruck_v", "puzzle", "phases", "slots", "parking"]),
  ],
  large: write(join(folder, "large"), { "traffic.json": largeTraffic(1024) }),
  damaged: [...write(join(folder, "damaged"), Object.fromEntries(Object.entries(bad).map(([n, [text]]) => [n, text]))), join(folder, "missing.json")],
};
const made = { template: statSync(join(dirname(dirname(program)), "share", "taquin", "report.html")).size };
for (const [name, files] of Object.entries(pages)) {
  const path = join(folder, `${name}.html`);
  const run = spawnSync(program, ["report", ...files, "-o", path], { encoding: "utf8", timeout: 60000 });
  made[name] = { url: pathToFileURL(path).href, status: run.status, errors: run.stderr.trim().split("\n").filter(Boolean) };
}

const context = await chromium.launchPersistentContext(join(folder, "profile"), {
  executablePath: browser,
  headless: true,
  args: FLAGS,
  viewport: { width: 1280, height: 900 },
  colorScheme: "light",
  reducedMotion: "reduce",
  acceptDownloads: true,
});
let failed = 0;
try {
  for (const [name, check] of Object.entries(checks)) {
    const page = await context.newPage();
    const faults = [];
    page.on("console", (m) => ["error", "warning"].includes(m.type()) && faults.push(`console: ${m.text()}`));
    page.on("pageerror", (e) => faults.push(`error: ${e.message}`));
    try {
      await check({ page, made, bad, update: process.argv.includes("--update"), say: (text) => console.log(`  ${text}`) });
    } catch (fault) {
      faults.push(fault.message);
    }
    await page.close();
    console.log(`${faults.length ? "FAILED" : "passed"}: ${name}`);
    for (const fault of faults) console.log(`  ${fault}`);
    failed += faults.length ? 1 : 0;
  }
} finally {
  await context.close();
}
process.exit(failed ? 1 : 0);
