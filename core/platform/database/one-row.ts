/** The row of a statement that always gives one. Throws when it gave none, which is a fault of ours. */
export function oneRow<Row>(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined) throw new Error('a statement that always gives a row gave none');
  return row;
}
