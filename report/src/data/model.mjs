// All files of a page, sorted by what they are. A file that turns out to be wrong is one more problem; the others stay.
import { pairsDiffer, prepareTraffic, prepareReport } from "./traffic.mjs";
import { distinctPredictions, pointsOfProfile, pointsOfRecords, pointsOfPredictions, isRedistribution } from "./algorithms.mjs";
import { prepareStrip } from "./strip.mjs";
import { prepareSchedule } from "./schedule.mjs";
import { isRegret, regretOf } from "./regret.mjs";
import { stepsOf, stepsOfRecords, redistributionRecords } from "./redistribution.mjs";

export const PAGE_VERSION = 1;

function empty() {
  return {
    sources: [], // recordings and reports of preloaded runs: what a program exchanged
    points: [], // one measured or predicted time each
    unserved: [], // algorithms that were asked for and could not serve
    schedules: [],
    strips: [],
    redistributions: [], // records
    steps: [], // redistributions over time
    regrets: [], // random calls, each measured beside the fastest other way
    profiles: [],
    problems: [],
    files: [],
  };
}

function add(model, file) {
  const { kind, data, name } = file;
  switch (kind) {
    case "traffic":
      model.sources.push(prepareTraffic(data, name));
      break;
    case "report":
      model.sources.push(prepareReport(data, name));
      break;
    case "records": {
      const rest = data.filter((r) => !isRegret(r));
      const moved = rest.filter(isRedistribution);
      const { points, unserved } = pointsOfRecords(rest.filter((r) => !isRedistribution(r)), name);
      model.regrets.push(...regretOf(data, name));
      model.redistributions.push(...redistributionRecords(moved, name));
      model.steps.push(...stepsOfRecords(moved, name));
      model.points.push(...points);
      model.unserved.push(...unserved);
      break;
    }
    case "predictions":
      model.points.push(...pointsOfPredictions(data, name));
      break;
    case "profile":
      model.profiles.push({ name, machine: data.machine, ranks: data.ranks });
      model.points.push(...pointsOfProfile(data, name));
      break;
    case "plan":
      if (data.strip) model.strips.push(prepareStrip(data, name));
      else if (data.steps) model.steps.push(stepsOf(data, name));
      else model.schedules.push(prepareSchedule(data, name));
      break;
    default:
      throw new Error(`is of an unknown kind: ${kind}`);
  }
}

// The page begins with what tells most: pairs that differ, waiting apart from transfer, then what took longest.
const tells = (source) =>
  (source.sites.length ? 1e12 : 0) +
  (source.sites.some((s) => pairsDiffer(source, s)) ? 1e11 : 0) +
  (source.totals.waiting !== null ? 1e10 : 0) +
  Math.min(source.totals.seconds ?? 0, 1e9);

export function collect(page) {
  const model = empty();
  if (!page || page.taquin_page !== PAGE_VERSION) {
    model.problems.push({ name: "this page", what: "holds no data that it can show" });
    return model;
  }
  model.problems.push(...(page.problems ?? []));
  for (const file of page.files ?? []) {
    try {
      add(model, file);
      model.files.push({ name: file.name, kind: file.kind });
    } catch (fault) {
      model.problems.push({ name: String(file?.name), what: `cannot be shown: ${fault.message}` });
    }
  }
  model.points = distinctPredictions(model.points);
  model.sources.sort((a, b) => tells(b) - tells(a));
  return model;
}
