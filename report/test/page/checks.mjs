// What is checked of the page, by name. Any error on the console fails as well.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { compare } from "./pictures.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SECTIONS = ["overview", "traffic", "algorithms", "regret", "schedule", "redistribution"];

async function open(page, made, theme = "light") {
  await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
  await page.goto(made.url);
  await page.waitForFunction(() => document.documentElement.dataset.firstDrawing);
}

/// Draws what is out of sight.
async function drawAll(page) {
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  await page.waitForTimeout(50);
}

const figure = (page, title) => page.locator("figure", { has: page.locator(`figcaption:text-is("${title}")`) }).first();

async function accessible(page) {
  await page.evaluate(axe);
  const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(
    result.violations.map((v) => `${v.id}: ${v.nodes.length} × ${v.nodes[0].target} ${v.nodes[0].failureSummary}`),
    [],
  );
}

/// Options of commands that stand on two lines, in the page. Widths differ, so that one of them would break a dash off.
function brokenOptions() {
  const broken = [];
  for (const width of [150, 170, 190, 210, 230, 250])
    for (const code of document.querySelectorAll("pre code")) {
      code.parentElement.style.width = `${width}px`;
      const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
      while (texts.nextNode())
        for (const option of texts.currentNode.data.matchAll(/(?<=^| )-\S+/g)) {
          const range = document.createRange();
          range.setStart(texts.currentNode, option.index);
          range.setEnd(texts.currentNode, option.index + option[0].length);
          if (new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size > 1) broken.push(`${option[0]} at ${width}`);
        }
    }
  return broken;
}

export const checks = {
  "every section is there, with its plots": async ({ page, made }) => {
    assert.equal(made.small.status, 0, made.small.errors.join("\n"));
    await open(page, made.small);
    await drawAll(page);
    for (const id of SECTIONS) assert.equal(await page.locator(`section#${id} h2`).count(), 1, id);
    for (const id of SECTIONS.slice(1)) assert.ok((await page.locator(`section#${id} .plot svg`).count()) > 0, id);
    assert.ok((await page.locator(".thing").count()) > 0);
    assert.ok((await page.locator(".basis.measured").count()) > 0);
    assert.equal(await page.locator("text=Nothing to draw").count(), 0);
    assert.equal(await page.locator("text=cannot be shown").count(), 0);
  },

  "plots look as expected": async ({ page, made, update }) => {
    await open(page, made.small);
    await drawAll(page);
    for (const [title, name] of [
      ["Bytes from rank to rank", "heatmap"],
      ["Sizes of blocks", "sizes"],
      ["Time", "time"],
      ["Scratch memory", "memory"],
      ["Round by round", "schedule"],
      ["Free places", "free"],
    ])
      await compare(figure(page, title).locator(".plot"), name, update);
    await compare(page.locator(".strip .plot").first(), "strip", update);
  },

  "dark colours": async ({ page, made, update }) => {
    await open(page, made.small, "dark");
    await drawAll(page);
    await compare(figure(page, "Time").locator(".plot"), "time-dark", update);
    const colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await colour();
    await page.click(".theme");
    assert.notEqual(await colour(), dark);
  },

  "nothing is wider than a phone": async ({ page, made }) => {
    await page.setViewportSize({ width: 360, height: 740 });
    await open(page, made.small);
    await drawAll(page);
    const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(content <= window, `${content} pixels on ${window}`);
    assert.deepEqual(await page.evaluate(brokenOptions), []);
  },

  "navigation lands at the section, also where plots above it were not drawn": async ({ page, made }) => {
    for (const width of [420, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      for (const id of SECTIONS.slice(1)) {
        await open(page, made.small);
        await page.locator(`nav a[href="#${id}"]`).click();
        await page.waitForTimeout(400);
        const top = await page.locator(`section#${id}`).evaluate((e) => e.getBoundingClientRect().top);
        const atEnd = await page.evaluate(() => window.scrollY + window.innerHeight >= document.documentElement.scrollHeight - 2);
        assert.ok(atEnd || Math.abs(top) < 150, `${id} at ${width} px: ${Math.round(top)} px from the top`);
      }
    }
    await page.setViewportSize({ width: 1280, height: 900 });
  },

  "sections without data are named at the end, and nowhere else": async ({ page, made }) => {
    await open(page, made.large);
    assert.equal(await page.locator("section#regret").count(), 0);
    assert.equal(await page.locator('nav a[href="#regret"]').count(), 0);
    assert.equal(await page.locator('details li:has-text("Regret: records of random calls")').count(), 1);
  },

  "no fault of accessibility, light": async ({ page, made }) => {
    await open(page, made.small);
    await drawAll(page);
    await accessible(page);
  },

  "no fault of accessibility, dark": async ({ page, made }) => {
    await open(page, made.small, "dark");
    await drawAll(page);
    await accessible(page);
  },

  "keys enlarge the heat map": async ({ page, made }) => {
    await open(page, made.small);
    await drawAll(page);
    const map = page.locator(".heatmap");
    await map.scrollIntoViewIfNeeded();
    await map.focus();
    const last = page.locator('#traffic .controls input[type="number"]').nth(1);
    const before = await last.inputValue();
    await page.keyboard.press("+");
    assert.notEqual(await last.inputValue(), before);
    await page.keyboard.press("0");
    assert.equal(await last.inputValue(), before);
  },

  "curves can be hidden": async ({ page, made }) => {
    await open(page, made.small);
    await drawAll(page);
    const marks = () => figure(page, "Time").locator('svg [data-mark="line"] path').count();
    const all = await marks();
    await page.locator("#algorithms .curve", { hasText: "pairwise" }).locator("input").uncheck();
    assert.ok((await marks()) < all);
    await page.locator("#algorithms .controls select").last().selectOption("linear");
    assert.ok((await marks()) > 0);
  },

  "tooltips tell exact figures, readable in the dark": async ({ page, made }) => {
    await open(page, made.small, "dark");
    await drawAll(page);
    const map = page.locator(".heatmap > svg").last();
    await map.hover();
    assert.match(await page.locator(".tooltip").textContent(), /^rank \d to rank \d: [\d,]+ bytes/);
    const plot = figure(page, "Time").locator(".plot svg").last();
    await plot.hover();
    const tip = plot.locator("[data-mark=tip] text, [aria-label=tip] text").first();
    assert.match(await tip.textContent(), /bytes per rank/);
    const [text, ground] = await tip.evaluate((t) => [getComputedStyle(t).color, getComputedStyle(t.parentElement.querySelector("path")).fill]);
    assert.notEqual(text, ground);
    const light = (c) => c.match(/\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0);
    assert.ok(Math.abs(light(text) - light(ground)) > 300, `${text} on ${ground}`);
  },

  "schedules go step by step": async ({ page, made }) => {
    await open(page, made.small);
    await drawAll(page);
    const note = figure(page, "Round by round").locator("> .note");
    const first = await note.textContent();
    await page.locator("#schedule .player").first().locator("button", { hasText: "Forward" }).click();
    assert.notEqual(await note.textContent(), first);
    assert.equal(await page.locator(".strip").count(), 2, "in_place and in_place_phases");
    for (const one of await page.locator(".strip").all()) {
      const strip = one.locator("figure > .note");
      const start = await strip.textContent();
      const forward = one.locator(".player button", { hasText: "Forward" });
      while ((await strip.textContent()) === start || !/100%/.test(await strip.textContent())) {
        const before = await one.locator("output").textContent();
        await forward.click();
        assert.notEqual(await one.locator("output").textContent(), before, "it ends before all is in place");
      }
    }
  },

  "what cannot be told is said": async ({ page, made }) => {
    await open(page, made.small);
    await drawAll(page);
    assert.match(await page.locator("#overview").textContent(), /does not tell waiting apart from transfer/);
    const native = await page.locator("#schedule select").first().locator("option", { hasText: "native" }).getAttribute("value");
    await page.locator("#schedule select").first().selectOption(native);
    assert.match(await page.locator("#schedule").textContent(), /MPI library chooses its algorithm itself and does not report/);
    const bruck = await page.locator("#schedule select").first().locator("option", { hasText: "bruck_v as a reused plan" }).getAttribute("value");
    await page.locator("#schedule select").first().selectOption(bruck);
    assert.match(await page.locator("#schedule").textContent(), /Drawn as a plan that is reused.*In a blocking call/s);
  },

  "printed, it has all plots and none of the controls": async ({ page, made }) => {
    await open(page, made.small);
    await drawAll(page);
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.locator("main .controls:visible, .theme:visible, nav:visible, main button:visible").count(), 0);
    assert.ok((await page.locator(".plot svg:visible").count()) > 10);
    assert.ok((await page.pdf()).length > 20000);
  },

  "it is below 1 MB without data": async ({ made }) => {
    assert.ok(made.template < 1 << 20, `${made.template} bytes`);
  },

  "every plot has a table and a CSV file": async ({ page, made }) => {
    await open(page, made.small);
    await drawAll(page);
    const figures = page.locator("main figure:has(> figcaption)");
    const count = await figures.count();
    assert.ok(count > 10);
    for (let i = 0; i < count; ++i) {
      const one = figures.nth(i);
      await one.locator("summary").click();
      await one.locator("tbody tr").first().waitFor();
    }
    const [download] = await Promise.all([page.waitForEvent("download"), figure(page, "Time").locator("button", { hasText: "CSV" }).click()]);
    const csv = readFileSync(await download.path(), "utf8").split("\r\n");
    assert.match(csv[0], /^algorithm,basis,ranks,/);
    assert.ok(csv.length > 10);
  },

  "1,024 ranks": async ({ page, made, update, say }) => {
    assert.equal(made.large.status, 0, made.large.errors.join("\n"));
    // Processor time of the page's thread, so that a machine with much else to do does not matter.
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    await open(page, made.large);
    const { metrics } = await session.send("Performance.getMetrics");
    const busy = metrics.find((m) => m.name === "TaskDuration").value;
    say(`${busy.toFixed(2)} s of processor time until the first drawing`);
    assert.ok(busy > 0 && busy < 2, `${busy} s`);
    await drawAll(page);
    await page.locator(".heatmap svg").first().waitFor();
    say(`first drawing of 1,024 ranks after ${await page.evaluate(() => document.documentElement.dataset.firstDrawing)} ms`);
    await compare(figure(page, "Bytes from rank to rank").locator(".plot"), "large", update);
    assert.equal(await page.locator("section").count(), 2);
  },

  "damaged files are one line each, and no script of theirs runs": async ({ page, made, bad }) => {
    assert.equal(made.damaged.status, 1);
    const wrong = Object.entries(bad).filter(([, [, what]]) => what !== null);
    assert.equal(made.damaged.errors.length, wrong.length + 1, made.damaged.errors.join("\n"));
    for (const [name, [, what]] of wrong)
      assert.ok(made.damaged.errors.some((line) => line.includes(name) && line.includes(what)), `${name}: ${what}\n${made.damaged.errors.join("\n")}`);
    await open(page, made.damaged);
    await drawAll(page);
    assert.equal(await page.locator(".problems li").count(), wrong.length + 1);
    assert.equal(await page.evaluate(() => window.ran), undefined);
    assert.ok((await page.locator("#overview code", { hasText: "<script>" }).count()) > 0, "texts are shown as they are");
    assert.ok((await page.locator("section#traffic .plot svg").count()) > 0);
    assert.ok((await page.locator("section#algorithms .plot svg").count()) > 0);
  },
};
