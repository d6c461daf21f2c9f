// Tables as CSV (RFC 4180).

// A spreadsheet takes a text that begins like this for a formula.
const FORMULA = /^[=+\-@\t\r]/;

function field(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  let text = String(value);
  if (FORMULA.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/// `table`: {columns: [{key, label}], rows: [{key: value}]}.
export function toCsv(table) {
  const lines = [table.columns.map((c) => field(c.label)).join(",")];
  for (const row of table.rows) lines.push(table.columns.map((c) => field(row[c.key])).join(","));
  return `${lines.join("\r\n")}\r\n`;
}
