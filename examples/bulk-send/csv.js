// The part of CSV that spreadsheets write: commas, quotes around what has a comma, quote or line break, and quotes
// doubled.

/** The rows of a CSV text, each as a list of cells. Empty lines are no rows. */
export function parseCsv(text) {
  const rows = [];
  let row = [];
  let cell = '';
  let isQuoted = false;
  const endRow = () => {
    row.push(cell);
    if (row.length > 1 || row[0] !== '') rows.push(row);
    row = [];
    cell = '';
  };
  // Spreadsheets put a byte order mark first.
  for (let at = text.charCodeAt(0) === 0xfeff ? 1 : 0; at < text.length; at += 1) {
    const char = text[at];
    if (isQuoted) {
      if (char !== '"') cell += char;
      else if (text[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else isQuoted = false;
    } else if (char === '"') isQuoted = true;
    else if (char === ',') {
      row.push(cell);
      cell = '';
    } else if (char === '\n') endRow();
    else if (char !== '\r') cell += char;
  }
  if (isQuoted) throw new Error('the CSV ends inside of quotes');
  endRow();
  return rows;
}

export function writeCsvRow(cells) {
  return `${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\n`;
}
