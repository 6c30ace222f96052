const STEPS: readonly [unit: string, seconds: number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

/** How long something takes, in the largest unit that it fills: "4.5 sec", "22 min". */
export function durationText(seconds: number, language: string): string {
  const [unit, size] = STEPS.find(([, step]) => seconds >= step) ?? ['second', 1];
  const digits = { maximumFractionDigits: unit === 'second' ? 1 : 0 };
  return new Intl.NumberFormat(language, { style: 'unit', unit, ...digits }).format(seconds / size);
}
