const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;
const STEP = 1024;

/** A size in the largest unit that it fills, e.g. "1.5 MB" or "70 bytes". */
export function bytesText(bytes: number, language: string): string {
  const power = bytes < STEP ? 0 : Math.min(Math.floor(Math.log(bytes) / Math.log(STEP)), UNITS.length - 1);
  const unit = UNITS[power] ?? 'byte';
  // The short form of "byte" has no plural.
  const unitDisplay = unit === 'byte' ? 'long' : 'short';
  const format = { style: 'unit', unit, unitDisplay, maximumFractionDigits: 1 } as const;
  return new Intl.NumberFormat(language, format).format(bytes / STEP ** power);
}
